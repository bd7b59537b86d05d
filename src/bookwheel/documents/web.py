"""Fetch a document from the web, bounded in size and time, and, for servers, never from their own network.

The time counts from the call to the last byte: names, connections, headers and redirects included. A client that waits
for each byte alone can be kept waiting for ever by a server that sends one now and then, so the whole fetch is one
coroutine under one timeout. It runs in an event loop and a thread of its own, and ends at once when it is cancelled.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import tempfile
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from contextlib import closing, suppress
from dataclasses import replace
from email.message import Message
from pathlib import PurePosixPath
from typing import Any, Final

import httpx2

from bookwheel.background import LoopThread
from bookwheel.documents.cancellation import check_cancelled, current_scope, run_cancellable
from bookwheel.documents.sources import SourceFile, spool, take_fingerprint
from bookwheel.errors import SourceError
from bookwheel.text.lexicon import words

MOST_BYTES: Final = 256 << 20
MOST_SECONDS: Final = 600.0
_TIMEOUT: Final = httpx2.Timeout(30.0, connect=10.0)
_REDIRECTS: Final = 8
_BLOCK: Final = 1 << 16
_HEADERS: Final = {"User-Agent": "bookwheel", "Accept": "text/html, text/*, application/pdf, */*;q=0.5"}
_UNSPECIFIC_MEDIA: Final = frozenset({"application/octet-stream", "binary/octet-stream", "application/download"})
_ADVICE: Final = {
    401: "it requires a login: download it yourself and give the file",
    403: "it rejects programs: download it yourself and give the file",
    404: "the page does not exist: check the address",
    410: "the page was removed: look for another copy",
    429: "it gets too many requests: try again later",
}
_FAULTS: Final = (
    (httpx2.UnsupportedProtocol, "is not, or redirects to something that is not, an http or https address: {reason}"),
    (httpx2.TooManyRedirects, f"redirects more than {_REDIRECTS} times: give the final address"),
    (httpx2.TimeoutException, "did not answer in time: try again, or download it and give the file"),
    (TimeoutError, "loads too slowly: download it and give the file"),
    (httpx2.HTTPError, "cannot be fetched: {reason}. Check the address and the connection."),
    (OSError, "cannot be stored in {folder}: {reason}. Free some space there, or name another folder in TMPDIR."),
)
# What is not of the public internet: IANA's registries of special purpose, as they stood in 2025,
# https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry: every row, and apart those
# that are globally reachable. The longest prefix that holds an address decides. Multicast and the deprecated
# site-local, IPv4-translated and IPv4-compatible addresses have registries of their own and stand here too.
SPECIAL: Final = words(
    "0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 "
    "192.0.0.8/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 "
    "198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32 224.0.0.0/4 ::1/128 ::/128 ::ffff:0:0/96 "
    "64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:2::/48 2001:10::/28 2001:db8::/32 2002::/16 "
    "3fff::/20 5f00::/16 fc00::/7 fe80::/10 ::/96 ::ffff:0:0:0/96 fec0::/10 ff00::/8"
)
REACHABLE: Final = words(
    "192.0.0.9/32 192.0.0.10/32 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24 64:ff9b::/96 2001:1::1/128 "
    "2001:1::2/128 2001:1::3/128 2001:3::/32 2001:4:112::/48 2001:20::/28 2001:30::/28 2620:4f:8000::/48"
)
# All that IANA has given out; the rest of the space is nobody's.
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
# They lead to the IPv4 address in their last 32 bits.
_TRANSLATED: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::ffff:0:0/96"))
_ROWS: Final = sorted(
    ((ipaddress.ip_network(network), network in REACHABLE) for network in SPECIAL | REACHABLE),
    key=lambda row: -row[0].prefixlen,
)


def fetch(
    url: str, *, allow_private: bool = True, most_bytes: int = MOST_BYTES, most_seconds: float = MOST_SECONDS
) -> SourceFile:
    """Fetch an http or https address. Every redirect follows the same rules as the address."""
    try:
        name = str(httpx2.URL(url).copy_with(username="", password="", fragment=None))
    except httpx2.InvalidURL as error:
        raise SourceError(f"{url} is not an address: {error}") from error
    try:
        return _run(_fetch(url, name, most_bytes, most_seconds, allow_private=allow_private))
    except httpx2.InvalidURL as error:
        raise SourceError(f"{url} is not an address: {error}") from error
    except (httpx2.HTTPError, OSError) as error:
        said = next(said for kind, said in _FAULTS if isinstance(error, kind))
        reason, folder = getattr(error, "strerror", None) or error, tempfile.gettempdir()
        raise SourceError(f"{name} {said.format(reason=reason, folder=folder)}") from error


def _run(work: Coroutine[Any, Any, SourceFile]) -> SourceFile:
    """Return the result of a coroutine, run in a thread and a loop of its own; the caller may be in another loop."""
    thread = LoopThread("bookwheel fetch")
    outcome = thread.submit(work)

    def cancel() -> None:
        # In the loop itself: it cannot be closed between the end of the future and what the future tells it then.
        with suppress(RuntimeError):  # it has just ended
            thread.loop.call_soon_threadsafe(outcome.cancel)

    try:
        with closing(thread), current_scope().on_cancel(cancel):
            return outcome.result()
    except CancelledError:
        check_cancelled()
        raise


async def _fetch(url: str, name: str, most_bytes: int, most_seconds: float, *, allow_private: bool) -> SourceFile:
    client = httpx2.AsyncClient(
        transport=None if allow_private else PublicOnlyTransport(),
        trust_env=allow_private,
        follow_redirects=True,
        max_redirects=_REDIRECTS,
        timeout=_TIMEOUT,
        headers=_HEADERS,
    )
    async with asyncio.timeout(most_seconds), client, client.stream("GET", url) as response:
        return await _store_response(response, name, most_bytes)


async def _store_response(response: httpx2.Response, name: str, most_bytes: int) -> SourceFile:
    if response.is_error:
        advice = _ADVICE.get(response.status_code, "try again later, or download it and give the file")
        raise SourceError(f"{name} gave status {response.status_code}: {advice}")
    header = Message()
    header["Content-Type"] = response.headers.get("Content-Type", "")
    media = header.get_content_type() if response.headers.get("Content-Type") else ""
    source = spool(
        (),
        name,
        media="" if media in _UNSPECIFIC_MEDIA else media,
        charset=str(header.get_param("charset") or ""),
        suffix=PurePosixPath(response.url.path).suffix.lower(),
    )
    size = 0
    with source.path.open("ab") as file:
        async for block in response.aiter_bytes(_BLOCK):
            size += len(block)
            if size > most_bytes:
                raise SourceError(f"{name} is larger than {most_bytes >> 20} MiB: download it and give the file")
            file.write(block)
    return replace(source, fingerprint=take_fingerprint(source.path.stat()))


class PublicOnlyTransport(httpx2.AsyncHTTPTransport):
    """A transport that connects only to public addresses, and exactly to the address that was checked.

    Otherwise a name could resolve to a public address for the check and to a private one for the connection.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to the first of the host's addresses that accepts a connection."""
        host = request.url.host
        failure: httpx2.ConnectError | None = None
        for address in await run_cancellable(resolve_public_addresses, host, request.url.port):
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return await super().handle_async_request(pinned)
            except httpx2.ConnectError as error:
                failure = error
        raise failure or httpx2.ConnectError(f"{host} has no address")


def resolve_public_addresses(host: str, port: int | None) -> list[str]:
    """Return the host's addresses. Raise SourceError if any of them is not public."""
    try:
        results = socket.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError(f"{host} cannot be resolved: {error}") from error
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in results))
    for address in addresses:
        if not is_public(address):
            raise SourceError(
                f"{host} is at {address}, which is not a public address: only public addresses are fetched"
            )
    return addresses


def is_public(address: str) -> bool:
    """Return True if an address, or the IPv4 address that a translator makes of it, is on the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and any(ip in block for block in _TRANSLATED):
        return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    for network, is_reachable in _ROWS:
        if ip.version == network.version and ip in network:
            return is_reachable
    return ip.version == 4 or ip in _GLOBAL_UNICAST  # noqa: PLR2004 - the version's name
