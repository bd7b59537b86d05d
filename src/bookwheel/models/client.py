"""JSON over HTTP to the routes of one OpenAI-compatible server.

A reading needs three routes and one kind of stream. The official SDK speaks many more, and importing it takes half a
second, which every command would wait for.

Errors are `StatusError` for a bad status, `StreamedError` for one that a stream brings, those of httpx2 for what fails
on the way, and a `ModelError` for what passes a limit. `bookwheel.models.server_errors` translates them.
"""

from __future__ import annotations

import asyncio
import codecs
import json
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final, Self

import httpx2

from bookwheel.models.deadline import end_within
from bookwheel.models.server_errors import (
    StatusError,
    StreamedError,
    request_errors,
    translate_error,
)
from bookwheel.models.transport import late_reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from bookwheel.models.endpoint import Endpoint

# Seconds for what follows the last event, after which the connection can be used again.
_SECONDS_TO_DRAIN: Final = 0.1
_SECONDS_TO_CLOSE: Final = 5.0


class Client:
    """Sends JSON to one server, once: whoever asks knows whether another try makes sense."""

    def __init__(self, endpoint: Endpoint, http: httpx2.AsyncClient) -> None:
        self._endpoint = endpoint
        self._url = endpoint.url
        self._http = http
        key = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._headers = {"Accept": "application/json", **key, **dict(endpoint.account)}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. One that does not close is left to the system: the answer does not wait for it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_TO_CLOSE):
                await self._http.aclose()

    async def get(self, route: str) -> object:
        """Return what a route answers: JSON, or its text where it is none."""
        return _parse(await self._send(self._build("GET", route)))

    async def post(self, route: str, body: Mapping[str, Any]) -> Any:
        """Return what a route answers to JSON: JSON, or its text where it is none."""
        return _parse(await self.post_raw(route, body))

    async def ask(self, route: str, body: Mapping[str, Any], model: str = "") -> Any:
        """Return what `post` does. Raise a ModelError for whatever goes wrong."""
        try:
            return await self.post(route, body)
        except request_errors() as error:
            raise translate_error(error, self._endpoint, model) from error

    async def post_raw(self, route: str, body: Mapping[str, Any]) -> httpx2.Response:
        return await self._send(self._build("POST", route, body))

    async def open_stream(self, route: str, body: Mapping[str, Any]) -> JsonStream:
        """Return the events that a route answers to JSON. Whoever opens them closes them."""
        return JsonStream(await self._send(self._build("POST", route, body), stream=True))

    def _build(self, method: str, route: str, body: Mapping[str, Any] | None = None) -> httpx2.Request:
        url = route if route.startswith("http") else f"{self._url}{route}"
        if body is None:
            return self._http.build_request(method, url, headers=self._headers)
        content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        headers = {**self._headers, "Content-Type": "application/json"}
        return self._http.build_request(method, url, headers=headers, content=content)

    async def _send(self, request: httpx2.Request, *, stream: bool = False) -> httpx2.Response:
        """Send a request. Raise StatusError for a bad status."""
        try:
            # Whatever waits below, for a connection, a lock or a body: a call ends.
            sending = self._http.send(request, stream=stream)
            answer = await end_within(self._endpoint.deadline, sending, httpx2.Response.aclose)
        except TimeoutError:
            raise late_reply(self._endpoint) from None
        if answer.is_success:
            return answer
        if stream:
            try:
                await answer.aread()
            finally:
                await answer.aclose()
        raise StatusError(answer)


def _parse(answer: httpx2.Response) -> Any:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip()
    return json.loads(answer.content) if kind.endswith("json") else answer.text


async def _decode(response: httpx2.Response) -> AsyncGenerator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            yield decoder.decode(piece)


class JsonStream:
    """The JSON of a stream's events, up to the one that ends it."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.is_done = False
        """The server said that this is all."""
        self._pieces: AsyncGenerator[Any] | None = None

    async def close(self) -> None:
        """Stop reading; give the connection back, or close it where the reply is not over."""
        # Whoever leaves in the middle would leave the rest to the collector of garbage, and that closes it piecemeal.
        if self._pieces is not None:
            await self._pieces.aclose()
        await self.response.aclose()

    def __aiter__(self) -> AsyncGenerator[Any]:
        self._pieces = self._read()
        return self._pieces

    async def _read(self) -> AsyncGenerator[Any]:
        # The type is not checked: a server that answers with a whole reply sends no event.
        self.response.headers["content-type"] = "text/event-stream"
        texts = _decode(self.response)
        # What it reads would be left to the collector of garbage, which closes it in the middle of another.
        self.response.aiter_text = lambda: texts  # type: ignore[method-assign,misc,assignment]
        events = httpx2.EventSource(self.response, max_event_size=None).__aiter__()
        async with aclosing(self.response), aclosing(texts), aclosing(events):  # type: ignore[type-var]
            async for event in events:
                if event.data.startswith("[DONE]"):
                    self.is_done = True
                    await self._drain(events)
                    return
                body = json.loads(event.data)
                if isinstance(body, dict) and body.get("error"):
                    raise StreamedError(body["error"])
                yield body

    @staticmethod
    async def _drain(events: Any) -> None:
        """Read the end of the body, without which the connection could not be used again."""
        try:
            async with asyncio.timeout(_SECONDS_TO_DRAIN):
                async for _ in events:
                    pass
        except (TimeoutError, httpx2.TransportError):
            pass
