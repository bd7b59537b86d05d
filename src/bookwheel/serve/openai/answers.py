"""The JSON of OpenAI's objects, as the OpenAPI document publishes it.

An answer that comes from an endpoint behind may have more keys. Pydantic reads these annotations at run time.
"""

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic cannot read that of typing before Python 3.12
)

from typing_extensions import TypedDict

from bookwheel.types import Claim, Evidence, Verdict


class OpenAIModelJson(TypedDict):
    """A model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class OpenAIModelListJson(TypedDict):
    """All models."""

    object: Literal["list"]
    data: list[OpenAIModelJson]


class OpenAIFileJson(TypedDict):
    """An uploaded document."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    filename: str
    purpose: str
    status: str


class ChatUsageJson(TypedDict):
    """The tokens of all calls together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatMessageJson(TypedDict):
    """The model's message."""

    role: Literal["assistant"]
    content: str | None
    reasoning_content: NotRequired[str | None]
    """The final memory, where the document was read."""
    tool_calls: NotRequired[list[dict[str, Any]]]


class ChatChoiceJson(TypedDict):
    """One answer."""

    index: int
    message: ChatMessageJson
    finish_reason: str | None
    logprobs: NotRequired[dict[str, Any] | None]


class ChatCompletionJson(TypedDict):
    """A chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoiceJson]
    usage: NotRequired[ChatUsageJson]
    reading: NotRequired[str]
    """The id of the reading that gave the answer."""
    verdict: NotRequired[Verdict | None]
    claims: NotRequired[list[Claim]]
    """The sentences of the answer, each with its verdict."""
    evidence: NotRequired[list[Evidence]]
    notes: NotRequired[list[str]]
    """What was left out of the document or guessed, and the fields of the request that were not used."""


class SummaryTextJson(TypedDict):
    """A text of the reasoning."""

    type: Literal["summary_text"]
    text: str


class OutputTextJson(TypedDict):
    """A text of the answer."""

    type: Literal["output_text"]
    text: str
    annotations: list[dict[str, Any]]
    logprobs: list[dict[str, Any]]


class ReasoningItemJson(TypedDict):
    """The memory, told as reasoning."""

    id: str
    type: Literal["reasoning"]
    status: str
    summary: list[SummaryTextJson]


class MessageItemJson(TypedDict):
    """The answer."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    status: str
    content: list[OutputTextJson]


class CachedTokensJson(TypedDict):
    """The part of the input that a cache served."""

    cached_tokens: int


class ReasoningTokensJson(TypedDict):
    """The part of the output that was reasoning."""

    reasoning_tokens: int


class ResponseUsageJson(TypedDict):
    """The tokens of all calls together."""

    input_tokens: int
    input_tokens_details: CachedTokensJson
    output_tokens: int
    output_tokens_details: ReasoningTokensJson
    total_tokens: int


class ResponseErrorJson(TypedDict):
    """The error of a failed response."""

    code: str
    message: str


class IncompleteDetailsJson(TypedDict):
    """The reason why a response was cut."""

    reason: str


class ResponseJson(TypedDict):
    """A response."""

    id: str
    object: Literal["response"]
    created_at: int
    status: str
    error: ResponseErrorJson | None
    incomplete_details: IncompleteDetailsJson | None
    instructions: str | None
    max_output_tokens: int | None
    metadata: dict[str, str]
    model: str
    output: list[ReasoningItemJson | MessageItemJson]
    parallel_tool_calls: bool
    previous_response_id: None
    reasoning: dict[str, Any]
    store: bool
    temperature: float | None
    text: dict[str, Any]
    tool_choice: str
    tools: list[dict[str, Any]]
    top_p: float | None
    truncation: str
    usage: ResponseUsageJson | None
    reading: NotRequired[str]
    verdict: NotRequired[Verdict]
    claims: NotRequired[list[Claim]]
    evidence: NotRequired[list[Evidence]]
    notes: NotRequired[list[str]]


class OpenAIErrorDetailJson(TypedDict):
    """An error as OpenAI's API tells it."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIErrorJson(TypedDict):
    """A declined or failed request."""

    error: OpenAIErrorDetailJson
