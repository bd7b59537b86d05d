"""Requests of chat completions: their fields, what a reading follows of them, and the schema that the answer must fit.

With `response_format` the answer is JSON of the client's schema. With `tools` it is JSON that either holds the reply or
names one tool and its arguments, so a model whose server knows no tools can call them too.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from bookwheel.claims import Fit, Sign, Verdict
from bookwheel.models.base import Model
from bookwheel.plan import Seed, Temperature, TopP
from bookwheel.reading.structured import ARGUMENTS, TOOL, format_schema
from bookwheel.record import ClaimJson, EvidenceJson
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.settings import FollowUp
from bookwheel.serve.http.requests import PlanValues, TokenLimit, build_shape

FILE_PREFIX: Final = "file-"
"""Before the SHA-256 of a document in the id of a file."""
# They change nothing about the text of an answer.
_ACCEPTED: Final = frozenset(
    {
        *("metadata", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention", "response_format"),
        *("safety_identifier", "service_tier", "store", "tool_choice", "tools", "user"),
    }
)
# Values that ask for nothing.
_NEUTRAL: Final[tuple[Any, ...]] = (None, False, 0, 0.0, "", [], {})
# A reply without a limit may fill a quarter of the window.
_REPLY_DIVISOR: Final = 4
_REPLY: Final = "reply"


class ReadingFactsJson(BaseModel):
    """What a chat's answer has beside the fields of its API, where it was read."""

    reading: str = ""
    """The id of the reading that gave the answer."""
    verdict: Verdict | None = None
    answers: Fit | None = None
    sign: Sign = Sign.GREY
    claims: list[ClaimJson] = []
    evidence: list[EvidenceJson] = []
    notes: list[str] = []
    """What was left out of the document or guessed, and the fields of the request that were not used."""


READING_KEYS: Final = tuple(ReadingFactsJson.model_fields)


class MessageShape(BaseModel):
    """One chat message. Unknown fields are passed on to the endpoint."""

    model_config = ConfigDict(extra="allow")
    role: str
    content: str | list[dict[str, Any]] | None = None


class ChatBody(BaseModel):
    """What the bodies of all APIs for chats have in common: the model, and the settings of a reading."""

    model: str
    stream: bool | None = False
    document: str | None = None
    """A text to read, or the id of an uploaded file."""
    plan: PlanValues = {}
    way: str = ""
    """The way of reading; by default, the one that suits the model."""
    follow_up: FollowUp | None = None
    """`memory`: a further question about a document begins with its finished memory; `read`: it is read again."""
    as_of: str | None = None
    """Of a lasting memory: the time at whose knowledge it answers. What was said is not read into it then."""


class ChatShape(ChatBody):
    """The body of a chat completion. Unknown fields are passed on to the endpoint."""

    model_config = ConfigDict(extra="allow")
    messages: Annotated[list[MessageShape], Field(min_length=1)]
    stream_options: dict[str, Any] | None = None
    max_tokens: TokenLimit | None = None
    max_completion_tokens: TokenLimit | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    seed: Seed | None = None
    stop: str | list[str] | None = None
    n: int | None = 1

    @property
    def limit(self) -> int | None:
        given = [limit for limit in (self.max_completion_tokens, self.max_tokens) if limit]
        return min(given, default=None)

    @property
    def sampling(self) -> dict[str, Any]:
        """The values of a plan's sampling that the request gives."""
        return self.model_dump(include={"temperature", "top_p", "seed"}, exclude_none=True)

    @property
    def more(self) -> dict[str, Any]:
        """The fields that only the endpoint may know."""
        return self.model_extra or {}


def make_chat(body: ChatBody, **values: Any) -> tuple[ChatShape, bytes]:
    """Return the chat completion that a body of another API stands for, and its JSON to pass on."""
    own = {name: getattr(body, name) for name in ("model", "stream", "document", "follow_up", "as_of")}
    values = {**own, "way": body.way or None, **values}
    values["stream_options"] = {"include_usage": True} if values["stream"] else None
    values = {name: value for name, value in values.items() if value is not None}
    return build_shape(ChatShape, {**values, "plan": body.plan}), json.dumps(values).encode()


def window_tokens(model: Model) -> int:
    """Return the tokens of prompt and reply together; where the server does not tell, those of the longest update."""
    plan = model.plan
    return model.window or plan.update_tokens(question=plan.question_tokens, template=model.template_tokens)


