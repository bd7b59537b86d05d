"""A chat completion told as OpenAI's Responses API tells it: whole, or event by event as its chunks come.

The memories, which a chat carries as reasoning, are the summary of a reasoning item; the answer is a message.
"""

from __future__ import annotations

import json
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from sse_starlette import ServerSentEvent

from bookwheel.serve.http.errors import JsonResponse
from bookwheel.serve.http.events import EventStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from starlette.responses import Response

    from bookwheel.serve.openai.chat_result import ChatResult
    from bookwheel.serve.openai.responses import ResponsesShape

_CUT: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
_REASONING: Final = ("reasoning_content", "reasoning")
"""The names by which endpoints send it."""
_PREFIX: Final = {"reasoning": "rs", "message": "msg"}
_INDEX: Final = {"reasoning": "summary_index", "message": "content_index"}
_PART: Final = {"reasoning": "reasoning_summary_part", "message": "content_part"}
_DELTA: Final = {"reasoning": "reasoning_summary_text.delta", "message": "output_text.delta"}
_DONE: Final = {"reasoning": "reasoning_summary_text.done", "message": "output_text.done"}


def as_response(said: ChatResult, wanted: ResponsesShape) -> Response:
    """What was said, in the form of `/v1/responses`."""
    if said.pieces is not None:
        return EventStream(_events(said.pieces, wanted), said.at_end, headers=said.headers)
    told = _whole(said.told, wanted) if "choices" in said.told else said.told
    return JsonResponse(told, said.status, headers=said.headers)


def _whole(told: Mapping[str, Any], wanted: ResponsesShape) -> dict[str, Any]:
    choice = told["choices"][0]
    telling = ResponseBuilder(wanted, told)
    telling.finish, telling.usage = choice.get("finish_reason"), told.get("usage")
    telling.keep(choice["message"])
    more = {name: told[name] for name in ("reading", "evidence") if name in told}
    return {**telling.response(), **more}


async def _events(pieces: AsyncGenerator[dict[str, Any]], wanted: ResponsesShape) -> AsyncGenerator[ServerSentEvent]:
    telling: ResponseBuilder | None = None
    async with aclosing(pieces):
        async for piece in pieces:
            if telling is None:
                telling = ResponseBuilder(wanted, piece)
                for told in telling.begun():
                    yield _sent(told)
            for told in telling.chunk(piece):
                yield _sent(told)
    for told in (telling or ResponseBuilder(wanted, {})).ended():
        yield _sent(told)


