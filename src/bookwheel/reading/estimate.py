"""The cost of a reading before its first call: the least and the most that its way can take.

At most means that every gate lets every chunk through, every list of changes is refused and the memory rewritten, and
no exit is taken; at least is the opposite. What calls a way takes is said by the way itself (reading/ways/spec.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from math import ceil
from typing import Final, Self

from bookwheel.models.base import Model, count_messages
from bookwheel.plan import Layout, Plan
from bookwheel.reading.prompts import Prompts
from bookwheel.text.chunks import split
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
    cost: float
    """At most, by the budget's prices; 0 without prices."""
    exact: bool
    """False when the document was extrapolated or the tokenizer is an estimate."""
    of_way: str
    """The way whose cost this is: the loop's, for a way of another package that does not say its own."""
    judge_calls: int = 0
    """Of the calls, those that judge the answer, at most: three for each sentence that it has room for."""
    judge_prompt_tokens: int = 0
    judge_completion_tokens: int = 0

    def multiply(self, questions: int) -> Self:
        """Return the cost of so many questions about the document."""
        kept = {"chunks", "exact", "of_way"}
        names = [one.name for one in fields(self) if one.name not in kept]
        return replace(self, **{name: getattr(self, name) * questions for name in names})


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
    text: int = 0
    """Tokens of the document in all of these prompts together, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSize:
    """A document as a plan cuts it."""

    chunks: int
    tokens: int
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CostInputs:
    """What the costs of all ways are made of."""

    size: DocumentSize
    question: str
    model: Model
    plan: Plan
    prompts: Prompts
    more_words: int = 0
    """Tokens beside the question in every prompt, at most."""

    @property
    def question_tokens(self) -> int:
        return self.model.tokenizer.count(self.question)

    def count_words(self, turn: Sequence[Message]) -> int:
        """Return the tokens of a prompt with the question and nothing else filled in."""
        words = count_messages(turn, self.model.tokenizer)
        blank = self.model.tokenizer.count(self.prompts.blank)
        return words + self.model.template_tokens + blank + self.question_tokens + self.more_words

    def count_turn(self, name: str) -> int:
        """Return the tokens of the prompt of a turn with the question alone."""
        return self.count_words(self.prompts.turn(name, question=""))

    def rewriting(self, layout: Layout, *, least: int, most: int, text: int) -> CallCost:
        """Return the calls that write a memory anew from so many tokens of text."""
        memory = self.plan.memory_tokens
        return CallCost(
            least=least,
            most=most,
            words=self.count_words(self.prompts.empty(layout)[0]),
            reply=memory,
            memory=memory,
            text=text,
        )

    def answering(self) -> CallCost:
        words = self.count_words(self.prompts.empty(self.plan.layout)[1])
        return CallCost(least=1, most=1, words=words, reply=self.plan.answer_tokens, memory=self.plan.memory_tokens)


def list_loop_calls(given: CostInputs) -> list[CallCost]:
    """Return the calls of the loop: an update for each chunk, then the answer."""
    chunks = given.size.chunks
    return [given.rewriting(given.plan.layout, least=chunks, most=chunks, text=given.size.tokens), given.answering()]


def measure_document(document: Document, _question: str, model: Model, plan: Plan) -> DocumentSize:
    """Return the chunks and tokens of a document: cut the first chunks and extrapolate."""
    sampled = list(islice(split(document, model.tokenizer, plan.chunk_tokens), _SAMPLED_CHUNKS))
    seen = sampled[-1].end if sampled else 0
    length = document.length or seen
    share = length / seen if seen else 0.0
    return DocumentSize(
        chunks=ceil(len(sampled) * share),
        tokens=ceil(sum(chunk.tokens for chunk in sampled) * share),
        exact=model.tokenizer.exact and seen == length,
    )


def add_up(calls: Iterable[CallCost], given: CostInputs, way: str, judging: Sequence[CallCost] = ()) -> CostEstimate:
    """Return the cost of calls, and of those that judge the answer."""
    kinds = (*calls, *judging)
    prompt = sum(kind.most * (kind.words + kind.memory) + kind.text for kind in kinds)
    completion = sum(kind.most * kind.reply for kind in kinds)
    return CostEstimate(
        chunks=given.size.chunks,
        calls=sum(kind.most for kind in kinds),
        prompt_tokens=prompt,
        completion_tokens=completion,
        least_calls=sum(kind.least for kind in kinds),
        cost=given.plan.budget.price(prompt, completion),
        exact=given.size.exact,
        of_way=way,
        judge_calls=sum(kind.most for kind in judging),
        judge_prompt_tokens=sum(kind.most * (kind.words + kind.memory) + kind.text for kind in judging),
        judge_completion_tokens=sum(kind.most * kind.reply for kind in judging),
    )
