"""OpenAI's chat completions: the request that is checked, and the objects that answer it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bookwheel.plan import Seed, Temperature, TopP
from bookwheel.serve.engine.settings import FollowUp
from bookwheel.serve.http.requests import PlanValues, TokenLimit

if TYPE_CHECKING:
    from bookwheel.types import Usage


class MessageShape(BaseModel):
    """One chat message. Unknown fields are passed on to the endpoint."""

    model_config = ConfigDict(extra="allow")
    role: str
    content: str | list[dict[str, Any]] | None = None


class ChatShape(BaseModel):
    """The body of a chat completion, with the settings of a reading. Unknown fields are passed on to the endpoint."""

    model_config = ConfigDict(extra="allow")
    model: str
    messages: Annotated[list[MessageShape], Field(min_length=1)]
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    max_tokens: TokenLimit | None = None
    max_completion_tokens: TokenLimit | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    seed: Seed | None = None
    stop: str | list[str] | None = None
    n: int | None = 1
    document: str | None = None
    """A text to read, or the id of an uploaded file."""
    plan: PlanValues = {}
    way: str = ""
    """The way of reading; by default, the one that suits the model."""
    follow_up: FollowUp | None = None
    """`memory`: a further question about a document begins with its finished memory; `read`: it is read again."""

    @property
    def limit(self) -> int | None:
        """The most tokens that the answer may have."""
        given = [limit for limit in (self.max_completion_tokens, self.max_tokens) if limit]
        return min(given, default=None)


def usage_to_json(usage: Usage) -> dict[str, int]:
    """Return the usage of all calls together."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.tokens,
    }


def completion_to_json(
    id_: str, model: str, message: dict[str, Any], finish: str, usage: Usage, **more: Any
) -> dict[str, Any]:
    """Return a whole chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, "logprobs": None}
    return {
        "id": id_,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": usage_to_json(usage),
        **more,
    }


def chunk_to_json(
    id_: str, model: str, delta: dict[str, Any] | None, finish: str | None = None, **more: Any
) -> dict[str, Any]:
    """Return one chunk of a streamed chat completion. Without a delta it has no choices: the chunk with the usage."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    return {
        "id": id_,
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
        "choices": choices,
        **more,
    }
