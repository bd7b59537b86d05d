"""OpenAI's Responses API: requests become chat completions, and completions become responses, event by event.

The endpoint need not know this API. What a chat completion cannot express (tools of the server, conversations that the
server remembers) is an error, never ignored. The versions of the memory, which a chat sends as reasoning, become the
summary of a reasoning item.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict
from sse_starlette import ServerSentEvent

from bookwheel.plan import Temperature, TopP
from bookwheel.serve.engine.settings import FollowUp
from bookwheel.serve.http.answers import EventStream, JsonResponse
from bookwheel.serve.http.requests import PlanValues, TokenLimit
from bookwheel.serve.openai.completions import ChatResult
from bookwheel.serve.openai.requests import READING_KEYS, ChatShape, refuse

if TYPE_CHECKING:
    from starlette.responses import Response


_UNSUPPORTED: Final = {
    "tools": "leave it out; a chat completion whose messages fit the window can have tools",
    "previous_response_id": "no conversation is kept here; send the earlier messages in input",
    "conversation": "no conversation is kept here; send the earlier messages in input",
    "prompt": "no prompts are kept here; send the text in instructions and input",
    "background": "begin the reading with POST /readings and follow it there",
    "include": "leave it out; a response always has all there is",
    "top_logprobs": "leave it out",
    "max_tool_calls": "leave it out",
}
_TEXTS: Final = frozenset({"input_text", "output_text"})
_FILE_FIELDS: Final = ("file_id", "file_data", "file_url")
_CUT: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
# Field names that endpoints use for reasoning.
_REASONING: Final = ("reasoning_content", "reasoning")
_PREFIX: Final = {"reasoning": "rs", "message": "msg"}
_INDEX: Final = {"reasoning": "summary_index", "message": "content_index"}
_PART: Final = {"reasoning": "reasoning_summary_part", "message": "content_part"}
_DELTA: Final = {"reasoning": "reasoning_summary_text.delta", "message": "output_text.delta"}
_DONE: Final = {"reasoning": "reasoning_summary_text.done", "message": "output_text.done"}


class ResponsesShape(BaseModel):
    """The body of a response, with the settings of a reading."""

    model_config = ConfigDict(extra="forbid")
    model: str
    input: str | list[dict[str, Any]]
    instructions: str | None = None
    stream: bool | None = False
    max_output_tokens: TokenLimit | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    text: dict[str, Any] | None = None
    """The format of the answer."""
    reasoning: dict[str, Any] | None = None
    truncation: str | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    """Accepted and ignored, as the fields below: a reading is in the journal anyway, nothing else is stored."""
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    service_tier: str | None = None
    parallel_tool_calls: bool | None = None
    tool_choice: Any = None
    stream_options: dict[str, Any] | None = None
    tools: Any = None
    """Refused when it is set, as the fields below."""
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None
    background: Any = None
    include: Any = None
    top_logprobs: Any = None
    max_tool_calls: Any = None
    document: str | None = None
    """A text to read, or the id of an uploaded file."""
    plan: PlanValues = {}
    way: str = ""
    """The way of reading; by default, the one that suits the model."""
    follow_up: FollowUp | None = None
    """`memory`: a further question about a document begins with its finished memory; `read`: it is read again."""


def to_chat_request(shape: ResponsesShape) -> tuple[ChatShape, bytes]:
    """Return the chat completion that a request stands for, and its JSON to pass on. ApiError where there is none."""
    for name, advice in _UNSUPPORTED.items():
        if getattr(shape, name):
            raise refuse(f"{name} is not supported here: {advice}", name, "unsupported_parameter")
    if shape.truncation not in (None, "disabled"):
        raise refuse("this server truncates nothing: leave truncation out", "truncation", "unsupported_parameter")
    system = [{"role": "system", "content": shape.instructions}] if shape.instructions else []
    messages = [{"role": "user", "content": shape.input}] if isinstance(shape.input, str) else shape.input
    text, reasoning = shape.text or {}, shape.reasoning or {}
    values = {
        "model": shape.model,
        "messages": [*system, *(_convert_message(item) for item in messages if item.get("type") != "reasoning")],
        "stream": shape.stream,
        "stream_options": {"include_usage": True} if shape.stream else None,
        "max_tokens": shape.max_output_tokens,
        "temperature": shape.temperature,
        "top_p": shape.top_p,
        "response_format": _convert_format(text.get("format")),
        "verbosity": text.get("verbosity"),
        "reasoning_effort": reasoning.get("effort"),
        "document": shape.document,
        "way": shape.way,
        "follow_up": shape.follow_up,
    }
    values = {name: value for name, value in values.items() if value is not None}
    if not values["messages"]:
        raise refuse("input is empty: give a text or messages", "input")
    return ChatShape.model_validate({**values, "plan": shape.plan}), json.dumps(values).encode()


def _convert_message(item: dict[str, Any]) -> dict[str, Any]:
    kind, role, content = item.get("type", "message"), item.get("role"), item.get("content")
    if kind != "message" or not isinstance(role, str):
        raise refuse(f"input takes messages with a role, not {kind}", "input", "unsupported_content")
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return {"role": role, "content": [_convert_part(part) for part in content]}
    if not isinstance(content, str):
        raise refuse("a message's content is a text or a list of parts", "input")
    return {"role": role, "content": content}


def _convert_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind == "input_file" and any(isinstance(part.get(name), str) for name in _FILE_FIELDS):
        return {"type": "file", "file": {name: value for name, value in part.items() if name != "type"}}
    if kind == "input_file":
        raise refuse("input_file takes a file_id, file_data or file_url", "input")
    raise refuse(f"a message cannot hold {kind}", "input", "unsupported_content")


def _convert_format(format_: Any) -> dict[str, Any] | None:
    """Return the answer's format as a chat completion writes it."""
    if format_ is None or (isinstance(format_, dict) and format_.get("type") == "text"):
        return None
    if not isinstance(format_, dict) or not isinstance(format_.get("type"), str):
        raise refuse("text.format needs a type", "text")
    if format_["type"] != "json_schema":
        return format_
    return {"type": "json_schema", "json_schema": {name: value for name, value in format_.items() if name != "type"}}


