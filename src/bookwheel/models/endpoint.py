"""The address, key and timeouts of an OpenAI-compatible server.

Only this module opens clients, so timeouts and authorization are set once.

>>> Endpoint.resolve("http://localhost:8000/v1", timeout=30).root
'http://localhost:8000'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit, urlunsplit

from bookwheel.errors import InputError, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx2 import AsyncClient

    from bookwheel.models.client import Client

_SECONDS_TO_CONNECT: Final = 15.0
# The name is looked up in a thread, which a busy machine lets wait.
_LEAST_SECONDS_TO_CONNECT: Final = 1.0
DEFAULT_TIMEOUT: Final = 600.0
# A reply may take this many times the silence that is allowed within it, and a minute at least.
_TIMEOUTS_PER_DEADLINE: Final = 3
_SHORTEST_DEADLINE: Final = 60.0
# Letters of a key. What is shorter, as local servers are given, is no secret, and stands in many words.
_LEAST_KEY: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server: its address, key, account, timeout and deadline."""

    url: str
    """The base URL; routes such as `/chat/completions` are appended."""
    key: str | None = field(default=None, repr=False)
    account: tuple[tuple[str, str], ...] = ()
    """The headers that name the account that pays, with their values."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds without a byte from the server before one attempt fails."""
    deadline: float = _TIMEOUTS_PER_DEADLINE * DEFAULT_TIMEOUT
    """Seconds for one whole reply, however many bytes keep coming."""

    @classmethod
    def resolve(
        cls,
        url: str,
        key: str | None = None,
        *,
        account: Mapping[str, str] | None = None,
        timeout: float | None = None,
        deadline: float | None = None,
    ) -> Self:
        """Return the endpoint. Without a deadline, a reply has three times the timeout, and a minute at least."""
        url, key = url.strip().rstrip("/"), (key or "").strip()
        timeout = DEFAULT_TIMEOUT if timeout is None else timeout
        if not _is_web_address(url):
            raise InputError(
                f"the base URL {url!r} is not a web address: write it like http://localhost:8000/v1 or https://HOST/v1"
            )
        if not (key.isascii() and key.isprintable()):
            raise Refused("the API key contains characters that no key can have: copy it again into OPENAI_API_KEY")
        if deadline is None:
            deadline = max(_SHORTEST_DEADLINE, _TIMEOUTS_PER_DEADLINE * timeout)
        headers = tuple((account or {}).items())
        return cls(url=url, key=key or None, account=headers, timeout=timeout, deadline=deadline)

    @property
    def root(self) -> str:
        """The base URL without /v1, where servers put routes that OpenAI does not have, such as /tokenize."""
        return self.url.removesuffix("/v1")

    @property
    def display_url(self) -> str:
        """The base URL for messages, without password and query."""
        return strip_secrets(self.url)

    def hide_key(self, text: str) -> str:
        """Mask the key in a text. Some servers quote it in their messages."""
        return text.replace(self.key, "***") if self.key and len(self.key) >= _LEAST_KEY else text

    def open_client(self) -> Client:
        from bookwheel.models.client import Client

        return Client(self, self.open_http_client())

    def open_http_client(self) -> AsyncClient:
        from httpx2 import Timeout

        from bookwheel.models.transport import BoundedClient

        connect = min(max(self.timeout, _LEAST_SECONDS_TO_CONNECT), _SECONDS_TO_CONNECT)
        return BoundedClient(self, Timeout(self.timeout, connect=connect))


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number, or a bracket is not closed
        return False


def strip_secrets(url: str) -> str:
    """Return the URL without password, query and fragment, which can hold a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
