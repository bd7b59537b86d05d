"""Where an OpenAI-compatible server is and how it is to be asked: address, key, patience.

The one place that builds the SDK's clients, so that retries, timeouts and authorization are set once and no other
layer of retries stands on theirs.

>>> Endpoint.resolve("http://localhost:8000/v1", timeout=30).root
'http://localhost:8000'
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit, urlunsplit

from bookwheel.errors import InputError, Refused

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI, Timeout

_HOSTED: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "no-key"
"""The SDK insists on a key; servers that want none do not look at it."""
_SECONDS_TO_CONNECT: Final = 15.0
DEFAULT_TIMEOUT: Final = 600.0
DEFAULT_RETRIES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Address, key and patience of one server."""

    url: str
    """The base URL; the SDK puts `/chat/completions` behind it."""
    key: str | None = field(default=None, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    """Seconds without a byte from the server after which one try is given up."""
    retries: int = DEFAULT_RETRIES
    """The SDK's own: it tries again after 408, 409, 429, 5xx, broken connections and timeouts."""

    @classmethod
    def resolve(
        cls,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = DEFAULT_RETRIES,
    ) -> Self:
        """The endpoint that was named, or that OPENAI_BASE_URL and OPENAI_API_KEY name."""
        url = (url or os.environ.get("OPENAI_BASE_URL") or _HOSTED).strip().rstrip("/")
        key = (key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not _is_web_address(url):
            raise InputError(
                f"the base URL {url!r} is not an address: write it like http://localhost:8000/v1 or https://HOST/v1"
            )
        if not (key.isascii() and key.isprintable()):
            raise Refused("the API key holds characters that no key can have: copy it again into OPENAI_API_KEY")
        return cls(url=url, key=key or None, timeout=timeout, retries=retries)

    @property
    def root(self) -> str:
        """The base URL without its /v1: servers keep what OpenAI does not have, such as /tokenize, there."""
        return self.url.removesuffix("/v1")

    @property
    def display_url(self) -> str:
        """The base URL as messages may show it: no password, no query."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def hide_key(self, text: str) -> str:
        """The text with the key blotted out; some servers quote it in their messages."""
        return text.replace(self.key, "***") if self.key else text

    def open_client(self) -> AsyncOpenAI:
        """The SDK's client."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            base_url=self.url, api_key=self.key or _NO_KEY, timeout=self._build_timeout(), max_retries=self.retries
        )

    def open_sync_client(self) -> OpenAI:
        """The same for callers that are not asynchronous: tokenizers."""
        from openai import OpenAI

        return OpenAI(
            base_url=self.url, api_key=self.key or _NO_KEY, timeout=self._build_timeout(), max_retries=self.retries
        )

    def _build_timeout(self) -> Timeout:
        from openai import Timeout

        return Timeout(self.timeout, connect=min(self.timeout, _SECONDS_TO_CONNECT))


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        return False
