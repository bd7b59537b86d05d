"""OpenAI's Responses API: requests become chat completions, and completions become responses, event by event.

The endpoint need not know this API. What a chat completion cannot express (tools of the server, conversations that the
server remembers) is an error, never ignored. The versions of the memory, which a chat sends as reasoning, become the
summary of a reasoning item.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ConfigDict

from bookwheel.plan import Temperature, TopP
from bookwheel.serve.http.answers import EventStream, JsonResponse
from bookwheel.serve.http.requests import TokenLimit
from bookwheel.serve.openai.completions import ChatResult, CompletionFacts, find_reasoning, stream_events
from bookwheel.serve.openai.requests import ChatBody, ChatShape, make_chat, refuse

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
_PREFIX: Final = {"reasoning": "rs", "message": "msg"}
_INDEX: Final = {"reasoning": "summary_index", "message": "content_index"}
_PART: Final = {"reasoning": "reasoning_summary_part", "message": "content_part"}
_DELTA: Final = {"reasoning": "reasoning_summary_text.delta", "message": "output_text.delta"}
_DONE: Final = {"reasoning": "reasoning_summary_text.done", "message": "output_text.done"}


class ResponsesShape(ChatBody):
    """The body of a response."""

    model_config = ConfigDict(extra="forbid")
    input: str | list[dict[str, Any]]
    instructions: str | None = None
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


def to_chat_request(shape: ResponsesShape) -> tuple[ChatShape, bytes]:
    """Return the chat completion that a request stands for, and its JSON to pass on. ApiError where there is none."""
    for name, advice in _UNSUPPORTED.items():
        if getattr(shape, name):
            raise refuse(f"{name} is not supported here: {advice}", name, "unsupported_parameter")
    if shape.truncation not in (None, "disabled"):
        raise refuse("this server truncates nothing: leave truncation out", "truncation", "unsupported_parameter")
    system = [{"role": "system", "content": shape.instructions}] if shape.instructions else []
    messages = [{"role": "user", "content": shape.input}] if isinstance(shape.input, str) else shape.input
    items = [_convert_message(item) for item in messages if item.get("type") != "reasoning"]
    if not (system or items):
        raise refuse("input is empty: give a text or messages", "input")
    text, reasoning = shape.text or {}, shape.reasoning or {}
    return make_chat(
        shape,
        messages=[*system, *items],
        max_tokens=shape.max_output_tokens,
        temperature=shape.temperature,
        top_p=shape.top_p,
        response_format=_convert_format(text.get("format")),
        verbosity=text.get("verbosity"),
        reasoning_effort=reasoning.get("effort"),
    )


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
        events = stream_events(result.chunks, ResponseBuilder(shape))
        return EventStream(events, result.at_end, headers=result.headers)
    payload = result.payload
    # Without choices it is an error of the endpoint, which both APIs write alike.
    if "choices" in payload:
        (choice, *_), builder = payload["choices"], ResponseBuilder(shape)
        whole = {**choice, "finish_reason": choice.get("finish_reason") or "stop"}
        *_, closing = (*builder.add_chunk({**payload, "choices": [whole]}), *builder.finish())
        payload = closing["response"]
    return JsonResponse(payload, result.status, headers=result.headers)


class ResponseBuilder:
    """Builds one response from a completion or its chunks, and yields the events of a stream."""

    def __init__(self, shape: ResponsesShape) -> None:
        self._shape = shape
        self._facts = CompletionFacts()
        self._id = ""
        self._created: int | None = None
        self._sequence = 0
        self._items: list[dict[str, Any]] = []
        self._open = ""
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

    def finish(self) -> Iterator[dict[str, Any]]:
        """Yield the events that close the response: complete, incomplete or failed."""
        yield from self._close_item()
        if not self._facts.finish and not self._facts.error:
            self._facts.error = {"message": "the endpoint broke off in the middle of its reply: ask again"}
        response = self.build()
        yield self._make_event(response["status"], response=response)

    def _close_item(self) -> Iterator[dict[str, Any]]:
        if not self._open:
            return
        kind, text, self._open = self._open, "".join(self._text), ""
        status = "incomplete" if kind == "message" and self._facts.finish in _CUT else "completed"
        item = self._items[-1] = _make_item(kind, self._items[-1]["id"], text, status)
        part = _make_part(kind, text)
        yield self._make_event(_DONE[kind], **self._locate_item(kind), text=text, **_logprobs(kind))
        yield self._make_event(f"{_PART[kind]}.done", **self._locate_item(kind), part=part)
        yield self._make_event("output_item.done", output_index=len(self._items) - 1, item=item)

    def _add_text(self, kind: str, text: str) -> Iterator[dict[str, Any]]:
        if self._open != kind:
            yield from self._close_item()
            item = _make_item(kind, f"{_PREFIX[kind]}_{self._id}_{len(self._items)}", None, "in_progress")
            self._items.append(item)
            self._open, self._text = kind, []
            yield self._make_event("output_item.added", output_index=len(self._items) - 1, item=item)
            yield self._make_event(f"{_PART[kind]}.added", **self._locate_item(kind), part=_make_part(kind, ""))
        self._text.append(text)
        yield self._make_event(_DELTA[kind], **self._locate_item(kind), delta=text, **_logprobs(kind))

    def _locate_item(self, kind: str) -> dict[str, Any]:
        last = len(self._items) - 1
        return {"item_id": self._items[last]["id"], "output_index": last, _INDEX[kind]: 0}

    def _make_event(self, kind: str, **values: Any) -> dict[str, Any]:
        self._sequence += 1
        return {"type": f"response.{kind}", "sequence_number": self._sequence - 1, **values}

    def build(self, status: str = "") -> dict[str, Any]:
        """Return the response as it is now."""
        shape, facts = self._shape, self._facts
        cut, error = _CUT.get(facts.finish or ""), facts.error if not status else None
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": self._created or int(time.time()),
            "status": status or ("failed" if error else "incomplete" if cut else "completed"),
            "error": {"code": "server_error", "message": error["message"]} if error else None,
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
            "usage": _convert_usage(facts) if facts.usage else None,
            **facts.reading,
        }


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
