"""The HTTP front: one Starlette app over one journal.

app = build(journal=Journal(path), models={"local": model})
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bookwheel.errors import BookwheelError
from bookwheel.serve.chat import Chat
from bookwheel.serve.faults import Declined, Json, not_there, refusal
from bookwheel.serve.guard import Guard
from bookwheel.serve.keys import Keys
from bookwheel.serve.ledger import Ledger
from bookwheel.serve.metrics import Metrics
from bookwheel.serve.openapi import described
from bookwheel.serve.readings import Readings
from bookwheel.serve.routes import Routes
from bookwheel.serve.service import Service
from bookwheel.serve.settings import Settings
from bookwheel.serve.shelf import Shelf
from bookwheel.serve.shelf_routes import shelf_routes
from bookwheel.serve.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from bookwheel.journal import Journal
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.serve.keys import Purse

_KINDS: Final = {404: "not_found", 405: "method_not_allowed"}


def build(
    *,
    journal: Journal,
    models: Mapping[str, Model],
    plans: Mapping[str, Plan] | None = None,
    keys: Keys | None = None,
    settings: Settings | None = None,
) -> Starlette:
    """The app. Journal and models stay the caller's; the first model is the one that reads when none is named."""
    service = _service(journal, models, plans or {}, keys or Keys(), settings or Settings())
    chat = Chat(service)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        await service.readings.come_back(lambda owner: _purse_of(service, owner))
        try:
            yield
        finally:
            await service.readings.close()
            await chat.straight.aclose()
            service.ledger.close()

    app = Starlette(
        routes=[*_routes(Routes(service), chat), *shelf_routes(Shelf(service.settings.runs)), *_page()],
        middleware=[Middleware(Guard, service=service)],
        exception_handlers={
            BookwheelError: _declined,
            HTTPException: _refused,
            ClientDisconnect: _hung_up,
        },
        lifespan=lifespan,
    )
    app.state.service = service
    return app


def _service(
    journal: Journal, models: Mapping[str, Model], plans: Mapping[str, Plan], keys: Keys, settings: Settings
) -> Service:
    metrics, ledger = Metrics(), Ledger(journal.path)
    turns = Turns(settings.limits.calls, most_waiting=settings.limits.waiting)
    readings = Readings(
        journal=journal, models=models, ledger=ledger, turns=turns, metrics=metrics, most=settings.limits.readings
    )
    return Service(
        settings=settings,
        journal=journal,
        models=models,
        plans={name: plans.get(name, model.plan) for name, model in models.items()},
        readings=readings,
        ledger=ledger,
        turns=turns,
        keys=keys,
        metrics=metrics,
    )


def _purse_of(service: Service, owner: str) -> Purse | None:
    return service.purse(service.keys.named(owner))


def _routes(routes: Routes, chat: Chat) -> list[BaseRoute]:
    async def openapi(_request: Request) -> Response:
        return Json(described())

    return [
        Route("/documents", routes.upload, methods=["POST"]),
        Route("/documents/{sha}/text", routes.text),
        Route("/readings", routes.begin, methods=["POST"]),
        Route("/readings", routes.listed),
        Route("/readings/{id}", routes.shown),
        Route("/readings/{id}", routes.delete, methods=["DELETE"]),
        Route("/readings/{id}/events", routes.events),
        Route("/readings/{id}/origins", routes.origins),
        Route("/readings/{id}/cancel", routes.cancel, methods=["POST"]),
        Route("/readings/{id}/resume", routes.resume, methods=["POST"]),
        Route("/readings/{id}/fork", routes.fork, methods=["POST"]),
        Route("/models", routes.models),
        Route("/session", routes.session, methods=["POST"]),
        Route("/healthz", routes.health),
        Route("/metrics", routes.metrics),
        Route("/openapi.json", openapi),
        Route("/v1/models", chat.models),
        Route("/v1/models/{name:path}", chat.model),
        Route("/v1/files", chat.upload, methods=["POST"]),
        Route("/v1/files/{id}", chat.file),
        Route("/v1/chat/completions", chat.completions, methods=["POST"]),
    ]


def _page() -> list[BaseRoute]:
    """The page, where it is part of the package."""
    folder = Path(str(resources.files("bookwheel"))) / "serve" / "page"
    if not (folder / "index.html").is_file():
        return []

    async def index(_request: Request) -> Response:
        return FileResponse(folder / "index.html", headers={"Cache-Control": "no-cache"})

    return [Route("/", index), Mount("/page", StaticFiles(directory=folder))]


async def _declined(request: Request, error: Exception) -> Response:
    assert isinstance(error, BookwheelError)
    return refusal(error, request.url.path)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:  # noqa: PLR2004
        return refusal(not_there("page of that name"), request.url.path)
    kind = _KINDS.get(error.status_code, "invalid_request")
    return refusal(Declined(error.status_code, str(error.detail), kind=kind, headers=error.headers), request.url.path)


async def _hung_up(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)
