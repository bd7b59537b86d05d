"""OpenAI's Responses API: requests become chat completions, and completions become responses, event by event.

The endpoint need not know this API. What a chat completion cannot express is an error, never ignored; but agents offer
tools that OpenAI's server would run with every request, and these are left out and named in the notes. The versions of
the memory, which a chat sends as reasoning, become the summary of a reasoning item; calls of the client's functions
become items of their own. A request that names a previous response is the chat of both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ConfigDict
from starlette.responses import Response

from bookwheel.plan import Temperature, TopP
from bookwheel.serve.http.answers import EventStream, JsonResponse
from bookwheel.serve.http.requests import TokenLimit
from bookwheel.serve.openai.completions import ChatResult, stream_events
from bookwheel.serve.openai.requests import ChatBody, ChatShape, find_kind, make_call, make_chat, refuse
from bookwheel.serve.openai.response_items import ResponseBuilder

_UNSUPPORTED: Final = {
    "conversation": "no conversations are kept by name; go on with previous_response_id",
    "prompt": "no prompts are kept here; send the text in instructions and input",
    "background": "begin the reading with POST /readings and follow it there",
    "background_options": "begin the reading with POST /readings and follow it there",
    "image": "nothing is drawn here; leave it out",
    "top_logprobs": "leave it out",
    "max_tool_calls": "leave it out",
}
_NEEDLESS: Final = frozenset({"reasoning.encrypted_content"})
"""What a client may want included that changes nothing: reasoning that comes back is not read again."""
_TEXTS: Final = frozenset({"input_text", "output_text"})
_FILE_FIELDS: Final = ("file_id", "file_data", "file_url")


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
    """Whether a later request can go on from this one."""
    previous_response_id: str | None = None
    user: str | None = None
    """Accepted and ignored, as the fields below."""
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: Any = None
    client_metadata: Any = None
    context_management: Any = None
    moderation: Any = None
    access_programs: Any = None
    service_tier: str | None = None
    stream_options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    """Functions of the client. Tools of other kinds, which its server would run, are left out and named in `notes`."""
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    include: list[str] | None = None
    conversation: Any = None
    """Refused when it is set, as the fields below."""
    prompt: Any = None
    background: Any = None
    background_options: Any = None
    image: Any = None
    top_logprobs: Any = None
    max_tool_calls: Any = None


def list_input(shape: ResponsesShape) -> list[dict[str, Any]]:
    """Return what a request asks, as items."""
    return [{"role": "user", "content": shape.input}] if isinstance(shape.input, str) else shape.input


def to_chat_request(shape: ResponsesShape, earlier: Sequence[dict[str, Any]] = ()) -> tuple[ChatShape, bytes]:
    """Return the chat completion that a request stands for, and its JSON to pass on. ApiError where there is none.

    `earlier` are the items of the responses that it goes on from.
    """
    for name, advice in _UNSUPPORTED.items():
        if getattr(shape, name):
            raise refuse(f"{name} is not supported here: {advice}", name, "unsupported_parameter")
    if wanted := sorted(set(shape.include or ()) - _NEEDLESS):
        raise refuse(f"include has no {wanted[0]} here: leave it out", "include", "unsupported_parameter")
    if shape.truncation not in (None, "disabled"):
        raise refuse("this server truncates nothing: leave truncation out", "truncation", "unsupported_parameter")
    system = [{"role": "system", "content": shape.instructions}] if shape.instructions else []
    asked = list_input(shape)
    items = list(_convert_items([*earlier, *asked]))
    if not (system or asked):
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
        **_convert_tools(shape),
    )


def _is_function(tool: Mapping[str, Any]) -> bool:
    return tool.get("type") == "function"


def _convert_tools(shape: ResponsesShape) -> dict[str, Any]:
    tools = []
    for tool in filter(_is_function, shape.tools or ()):
        if not isinstance(tool.get("name"), str):
            raise refuse("tools are functions with a name", "tools")
        function = {name: value for name, value in tool.items() if name != "type" and value is not None}
        tools.append({"type": "function", "function": function})
    if not tools:
        return {}
    choice = shape.tool_choice
    if isinstance(choice, dict):
        if choice.get("type") != "function":
            raise refuse("tool_choice is auto, none, required or a function", "tool_choice")
        choice = {"type": "function", "function": {"name": choice.get("name")}}
    return {"tools": tools, "tool_choice": choice, "parallel_tool_calls": shape.parallel_tool_calls}


def _convert_items(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a chat: calls that follow each other are one message, what each gave is another."""
    calls: list[dict[str, Any]] = []
    for item in items:
        kind = find_kind(item, "message")
        if kind == "function_call":
            calls.append(make_call(item.get("call_id"), item.get("name"), item.get("arguments") or "{}"))
        elif kind != "reasoning":
            if calls:
                yield {"role": "assistant", "content": None, "tool_calls": calls}
                calls = []
            yield _convert_output(item) if kind == "function_call_output" else _convert_message(item)
    if calls:
        yield {"role": "assistant", "content": None, "tool_calls": calls}


