"""What a reading will cost, before the first call is made."""

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

_LOOKED_AT: Final = 200
"""Chunks that are really cut; the rest of a longer document is taken to be like them."""


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
    """Cut the first chunks and reckon on. Raises what a reading would raise before its first call."""
    prompts = prompts_for(plan, question)
    check(question, model, plan, prompts)
    looked = list(islice(split(document, model.tokenizer, plan.chunk_tokens), _LOOKED_AT))
    seen = looked[-1].end if looked else 0
    length = document.length or seen
    share = length / seen if seen else 0.0
    chunks = ceil(len(looked) * share)
    each = template_tokens(model, plan, prompts) + model.tokenizer.count(question)
    prompt = ceil(sum(chunk.tokens for chunk in looked) * share)
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
