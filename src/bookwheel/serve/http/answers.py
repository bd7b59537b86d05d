"""Answers over HTTP: JSON, event streams, and errors: OpenAI's shape under /v1, `{"error", "kind"}` everywhere else.

A reading is a stream of server-sent events, which a client can continue after a broken connection.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel import errors
from bookwheel.record import outcome_to_json, step_to_json
from bookwheel.serve.engine.errors import ApiError, QuotaReached, name_settings
from bookwheel.serve.engine.reading_pool import ReadingPool
from bookwheel.serve.engine.running_reading import LiveCall, Waiting
from bookwheel.serve.http.requests import read_digits
from bookwheel.types import Answer, Memory, Reading, Step

_STATUSES: Final[Mapping[type[errors.BookwheelError], int]] = {
    errors.WindowExceeded: 400,
    errors.UnknownModel: 404,
    errors.Overloaded: 503,
    errors.QuotaUsedUp: 503,
    errors.TimedOut: 504,
    errors.NoWeights: 503,
    errors.ModelError: 502,
    errors.InputError: 400,
    QuotaReached: 429,
    errors.BudgetReached: 400,
    errors.NotKept: 404,
    errors.JournalError: 500,
}
_OPENAI_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_OPENAI_CODES: Final[Mapping[type[errors.BookwheelError], str]] = {
    errors.UnknownModel: "model_not_found",
    errors.WindowExceeded: "context_length_exceeded",
    QuotaReached: "insufficient_quota",
}
# Without this header OpenAI's SDK retries, which would start the whole reading again and pay for it twice.
NO_RETRY: Final = {"x-should-retry": "false"}
# Seconds between comments, which keep proxies from closing a silent connection.
_KEEP_ALIVE: Final = 15


class ErrorJson(TypedDict):
    """A declined or failed request."""

    error: str
    kind: str


class JsonResponse(Response):
    """JSON in ASCII, because a document may hold a lone surrogate, which UTF-8 cannot encode."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode("ascii")


class EndingStream(Response):
    """A stream that calls `at_end` when it ends, also when the client was gone before its first event."""

    at_end: Callable[[], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.at_end()


class EventStream(EndingStream, EventSourceResponse):
    """A stream of server-sent events."""

    def __init__(
        self, events: AsyncGenerator[ServerSentEvent], at_end: Callable[[], None] = lambda: None, **settings: Any
    ) -> None:
        EventSourceResponse.__init__(self, events, ping=_KEEP_ALIVE, **settings)
        self.at_end = at_end


def write_to_bytes(name: str, write: Callable[[Path], object]) -> bytes:
    """Return the bytes of a file of this name that a function writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def stream_events(
    readings: ReadingPool, reading: Reading, last_event_id: str, *, changes: bool = False, is_live: bool = False
) -> EventStream:
    """Stream every step after `last_event_id`, the answer and the status; an event's id is its number of steps.

    With `is_live`, stream the call that is under way too, again and again while its reply is written.
    """
    first = read_digits(last_event_id) or 0
    return EventStream(_generate_events(readings, reading, first, changes=changes, is_live=is_live))


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


def error_response(error: errors.BookwheelError, path: str) -> JsonResponse:
    api_error, message = error if isinstance(error, ApiError) else None, name_settings(str(error))
    status, headers = status_of(error), dict(api_error.headers) if api_error else {}
    if isinstance(error, errors.ModelError | errors.BudgetReached):
        headers |= NO_RETRY
    if path.startswith("/v1"):
        param = api_error.param if api_error else None
        told = openai_error(message, status, code_of(error), param)
        # Anthropic's errors have a type of their own beside that.
        told |= {"type": "error"} if path.startswith("/v1/messages") else {}
        return JsonResponse(told, status, headers=headers)
    kind = api_error.kind if api_error else type(error).__name__
    return JsonResponse({"error": message, "kind": kind}, status, headers=headers)


def openai_error(message: str, status: int, code: str | None, param: str | None = None) -> dict[str, Any]:
    server_side = status >= 500  # noqa: PLR2004 - HTTP's own boundary
    type_ = _OPENAI_TYPES.get(status, "server_error" if server_side else "invalid_request_error")
    return {"error": {"message": message, "type": type_, "param": param, "code": code}}


def status_of(error: errors.BookwheelError) -> int:
    if isinstance(error, ApiError):
        return error.status
    return next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)


def code_of(error: errors.BookwheelError) -> str:
    """Return OpenAI's code for this error, or our class name in snake case where OpenAI has none."""
    if isinstance(error, ApiError):
        return error.kind
    name = type(error).__name__
    snake_case = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
    return _OPENAI_CODES.get(type(error), snake_case)
