"""The items of a response and the events that tell of them, from a chat completion or its chunks.

An item is a reasoning, a message or a call of one of the client's functions. In a stream each is opened, grows and is
closed before the next begins.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bookwheel.serve.openai.completions import CompletionFacts, find_reasoning

_CALL: Final = "function_call"
_CUT: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
_PREFIX: Final = {"reasoning": "rs", "message": "msg", _CALL: "fc"}
_INDEX: Final = {"reasoning": {"summary_index": 0}, "message": {"content_index": 0}, _CALL: {}}
_PART: Final = {"reasoning": "reasoning_summary_part", "message": "content_part"}
_DELTA: Final = {
    "reasoning": "reasoning_summary_text.delta",
    "message": "output_text.delta",
    _CALL: "function_call_arguments.delta",
}
_DONE: Final = {name: event.replace(".delta", ".done") for name, event in _DELTA.items()}


class ResponseBuilder:
    """Builds one response from a completion or its chunks, and yields the events of a stream."""

    def __init__(self, echo: Mapping[str, Any], keep: Callable[[Mapping[str, Any]], None]) -> None:
        self._echo = echo
        """What the response repeats of its request."""
        self._keep = keep
        """Called with the response before the client hears that it has ended."""
        self._facts = CompletionFacts()
        self._id = ""
        self._created: int | None = None
        self._sequence = 0
        self._items: list[dict[str, Any]] = []
        self._open: tuple[str, int] | None = None
        """The kind of the open item, and which of several calls it is."""
        self._text: list[str] = []

    def add_chunk(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Add the next chunk of the completion, and yield its events; those of the first one open the response."""
        is_first = self._created is None
        deltas = list(self._facts.take(chunk))
        if is_first:
            self._id = str(chunk.get("id") or "").removeprefix("chatcmpl-")
            self._created = chunk.get("created") or int(time.time())
            for kind in ("created", "in_progress"):
                yield self._make_event(kind, response=self.build("in_progress"))
        for delta in deltas:
            for kind, text in (("reasoning", find_reasoning(delta)), ("message", delta.get("content"))):
                if text and isinstance(text, str):
                    yield from self._add_text(kind, text)
            for at, call in enumerate(delta.get("tool_calls") or ()):
                function = call.get("function") or {}
                begun = {"call_id": call.get("id") or "", "name": function.get("name") or ""}
                yield from self._add_text(_CALL, function.get("arguments") or "", call.get("index", at), begun)

    def finish(self) -> Iterator[dict[str, Any]]:
        """Yield the events that close the response: complete, incomplete or failed."""
        yield from self._close_item()
        if not self._facts.finish and not self._facts.error:
            self._facts.error = {"message": "the endpoint broke off in the middle of its reply: ask again"}
        response = self.build()
        self._keep(response)
        yield self._make_event(response["status"], response=response)

    def _close_item(self) -> Iterator[dict[str, Any]]:
        if not self._open:
            return
        (kind, _), text, self._open = self._open, "".join(self._text), None
        status = "incomplete" if kind != "reasoning" and self._facts.finish in _CUT else "completed"
        item = self._items[-1] = self._items[-1] | {"status": status} | _make_content(kind, text)
        place = self._locate_item(kind)
        if kind == _CALL:
            yield self._make_event(_DONE[kind], **place, name=item["name"], arguments=text)
        else:
            yield self._make_event(_DONE[kind], **place, text=text, **_logprobs(kind))
            yield self._make_event(f"{_PART[kind]}.done", **place, part=_make_part(kind, text))
        yield self._make_event("output_item.done", output_index=len(self._items) - 1, item=item)

    def _add_text(
        self, kind: str, text: str, place: int = 0, begun: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        if self._open != (kind, place):
            yield from self._close_item()
            item = {"id": f"{_PREFIX[kind]}_{self._id}_{len(self._items)}", "type": kind, "status": "in_progress"}
            self._items.append(item | _make_content(kind, None) | dict(begun or {}))
            self._open, self._text = (kind, place), []
            yield self._make_event("output_item.added", output_index=len(self._items) - 1, item=self._items[-1])
            if kind in _PART:
                yield self._make_event(f"{_PART[kind]}.added", **self._locate_item(kind), part=_make_part(kind, ""))
        if text:
            self._text.append(text)
            yield self._make_event(_DELTA[kind], **self._locate_item(kind), delta=text, **_logprobs(kind))

    def _locate_item(self, kind: str) -> dict[str, Any]:
        last = len(self._items) - 1
        return {"item_id": self._items[last]["id"], "output_index": last, **_INDEX[kind]}

    def _make_event(self, kind: str, **values: Any) -> dict[str, Any]:
        self._sequence += 1
        return {"type": f"response.{kind}", "sequence_number": self._sequence - 1, **values}

    def build(self, status: str = "") -> dict[str, Any]:
        """Return the response as it is now."""
        facts = self._facts
        notes = [*self._echo.get("notes", ()), *facts.reading.get("notes", ())]
        cut, error = _CUT.get(facts.finish or ""), facts.error if not status else None
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": self._created or int(time.time()),
            "status": status or ("failed" if error else "incomplete" if cut else "completed"),
            "error": {"code": "server_error", "message": error["message"]} if error else None,
            "incomplete_details": {"reason": cut} if cut and not status else None,
            **self._echo,
            "output": list(self._items),
            "usage": _convert_usage(facts) if facts.usage else None,
            **facts.reading,
            **({"notes": notes} if notes else {}),
        }


def _make_content(kind: str, text: str | None) -> dict[str, Any]:
    if kind == _CALL:
        return {"arguments": text or ""}
    parts = [] if text is None else [_make_part(kind, text)]
    return {"summary": parts} if kind == "reasoning" else {"role": "assistant", "content": parts}


def _make_part(kind: str, text: str) -> dict[str, Any]:
    if kind == "reasoning":
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _logprobs(kind: str) -> dict[str, Any]:
    return {"logprobs": []} if kind == "message" else {}


def _convert_usage(facts: CompletionFacts) -> dict[str, Any]:
    """Return the usage of all calls by the names of this API."""
    (read, written), usage = facts.tokens, facts.usage
    of_read, of_written = (usage.get(name) or {} for name in ("prompt_tokens_details", "completion_tokens_details"))
    return {
        "input_tokens": read,
        "input_tokens_details": {name: int(of_read.get(name) or 0) for name in ("cached_tokens", "cache_write_tokens")},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": int(of_written.get("reasoning_tokens") or 0)},
        "total_tokens": read + written,
    }
