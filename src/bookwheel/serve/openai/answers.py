"""OpenAI's objects as the OpenAPI document describes them: fields of the SDK's types, and what a reading adds.

The SDK's types have dozens of fields that this server never sends; a description of those would mislead. Importing the
SDK takes half a second, so only the document imports this module.
"""

from typing import Any, Final, Literal

from openai.types import CompletionUsage, ErrorObject, FileObject, Model
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseReasoningItem,
)
from pydantic import BaseModel, create_model

from bookwheel.serve.openai.requests import ReadingFactsJson

_READING: Final[dict[str, Any]] = {
    name: (field.annotation, field.default) for name, field in ReadingFactsJson.model_fields.items()
}


class ChatMessageJson(ChatCompletionMessage):
    """The model's message."""

    reasoning_content: str | None = None
    """The final memory, where the document was read."""


class ChatChoiceJson(Choice):
    """One answer."""

    message: ChatMessageJson


def _pick(base: type[BaseModel], about: str, *names: str, **more: Any) -> Any:
    """Return a type with some fields of another, which are always sent, and with more fields."""
    fields: dict[str, Any] = {name: (base.model_fields[name].annotation, ...) for name in names}
    return create_model(f"{base.__name__}Json", __doc__=about, **fields, **more)


ErrorDetailJson: Any = _pick(ErrorObject, "An error as OpenAI's API tells it.", "message", "type", "param", "code")
ChatCompletionJson: Any = _pick(
    ChatCompletion,
    "A chat completion.",
    *("id", "object", "created", "model"),
    choices=(list[ChatChoiceJson], ...),
    usage=(CompletionUsage | None, None),
    **_READING,
)
ResponseJson: Any = _pick(
    Response,
    "A response, with the memory as reasoning. The server runs no tools of its own.",
    *("id", "object", "created_at", "status", "error", "incomplete_details", "max_output_tokens", "metadata", "model"),
    *("parallel_tool_calls", "previous_response_id", "reasoning", "temperature", "top_p", "truncation", "usage"),
    instructions=(str | None, ...),
    output=(list[ResponseReasoningItem | ResponseOutputMessage | ResponseFunctionToolCall], ...),
    store=(bool, ...),
    text=(dict[str, Any], ...),
    tool_choice=(str | dict[str, Any], ...),
    tools=(list[dict[str, Any]], ...),
    **_READING,
)


class ModelListJson(BaseModel):
    """All models."""

    object: Literal["list"]
    data: list[Model]


class FileListJson(BaseModel):
    """Documents."""

    object: Literal["list"]
    data: list[FileObject]
    has_more: bool


class ResponseDeletedJson(BaseModel):
    """A response that was dropped."""

    id: str
    object: Literal["response"]
    deleted: bool


class OpenAIErrorJson(BaseModel):
    """A declined or failed request."""

    error: ErrorDetailJson
