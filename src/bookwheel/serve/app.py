"""The HTTP server: one Starlette app over one journal, and the operations of the server itself.

app = build_app(journal=Journal(path), models={"local": model})
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.errors import BookwheelError, JournalError, ModelError
from bookwheel.journal import Journal
from bookwheel.models.accompanied import find_companions
from bookwheel.models.base import Ability, Model, find_abilities
from bookwheel.models.embeddings import check_embeddings
from bookwheel.models.registry import ModelAddress
from bookwheel.packaged import PACKAGE
from bookwheel.plan import Plan
from bookwheel.plugins import list_plugins, load_plugin
from bookwheel.reading.runner import can_judge
from bookwheel.reading.ways.auto import find_default_way
from bookwheel.reading.ways.registry import sort_ways
from bookwheel.record import PlanJson
from bookwheel.serve.engine.access import AccessPolicy, Key, KeyRing
from bookwheel.serve.engine.errors import ApiError, hide_place
from bookwheel.serve.engine.service import Service
from bookwheel.serve.engine.settings import ServerSettings
from bookwheel.serve.engine.starting import continue_readings
from bookwheel.serve.http.answers import JsonResponse, error_response
from bookwheel.serve.http.documents import DocumentRoutes
from bookwheel.serve.http.guard import COOKIE, GuardMiddleware, check_rate
from bookwheel.serve.http.memories import MemoryRoutes
from bookwheel.serve.http.operations import describe_operations, make_routes, operation
from bookwheel.serve.http.originals import OriginalRoutes
from bookwheel.serve.http.readings import ReadingRoutes
from bookwheel.serve.http.reports import ReportRoutes
from bookwheel.serve.http.requests import SessionShape
from bookwheel.serve.http.rows import RowRoutes
from bookwheel.serve.openai.chat import OpenAIRoutes
from bookwheel.serve.openai.messages import MessageRoutes
from bookwheel.serve.openai.ollama import OllamaRoutes
from bookwheel.serve.openai.plain import PlainRoutes
from bookwheel.session import WayRequest

_log: Final = logging.getLogger(__name__)
EXTENSIONS: Final = "bookwheel.routes"
"""The entry points of classes with operations that other packages add; each is made with the `Service`."""
# A page waits so long for what a model can do.
_PROBE_SECONDS: Final = 1.0
_SESSION_SECONDS: Final = 30 * 24 * 3600
# Starlette leaves event streams uncompressed, so no event waits in the compressor.
_GZIP_LEVEL: Final = 6
_VERSIONED: Final = re.compile(r"([0-9a-f]{12})[\\/](.+)")
_KINDS: Final = {404: "not_found", 405: "method_not_allowed"}


def build_app(
    *,
    journal: Journal,
    models: Mapping[str, Model],
    plans: MutableMapping[str, Plan] | None = None,
    addresses: Mapping[str, ModelAddress] | None = None,
    way: WayRequest | None = None,
    keys: KeyRing | None = None,
    settings: ServerSettings | None = None,
) -> Starlette:
    """Build the app. The caller closes journal and models; the first model reads where a request names none."""
    service = Service(
        journal=journal, models=models, plans=plans, addresses=addresses, way=way, keys=keys, settings=settings
    )
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

    doors = (PlainRoutes(openai), MessageRoutes(openai), OllamaRoutes(openai))
    made = {type(group): group for group in (openai, *doors)}
    groups = [made.get(group) or group(service) for group in _list_groups()]
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
        exception_handlers=dict.fromkeys((BookwheelError, HTTPException, ClientDisconnect), _answer_error),
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


def _list_groups() -> list[Any]:
    """Return the classes of operations: ours, and those that installed packages add, in the order of their names."""
    extensions = [load_plugin(EXTENSIONS, name) for name in list_plugins(EXTENSIONS)]
    return [
        DocumentRoutes,
        OriginalRoutes,
        ReadingRoutes,
        MemoryRoutes,
        RowRoutes,
        ReportRoutes,
        ServerRoutes,
        OpenAIRoutes,
        PlainRoutes,
        MessageRoutes,
        OllamaRoutes,
        *extensions,
    ]


@cache
def build_openapi() -> dict[str, Any]:
    return describe_operations(_list_groups())


async def _get_openapi(_request: Request) -> Response:
    # In a thread: the first time it imports OpenAI's SDK.
    return JsonResponse(await asyncio.to_thread(build_openapi))


def _page_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the page's files, where they are part of the package."""
    folder = PACKAGE / "serve" / "page"
    if not (folder / "index.html").is_file():
        return []

    files = _PageFiles(folder)

    async def get_index(request: Request) -> Response:
        # The link that `bookwheel serve` prints. The token leaves the address bar, and with it the browser's history.
        if key := service.keys.find_by_secret(request.query_params.get("token", "")):
            response = RedirectResponse("/", status_code=303)
            start_session(response, service.keys, key, request)
            return response
        return files.get_index(request)

    return [Route("/", get_index), Mount("/page", files)]


