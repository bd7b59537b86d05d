"""The answer step of a chat that wants JSON or may call tools: its schema, and what the answer means. Pure.

With `response_format` the answer is JSON of the client's schema. With `tools` it is JSON that either holds the reply or
names one tool and its arguments, so a model whose server knows no tools can call them too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from bookwheel.reading.structured import format_schema
from bookwheel.serve.engine.errors import ApiError

if TYPE_CHECKING:
    from bookwheel.serve.openai.schemas import ChatShape

_REPLY: Final = "reply"
_TOOL: Final = "tool"
_ARGUMENTS: Final = "arguments"


def find_answer_schema(chat: ChatShape) -> str | None:
    """Return the JSON Schema that the answer must fit, as JSON; None for an answer in words."""
    format_schema_ = _find_format_schema(chat)
    tools = _list_tools(chat)
    if not tools:
        return format_schema_ and format_schema(json.loads(format_schema_), "response_format")
    return format_schema(_build_choice(tools, chat, format_schema_), "tools")


def is_schema_optional(chat: ChatShape) -> bool:
    """Return True if the answer may be words: where a tool can be called and need not be, and no format is set.

    Chat clients send their tools with every question, and to models that write no JSON.
    """
    choice = (chat.model_extra or {}).get("tool_choice") or "auto"
    return bool(_list_tools(chat)) and choice == "auto" and not _find_format_schema(chat)


def name_words(chat: ChatShape, answer: str) -> tuple[str, ...]:
    """Return a note where tools were offered and the answer stayed in words."""
    if not is_schema_optional(chat) or _is_json(answer):
        return ()
    return ("no tool could be called: the model wrote no JSON of the tools' schema, or it does not fit its window",)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _find_format_schema(chat: ChatShape) -> str | None:
    """Return the schema of `response_format`, as JSON."""
    format_ = (chat.model_extra or {}).get("response_format")
    kind = format_.get("type") if isinstance(format_, dict) else None
    if format_ is None or kind == "text":
        return None
    if kind == "json_object":
        return '{"type":"object"}'
    details = format_.get("json_schema") if isinstance(format_, dict) else None
    if kind != "json_schema" or not isinstance(details, dict) or not isinstance(details.get("schema"), dict):
        raise _refuse("response_format is text, json_object, or json_schema with a schema", "response_format")
    return json.dumps(details["schema"])


def _list_tools(chat: ChatShape) -> list[dict[str, Any]]:
    """Return the functions that the answer may call."""
    more = chat.model_extra or {}
    tools, choice = more.get("tools") or [], more.get("tool_choice") or "auto"
    if not isinstance(tools, list) or not all(_is_function(tool) for tool in tools):
        raise _refuse("tools is a list of functions, each with a name", "tools")
    functions: list[dict[str, Any]] = [tool["function"] for tool in tools]
    if choice == "none":
        return []
    if isinstance(choice, dict):
        name = (choice.get("function") or {}).get("name")
        functions = [function for function in functions if function["name"] == name]
        if not functions:
            raise _refuse(f"tool_choice names {name!r}, which is none of the tools", "tool_choice")
    elif choice not in {"auto", "required"}:
        raise _refuse("tool_choice is none, auto, required or the name of a function", "tool_choice")
    return functions


def _is_function(tool: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) and tool.get("type", "function") == "function" else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _build_choice(tools: list[dict[str, Any]], chat: ChatShape, format_: str | None) -> dict[str, Any]:
    """Return the schema of a choice between the reply and a call of each tool."""
    choice = (chat.model_extra or {}).get("tool_choice") or "auto"
    definitions: dict[str, Any] = {}
    options = []
    if choice == "auto":
        reply: dict[str, Any] = json.loads(format_) if format_ else {"type": "string"}
        definitions |= reply.pop("$defs", {})
        options.append(_object({_REPLY: reply}, "The reply to the user, where no tool is needed (any more)."))
    for tool in tools:
        arguments = dict(tool.get("parameters") or {"type": "object"})
        definitions |= arguments.pop("$defs", {})
        about = f"A call of the tool {tool['name']}: {tool.get('description') or 'no description'}"
        options.append(_object({_TOOL: {"const": tool["name"]}, _ARGUMENTS: arguments}, about))
    schema = options[0] if len(options) == 1 else {"anyOf": options}
    return {**schema, **({"$defs": definitions} if definitions else {})}


def _object(properties: dict[str, Any], about: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": about,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def build_message(chat: ChatShape, answer: str, id_: str) -> tuple[dict[str, Any], str | None]:
    """Return the message of an answer, and the reason it ended if that is a call of a tool."""
    if not _list_tools(chat):
        return {"content": answer}, None
    try:
        value = json.loads(answer)
    except ValueError:  # an answer of a reading that was asked for before, with no tools
        return {"content": answer}, None
    if not isinstance(value, dict) or _TOOL not in value:
        reply = value.get(_REPLY, value) if isinstance(value, dict) else value
        return {"content": reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)}, None
    arguments = json.dumps(value.get(_ARGUMENTS, {}), ensure_ascii=False)
    call = {"id": f"call_{id_}", "type": "function", "function": {"name": value[_TOOL], "arguments": arguments}}
    return {"content": None, "tool_calls": [call]}, "tool_calls"


def _refuse(message: str, param: str) -> ApiError:
    return ApiError(400, message, kind="invalid_request", param=param)
