"""The changes of the memory in each step, as JSON, for requests that ask for it with `?changes=1`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from bookwheel.record import reading_to_json
from bookwheel.views.diff import changed_share, diff_memories

if TYPE_CHECKING:
    from starlette.requests import Request

    from bookwheel.types import Reading, Step


def wants_changes(request: Request) -> bool:
    """Return whether a request asks for the changes of each step."""
    return request.query_params.get("changes", "0") not in {"0", ""}


async def build_payload(request: Request, reading: Reading) -> dict[str, Any]:
    """Return a reading as JSON, with the changes of each step where the request asks for them."""
    if not wants_changes(request):
        return reading_to_json(reading)
    # Some hundred comparisons take longer than the event loop may wait.
    return await asyncio.to_thread(reading_with_changes, reading)


def reading_with_changes(reading: Reading) -> dict[str, Any]:
    """Return a reading as JSON, with the changes of each step."""
    payload = reading_to_json(reading)
    for values, step in zip(payload["steps"], reading.steps, strict=True):
        values.update(changes_to_json(step))
    return payload


def changes_to_json(step: Step) -> dict[str, Any]:
    """Return the changes of one step: line by line, and the share of the memory that changed."""
    before, after = step.before.text, step.after.text
    return {
        "changes": [change.to_json() for change in diff_memories(before, after)],
        "changed_share": round(changed_share(before, after), 4),
    }
