"""The result of a chat request, which both of OpenAI's routes turn into their own form."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sse_starlette import ServerSentEvent

from bookwheel.serve.http.errors import JsonResponse
from bookwheel.serve.http.events import EventStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.responses import Response


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResult:
    """A chat completion, an error of the endpoint, or the chunks of a streamed completion."""

    payload: Mapping[str, Any] = field(default_factory=dict)
    chunks: AsyncGenerator[dict[str, Any]] | None = None
    """Set where the completion is streamed; `payload` is empty then."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    at_end: Callable[[], None] = lambda: None
    """Called when the client has everything, or has hung up."""

    def to_chat_response(self) -> Response:
        """Return the response of `/v1/chat/completions`."""
        if self.chunks is None:
            return JsonResponse(self.payload, self.status, headers=self.headers)
        return EventStream(_to_events(self.chunks), self.at_end, headers=self.headers)


async def _to_events(chunks: AsyncGenerator[dict[str, Any]]) -> AsyncGenerator[ServerSentEvent]:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield ServerSentEvent(data=json.dumps(chunk))
    yield ServerSentEvent(data="[DONE]")
