"""Anthropic's Messages API: requests become chat completions, and completions become messages, event by event.

The endpoint need not know this API. The memory is sent as thinking to a client that asked for thinking. Fields that a
chat completion cannot express (`top_k`, caching, the server's own tools) are named in `notes` or refused.
"""

import base64
import json
import mimetypes
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.plan import Temperature, TopP
from bookwheel.serve.http.answers import EventStream, JsonResponse
from bookwheel.serve.http.operations import IDEMPOTENCY, operation
from bookwheel.serve.http.requests import TokenLimit
from bookwheel.serve.openai.chat import OpenAIRoutes
from bookwheel.serve.openai.completions import CompletionFacts, find_reasoning, stream_events
from bookwheel.serve.openai.requests import (
    ChatBody,
    ChatShape,
    ReadingFactsJson,
    find_kind,
    make_call,
    make_chat,
    refuse,
)

_STOPS: Final = {"length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}
_NO_THREADS: Final = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "this server keeps no threads: send all messages, without the field thread",
        "details": {"error_code": "thread_unsupported_request", "unsupported": ["thread"]},
    },
}
# A delta's kind, by the kind of its block.
_DELTAS: Final = {"thinking": "thinking_delta", "text": "text_delta", "tool_use": "input_json_delta"}


class MessageTurnShape(BaseModel):
    """One turn."""

    model_config = ConfigDict(extra="allow")
    role: str
    content: str | list[dict[str, Any]]


class MessagesShape(ChatBody):
    """The body of a message. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")
    messages: Annotated[list[MessageTurnShape], Field(min_length=1)]
    max_tokens: TokenLimit
    system: str | list[dict[str, Any]] | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    stop_sequences: list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    """The memory is sent as thinking where this is enabled."""
    thread: dict[str, Any] | None = None
    """How the SDK's tool runner asks for messages to be kept here; told that they are not, it sends all of them."""

    @property
    def has_thinking(self) -> bool:
        return find_kind(self.thinking) in {"enabled", "adaptive"}


class CountedShape(MessagesShape):
    """The body of a message that is only counted."""

    max_tokens: TokenLimit = 1


class TokenCountJson(TypedDict):
    """How long a message is."""

    input_tokens: int
    """Of its texts, by the model's tokenizer; of its documents, as they are read."""


class MessageJson(ReadingFactsJson):
    """A message, with what a reading adds to it."""

    id: str
    type: str
    role: str
    model: str
    content: list[dict[str, Any]]
    stop_reason: str | None
    stop_sequence: str | None
    usage: dict[str, int]


class MessageRoutes:
    """The operation of Anthropic's API, over the chats of OpenAI's."""

    def __init__(self, chats: OpenAIRoutes) -> None:
        self._chats = chats

    @operation("POST", "/v1/messages", "Anthropic: a message", MessageJson, headers=IDEMPOTENCY)
    async def create_message(self, request: Request, shape: MessagesShape) -> Response:
        if shape.thread:
            return JsonResponse(_NO_THREADS, 400)
        chat, raw_body = to_chat_request(shape)
        result = await self._chats.answer(request, chat, raw_body)
        if result.chunks is not None:
            events = stream_events(result.chunks, _MessageBuilder(shape))
            return EventStream(events, result.at_end, headers=result.headers)
        payload = result.payload
        if "choices" not in payload:
            return JsonResponse({"type": "error", **payload}, result.status, headers=result.headers)
        return JsonResponse(_build_message(payload, shape), result.status, headers=result.headers)

    @operation("POST", "/v1/messages/count_tokens", "Anthropic: the tokens of a message")
    async def count_tokens(self, request: Request, body: CountedShape) -> TokenCountJson:
        chat, _ = to_chat_request(body)
        return {"input_tokens": await self._chats.count_tokens(request, chat)}


def to_chat_request(shape: MessagesShape) -> tuple[ChatShape, bytes]:
    """Return the chat completion that a request stands for, and its JSON to pass on."""
    messages: list[dict[str, Any]] = []
    if shape.system:
        parts = [{"type": "text", "text": shape.system}] if isinstance(shape.system, str) else shape.system
        messages.append({"role": "system", "content": "\n\n".join(str(part.get("text") or "") for part in parts)})
    for turn in shape.messages:
        messages += _convert_turn(turn)
    return make_chat(
        shape,
        messages=messages,
        max_tokens=shape.max_tokens,
        temperature=shape.temperature,
        top_p=shape.top_p,
        stop=shape.stop_sequences or None,
        tools=[_convert_tool(tool) for tool in shape.tools or ()] or None,
        tool_choice=_convert_choice(shape.tool_choice) if shape.tools else None,
    )


def _convert_turn(turn: MessageTurnShape) -> Iterator[dict[str, Any]]:
    """Yield the messages of a turn: what tools gave is one of its own for each call."""
    if isinstance(turn.content, str):
        yield {"role": turn.role, "content": turn.content}
        return
    parts, calls = [], []
    for block in turn.content:
        kind = find_kind(block)
        if kind == "tool_result":
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": _read_result(block)}
        elif kind == "tool_use":
            calls.append(make_call(block.get("id"), block.get("name"), json.dumps(block.get("input") or {})))
        elif kind not in {"thinking", "redacted_thinking"}:
            parts.append(_convert_block(block))
    if parts or calls:
        is_plain = all(part["type"] == "text" for part in parts)
        text = "\n\n".join(part["text"] for part in parts) if is_plain else ""
        message: dict[str, Any] = {"role": turn.role, "content": text if is_plain else parts}
        yield message | ({"tool_calls": calls} if calls else {})