def to_response(result: ChatResult, shape: ResponsesShape) -> Response:
    """Return the response of `/v1/responses` for the result of a chat."""
    if result.chunks is not None:
        return EventStream(_stream_events(result.chunks, shape), result.at_end, headers=result.headers)
    payload = result.payload
    # Without choices it is an error of the endpoint, which both APIs write alike.
    if "choices" in payload:
        (choice, *_), builder = payload["choices"], ResponseBuilder(shape, payload)
        chunk = {"delta": choice["message"], "finish_reason": choice.get("finish_reason") or "stop"}
        *_, closing = (*builder.add_chunk({**payload, "choices": [chunk]}), *builder.finish())
        payload = closing["response"]
    return JsonResponse(payload, result.status, headers=result.headers)


async def _stream_events(
    chunks: AsyncGenerator[dict[str, Any]], shape: ResponsesShape
) -> AsyncGenerator[ServerSentEvent]:
    builder: ResponseBuilder | None = None
    async with aclosing(chunks):
        async for chunk in chunks:
            if builder is None:
                builder = ResponseBuilder(shape, chunk)
                for event in builder.start():
                    yield _encode(event)
            for event in builder.add_chunk(chunk):
                yield _encode(event)
    for event in (builder or ResponseBuilder(shape, {})).finish():
        yield _encode(event)