def reply_limit(chat: ChatShape, model: Model) -> int:
    return chat.limit or max(1, window_tokens(model) // _REPLY_DIVISOR)


def prompt_room(chat: ChatShape, model: Model) -> int:
    """Return the tokens that the messages may have beside the reply."""
    return window_tokens(model) - model.template_tokens - reply_limit(chat, model)


def check_supported(chat: ChatShape, *, has_tools: bool = True) -> None:
    """Raise ApiError for settings whose answer a client could not use without them.

    `has_tools`: tools and formats are possible here; they are in the answer step of a reading.
    """
    more = chat.more
    unsupported = {
        "n": (chat.n or 1) != 1,
        "functions": bool(more.get("functions")),
        "logprobs": bool(more.get("logprobs")),
        "audio": bool(more.get("audio")),
        "modalities": more.get("modalities") not in (None, [], ["text"]),
        "tools": bool(more.get("tools")) and not has_tools,
        "response_format": more.get("response_format") not in (None, {"type": "text"}) and not has_tools,
    }
    for name, is_set in unsupported.items():
        if is_set:
            advice = "give the functions as tools" if name == "functions" else "leave it out"
            message = f"a reading does not support {name}: {advice}, or send less than the model's window"
            raise refuse(message, name, "unsupported_parameter")


def name_unused(chat: ChatShape) -> tuple[str, ...]:
    more = chat.more
    return tuple(sorted(name for name, value in more.items() if name not in _ACCEPTED and value not in _NEUTRAL))


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
    choice = chat.more.get("tool_choice") or "auto"
    return bool(_list_tools(chat)) and choice == "auto" and not _find_format_schema(chat)


def name_words(chat: ChatShape, answer: str) -> tuple[str, ...]:
    """Return a note where tools were offered and the answer stayed in words; why, the answer does not say."""
    if not is_schema_optional(chat):
        return ()
    try:
        json.loads(answer)
    except ValueError:
        why = "the document does not tell all that a call must have, or the model wrote no JSON for it, or has no room"
        return (f"no tool was called: {why}",)
    return ()


def _find_format_schema(chat: ChatShape) -> str | None:
    """Return the schema of `response_format`, as JSON."""
    format_ = chat.more.get("response_format")
    kind = format_.get("type") if isinstance(format_, dict) else None
    if format_ is None or kind == "text":
        return None
    if kind == "json_object":
        return '{"type":"object"}'
    details = format_.get("json_schema") if isinstance(format_, dict) else None
    if kind != "json_schema" or not isinstance(details, dict) or not isinstance(details.get("schema"), dict):
        raise refuse("response_format is text, json_object, or json_schema with a schema", "response_format")
    return json.dumps(details["schema"])


def _list_tools(chat: ChatShape) -> list[dict[str, Any]]:
    """Return the functions that the answer may call."""
    more = chat.more
    tools, choice = more.get("tools") or [], more.get("tool_choice") or "auto"
    if not isinstance(tools, list) or not all(_is_function(tool) for tool in tools):
        raise refuse("tools is a list of functions, each with a name", "tools")
    functions: list[dict[str, Any]] = [tool["function"] for tool in tools]
    if choice == "none":
        return []
    if isinstance(choice, dict):
        name = (choice.get("function") or {}).get("name")
        functions = [function for function in functions if function["name"] == name]
        if not functions:
            raise refuse(f"tool_choice names {name!r}, which is none of the tools", "tool_choice")
    elif choice not in ("auto", "required"):  # a tuple: it may be any JSON
        raise refuse("tool_choice is none, auto, required or the name of a function", "tool_choice")
    return functions


def _is_function(tool: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) and tool.get("type", "function") == "function" else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _build_choice(tools: list[dict[str, Any]], chat: ChatShape, format_: str | None) -> dict[str, Any]:
    """Return the schema of a choice between the reply and a call of each tool."""
    choice = chat.more.get("tool_choice") or "auto"
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
        options.append(_object({TOOL: {"const": tool["name"]}, ARGUMENTS: arguments}, about))
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
    if not isinstance(value, dict) or TOOL not in value:
        reply = value.get(_REPLY, value) if isinstance(value, dict) else value
        return {"content": reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)}, None
    arguments = json.dumps(value.get(ARGUMENTS, {}), ensure_ascii=False)
    return {"content": None, "tool_calls": [make_call(f"call_{id_}", value[TOOL], arguments)]}, "tool_calls"


def make_call(id_: Any, name: Any, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def find_kind(part: Mapping[str, Any] | None, default: str = "") -> str:
    """Return the type that a part of a request names, as a text: where it may be any JSON, it may be a list."""
    return str((part or {}).get("type", default))


def refuse_silence() -> ApiError:
    return refuse("there is no user message with text in it", "messages", "no_user_message")


def refuse(message: str, param: str, kind: str = "invalid_request") -> ApiError:
    return ApiError(400, message, kind=kind, param=param)