def _read_result(block: dict[str, Any]) -> str:
    content = block.get("content") or ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise refuse("what a tool gave is a text or a list of parts", "messages")
    return "\n\n".join(str(part.get("text") or "") for part in content)


def _convert_block(block: dict[str, Any]) -> dict[str, Any]:
    kind, source = find_kind(block), block.get("source")
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    source = source if isinstance(source, dict) else {}
    data = source.get("data")
    if source.get("type") == "text" and isinstance(data, str):
        data = base64.b64encode(data.encode("utf-8", "surrogatepass")).decode()
    address = f"data:{source.get('media_type') or 'text/plain'};base64,{data}"
    if kind == "image" and (data or source.get("url")):
        return {"type": "image_url", "image_url": {"url": source.get("url") or address}}
    if kind == "document" and source.get("type") == "file":
        return {"type": "file", "file": {"file_id": source.get("file_id")}}
    if kind == "document" and source.get("url"):
        return {"type": "file", "file": {"file_url": source["url"]}}
    if kind == "document" and data:
        title = str(block.get("title") or "")
        ending = "" if "." in title else mimetypes.guess_extension(str(source.get("media_type") or "text/plain")) or ""
        return {"type": "file", "file": {"file_data": address, **({"filename": title + ending} if title else {})}}
    raise refuse(f"a message cannot hold {kind}", "messages", "unsupported_content")


def _convert_tool(tool: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(tool.get("name"), str) or "input_schema" not in tool:
        raise refuse("tools take a name and an input_schema; the server runs none of its own", "tools")
    function = {"name": tool["name"], "parameters": tool["input_schema"]}
    if tool.get("description"):
        function["description"] = tool["description"]
    return {"type": "function", "function": function}


def _convert_choice(choice: dict[str, Any] | None) -> Any:
    kind = find_kind(choice, "auto")
    if kind == "tool":
        return {"type": "function", "function": {"name": (choice or {}).get("name")}}
    if kind not in _CHOICES:
        raise refuse("tool_choice is of the type auto, any, tool or none", "tool_choice")
    return _CHOICES[kind]


def _build_message(payload: Mapping[str, Any], shape: MessagesShape) -> dict[str, Any]:
    facts = CompletionFacts()
    message, *_ = facts.take(payload)
    content: list[dict[str, Any]] = []
    if (reasoning := find_reasoning(message)) and shape.has_thinking:
        content.append({"type": "thinking", "thinking": reasoning, "signature": ""})
    if message.get("content"):
        content.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = json.loads(function.get("arguments") or "{}")
        content.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
    return {
        **_open_message(payload, shape, content),
        "stop_reason": _name_stop(payload["choices"][0].get("finish_reason")),
        "usage": _convert_usage(facts),
        **facts.reading,
    }


def _open_message(payload: Mapping[str, Any], shape: MessagesShape, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"msg_{str(payload.get('id') or '').removeprefix('chatcmpl-')}",
        "type": "message",
        "role": "assistant",
        "model": shape.model,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _convert_usage(CompletionFacts()),
    }


def _convert_usage(facts: CompletionFacts) -> dict[str, int]:
    read, written = facts.tokens
    return {"input_tokens": read, "output_tokens": written}


def _name_stop(finish: str | None) -> str:
    return _STOPS.get(finish or "", "end_turn")


class _MessageBuilder:
    """Turns the chunks of a completion into the events of a message."""

    def __init__(self, shape: MessagesShape) -> None:
        self._shape = shape
        self._facts = CompletionFacts()
        self._has_begun = False
        self._block = -1
        self._open: tuple[str, Any] | None = None
        """The kind of the open block, and the call that it is of."""

    def add_chunk(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if not self._has_begun:
            self._has_begun = True
            yield {"type": "message_start", "message": _open_message(chunk, self._shape, [])}
        for delta in self._facts.take(chunk):
            if (reasoning := find_reasoning(delta)) and self._shape.has_thinking:
                yield from self._add("thinking", {"thinking": reasoning}, {"thinking": "", "signature": ""})
            if delta.get("content"):
                yield from self._add("text", {"text": delta["content"]}, {"text": ""})
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                begun = {"id": call.get("id"), "name": function.get("name"), "input": {}}
                arguments = {"partial_json": function.get("arguments") or ""}
                yield from self._add("tool_use", arguments, begun, call.get("index"))

    def finish(self) -> Iterator[dict[str, Any]]:
        yield from self._close()
        facts = self._facts
        if facts.error:
            yield {"type": "error", "error": {"type": "api_error", "message": facts.error.get("message")}}
            return
        stop = {"stop_reason": _name_stop(facts.finish), "stop_sequence": None}
        yield {"type": "message_delta", "delta": stop, "usage": _convert_usage(facts), **facts.reading}
        yield {"type": "message_stop"}

    def _add(
        self, kind: str, delta: dict[str, Any], begun: dict[str, Any], call: Any = None
    ) -> Iterator[dict[str, Any]]:
        if self._open != (kind, call):
            yield from self._close()
            self._open, self._block = (kind, call), self._block + 1
            yield {"type": "content_block_start", "index": self._block, "content_block": {"type": kind, **begun}}
        yield {"type": "content_block_delta", "index": self._block, "delta": {"type": _DELTAS[kind], **delta}}

    def _close(self) -> Iterator[dict[str, Any]]:
        if self._open:
            self._open = None
            yield {"type": "content_block_stop", "index": self._block}