class ResponseBuilder:
    """Builds one response from a completion or its chunks, and yields the events of a stream."""

    def __init__(self, shape: ResponsesShape, first: Mapping[str, Any]) -> None:
        self.finish_reason: str | None = None
        self.usage: Mapping[str, Any] | None = None
        self.error: Mapping[str, Any] | None = None
        self._shape = shape
        self._id = str(first.get("id") or "").removeprefix("chatcmpl-")
        self._more: dict[str, Any] = {}
        self._take_more(first)
        self._created = first.get("created") or int(time.time())
        self._sequence = 0
        self._items: list[dict[str, Any]] = []
        self._open = ""
        self._text: list[str] = []

    def start(self) -> Iterator[dict[str, Any]]:
        """Yield the events that open the response."""
        yield self._make_event("created", response=self.build("in_progress"))
        yield self._make_event("in_progress", response=self.build("in_progress"))

    def add_chunk(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Add the next chunk of the completion, and yield its events."""
        self._take_more(chunk)
        self.error = chunk.get("error") or self.error
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or ():
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            for kind, text in _split_texts(choice.get("delta") or {}):
                yield from self._add_text(kind, text)

    def finish(self) -> Iterator[dict[str, Any]]:
        """Yield the events that close the response: complete, incomplete or failed."""
        yield from self._close_item()
        if not self.finish_reason and not self.error:
            self.error = {"message": "the endpoint broke off in the middle of its reply: ask again"}
        response = self.build()
        yield self._make_event(response["status"], response=response)

    def _close_item(self) -> Iterator[dict[str, Any]]:
        if not self._open:
            return
        kind, text, self._open = self._open, "".join(self._text), ""
        item = self._items[-1] = _make_item(kind, self._items[-1]["id"], text, self._item_status(kind))
        part = _make_part(kind, text)
        yield self._make_event(_DONE[kind], **self._locate_item(kind), text=text, **_logprobs(kind))
        yield self._make_event(f"{_PART[kind]}.done", **self._locate_item(kind), part=part)
        yield self._make_event("output_item.done", output_index=len(self._items) - 1, item=item)

    def _add_text(self, kind: str, text: str) -> Iterator[dict[str, Any]]:
        if self._open != kind:
            yield from self._close_item()
            item = _make_item(kind, self._item_id(kind), None, "in_progress")
            self._items.append(item)
            self._open, self._text = kind, []
            yield self._make_event("output_item.added", output_index=len(self._items) - 1, item=item)
            yield self._make_event(f"{_PART[kind]}.added", **self._locate_item(kind), part=_make_part(kind, ""))
        self._text.append(text)
        yield self._make_event(_DELTA[kind], **self._locate_item(kind), delta=text, **_logprobs(kind))

    def _item_id(self, kind: str) -> str:
        return f"{_PREFIX[kind]}_{self._id}_{len(self._items)}"

    def _item_status(self, kind: str) -> str:
        return "incomplete" if kind == "message" and self.finish_reason in _CUT else "completed"

    def _locate_item(self, kind: str) -> dict[str, Any]:
        last = len(self._items) - 1
        return {"item_id": self._items[last]["id"], "output_index": last, _INDEX[kind]: 0}

    def _make_event(self, kind: str, **values: Any) -> dict[str, Any]:
        self._sequence += 1
        return {"type": f"response.{kind}", "sequence_number": self._sequence - 1, **values}

    def build(self, status: str = "") -> dict[str, Any]:
        """Return the response as it is now."""
        cut = _CUT.get(self.finish_reason or "")
        shape = self._shape
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": self._created,
            "status": status or ("failed" if self.error else "incomplete" if cut else "completed"),
            "error": {"code": "server_error", "message": self.error["message"]} if self.error else None,
            "incomplete_details": {"reason": cut} if cut and not status else None,
            "instructions": shape.instructions,
            "max_output_tokens": shape.max_output_tokens,
            "metadata": shape.metadata or {},
            "model": shape.model,
            "output": list(self._items),
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "reasoning": shape.reasoning or {},
            "store": False,
            "temperature": shape.temperature,
            "text": shape.text or {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": shape.top_p,
            "truncation": "disabled",
            "usage": _convert_usage(self.usage) if self.usage else None,
            **self._more,
        }

    def _take_more(self, chunk: Mapping[str, Any]) -> None:
        """Take what a reading's completion says beyond OpenAI's API."""
        self._more |= {name: chunk[name] for name in READING_KEYS if chunk.get(name) is not None}


def _split_texts(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the reasoning and the answer that a message or a delta holds."""
    for kind, names in (("reasoning", _REASONING), ("message", ("content",))):
        text = next((message[name] for name in names if isinstance(message.get(name), str)), "")
        if text:
            yield kind, text


def _make_item(kind: str, id_: str, text: str | None, status: str) -> dict[str, Any]:
    parts = [] if text is None else [_make_part(kind, text)]
    if kind == "reasoning":
        return {"id": id_, "type": "reasoning", "status": status, "summary": parts}
    return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": parts}


def _make_part(kind: str, text: str) -> dict[str, Any]:
    if kind == "reasoning":
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _logprobs(kind: str) -> dict[str, Any]:
    return {"logprobs": []} if kind == "message" else {}


def _convert_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage of all calls by the names of this API."""
    read, written = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    of_read, of_written = (usage.get(name) or {} for name in ("prompt_tokens_details", "completion_tokens_details"))
    return {
        "input_tokens": read,
        "input_tokens_details": {name: int(of_read.get(name) or 0) for name in ("cached_tokens", "cache_write_tokens")},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": int(of_written.get("reasoning_tokens") or 0)},
        "total_tokens": read + written,
    }


def _encode(event: dict[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(data=json.dumps(event), event=event["type"])
