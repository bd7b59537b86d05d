"""The result of a chat request, which both of OpenAI's routes turn into their own form."""

from __future__ import annotations

import json
import secrets
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sse_starlette import ServerSentEvent

from bookwheel.serve.http.answers import EventStream, JsonResponse
from bookwheel.serve.openai.schemas import chunk_to_json, completion_to_json, usage_to_json
from bookwheel.types import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.responses import Response

    from bookwheel.serve.openai.schemas import ChatShape


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


def make_reply(
    chat: ChatShape, model: str, text: str, *, finish: str = "stop", usage: Usage | None = None
) -> ChatResult:
    """Return a reply that is whole, streamed in one piece where the client wants a stream."""
    id_, usage = f"chatcmpl-{secrets.token_hex(12)}", usage or Usage()
    if not chat.stream:
        return ChatResult(payload=completion_to_json(id_, model, {"content": text}, finish, usage))
    chunks = [
        chunk_to_json(id_, model, {"role": "assistant", "content": text}),
        chunk_to_json(id_, model, {}, finish),
    ]
    if (chat.stream_options or {}).get("include_usage"):
        chunks.append(chunk_to_json(id_, model, None, usage=usage_to_json(usage)))
    return ChatResult(chunks=_iterate(chunks))


async def _iterate(chunks: list[dict[str, Any]]) -> AsyncGenerator[dict[str, Any]]:
    for chunk in chunks:
        yield chunk
