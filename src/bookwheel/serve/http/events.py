"""A reading as server-sent events that can be taken up again where a line broke."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from sse_starlette import EventSourceResponse, ServerSentEvent

from bookwheel.record import evidence_to_json, reading_to_json, step_to_json
from bookwheel.serve.http.changes import changes_to_json
from bookwheel.types import Answer, Memory, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from starlette.types import Receive, Scope, Send

    from bookwheel.serve.engine.reading_pool import ReadingPool
    from bookwheel.types import Reading

_KEEP_ALIVE: Final = 15
"""Seconds between comments, which keep proxies from closing a silent line."""


class EventStream(EventSourceResponse):
    """A stream that does what has to be done at its end, also when it never began."""

    def __init__(self, events: AsyncGenerator[ServerSentEvent], at_end: Callable[[], None], **settings: Any) -> None:
        super().__init__(events, ping=_KEEP_ALIVE, **settings)
        self._at_end = at_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until they end or the client goes."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._at_end()


def stream_events(
    readings: ReadingPool, reading: Reading, last_event_id: str, *, changes: bool = False
) -> EventSourceResponse:
    """Every step after the last one seen, the answer, the status. An event's id is the number of steps until then."""
    seen = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 10 else 0  # noqa: PLR2004
    return EventSourceResponse(_events(readings, reading, seen, changes=changes), ping=_KEEP_ALIVE)


async def _events(
    readings: ReadingPool, reading: Reading, seen: int, *, changes: bool
) -> AsyncGenerator[ServerSentEvent]:
    number = min(seen, len(reading.steps)) if readings.get_running(reading.id) is None else seen
    before = reading.steps[number - 1].after if 0 < number <= len(reading.steps) else None
    before = before or Memory.blank(reading.plan.memory_tokens)
    async with aclosing(readings.stream(reading.id, number)) as events:
        async for event in events:
            if isinstance(event, Step):
                number += 1
                values = step_to_json(event, follows=event.before == before)
                if changes:
                    values |= await asyncio.to_thread(changes_to_json, event)
                yield _event("step", number, values)
                before = event.after
            elif isinstance(event, Answer):
                yield _event("answer", number, {"answer": event.text, "flags": [str(flag) for flag in event.flags]})
            else:
                found = [evidence_to_json(piece) for piece in event.evidence]
                yield _event("status", number, {**reading_to_json(event, steps=False), "evidence": found})


def _event(kind: str, number: int, values: dict[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(data=json.dumps(values), event=kind, id=str(number))