class _PageFiles(StaticFiles):
    """The page's files. A browser keeps them under the version of all of them, so a page never mixes two versions."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder)
        digest = hashlib.sha256()
        self._contents = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
        for content in self._contents.values():
            digest.update(content)
        self._version = digest.hexdigest()[:12]
        self._index = (folder / "index.html").read_text("utf-8").replace('"/page/', f'"/page/{self._version}/')

    def get_index(self, request: Request) -> Response:
        headers = {"Cache-Control": "no-cache", "ETag": f'"{self._version}"'}
        response = HTMLResponse(self._index, headers=headers)
        is_known = self.is_not_modified(response.headers, request.headers)
        return NotModifiedResponse(response.headers) if is_known else response

    async def get_response(self, path: str, scope: Scope) -> Response:
        # A tab that was open before an update still asks for files of its version.
        versioned = _VERSIONED.fullmatch(path)
        version, name = versioned.groups() if versioned else ("", path)
        if name not in self._contents:
            raise HTTPException(404)
        response = await super().get_response(name, scope)
        if isinstance(response, FileResponse):
            # From memory: a client that asks and does not read would keep the file open.
            headers = {header: response.headers[header] for header in ("etag", "last-modified")}
            response = Response(self._contents[name], media_type=response.media_type, headers=headers)
        is_current = version == self._version
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable" if is_current else "no-cache"
        return response


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        # Nobody reads this answer; the status is for the metrics (nginx's code for a client that hung up).
        return Response(status_code=499)
    if isinstance(error, HTTPException):
        kind = _KINDS.get(error.status_code, "invalid_request")
        detail = {404: "there is no page of that name here", 405: f"{request.method} is not possible here"}
        message = detail.get(error.status_code, str(error.detail))
        advice = ": /openapi.json lists all routes" if error.status_code in detail else ""
        error = ApiError(error.status_code, message + advice, kind=kind, headers=error.headers)
    assert isinstance(error, BookwheelError)
    if isinstance(error, JournalError):
        _log.error("%s %s: %s", request.method, request.url.path, error)
    error = hide_place(error, request.app.state.service.journal.path)
    return error_response(error, request.url.path)


class ModelJson(TypedDict):
    """A model that reads here, with the plan it reads by."""

    name: str
    window: int | None
    plan: PlanJson
    abilities: list[str] | None
    """What it can do besides replying; null where its server does not say."""
    ways: list[str]
    """The ways of reading that it can read by as it is."""
    way: str
    """The one that is taken where a request names none."""
    judges: bool
    """It can judge an answer that is there."""


class HealthJson(TypedDict):
    """The state of the server."""

    status: Literal["ok"]
    readings: int
    """Under way."""


class ServerRoutes:
    """One method for each operation."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._embeds: dict[str, bool | None] = {}
        self._probes: dict[str, asyncio.Task[frozenset[Ability] | None]] = {}

    @operation("GET", "/models", "List the models that read here")
    async def list_models(self, _request: Request) -> list[ModelJson]:
        return await asyncio.gather(*map(self._describe_model, self._service.models))

    async def _describe_model(self, name: str) -> ModelJson:
        model, plan = self._service.models[name], self._service.plans[name]
        # A server that is asleep is asked while the page is there already.
        probe = self._probes[name] = self._probes.get(name) or asyncio.create_task(self._probe(name))
        await asyncio.wait({probe}, timeout=_PROBE_SECONDS)
        abilities = None
        if probe.done():
            self._probes.pop(name, None)
            abilities = probe.result()
        ways = await asyncio.to_thread(
            sort_ways,
            abilities or frozenset(),
            plan.gate,
            embeds=self._embeds.get(name),
            has_judge=find_companions(model).has_judge(),
        )
        return {
            "name": name,
            "window": model.window,
            "plan": plan.to_json(),
            "abilities": None if abilities is None else sorted(abilities),
            "ways": list(ways.open),
            "way": find_default_way(model),
            "judges": can_judge("", model),
        }

    async def _probe(self, name: str) -> frozenset[Ability] | None:
        """Return what the model's server says that it can do, and find whether it embeds; None while it is away."""
        model = self._service.models[name]
        abilities: frozenset[Ability] | None
        try:
            abilities = await find_abilities(model)
        except ModelError:  # a reading would wait for it
            abilities = None
        # It is asked until it has answered once.
        if self._embeds.get(name) is None:
            self._embeds[name] = await check_embeddings(model)
        return abilities

    @operation("POST", "/session", "Sign a browser in", status=204)
    async def create_session(self, request: Request, body: SessionShape) -> Response:
        key = self._service.keys.find_by_secret(body.key)
        if key is None:
            raise ApiError(401, "that is not a key of this server", kind="invalid_api_key")
        check_rate(self._service.keys, key)
        response = Response(status_code=204)
        start_session(response, self._service.keys, key, request)
        return response

    @operation("GET", "/healthz", "The state of the server")
    async def check_health(self, _request: Request) -> HealthJson:
        health: HealthJson = {"status": "ok", "readings": len(self._service.readings)}
        return health

    @operation("GET", "/metrics", "Metrics for Prometheus", str, kind="text/plain")
    async def render_metrics(self, _request: Request) -> Response:
        return Response(self._service.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def start_session(response: Response, keys: KeyRing, key: Key, request: Request) -> None:
    response.set_cookie(
        COOKIE,
        keys.create_session(key),
        max_age=_SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
