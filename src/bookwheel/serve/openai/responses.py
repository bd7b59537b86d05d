"""Requests of OpenAI's Responses API, translated to chat completions. Pure.

The endpoint need not know this API. What a chat completion cannot express (tools of the server, conversations that the
server remembers) is an error, never ignored.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from bookwheel.plan import Temperature, TopP
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.settings import FollowUp
from bookwheel.serve.http.requests import PlanValues, TokenLimit
from bookwheel.serve.openai.schemas import ChatShape

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
            raise _refuse(f"{name} is not supported here: {advice}", name, "unsupported_parameter")
    if shape.truncation not in (None, "disabled"):
        raise _refuse("this server truncates nothing: leave truncation out", "truncation", "unsupported_parameter")
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
        raise _refuse("input is empty: give a text or messages", "input")
    return ChatShape.model_validate({**values, "plan": shape.plan}), json.dumps(values).encode()


def _convert_message(item: dict[str, Any]) -> dict[str, Any]:
    kind, role, content = item.get("type", "message"), item.get("role"), item.get("content")
    if kind != "message" or not isinstance(role, str):
        raise _refuse(f"input takes messages with a role, not {kind}", "input", "unsupported_content")
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return {"role": role, "content": [_convert_part(part) for part in content]}
    if not isinstance(content, str):
        raise _refuse("a message's content is a text or a list of parts", "input")
    return {"role": role, "content": content}


def _convert_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind == "input_file" and isinstance(part.get("file_id"), str):
        return {"type": "file", "file": {"file_id": part["file_id"]}}
    if kind == "input_file":
        raise _refuse("upload the file to /v1/files first, and name it by its file_id", "input")
    raise _refuse(f"a message cannot hold {kind}", "input", "unsupported_content")


def _convert_format(format_: Any) -> dict[str, Any] | None:
    """Return the answer's format as a chat completion writes it."""
    if format_ is None or (isinstance(format_, dict) and format_.get("type") == "text"):
        return None
    if not isinstance(format_, dict) or not isinstance(format_.get("type"), str):
        raise _refuse("text.format needs a type", "text")
    if format_["type"] != "json_schema":
        return format_
    return {"type": "json_schema", "json_schema": {name: value for name, value in format_.items() if name != "type"}}


def _refuse(message: str, param: str, kind: str = "invalid_request") -> ApiError:
    return ApiError(400, message, kind=kind, param=param)
