"""What is said to a request, before it takes the form of one of OpenAI's routes: one answer, or pieces as they come."""

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
    """A chat completion, or the endpoint's refusal; or the chunks of one."""

    told: Mapping[str, Any] = field(default_factory=dict)
    pieces: AsyncGenerator[dict[str, Any]] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    at_end: Callable[[], None] = lambda: None
    """What has to be done when the client has everything, or is gone."""

    def as_chat(self) -> Response:
        """In the form of `/v1/chat/completions`."""
        if self.pieces is None:
            return JsonResponse(self.told, self.status, headers=self.headers)
        return EventStream(_chunks(self.pieces), self.at_end, headers=self.headers)


async def _chunks(pieces: AsyncGenerator[dict[str, Any]]) -> AsyncGenerator[ServerSentEvent]:
    async with aclosing(pieces):
        async for told in pieces:
            yield ServerSentEvent(data=json.dumps(told))
    yield ServerSentEvent(data="[DONE]")