class ResponseBuilder:
    """One response as it grows."""

    def __init__(self, wanted: ResponsesShape, first: Mapping[str, Any]) -> None:
        self.finish: str | None = None
        self.usage: Mapping[str, Any] | None = None
        self.fault: Mapping[str, Any] | None = None
        self._wanted = wanted
        self._id = str(first.get("id") or "").removeprefix("chatcmpl-")
        self._reading = first.get("reading")
        self._created = first.get("created") or int(time.time())
        self._count = 0
        self._items: list[dict[str, Any]] = []
        self._open = ""
        self._text: list[str] = []

    def begun(self) -> Iterator[dict[str, Any]]:
        """It begins."""
        yield self._event("created", response=self.response("in_progress"))
        yield self._event("in_progress", response=self.response("in_progress"))

    def chunk(self, piece: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The next chunk of the chat completion."""
        self.fault = piece.get("error") or self.fault
        self.usage = piece.get("usage") or self.usage
        for choice in piece.get("choices") or ():
            self.finish = choice.get("finish_reason") or self.finish
            for kind, text in _texts(choice.get("delta") or {}):
                yield from self._added(kind, text)

    def keep(self, message: Mapping[str, Any]) -> None:
        """All that was said, at once."""
        self._items = [_item(kind, self._name(kind), text, self._status(kind)) for kind, text in _texts(message)]

    def ended(self) -> Iterator[dict[str, Any]]:
        """Nothing more comes: it is complete, was cut, or failed."""
        yield from self._closed()
        if not self.finish and not self.fault:
            self.fault = {"message": "the endpoint broke off in the middle of its reply: ask again"}
        told = self.response()
        yield self._event(told["status"], response=told)

    def _closed(self) -> Iterator[dict[str, Any]]:
        if not self._open:
            return
        kind, text, self._open = self._open, "".join(self._text), ""
        item = self._items[-1] = _item(kind, self._items[-1]["id"], text, self._status(kind))
        part = _part(kind, text)
        yield self._event(_DONE[kind], **self._place(kind), text=text, **_logprobs(kind))
        yield self._event(f"{_PART[kind]}.done", **self._place(kind), part=part)
        yield self._event("output_item.done", output_index=len(self._items) - 1, item=item)

    def _added(self, kind: str, text: str) -> Iterator[dict[str, Any]]:
        if self._open != kind:
            yield from self._closed()
            item = _item(kind, self._name(kind), None, "in_progress")
            self._items.append(item)
            self._open, self._text = kind, []
            yield self._event("output_item.added", output_index=len(self._items) - 1, item=item)
            yield self._event(f"{_PART[kind]}.added", **self._place(kind), part=_part(kind, ""))
        self._text.append(text)
        yield self._event(_DELTA[kind], **self._place(kind), delta=text, **_logprobs(kind))

    def _name(self, kind: str) -> str:
        return f"{_PREFIX[kind]}_{self._id}_{len(self._items)}"

    def _status(self, kind: str) -> str:
        return "incomplete" if kind == "message" and self.finish in _CUT else "completed"

    def _place(self, kind: str) -> dict[str, Any]:
        last = len(self._items) - 1
        return {"item_id": self._items[last]["id"], "output_index": last, _INDEX[kind]: 0}

    def _event(self, kind: str, **values: Any) -> dict[str, Any]:
        self._count += 1
        return {"type": f"response.{kind}", "sequence_number": self._count - 1, **values}

    def response(self, status: str = "") -> dict[str, Any]:
        """The response as it is now."""
        cut = _CUT.get(self.finish or "")
        wanted = self._wanted
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": self._created,
            "status": status or ("failed" if self.fault else "incomplete" if cut else "completed"),
            "error": {"code": "server_error", "message": self.fault["message"]} if self.fault else None,
            "incomplete_details": {"reason": cut} if cut and not status else None,
            "instructions": wanted.instructions,
            "max_output_tokens": wanted.max_output_tokens,
            "metadata": wanted.metadata or {},
            "model": wanted.model,
            "output": list(self._items),
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "reasoning": wanted.reasoning or {},
            "store": False,
            "temperature": wanted.temperature,
            "text": wanted.text or {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": wanted.top_p,
            "truncation": "disabled",
            "usage": _usage(self.usage) if self.usage else None,
            **({"reading": self._reading} if self._reading else {}),
        }


def _texts(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The reasoning and the answer that a message, or a part of one, holds."""
    for kind, names in (("reasoning", _REASONING), ("message", ("content",))):
        text = next((said[name] for name in names if isinstance(said.get(name), str)), "")
        if text:
            yield kind, text


def _item(kind: str, id_: str, text: str | None, status: str) -> dict[str, Any]:
    parts = [] if text is None else [_part(kind, text)]
    if kind == "reasoning":
        return {"id": id_, "type": "reasoning", "status": status, "summary": parts}
    return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": parts}


def _part(kind: str, text: str) -> dict[str, Any]:
    if kind == "reasoning":
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _logprobs(kind: str) -> dict[str, Any]:
    return {"logprobs": []} if kind == "message" else {}


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Summed over all calls, by the names that this API has."""
    read, written = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    thought = int((usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": read + written,
    }


def _sent(told: dict[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(data=json.dumps(told), event=told["type"])
