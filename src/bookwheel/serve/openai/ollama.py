"""Ollama's API, as far as chat clients use it: the models, what one of them is, and chats, which are those of OpenAI's.

A stream is one JSON object a line. The memory is sent as `thinking` to a client that asks for it.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.serve.http.answers import EndingStream, JsonResponse
from bookwheel.serve.http.operations import IDEMPOTENCY, operation
from bookwheel.serve.openai.chat import READING_PREFIX, OpenAIRoutes
from bookwheel.serve.openai.completions import ChatResult, CompletionFacts, find_reasoning
from bookwheel.serve.openai.requests import ChatBody, ChatShape, ReadingFactsJson, make_call, make_chat, refuse

_CREATED: Final = "2023-11-14T22:13:20Z"
# Clients append the tag of a model that has none.
_TAG: Final = ":latest"
_OPTIONS: Final = {"temperature": "temperature", "top_p": "top_p", "seed": "seed", "stop": "stop"}


class OllamaTurnShape(BaseModel):
    """One turn."""

    model_config = ConfigDict(extra="allow")
    role: str
    content: str = ""
    images: list[str] | None = None
    """Pictures in base64."""
    tool_calls: list[dict[str, Any]] | None = None
    tool_name: str | None = None


class OllamaChatShape(ChatBody):
    """The body of a chat. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")
    messages: Annotated[list[OllamaTurnShape], Field(min_length=1)]
    stream: bool | None = True
    format: str | dict[str, Any] | None = None
    """`json`, or a JSON Schema."""
    options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    think: bool | str | None = None


class OllamaNameShape(BaseModel):
    """A model's name."""

    model_config = ConfigDict(extra="ignore")
    model: str = ""
    name: str = ""
    """As older clients call it."""


class OllamaChatJson(ReadingFactsJson):
    """A chat's reply, with what a reading adds to it."""

    model: str
    created_at: str
    message: dict[str, Any]
    done: bool
    done_reason: str = ""
    prompt_eval_count: int = 0
    eval_count: int = 0


class OllamaTagsJson(BaseModel):
    """All models."""

    models: list[dict[str, Any]]


class OllamaModelJson(BaseModel):
    """One model. The texts are those of a model file, which there is none of."""

    modelfile: str
    parameters: str
    template: str
    details: dict[str, Any]
    model_info: dict[str, Any]
    capabilities: list[str]


class OllamaVersionJson(TypedDict):
    """What clients ask first, to see whether a server is there."""

    version: str


class OllamaRoutes:
    """One method for each operation of Ollama's API, over the chats of OpenAI's."""

    def __init__(self, chats: OpenAIRoutes) -> None:
        self._chats = chats

    @operation("GET", "/api/version", "Ollama: the version")
    async def tell_version(self, _request: Request) -> OllamaVersionJson:
        return {"version": version("bookwheel")}

    @operation("GET", "/api/tags", "Ollama: models", OllamaTagsJson)
    async def list_tags(self, request: Request) -> Response:
        models = [
            {"name": name, "model": name, "modified_at": _CREATED, "size": 0, "digest": "", "details": _describe()}
            for name in await self._chats.list_names(request)
        ]
        return JsonResponse({"models": models})

    @operation("POST", "/api/show", "Ollama: a model", OllamaModelJson)
    async def show_model(self, _request: Request, shape: OllamaNameShape) -> Response:
        window = self._chats.find_window(_strip_tag(shape.model or shape.name))
        info = {"general.architecture": "bookwheel", "bookwheel.context_length": window}
        details = {"details": _describe(), "model_info": info, "capabilities": ["completion", "tools", "thinking"]}
        return JsonResponse({"modelfile": "", "parameters": "", "template": "", **details})

    @operation("POST", "/api/chat", "Ollama: chat", OllamaChatJson, headers=IDEMPOTENCY)
    async def create_chat(self, request: Request, shape: OllamaChatShape) -> Response:
        chat, raw_body = to_chat_request(shape)
        result = await self._chats.answer(request, chat, raw_body)
        if result.chunks is not None:
            return _LineStream(result, shape)
        payload = result.payload
        if "choices" not in payload:
            return JsonResponse({"error": payload["error"]["message"]}, result.status, headers=result.headers)
        facts = CompletionFacts()
        given, *_ = facts.take(payload)
        message = {"role": "assistant", **_convert_reply(given, shape)}
        values = {"message": message, **_end(facts)}
        return JsonResponse({**_open_line(shape), **values}, headers=result.headers)


