"""The address, key and timeouts of an OpenAI-compatible server.

Only this module builds the SDK's clients, so retries, timeouts and authorization are set once. The SDK retries small
requests only (models, tokens); `bookwheel.models.patience` tries replies again.

>>> Endpoint.resolve("http://localhost:8000/v1", timeout=30).root
'http://localhost:8000'
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

from bookwheel.errors import InputError, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx2 import AsyncClient, Request, Response
    from openai import APIStatusError, AsyncOpenAI, Timeout

# The SDK requires a key; servers without authentication ignore it.
_NO_KEY: Final = "no-key"
_SECONDS_TO_CONNECT: Final = 15.0
DEFAULT_TIMEOUT: Final = 600.0
DEFAULT_RETRIES: Final = 4
# A reply may take this many times the silence that is allowed within it, and a minute at least.
_TIMEOUTS_PER_DEADLINE: Final = 3
_SHORTEST_DEADLINE: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server: its address, key, timeout, deadline and retries."""

    url: str
    """The base URL; the SDK appends `/chat/completions`."""
    key: str | None = field(default=None, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    """Seconds without a byte from the server before one attempt fails."""
    deadline: float = _TIMEOUTS_PER_DEADLINE * DEFAULT_TIMEOUT
    """Seconds for one whole reply, however many bytes keep coming."""
    retries: int = DEFAULT_RETRIES
    """Small requests (models, tokens) that the SDK repeats after 408, 409, 429, 5xx, broken connections, timeouts."""

    @classmethod
    def resolve(
        cls,
        url: str,
        key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        deadline: float | None = None,
        retries: int = DEFAULT_RETRIES,
    ) -> Self:
        """Return the endpoint. Without a deadline, a reply has three times the timeout, and a minute at least."""
        url, key = url.strip().rstrip("/"), (key or "").strip()
        if not _is_web_address(url):
            raise InputError(
                f"the base URL {url!r} is not a web address: write it like http://localhost:8000/v1 or https://HOST/v1"
            )
        if not (key.isascii() and key.isprintable()):
            raise Refused("the API key contains characters that no key can have: copy it again into OPENAI_API_KEY")
        if deadline is None:
            deadline = max(_SHORTEST_DEADLINE, _TIMEOUTS_PER_DEADLINE * timeout)
        return cls(url=url, key=key or None, timeout=timeout, deadline=deadline, retries=retries)

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
        return text.replace(self.key, "***") if self.key else text

    def open_client(self, http: AsyncClient | None = None) -> AsyncOpenAI:
        """Return an asynchronous SDK client, which sends and closes with the HTTP client."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            base_url=self.url,
            api_key=self.key or _NO_KEY,
            timeout=self._build_timeout(),
            max_retries=self.retries,
            http_client=http or self.open_http_client(),
        )

    def open_http_client(self) -> AsyncClient:
        """Return an HTTP client with bounded replies."""
        from bookwheel.models.transport import open_http_client

        return open_http_client(self, self._build_timeout())

    def _build_timeout(self) -> Timeout:
        from openai import Timeout

        return Timeout(self.timeout, connect=min(self.timeout, _SECONDS_TO_CONNECT))


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


class RepeatedPost:
    """One route of a server, for JSON bodies. `http` is the client that the SDK's client sends with.

    The SDK builds the first request, and the others are the same with another body: for every request it puts together
    address, headers, credentials and settings, which takes twice the CPU time of all the rest of a call.
    """

    def __init__(self, client: AsyncOpenAI, http: AsyncClient, route: str) -> None:
        self._client = client
        self._http = http
        self._route = route
        self._first: Request | None = None

    async def post(self, body: Mapping[str, Any]) -> Response:
        """Return the server's answer. Raise an error of the SDK for a bad status and a failing connection."""
        from httpx2 import Response

        # A cookie may change with every answer, and the SDK sends it back.
        if self._first and not self._http.cookies:
            return await self._repeat(self._first, body)
        answer = await self._client.post(self._route, cast_to=Response, body=body)
        # The request after a redirect may have lost its key.
        self._first = None if answer.history else answer.request
        # Its length is that of its own body.
        answer.request.headers.pop("content-length", None)
        return answer

    async def _repeat(self, first: Request, body: Mapping[str, Any]) -> Response:
        import httpx2
        from openai import APIConnectionError, APITimeoutError

        content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        request = httpx2.Request(
            first.method, first.url, headers=first.headers, content=content, extensions=dict(first.extensions)
        )
        try:
            answer = await self._http.send(request)
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise APIConnectionError(request=request) from error
        if not answer.is_success:
            raise _status_error(answer)
        return answer


def _status_error(answer: Response) -> APIStatusError:
    """Return the SDK's error for an answer with a bad status."""
    from openai import APIStatusError, BadRequestError, UnprocessableEntityError

    kind = {400: BadRequestError, 422: UnprocessableEntityError}.get(answer.status_code, APIStatusError)
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = answer.text.strip()
    # The SDK takes code and parameter from the field that OpenAI names.
    inner = body.get("error", body) if isinstance(body, dict) else body
    return kind(f"Error code: {answer.status_code} - {body}", response=answer, body=inner)