def _convert_output(item: dict[str, Any]) -> dict[str, Any]:
    output = item.get("output")
    if isinstance(output, list) and all(isinstance(part, dict) for part in output):
        output = [_convert_part(part) for part in output]
    elif not isinstance(output, str):
        raise refuse("what a function gave is a text or a list of parts", "input")
    return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}


def _convert_message(item: dict[str, Any]) -> dict[str, Any]:
    kind, role, content = find_kind(item, "message"), item.get("role"), item.get("content")
    role = "system" if role == "developer" else role  # few endpoints know the newer name
    if kind != "message" or not isinstance(role, str):
        raise refuse(f"input takes messages with a role, not {kind}", "input", "unsupported_content")
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return {"role": role, "content": [_convert_part(part) for part in content]}
    if not isinstance(content, str):
        raise refuse("a message's content is a text or a list of parts", "input")
    return {"role": role, "content": content}


def _convert_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = find_kind(part)
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


def to_response(result: ChatResult, shape: ResponsesShape, keep: Callable[[Mapping[str, Any]], None]) -> Response:
    """Return the response of `/v1/responses` for the result of a chat. `keep` takes the response when it is whole."""
    if result.chunks is not None:
        events = stream_events(result.chunks, ResponseBuilder(_echo(shape), keep))
        return EventStream(events, result.at_end, headers=result.headers)
    payload = result.payload
    # Without choices it is an error of the endpoint, which both APIs write alike.
    if "choices" in payload:
        (choice, *_), builder = payload["choices"], ResponseBuilder(_echo(shape), keep)
        whole = {**choice, "finish_reason": choice.get("finish_reason") or "stop"}
        *_, closing = (*builder.add_chunk({**payload, "choices": [whole]}), *builder.finish())
        payload = closing["response"]
    return JsonResponse(payload, result.status, headers=result.headers)


def _echo(shape: ResponsesShape) -> dict[str, Any]:
    """Return what a response repeats of its request, and a note on the tools that were left out."""
    others = sorted({str(tool.get("type")) for tool in shape.tools or () if not _is_function(tool)})
    return {
        **({"notes": [f"tools that this server does not run: {', '.join(others)}"]} if others else {}),
        "instructions": shape.instructions,
        "max_output_tokens": shape.max_output_tokens,
        "metadata": shape.metadata or {},
        "model": shape.model,
        "parallel_tool_calls": bool(shape.tools) and shape.parallel_tool_calls is not False,
        "previous_response_id": shape.previous_response_id,
        "reasoning": shape.reasoning or {},
        "store": shape.store is not False,
        "temperature": shape.temperature,
        "text": shape.text or {"format": {"type": "text"}},
        "tool_choice": (shape.tool_choice or "auto") if shape.tools else "none",
        "tools": list(filter(_is_function, shape.tools or ())),
        "top_p": shape.top_p,
        "truncation": "disabled",
    }
