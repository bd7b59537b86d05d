"""The cost of a reading, estimated before the first call."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Final

from bookwheel.reading.loop import check, template_tokens
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.chunks import split

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Document

# Only the first chunks are really cut; the rest of a longer document is taken to be like them.
_SAMPLED_CHUNKS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """The calls and tokens of one sequential reading."""

    chunks: int
    calls: int
    prompt_tokens: int
    """At most: every memory at its limit."""
    completion_tokens: int
    """At most: every reply at its limit."""
    cost: float
    """By the budget's prices; 0 without prices."""
    exact: bool
    """False when the document was extrapolated or the tokenizer is an estimate."""


def estimate_cost(document: Document, question: str, model: Model, plan: Plan) -> CostEstimate:
    """Cut the first chunks and extrapolate. Raise what a reading would raise before its first call."""
    prompts = prompts_for(plan, question)
    check(question, model, plan, prompts)
    sampled = list(islice(split(document, model.tokenizer, plan.chunk_tokens), _SAMPLED_CHUNKS))
    seen = sampled[-1].end if sampled else 0
    length = document.length or seen
    share = length / seen if seen else 0.0
    chunks = ceil(len(sampled) * share)
    each = template_tokens(model, plan, prompts) + model.tokenizer.count(question)
    prompt = ceil(sum(chunk.tokens for chunk in sampled) * share)
    prompt += chunks * (each + plan.memory_tokens) + each + plan.memory_tokens
    completion = chunks * plan.memory_tokens + plan.answer_tokens
    return CostEstimate(
        chunks=chunks,
        calls=chunks + 1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=plan.budget.price(prompt, completion),
        exact=model.tokenizer.exact and seen == length,
    )
