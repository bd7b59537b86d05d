"""Fetch a document from the web, bounded in size and time, and, for servers, never from their own network."""

from __future__ import annotations

import ipaddress
import socket
import time
from email.message import Message
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import httpx2

from bookwheel.errors import SourceError
from bookwheel.text.sources import spool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.text.sources import SourceFile

MOST_BYTES: Final = 256 << 20
MOST_SECONDS: Final = 600.0
_TIMEOUT: Final = httpx2.Timeout(30.0, connect=10.0)
_REDIRECTS: Final = 8
_HEADERS: Final = {"User-Agent": "bookwheel", "Accept": "text/html, text/*, application/pdf, */*;q=0.5"}
_UNSPECIFIC_MEDIA: Final = frozenset({"application/octet-stream", "binary/octet-stream", "application/download"})
_ADVICE: Final = {
    401: "it requires a login: download it yourself and give the file",
    403: "it rejects programs: download it yourself and give the file",
    404: "the page does not exist: check the address",
    410: "the page was removed: look for another copy",
    429: "it gets too many requests: try again later",
}
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def fetch(url: str, *, allow_private: bool = True, most_bytes: int = MOST_BYTES) -> SourceFile:
    """Fetch an http or https address. Every redirect follows the same rules as the address."""
    try:
        name = str(httpx2.URL(url).copy_with(username="", password="", fragment=None))
        client = httpx2.Client(
            transport=None if allow_private else PublicOnlyTransport(),
            trust_env=allow_private,
            follow_redirects=True,
            max_redirects=_REDIRECTS,
            timeout=_TIMEOUT,
            headers=_HEADERS,
        )
        with client, client.stream("GET", url) as response:
            return _store_response(response, name, most_bytes)
    except httpx2.InvalidURL as error:
        raise SourceError(f"{url} is not an address: {error}") from error
    except httpx2.UnsupportedProtocol as error:
        raise SourceError(
            f"{name} is not, or redirects to something that is not, an http or https address: {error}"
        ) from error
    except httpx2.TooManyRedirects as error:
        raise SourceError(f"{name} redirects more than {_REDIRECTS} times: give the final address") from error
    except httpx2.TimeoutException as error:
        raise SourceError(f"{name} did not answer in time: try again, or download it and give the file") from error
    except httpx2.HTTPError as error:
        raise SourceError(f"{name} cannot be fetched: {error}. Check the address and the connection.") from error


def _store_response(response: httpx2.Response, name: str, most_bytes: int) -> SourceFile:
    if response.is_error:
        advice = _ADVICE.get(response.status_code, "try again later, or download it and give the file")
        raise SourceError(f"{name} gave status {response.status_code}: {advice}")
    header = Message()
    header["Content-Type"] = response.headers.get("Content-Type", "")
    media = header.get_content_type() if response.headers.get("Content-Type") else ""
    return spool(
        _limited_blocks(response, name, most_bytes),
        name,
        media="" if media in _UNSPECIFIC_MEDIA else media,
        charset=str(header.get_param("charset") or ""),
        suffix=PurePosixPath(response.url.path).suffix.lower(),
    )


def _limited_blocks(response: httpx2.Response, name: str, most_bytes: int) -> Iterator[bytes]:
    end = time.monotonic() + MOST_SECONDS
    size = 0
    for block in response.iter_bytes(1 << 16):
        size += len(block)
        if size > most_bytes:
            raise SourceError(f"{name} is larger than {most_bytes >> 20} MiB: download it and give the file")
        if time.monotonic() > end:
            raise SourceError(f"{name} loads too slowly: download it and give the file")
        yield block


class PublicOnlyTransport(httpx2.HTTPTransport):
    """A transport that connects only to public addresses, and exactly to the address that was checked.

    Otherwise a name could resolve to a public address for the check and to a private one for the connection.
    """

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to the first of the host's addresses that accepts a connection."""
        host = request.url.host
        failure: httpx2.ConnectError | None = None
        for address in resolve_public_addresses(host, request.url.port):
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return super().handle_request(pinned)
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
    """Return True if an address, or the IPv4 address inside an IPv6 one, is on the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved
