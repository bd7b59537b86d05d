"""The middleware around the app: checks Host, Origin, key and size of every request, and sets security headers.

A foreign page can make a browser send requests here (CSRF), or point its own name at this address (DNS rebinding). So
the Host must be one of ours and an Origin must be that same host. The headers keep scripts in documents from running.
"""

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookwheel.serve.engine.access import Key, KeyRing
from bookwheel.serve.engine.errors import ApiError, server_error, too_many_requests
from bookwheel.serve.engine.service import Service
from bookwheel.serve.http.answers import error_response

COOKIE: Final = "bookwheel_session"
_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'; require-trusted-types-for 'script'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
# No key is needed for the page, which shows nothing without one, and for signing in.
_PUBLIC: Final = re.compile(r"/|/page/.*|/healthz|/session")
_HOST: Final = re.compile(r"[\w.:\[\]-]+", re.ASCII)
_SECONDS_TO_RETRY: Final = 15
_UPLOADS: Final = frozenset({"/documents", "/v1/files"})

_log: Final = logging.getLogger(__name__)


class GuardMiddleware:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._under_way = Counter[str]()
        """Requests by key."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, response = Headers(scope=scope), _GuardedSend(send)
        try:
            self._check_caller(scope, headers)
            scope.setdefault("state", {})["key"] = key = self._find_key(scope, headers)
            limited = self._limit_body(scope, headers, receive)
            with self._count(scope, key):
                await self._app(scope, limited, response)
        except ApiError as error:
            if response.status:
                raise
            await error_response(error, scope["path"])(scope, receive, response)
        except Exception:  # one request is recorded as failed; details go to the log only
            _log.exception("%s %s broke", scope["method"], scope["path"])
            if response.status:
                raise
            await error_response(server_error(), scope["path"])(scope, receive, response)
        finally:
            self._service.metrics.count_request(scope["method"], response.status or 500)

    def _check_caller(self, scope: Scope, headers: Headers) -> None:
        if {"content-length", "transfer-encoding"} <= {*headers.keys()}:
            # Proxies differ on which holds, and a second request may stand in the body of the first.
            raise ApiError(
                400,
                "give a length or send the body in chunks, not both",
                kind="length",
                headers={"Connection": "close"},
            )
        host, origin = headers.get("host", ""), headers.get("origin")
        name = (_split_url(f"//{host}", "Host").hostname or "") if _HOST.fullmatch(host) else ""
        if len(headers.getlist("host")) != 1 or name.rstrip(".") not in self._service.settings.hosts:
            raise ApiError(
                403, "this server does not answer to that name; allow it with --allow-host NAME", kind="host"
            )
        foreign = origin is not None and _split_url(origin, "Origin").netloc.casefold() != host.casefold()
        if foreign or (scope["method"] != "GET" and headers.get("sec-fetch-site") in {"cross-site", "same-site"}):
            raise ApiError(403, "requests from other sites' pages are declined", kind="origin")

    def _find_key(self, scope: Scope, headers: Headers) -> Key | None:
        keys = self._service.keys
        if not keys or _PUBLIC.fullmatch(scope["path"]):
            return None
        # Anthropic's clients send the key in a header of its own.
        given = headers.get("authorization") or f"Bearer {headers.get('x-api-key', '')}".rstrip()
        scheme, _, secret = given.partition(" ")
        key = (
            keys.find_by_secret(secret.strip())
            if scheme.lower() == "bearer" and secret
            else keys.find_by_session(HTTPConnection(scope).cookies.get(COOKIE, ""))
        )
        if key is None:
            message = "this key is not known here" if secret else "this server needs a key: Authorization: Bearer KEY"
            raise ApiError(401, message, kind="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
        check_rate(keys, key)
        return key

    @contextmanager
    def _count(self, scope: Scope, key: Key | None) -> Generator[None]:
        """Count a key's requests under way: the streams of one would take every connection from the others.

        Requests that end something make room, and are always taken.
        """
        is_end = scope["method"] == "DELETE" or scope["path"].endswith("/cancel")
        if key is None or is_end or len(self._service.keys) < 2:  # noqa: PLR2004 - there are others
            yield
            return
        if self._under_way[key.name] >= (most := max(1, self._service.connections // 2)):
            message = f"{most} requests of the key {key.name} are under way, its share of the server; end some"
            raise too_many_requests(message, _SECONDS_TO_RETRY)
        self._under_way[key.name] += 1
        try:
            yield
        finally:
            self._under_way[key.name] -= 1

    def _limit_body(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        limits = self._service.settings.limits
        limit = limits.upload_bytes if scope["path"] in _UPLOADS else limits.body_bytes
        # A declared length is checked first, and the bytes that arrive as well: a client can declare anything.
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > limit:
            raise _too_large(limit)
        read, start, is_complete = 0, time.monotonic(), False

        async def receive_limited() -> Message:
            nonlocal read, is_complete
            if is_complete:  # from here on it waits for the client to hang up, however long that takes
                return await receive()
            try:
                async with asyncio.timeout(limits.body_silence):
                    message = await receive()
            except TimeoutError:
                raise _too_slow() from None
            read += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if read > limit:
                raise _too_large(limit)
            # A client that sends a byte now and then is never silent; its rate says so.
            if not is_complete and time.monotonic() - start > limits.body_silence + read / limits.body_rate:
                raise _too_slow()
            return message

        return receive_limited


class _GuardedSend:
    """An ASGI `send` that adds the security headers and remembers the status."""

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


def check_rate(keys: KeyRing, key: Key) -> None:
    """Count a request of a key. Raise a 429 when it is over the key's rate."""
    if seconds := keys.take_request(key):
        message = f"the key {key.name} may send {key.requests_per_minute} requests a minute; wait a little"
        raise too_many_requests(message, seconds)


def _split_url(url: str, header: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise ApiError(400, f"the {header} header is malformed", kind=header.lower()) from error


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"more than {limit >> 20} MiB; send less, or read it from the command line", kind="too_large")


def _too_slow() -> ApiError:
    # The rest of the body is still to come, so the connection cannot be used for another request.
    message = "the request's body arrives too slowly; send it again over a better connection"
    return ApiError(408, message, kind="timeout", headers={"Connection": "close"})
