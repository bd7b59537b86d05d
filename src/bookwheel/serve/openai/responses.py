"""A request to OpenAI's Responses API, put as the chat that it stands for. Pure.

The endpoint behind need not know this API: everything goes on as a chat completion. What a chat completion has no place
for (tools of the server's own, conversations that the server remembers) is declined, not left out.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.http.schemas import PlanShape
from bookwheel.serve.openai.schemas import ChatShape

_Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
_UNMET: Final = {
    "tools": "leave it out; a chat completion whose messages fit the window can have tools",
    "previous_response_id": "no conversation is kept here; send the earlier messages in input",
    "conversation": "no conversation is kept here; send the earlier messages in input",
    "prompt": "no prompts are kept here; send the text in instructions and input",
    "background": "begin the reading with POST /readings and follow it there",
    "include": "nothing more can be had than is given anyway",
    "top_logprobs": "leave it out",
    "max_tool_calls": "leave it out",
}
_TEXTS: Final = frozenset({"input_text", "output_text"})


class ResponsesShape(BaseModel):
    """A response, with what a reading wants to know besides."""

    model_config = ConfigDict(extra="forbid")
    model: str
    input: str | list[dict[str, Any]]
    instructions: str | None = None
    stream: bool | None = False
    max_output_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None = None
    top_p: _Share | None = None
    text: dict[str, Any] | None = None
    """The format of the answer."""
    reasoning: dict[str, Any] | None = None
    truncation: str | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    """Taken and without effect, as the rest of this block is: a reading is in the journal anyway, nothing else is."""
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    service_tier: str | None = None
    parallel_tool_calls: bool | None = None
    tool_choice: Any = None
    stream_options: dict[str, Any] | None = None
    tools: Any = None
    """Declined when it is given, as the rest of this block is."""
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None
    background: Any = None
    include: Any = None
    top_logprobs: Any = None
    max_tool_calls: Any = None
    document: str | None = None
    """A text to read, or the id of an uploaded file."""
    plan: PlanShape = PlanShape()
    way: str = "sequential"


def to_chat_request(wanted: ResponsesShape) -> tuple[ChatShape, bytes]:
    """The chat completion that stands for it, as a value and as JSON to pass on."""
    for name, advice in _UNMET.items():
        if getattr(wanted, name):
            raise _declined(f"{name} is not supported here: {advice}", name, "unsupported_parameter")
    if wanted.truncation not in (None, "disabled"):
        raise _declined("nothing is cut here: leave truncation out", "truncation", "unsupported_parameter")
    system = [{"role": "system", "content": wanted.instructions}] if wanted.instructions else []
    given = [{"role": "user", "content": wanted.input}] if isinstance(wanted.input, str) else wanted.input
    text, reasoning = wanted.text or {}, wanted.reasoning or {}
    chat = {
        "model": wanted.model,
        "messages": [*system, *(_message(item) for item in given if item.get("type") != "reasoning")],
        "stream": wanted.stream,
        "stream_options": {"include_usage": True} if wanted.stream else None,
        "max_tokens": wanted.max_output_tokens,
        "temperature": wanted.temperature,
        "top_p": wanted.top_p,
        "response_format": _format(text.get("format")),
        "verbosity": text.get("verbosity"),
        "reasoning_effort": reasoning.get("effort"),
        "document": wanted.document,
        "way": wanted.way,
    }
    chat = {name: value for name, value in chat.items() if value is not None}
    if not chat["messages"]:
        raise _declined("input is empty: give a text or messages", "input")
    return ChatShape.model_validate({**chat, "plan": wanted.plan}), json.dumps(chat).encode()


def _message(item: dict[str, Any]) -> dict[str, Any]:
    kind, role, content = item.get("type", "message"), item.get("role"), item.get("content")
    if kind != "message" or not isinstance(role, str):
        raise _declined(f"input is made of messages with a role here, not of {kind}", "input", "unsupported_content")
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return {"role": role, "content": [_part(part) for part in content]}
    if not isinstance(content, str):
        raise _declined("a message's content is a text or a list of parts", "input")
    return {"role": role, "content": content}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind == "input_file" and isinstance(part.get("file_id"), str):
        return {"type": "file", "file": {"file_id": part["file_id"]}}
    if kind == "input_file":
        raise _declined("upload the file to /v1/files first, and name it by its file_id", "input")
    raise _declined(f"a message cannot hold {kind} here", "input", "unsupported_content")


def _format(wanted: Any) -> dict[str, Any] | None:
    """The answer's format as a chat completion names it."""
    if wanted is None or (isinstance(wanted, dict) and wanted.get("type") == "text"):
        return None
    if not isinstance(wanted, dict) or not isinstance(wanted.get("type"), str):
        raise _declined("text.format needs a type", "text")
    if wanted["type"] != "json_schema":
        return wanted
    return {"type": "json_schema", "json_schema": {name: value for name, value in wanted.items() if name != "type"}}


def _declined(message: str, param: str, kind: str = "invalid_request") -> ApiError:
    return ApiError(400, message, kind=kind, param=param)
