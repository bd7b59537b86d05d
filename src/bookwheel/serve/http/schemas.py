"""The JSON bodies of requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bookwheel.serve.engine.errors import ApiError

if TYPE_CHECKING:
    from starlette.requests import Request

TokenLimit = Annotated[int, Field(ge=1, le=10_000_000)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_LONGEST_QUESTION: Final = 200_000
_SHORT: Final = 1 << 16
"""Bytes of JSON that are parsed before anybody notices."""


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BudgetShape(_Shape):
    """Hard limits; the server's own can be lowered, not raised."""

    tokens: Annotated[int, Field(gt=0, le=2**53)] | None = None
    seconds: _Positive | None = None
    cost: _Positive | None = None
    price_in: _Number | None = None
    price_out: _Number | None = None


class SamplingShape(_Shape):
    """How the model draws its tokens."""

    temperature: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    seed: Annotated[int, Field(ge=-(2**53), le=2**53)] | None = None
    repeat_penalty: _Positive | None = None


class PlanShape(_Shape):
    """What differs from the plan that the model recommends; null is as good as leaving it out."""

    question_tokens: TokenLimit | None = None
    chunk_tokens: TokenLimit | None = None
    memory_tokens: TokenLimit | None = None
    answer_tokens: TokenLimit | None = None
    layout: str | None = None
    prompts: str | None = None
    language: str | None = None
    sampling: SamplingShape | None = None
    budget: BudgetShape | None = None

    def values_given(self) -> dict[str, Any]:
        """Only what was given."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


class ReadingShape(_Shape):
    """A reading to begin: a question and one of document, text and url."""

    question: Annotated[str, Field(min_length=1, max_length=_LONGEST_QUESTION)]
    document: str | None = None
    text: str | None = None
    url: Annotated[str, Field(max_length=4000)] | None = None
    name: Annotated[str, Field(max_length=1000)] | None = None
    model: str | None = None
    way: str = "sequential"
    plan: PlanShape = PlanShape()


class BudgetOnly(_Shape):
    """The part of a plan that may change when a reading goes on."""

    budget: BudgetShape = BudgetShape()


class ResumeShape(_Shape):
    """How to go on."""

    plan: BudgetOnly = BudgetOnly()


class ForkShape(_Shape):
    """A memory changed by hand."""

    step: Annotated[int, Field(ge=0)]
    memory: str


class SessionShape(_Shape):
    """A key to sign in with."""

    key: Annotated[str, Field(min_length=1, max_length=1000)]


_Shaped = TypeVar("_Shaped", bound=BaseModel)


async def parse_body(shape: type[_Shaped], request: Request) -> _Shaped:
    """The request's JSON as this shape. It must be said to be JSON: no form of a foreign page can send that unasked."""
    body = await request.body()
    kind = request.headers.get("content-type", "application/json" if not body else "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "send JSON, with Content-Type: application/json", kind="unsupported_media_type")
    return _parsed(shape, body) if len(body) <= _SHORT else await asyncio.to_thread(_parsed, shape, body)


def _parsed(shape: type[_Shaped], body: bytes) -> _Shaped:
    try:
        return shape.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise _validation_error(error) from None
    except RecursionError:
        raise ApiError(400, "the JSON is nested too deeply", kind="invalid_request") from None


def _validation_error(error: ValidationError) -> ApiError:
    # Only the first fault is told, and the value is left out: it may be a secret or a whole document.
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the body"
    return ApiError(400, f"{place}: {first['msg']}", kind="invalid_request", param=place)
