"""The cost of a reading, estimated before the first call: the least and the most that its way can take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Final, Self

from bookwheel.reading.loop import check
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.chunks import split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.prompts import Prompts
    from bookwheel.types import Document, Message

# Only the first chunks are really cut; the rest of a longer document is taken to be like them.
_SAMPLED_CHUNKS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """The calls and tokens of a reading. Some ways take more or fewer calls, depending on what the chunks hold."""

    chunks: int
    calls: int
    """At most."""
    prompt_tokens: int
    """At most: every memory at its limit."""
    completion_tokens: int
    """At most: every reply at its limit."""
    least_calls: int
    least_prompt_tokens: int
    cost: float
    """At most, by the budget's prices; 0 without prices."""
    exact: bool
    """False when the document was extrapolated or the tokenizer is an estimate."""
    of_way: str
    """The way whose cost this is: the loop's, for a way of another package."""

    def multiply(self, questions: int) -> Self:
        """Return the cost of so many questions about the document."""
        return replace(
            self,
            calls=self.calls * questions,
            prompt_tokens=self.prompt_tokens * questions,
            completion_tokens=self.completion_tokens * questions,
            least_calls=self.least_calls * questions,
            least_prompt_tokens=self.least_prompt_tokens * questions,
            cost=self.cost * questions,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """Calls of one kind in a reading."""

    least: int
    most: int
    words: int
    """Tokens of each prompt besides memory and sections, at most."""
    reply: int
    """Tokens of each reply, at most."""
    memory: int = 0
    """Tokens of the memory in each prompt, at most."""
    least_text: int = 0
    """Tokens of the document in all of these prompts together, at least."""
    most_text: int = 0
    slack: int = 0
    """Tokens of the words that a prompt may not have after all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSize:
    """A document as a plan cuts it."""

    chunks: int
    tokens: int
    exact: bool


def estimate_cost(document: Document, question: str, model: Model, plan: Plan, way: str = "sequential") -> CostEstimate:
    """Cut the first chunks and extrapolate. Raise what a reading would raise before its first call."""
    prompts = prompts_for(plan, question)
    check(question, model, plan, prompts)
    size = measure_document(document, model, plan)
    if way == "sequential":
        calls = list_loop_calls(size, question, model, plan, prompts)
        return add_up(calls, size, plan, way)
    from bookwheel.reading.ways.costs import list_calls  # the loop's own estimate needs none of the ways

    own = list_calls(way, size, question, model, plan, prompts)
    if own is None:
        return add_up(list_loop_calls(size, question, model, plan, prompts), size, plan, "sequential")
    return add_up(own, size, plan, way)


def measure_document(document: Document, model: Model, plan: Plan) -> DocumentSize:
    """Return the document's chunks and tokens."""
    sampled = list(islice(split(document, model.tokenizer, plan.chunk_tokens), _SAMPLED_CHUNKS))
    seen = sampled[-1].end if sampled else 0
    length = document.length or seen
    share = length / seen if seen else 0.0
    return DocumentSize(
        chunks=ceil(len(sampled) * share),
        tokens=ceil(sum(chunk.tokens for chunk in sampled) * share),
        exact=model.tokenizer.exact and seen == length,
    )


def list_loop_calls(size: DocumentSize, question: str, model: Model, plan: Plan, prompts: Prompts) -> list[CallCost]:
    """Return the calls of the loop: an update for each chunk, then the answer."""
    update, answer = (count_words(turn, question, model, prompts) for turn in prompts.empty(plan.layout))
    memory, text = plan.memory_tokens, size.tokens
    calls = [
        CallCost(
            least=size.chunks,
            most=size.chunks,
            words=update,
            reply=memory,
            memory=memory,
            least_text=text,
            most_text=text,
        ),
        CallCost(least=1, most=1, words=answer, reply=plan.answer_tokens, memory=memory),
    ]
    return add_slack(calls, model, prompts)


def add_slack(calls: Iterable[CallCost], model: Model, prompts: Prompts, more: int = 0) -> list[CallCost]:
    """Return the calls with what `count_words` may have counted too much: the template's bound, and blank memories."""
    slack = model.template_tokens + 2 * model.tokenizer.count(prompts.blank) + more
    return [replace(call, slack=slack) for call in calls]


def count_words(turn: Iterable[Message], question: str, model: Model, prompts: Prompts) -> int:
    """Return the tokens of a prompt with the question and nothing else filled in."""
    words = sum(model.tokenizer.count(message.content) for message in turn)
    return words + model.template_tokens + model.tokenizer.count(prompts.blank) + model.tokenizer.count(question)


def add_up(calls: Iterable[CallCost], size: DocumentSize, plan: Plan, way: str) -> CostEstimate:
    """Return the estimate that these calls come to."""
    kinds = list(calls)
    prompt = sum(kind.most * (kind.words + kind.memory) + kind.most_text for kind in kinds)
    completion = sum(kind.most * kind.reply for kind in kinds)
    return CostEstimate(
        chunks=size.chunks,
        calls=sum(kind.most for kind in kinds),
        prompt_tokens=prompt,
        completion_tokens=completion,
        least_calls=sum(kind.least for kind in kinds),
        least_prompt_tokens=sum(kind.least * max(0, kind.words - kind.slack) + kind.least_text for kind in kinds),
        cost=plan.budget.price(prompt, completion),
        exact=size.exact,
        of_way=way,
    )
