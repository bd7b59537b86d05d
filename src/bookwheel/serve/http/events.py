"""A reading as server-sent events, which a client can continue after a broken connection."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sse_starlette import ServerSentEvent

from bookwheel.record import outcome_to_json, step_to_json
from bookwheel.serve.engine.running_reading import LiveCall, Waiting
from bookwheel.serve.http.answers import EventStream
from bookwheel.types import Answer, Memory, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from bookwheel.serve.engine.reading_pool import ReadingPool
    from bookwheel.types import Reading

_MOST_DIGITS: Final = 9


def stream_events(
    readings: ReadingPool, reading: Reading, last_event_id: str, *, changes: bool = False, is_live: bool = False
) -> EventStream:
    """Stream every step after `last_event_id`, the answer and the status; an event's id is its number of steps.

    With `is_live`, stream the call that is under way too, again and again while its reply is written.
    """
    is_number = last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= _MOST_DIGITS
    first = int(last_event_id) if is_number else 0
    events = _generate_events(readings, reading, first, changes=changes, is_live=is_live)
    return EventStream(events)


async def _generate_events(
    readings: ReadingPool, reading: Reading, first: int, *, changes: bool, is_live: bool
) -> AsyncGenerator[ServerSentEvent]:
    # A client may have steps of a running reading that this copy of it does not have yet.
    number = min(first, len(reading.steps)) if readings.get_running(reading.id) is None else first
    before = reading.steps[number - 1].after if 0 < number <= len(reading.steps) else None
    before = before or Memory.blank(reading.plan.memory_tokens)
    async with aclosing(readings.stream(reading.id, number, is_live=is_live)) as events:
        async for event in events:
            if isinstance(event, Step):
                number += 1
                yield _event("step", number, await asyncio.to_thread(step_to_json, event, before, changes=changes))
                before = event.after
            elif isinstance(event, Answer):
                yield _event("answer", number, {"answer": event.text, "flags": [str(flag) for flag in event.flags]})
            elif isinstance(event, Waiting):
                yield _event("waiting", number, asdict(event))
            elif isinstance(event, LiveCall):
                yield _event("writing", number, asdict(event))
            else:
                yield _event("status", number, outcome_to_json(event))


def _event(kind: str, number: int, values: Mapping[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(data=json.dumps(values), event=kind, id=str(number))
