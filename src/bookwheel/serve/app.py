"""The HTTP front: one Starlette app over one journal.

app = build(journal=Journal(path), models={"local": model})
"""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bookwheel.errors import BookwheelError
from bookwheel.serve.engine.access_policy import AccessPolicy
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.service import Service
from bookwheel.serve.http.errors import JsonResponse, error_response
from bookwheel.serve.http.guard import GuardMiddleware
from bookwheel.serve.http.routes import Routes
from bookwheel.serve.openai.chat import OpenAIRoutes
from bookwheel.serve.openapi import build_openapi
from bookwheel.serve.runs.routes import make_run_routes
from bookwheel.serve.runs.run_directory import RunDirectory

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import Scope

    from bookwheel.journal import Journal
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.serve.engine.keys import KeyRing
    from bookwheel.serve.engine.settings import ServerSettings

_GZIP_LEVEL: Final = 6
"""Streams of events are never compressed, since that would hold them back."""
_KINDS: Final = {404: "not_found", 405: "method_not_allowed"}


def build_app(
    *,
    journal: Journal,
    models: Mapping[str, Model],
    plans: Mapping[str, Plan] | None = None,
    keys: KeyRing | None = None,
    settings: ServerSettings | None = None,
) -> Starlette:
    """The app. Journal and models stay the caller's; the first model is the one that reads when none is named."""
    service = Service.create(journal=journal, models=models, plans=plans, keys=keys, settings=settings)
    chat = OpenAIRoutes(service)
    more, tools = _tools(service)

    @asynccontextmanager
    async def live() -> AsyncGenerator[None]:
        await service.resume_interrupted()
        async with tools():
            try:
                yield
            finally:
                await chat.aclose()

    runs = make_run_routes(RunDirectory(service.settings.runs_folder))
    return wrap_app(service, [*_routes(Routes(service), chat), *more, *runs, *_page()], live)


def wrap_app(
    service: Service, routes: Sequence[BaseRoute], live: Callable[[], AbstractAsyncContextManager[None]]
) -> Starlette:
    """The app of these routes, which closes the service at its end."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        try:
            async with live():
                yield
        finally:
            await service.aclose()

    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(GuardMiddleware, service=service),
            Middleware(GZipMiddleware, compresslevel=_GZIP_LEVEL),
        ],
        exception_handlers={
            BookwheelError: _declined,
            HTTPException: _refused,
            ClientDisconnect: _hung_up,
        },
        lifespan=lifespan,
    )
    app.state.service = service
    return app


def _tools(service: Service) -> tuple[Sequence[BaseRoute], Callable[[], AbstractAsyncContextManager[None]]]:
    """Reading over MCP, where its extra is installed."""
    try:
        from bookwheel.serve.mcp.http import mount_tools
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        return (), nullcontext
    return mount_tools(service, AccessPolicy(allow_private=service.settings.allow_private), survives_restart=True)


def _routes(routes: Routes, chat: OpenAIRoutes) -> list[BaseRoute]:
    async def openapi(_request: Request) -> Response:
        return JsonResponse(build_openapi())

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
        Route("/v1/models", chat.list_models),
        Route("/v1/models/{name:path}", chat.get_model),
        Route("/v1/files", chat.upload_file, methods=["POST"]),
        Route("/v1/files/{id}", chat.get_file),
        Route("/v1/chat/completions", chat.create_completion, methods=["POST"]),
        Route("/v1/responses", chat.create_response, methods=["POST"]),
    ]


def _page() -> list[BaseRoute]:
    """The page, where it is part of the package."""
    folder = Path(str(resources.files("bookwheel"))) / "serve" / "page"
    if not (folder / "index.html").is_file():
        return []

    files = _PageFiles(directory=folder)

    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    return [Route("/", index), Mount("/page", files)]


class _PageFiles(StaticFiles):
    """Files that a browser keeps and asks about each time, so that a page never mixes two versions."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "no-cache"
        return answer


async def _declined(request: Request, error: Exception) -> Response:
    assert isinstance(error, BookwheelError)
    return error_response(error, request.url.path)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:  # noqa: PLR2004
        return error_response(not_found("page of that name"), request.url.path)
    kind = _KINDS.get(error.status_code, "invalid_request")
    return error_response(
        ApiError(error.status_code, str(error.detail), kind=kind, headers=error.headers), request.url.path
    )


async def _hung_up(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)
