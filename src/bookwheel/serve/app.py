"""The HTTP server: one Starlette app over one journal.

app = build_app(journal=Journal(path), models={"local": model})
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, nullcontext
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bookwheel.errors import BookwheelError
from bookwheel.serve.engine.access import AccessPolicy
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.service import Service
from bookwheel.serve.engine.starting import continue_readings
from bookwheel.serve.http.answers import JsonResponse, error_response
from bookwheel.serve.http.documents import DocumentRoutes
from bookwheel.serve.http.guard import GuardMiddleware
from bookwheel.serve.http.operations import make_routes
from bookwheel.serve.http.readings import ReadingRoutes
from bookwheel.serve.http.server import ServerRoutes, start_session
from bookwheel.serve.openai.chat import OpenAIRoutes
from bookwheel.serve.openapi import build_openapi, load_extensions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import Scope

    from bookwheel.journal import Journal
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.serve.engine.access import KeyRing
    from bookwheel.serve.engine.settings import ServerSettings
    from bookwheel.session import WayRequest

# Starlette leaves event streams uncompressed, so no event waits in the compressor.
_GZIP_LEVEL: Final = 6
_KINDS: Final = {404: "not_found", 405: "method_not_allowed"}


def build_app(
    *,
    journal: Journal,
    models: Mapping[str, Model],
    plans: Mapping[str, Plan] | None = None,
    way: WayRequest | None = None,
    keys: KeyRing | None = None,
    settings: ServerSettings | None = None,
) -> Starlette:
    """Build the app. The caller closes journal and models; the first model reads where a request names none."""
    service = Service.create(journal=journal, models=models, plans=plans, way=way, keys=keys, settings=settings)
    openai = OpenAIRoutes(service)
    tool_routes, tool_lifespan = _mount_tools(service)

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        await continue_readings(service)
        async with tool_lifespan():
            try:
                yield
            finally:
                await openai.aclose()

    own = (DocumentRoutes(service), ReadingRoutes(service), ServerRoutes(service), openai)
    groups = (*own, *(extension(service) for extension in load_extensions()))
    routes = [route for group in groups for route in make_routes(group)]
    routes += [*tool_routes, Route("/openapi.json", _get_openapi), *_page_routes(service)]
    return wrap_app(service, routes, lifespan)


def wrap_app(
    service: Service,
    routes: Sequence[BaseRoute],
    routes_lifespan: Callable[[], AbstractAsyncContextManager[None]],
) -> Starlette:
    """Put routes behind the guard, and close the service at their end."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        dropping = asyncio.create_task(service.drop_unread())
        try:
            async with routes_lifespan():
                yield
        finally:
            dropping.cancel()
            await service.aclose()

    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(GuardMiddleware, service=service),
            Middleware(GZipMiddleware, compresslevel=_GZIP_LEVEL),
        ],
        exception_handlers={
            BookwheelError: _answer_error,
            HTTPException: _answer_http_exception,
            ClientDisconnect: _answer_disconnect,
        },
        lifespan=lifespan,
    )
    app.state.service = service
    return app


def _mount_tools(service: Service) -> tuple[Sequence[BaseRoute], Callable[[], AbstractAsyncContextManager[None]]]:
    """Mount the MCP tools where their extra is installed."""
    try:
        from bookwheel.serve.mcp.server import mount_tools
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        return (), nullcontext
    return mount_tools(service, AccessPolicy(allow_private=service.settings.allow_private), survives_restart=True)


async def _get_openapi(_request: Request) -> Response:
    # In a thread: the first time it imports OpenAI's SDK.
    return JsonResponse(await asyncio.to_thread(build_openapi))


def _page_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the page's files, where they are part of the package."""
    folder = Path(str(resources.files("bookwheel"))) / "serve" / "page"
    if not (folder / "index.html").is_file():
        return []

    files = _PageFiles(directory=folder)

    async def get_index(request: Request) -> Response:
        # The link that `bookwheel serve` prints. The token leaves the address bar, and with it the browser's history.
        if key := service.keys.find_by_secret(request.query_params.get("token", "")):
            response = RedirectResponse("/", status_code=303)
            start_session(response, service.keys, key, request)
            return response
        return await files.get_response("index.html", request.scope)

    return [Route("/", get_index), Mount("/page", files)]


class _PageFiles(StaticFiles):
    """Files that a browser stores and revalidates each time, so that a page never mixes two versions."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BookwheelError)
    return error_response(error, request.url.path)


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:  # noqa: PLR2004
        return error_response(not_found("page of that name"), request.url.path)
    kind = _KINDS.get(error.status_code, "invalid_request")
    return error_response(
        ApiError(error.status_code, str(error.detail), kind=kind, headers=error.headers), request.url.path
    )


async def _answer_disconnect(_request: Request, _error: Exception) -> Response:
    # Nobody reads this answer; the status is for the metrics (nginx's code for a client that hung up).
    return Response(status_code=499)