def to_chat_request(shape: OllamaChatShape) -> tuple[ChatShape, bytes]:
    """Return the chat completion that a request stands for, and its JSON to pass on."""
    options, format_ = shape.options or {}, shape.format
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": format_}}
    return make_chat(
        shape,
        model=_strip_tag(shape.model),
        messages=[_convert_turn(turn) for turn in shape.messages],
        stream=shape.stream is not False,
        # Ollama's -1 and -2 are no limit.
        max_tokens=most if isinstance(most := options.get("num_predict"), int) and most > 0 else None,
        response_format=schema if isinstance(format_, dict) else {"type": "json_object"} if format_ else None,
        tools=shape.tools or None,
        **{name: options.get(option) for name, option in _OPTIONS.items()},
    )


def _convert_turn(turn: OllamaTurnShape) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.images:
        pictures = [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}} for data in turn.images
        ]
        message["content"] = [{"type": "text", "text": turn.content}, *pictures]
    if turn.tool_calls:
        calls = [(at, call.get("function") or {}) for at, call in enumerate(turn.tool_calls)]
        if not all(isinstance(function, dict) for _, function in calls):
            raise refuse("each of tool_calls has a function with a name and arguments", "messages")
        message["tool_calls"] = [
            make_call(f"call_{at}", function.get("name"), json.dumps(function.get("arguments") or {}))
            for at, function in calls
        ]
    if turn.role == "tool":
        message["tool_call_id"] = "call_0"
    return message


def _strip_tag(name: str) -> str:
    return name.removesuffix(_TAG)


def _describe() -> dict[str, Any]:
    return {"format": "", "family": READING_PREFIX.rstrip("/"), "families": None, "parameter_size": ""}


def _open_line(shape: OllamaChatShape) -> dict[str, Any]:
    return {"model": shape.model, "created_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}", "done": False}


def _convert_reply(message: Mapping[str, Any], shape: OllamaChatShape) -> dict[str, Any]:
    """Return a message, or the delta of one, as Ollama writes it."""
    reply: dict[str, Any] = {"content": message.get("content") or ""}
    if (reasoning := find_reasoning(message)) and shape.think:
        reply["thinking"] = reasoning
    if calls := message.get("tool_calls"):
        functions = [call.get("function") or {} for call in calls]
        reply["tool_calls"] = [
            {"function": {"name": one.get("name"), "arguments": json.loads(one.get("arguments") or "{}")}}
            for one in functions
        ]
    return reply


def _end(facts: CompletionFacts) -> dict[str, Any]:
    read, written = facts.tokens
    return {
        "done": True,
        "done_reason": "length" if facts.finish == "length" else "stop",
        "prompt_eval_count": read,
        "eval_count": written,
        **facts.reading,
    }


async def _stream_lines(chunks: AsyncGenerator[dict[str, Any]], shape: OllamaChatShape) -> AsyncGenerator[bytes]:
    facts, calls = CompletionFacts(), dict[int, dict[str, str]]()
    async with aclosing(chunks):
        async for chunk in chunks:
            for delta in facts.take(chunk):
                # A call comes in pieces, and Ollama sends it whole.
                for call in delta.get("tool_calls") or ():
                    function = call.get("function") or {}
                    one = calls.setdefault(call.get("index") or 0, {"name": "", "arguments": ""})
                    one["name"] += function.get("name") or ""
                    one["arguments"] += function.get("arguments") or ""
                reply = _convert_reply({**delta, "tool_calls": None}, shape)
                if any(reply.values()):
                    yield _line({**_open_line(shape), "message": {"role": "assistant", **reply}})
            if facts.error:
                yield _line({"error": facts.error.get("message")})
                return
    last = _convert_reply({"tool_calls": [{"function": one} for one in calls.values()]}, shape)
    yield _line({**_open_line(shape), "message": {"role": "assistant", **last}, **_end(facts)})


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"


class _LineStream(EndingStream, StreamingResponse):
    """A stream of lines, which ends its reading when the client has gone, also before its first line."""

    def __init__(self, result: ChatResult, shape: OllamaChatShape) -> None:
        assert result.chunks is not None
        lines = _stream_lines(result.chunks, shape)
        StreamingResponse.__init__(self, lines, media_type="application/x-ndjson", headers=dict(result.headers))
        self.at_end = result.at_end
