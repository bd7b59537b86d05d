"""`bookwheel serve` and `mcp`: the HTTP server with its APIs and page, and reading as tools of the MCP."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from bookwheel.cli.arguments import Option
from bookwheel.cli.options import (
    BudgetOptions,
    CallOptions,
    ModelOptions,
    OutputOptions,
    PlanOptions,
    Port,
    PositiveInt,
    Text,
    define_options,
)
from bookwheel.cli.output import INTERRUPTED, print_line, print_note
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.plan import Plan
    from bookwheel.serve.engine.access import AccessPolicy, KeyRing
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.engine.settings import ServerSettings
    from bookwheel.session import Session

_log: Final = logging.getLogger(__name__)
# Seconds that open connections have after the server is told to end.
_GRACE: Final = 10
_MCP_GRACE: Final = 3
# Bytes of one request; a client may send a long text in the call itself.
_MAX_BODY: Final = 64 << 20


@define_options("Server")
class ServerOptions:
    """The server's address, and who may use it."""

    host: Text = "127.0.0.1"
    "The address to listen on. Any but this machine's own needs --key-file."
    port: Port = 8470
    "The port to listen on; 0 picks a free one."
    key_file: Path | None = None
    "A TOML file with the hashes of the clients' keys."
    new_key: Text | None = None
    "Create a key with this name, add it to --key-file, print it once, and stop."
    allow_host: tuple[Text, ...] = ()
    "A host name that requests may use, such as books.example.org; can be repeated."
    allow_private: bool = False
    "Also fetch documents from private network addresses."
    readings: PositiveInt = 64
    "How many readings may run at the same time; with several keys, each has an equal share."
    # The variable that belongs to this option has the token itself.
    token: Annotated[bool | None, Option(variable=None)] = None
    """Without keys, on this machine: let nobody in without the random token in the printed link, not even other users
    of this machine. By default, if a terminal shows the link. BOOKWHEEL_TOKEN sets the token."""
    shared: bool = False
    "Let all keys see each other's readings and documents. Otherwise each sees only its own."
    journal_limit: PositiveInt | None = None
    "MiB that the journal may take; when it has them, no document is stored and no reading begun."
    runs: Path | None = None
    "A folder of evaluations and training runs to show on the page; it is only read."
    follow_up: Literal["memory", "read"] = "memory"
    """How a further question of a chat is answered: from the `memory` that the last reading of the document left, which
    reads again only if the memory cannot answer; or always by a new reading (`read`)."""

    def build_settings(self, keys: KeyRing, calls: int) -> ServerSettings:
        """Return the server's settings; InputError where strangers could use it."""
        from bookwheel.serve.engine.settings import LOOPBACK, Limits, ServerSettings, is_loopback

        if not is_loopback(self.host) and not keys:
            raise InputError(
                f"--host {self.host} can be reached by others, so clients need a key: make one with "
                f"bookwheel serve --new-key NAME --key-file keys.toml, then serve with --key-file keys.toml"
            )
        hosts = LOOPBACK | {self.host.strip("[]").lower()} | {name.lower() for name in self.allow_host}
        most_bytes = None if self.journal_limit is None else self.journal_limit << 20
        return ServerSettings(
            hosts=frozenset(hosts),
            limits=Limits(readings=self.readings, calls=calls, journal_bytes=most_bytes),
            allow_private=self.allow_private,
            runs_folder=self.runs,
            is_shared=self.shared or not keys,
            follow_up=self.follow_up,
        )

    def make_token(self) -> str:
        """Return the token of a server without keys; empty if it has none."""
        given = os.environ.get("BOOKWHEEL_TOKEN", "")
        # A script that starts a server could not read the link.
        wanted = bool(given) or sys.stderr.isatty() if self.token is None else self.token
        return (given or secrets.token_urlsafe(24)) if wanted else ""


