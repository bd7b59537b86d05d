"""`bookwheel serve`: the HTTP server, with an OpenAI-compatible API and a web page."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Group, Parameter

from bookwheel.cli.option_types import FilePath, Port, PositiveInt, Text
from bookwheel.cli.options import BudgetOptions, ModelOptions, OutputOptions, PlanOptions, build_server_plan, list_given
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from bookwheel.serve.engine.access import KeyRing
    from bookwheel.serve.engine.settings import ServerSettings

_SERVER: Final = Group("Server", sort_key=1)
# Seconds that open connections have after the server is told to end.
_GRACE: Final = 10


def serve(
    *,
    host: Annotated[Text, Parameter(group=_SERVER)] = "127.0.0.1",
    port: Annotated[Port, Parameter(group=_SERVER)] = 8470,
    key_file: Annotated[FilePath | None, Parameter(group=_SERVER)] = None,
    new_key: Annotated[Text | None, Parameter(group=_SERVER)] = None,
    allow_host: Annotated[tuple[Text, ...], Parameter(group=_SERVER, negative="")] = (),
    allow_private: Annotated[bool, Parameter(group=_SERVER, negative="")] = False,
    readings: Annotated[PositiveInt, Parameter(group=_SERVER)] = 64,
    token: Annotated[bool | None, Parameter(group=_SERVER)] = None,
    shared: Annotated[bool, Parameter(group=_SERVER, negative="")] = False,
    journal_limit: Annotated[PositiveInt | None, Parameter(group=_SERVER)] = None,
    runs: Annotated[FilePath | None, Parameter(group=_SERVER)] = None,
    follow_up: Annotated[Literal["memory", "read"], Parameter(group=_SERVER)] = "memory",
    models: ModelOptions | None = None,
    plan: PlanOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Serve an OpenAI-compatible API, readings over HTTP, and a web page that shows them. Ctrl-C ends it.

    The plan and budget options hold for every reading. Readings under way are kept, and go on when it is started again.

    Parameters
    ----------
    host
        The address to listen on. Any but this machine's own needs --key-file.
    port
        The port to listen on; 0 picks a free one.
    key_file
        A TOML file with the hashes of the clients' keys.
    new_key
        Create a key with this name, add it to --key-file, print it once, and stop.
    allow_host
        A host name that requests may use, such as books.example.org; can be repeated.
    allow_private
        Also fetch documents from private network addresses.
    readings
        How many readings may run at the same time; with several keys, each has an equal share.
    token
        Without keys, on this machine: let nobody in without the random token in the printed link, not even other
        users of this machine. By default, if a terminal shows the link. BOOKWHEEL_TOKEN sets the token.
    shared
        Let all keys see each other's readings and documents. Otherwise each sees only its own.
    journal_limit
        MiB that the journal may take; when it has them, no document is stored and no reading begun.
    runs
        A folder of evaluations and training runs to show on the page; it is only read.
    follow_up
        How a further question of a chat is answered: from the `memory` that the last reading of the document left,
        which reads again only if the memory cannot answer; or always by a new reading (`read`).

    """
    from bookwheel.cli.output import print_line

    require_extra(
        "serving", "serve", "starlette", "uvicorn", "sse_starlette", "python_multipart", "prometheus_client", "anyio"
    )
    from bookwheel.serve.engine.access import Key, KeyRing, add_key, hash_secret, read_keys

    if new_key is not None:
        if key_file is None:
            raise InputError("--new-key needs a file for the key's hash: --key-file FILE")
        print_line(add_key(key_file, new_key))
        return 0
    keys = read_keys(key_file) if key_file else KeyRing()
    settings = _build_settings(host, keys, allow_host, models or ModelOptions(), readings, private=allow_private)
    limits = replace(settings.limits, journal_bytes=None if journal_limit is None else journal_limit << 20)
    settings = replace(settings, runs_folder=runs, is_shared=shared or not keys, limits=limits, follow_up=follow_up)
    secret = "" if keys else _make_token(token)
    if secret:
        keys = KeyRing([Key(name="local", sha256=hash_secret(secret))])
    options = (plan or PlanOptions(), budget or BudgetOptions(), output or OutputOptions())
    serving = _Serving(host=host, port=port, keys=keys, secret=secret, settings=settings)
    return asyncio.run(_serve(serving, models or ModelOptions(), options))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Serving:
    """The server's address, and who may use it."""

    host: str
    port: int
    keys: KeyRing
    secret: str
    """The token in the printed link; empty where there is none."""
    settings: ServerSettings


def _make_token(wanted: bool | None) -> str:
    """Return the token of a server without keys; empty if it has none."""
    given = os.environ.get("BOOKWHEEL_TOKEN", "")
    if wanted is None:
        # A script that starts a server could not read the link.
        wanted = bool(given) or sys.stderr.isatty()
    return (given or secrets.token_urlsafe(24)) if wanted else ""


def _build_settings(
    host: str, keys: KeyRing, names: tuple[str, ...], models: ModelOptions, readings: int, *, private: bool
) -> ServerSettings:
    from bookwheel.serve.engine.settings import LOOPBACK, Limits, ServerSettings, is_loopback

    if not is_loopback(host) and not keys:
        raise InputError(
            f"--host {host} can be reached by others, so clients need a key: make one with "
            f"bookwheel serve --new-key NAME --key-file keys.toml, then serve with --key-file keys.toml"
        )
    hosts = LOOPBACK | {host.strip("[]").lower()} | {name.lower() for name in names}
    limits = Limits(readings=readings, calls=models.concurrency)
    return ServerSettings(hosts=frozenset(hosts), limits=limits, allow_private=private)


async def _serve(
    serving: _Serving,
    models: ModelOptions,
    options: tuple[PlanOptions, BudgetOptions, OutputOptions],
) -> int:
    from rich.text import Text

    from bookwheel.cli.output import stderr
    from bookwheel.serve.app import build_app
    from bookwheel.serve.server import Server, bind_socket
    from bookwheel.session import WayRequest

    plan, budget, output = options
    logging.basicConfig(level=logging.WARNING if output.quiet else logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    with bind_socket(serving.host, serving.port) as at, output.open_journal() as journal:
        model = await models.open()
        try:
            plans = {model.name: build_server_plan(model, models, plan, budget)}
            app = build_app(
                journal=journal,
                models={model.name: model},
                plans=plans,
                way=WayRequest.from_settings("", list_given(plan), load_configuration()),
                keys=serving.keys,
                settings=serving.settings,
            )
            server = Server(app, at, grace=_GRACE)
            if not output.quiet:
                link = f"{server.address}/?token={serving.secret}" if serving.secret else server.address
                text = f"bookwheel is at {link} (Ctrl-C ends it; readings are kept)"
                stderr().print(Text(text, style="bold"))
            await server.serve()
        finally:
            await model.aclose()
    return 0