def serve(
    *,
    server: ServerOptions = ServerOptions(),
    options: CallOptions = CallOptions(),
    plan: PlanOptions = PlanOptions(),
) -> int:
    """Serve an OpenAI-compatible API, readings over HTTP, and a web page that shows them. Ctrl-C ends it.

    The plan and budget options hold for every reading. Readings under way are kept, and go on when it is started again.
    """
    require_extra(
        "serving", "serve", "starlette", "uvicorn", "sse_starlette", "python_multipart", "prometheus_client", "anyio"
    )
    from bookwheel.serve.engine.access import Key, KeyRing, add_key, hash_secret, read_keys

    if server.new_key is not None:
        if server.key_file is None:
            raise InputError("--new-key needs a file for the key's hash: --key-file FILE")
        print_line(add_key(server.key_file, server.new_key))
        return 0
    keys = read_keys(server.key_file) if server.key_file else KeyRing()
    settings = server.build_settings(keys, options.models.connection.concurrency)
    secret = "" if keys else server.make_token()
    if secret:
        keys = KeyRing([Key(name="local", sha256=hash_secret(secret))])
    asyncio.run(_serve(server, settings, keys, secret, options, plan))
    return 0


async def _serve(
    options: ServerOptions, settings: ServerSettings, keys: KeyRing, secret: str, run: CallOptions, plan: PlanOptions
) -> None:
    """Serve until a signal ends it. `secret` is the token in the printed link; empty where there is none."""
    from bookwheel.serve.app import build_app
    from bookwheel.serve.server import Server, bind_socket
    from bookwheel.session import WayRequest

    quiet = run.output.quiet
    logging.basicConfig(level=logging.WARNING if quiet else logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    with (
        bind_socket(options.host, options.port) as at,
        run.output.open_journal() as journal,
        hold_journal(journal.path),
    ):
        async with _open_reader(run.models, journal, {**plan.given, **run.budget.given}) as (session, plans):
            model = session.model
            app = build_app(
                journal=journal,
                models={model.name: model},
                addresses={model.name: session.address.complete(model)},
                plans=plans,
                way=WayRequest.from_settings("", plan.given, session.configuration),
                keys=keys,
                settings=settings,
            )
            server = Server(app, at, grace=_GRACE)
            if not quiet:
                link = f"{server.address}/?token={secret}" if secret else server.address
                print_note(f"bookwheel is at {link} (Ctrl-C ends it; readings are kept)", style="bold")
            await server.serve()


@contextmanager
def hold_journal(path: Path) -> Iterator[None]:
    """Hold a journal as its one server, and warn where another one does."""
    from bookwheel.journal.files import LockTaken, hold_lock, lock_folder

    with ExitStack() as held:
        try:
            held.enter_context(hold_lock(lock_folder(path) / "server"))
        except LockTaken as taken:
            advice = "two must not share one: end that one, or name another journal with --journal FILE"
            print_note(f"warning: another server (process {taken}) has the journal {path}; {advice}", style="yellow")
        yield


@asynccontextmanager
async def _open_reader(
    models: ModelOptions, journal: Journal, settings: Mapping[str, Any]
) -> AsyncGenerator[tuple[Session, dict[str, Plan]]]:
    """Open the model and the plan by it. A server that is away is met when it comes, and the plan is made anew."""
    from bookwheel.errors import ModelError
    from bookwheel.models.base import unwrap
    from bookwheel.models.openai import OpenAIModel
    from bookwheel.models.patience import Patience, persist

    async with models.open_session(journal, may_be_away=True) as session:
        model, plans = unwrap(session.model), {session.model.name: session.build_plan(settings)}

        async def meet() -> None:
            if not isinstance(model, OpenAIModel) or model.is_met:
                return
            try:
                await persist(model.meet, Patience(seconds=None))
            except ModelError as error:
                _log.error("%s cannot be read by: %s", model.name, error)
                return
            _log.info("%s is there", model.name)
            plans[model.name] = session.build_plan(settings)

        meeting = asyncio.create_task(meet())
        try:
            yield session, plans
        finally:
            meeting.cancel()


@define_options()
class McpOptions:
    """The server's address, and the sources that clients may name."""

    root: tuple[Path, ...] = ()
    "A folder whose files clients may read; can be repeated. Without it, clients can read no files."
    allow_private: bool = False
    "Also fetch documents from private network addresses."
    http: bool = False
    "Serve streamable HTTP instead of standard input and output."
    host: Text = "127.0.0.1"
    "The address to listen on; any but this machine's own needs --key."
    allow_host: tuple[Text, ...] = ()
    "A host name that requests may use, such as books.example.org; can be repeated."
    port: Port = 8765
    "The port to listen on; 0 picks a free one."
    key: Annotated[str | None, Option(variable="BOOKWHEEL_MCP_KEY")] = None
    "The bearer token that clients must send. Prefer the environment variable: other users can see command lines."
    journal: Path | None = None
    "The journal's file; by default, $BOOKWHEEL_JOURNAL or a file in the user's data folder."
    memory: Text | None = None
    """Serve the verbs of the reference server `memory` instead, over the lasting memory of this name: create_entities,
    add_observations, search_nodes and so on. It is begun if it is not there."""


async def mcp(
    *,
    server: McpOptions = McpOptions(),
    models: ModelOptions = ModelOptions(),
    budget: BudgetOptions = BudgetOptions(),
) -> int:
    """Serve reading as MCP tools, over standard input and output or, with --http, over HTTP.

    The budget holds for each reading. Readings under way when the server ends are kept and can be resumed.
    """
    require_extra("the MCP server", "mcp", "mcp", "mcp_types", "starlette", "uvicorn", "sse_starlette", "anyio")
    from bookwheel.serve.engine.access import AccessPolicy

    access = AccessPolicy.from_roots(server.root, allow_private=server.allow_private)
    if server.memory and server.http:
        raise InputError("--memory serves over standard input and output; leave out --http")
    if server.http:
        return await _serve_tools(server, access, models, budget)
    from bookwheel.serve.mcp.graph import build_graph_server
    from bookwheel.serve.mcp.server import build_server

    try:
        async with _open_service(server, models, budget) as service:
            if server.memory:
                await service.memories.begin_written(None, server.memory, model=next(iter(service.models)))
                offered = build_graph_server(service, server.memory)
            else:
                offered = build_server(service, access)
            session = asyncio.create_task(offered.run_stdio_async())
            await asyncio.wait({session})
            session.result()
    except asyncio.CancelledError:
        # A thread blocked on standard input cannot be woken, and would keep the process alive after a signal.
        # The service is closed by now, so nothing is lost.
        os._exit(INTERRUPTED)
    return 0


async def _serve_tools(server: McpOptions, access: AccessPolicy, models: ModelOptions, budget: BudgetOptions) -> int:
    from bookwheel.serve.app import wrap_app
    from bookwheel.serve.mcp.server import make_key_ring, mount_tools
    from bookwheel.serve.server import Server, bind_socket

    keys = make_key_ring(server.host, server.key)
    with bind_socket(server.host, server.port) as at:
        async with _open_service(server, models, budget, keys) as service:
            app = wrap_app(service, *mount_tools(service, access, survives_restart=False))
            listener = Server(app, at, grace=_MCP_GRACE)
            print_note(f"MCP at {listener.address}/mcp", style="dim")
            await listener.serve()
    return INTERRUPTED


@asynccontextmanager
async def _open_service(
    server: McpOptions, models: ModelOptions, budget: BudgetOptions, keys: KeyRing | None = None
) -> AsyncIterator[Service]:
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.engine.settings import LOOPBACK, Limits, ServerSettings
    from bookwheel.session import WayRequest

    limits = Limits(body_bytes=_MAX_BODY, calls=models.connection.concurrency)
    hosts = {server.host.strip("[]").lower(), *(name.lower() for name in server.allow_host)}
    settings = ServerSettings(hosts=LOOPBACK | hosts, limits=limits)
    with OutputOptions(journal=server.journal).open_journal() as journal:
        async with _open_reader(models, journal, budget.given) as (session, plans):
            model = session.model
            service = Service(
                journal=journal,
                models={model.name: model},
                addresses={model.name: session.address.complete(model)},
                plans=plans,
                way=WayRequest.from_settings("", (), load_configuration()),
                keys=keys,
                settings=settings,
            )
            try:
                yield service
            finally:
                await service.aclose()
