"""Ranked: the chunks that share the rarest words with question and memory are read first, and an exit stops.

    next chunk = argmax over the unread ones of BM25(question) + half of BM25(names and numbers of the memory)

With `rank = "embeddings"` in the plan, the nearness of the chunk's embeddings to the question's stands in place of
BM25(question), both terms spread from 0 to 1.

Rank decides on the order alone, never on what is left out: reading stops only when the memory suffices and the text
that was read bears the answer out, and goes on to the last chunk otherwise. A fact found early thus leads to the chunk
that its names lead to. The steps stand in the order of reading; what was not read has steps with the flag `unread`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from bookwheel.models.base import Ability
from bookwheel.plan import Rank
from bookwheel.reading.ways.compose import (
    ComposedWay,
    Course,
    Decision,
    Leave,
    ReadingContext,
    Write,
    add_usage,
    list_unread,
)
from bookwheel.reading.ways.early_exit import EXIT, asks_for_all
from bookwheel.reading.ways.nearest import find_ranking, list_calls, rank_chunks
from bookwheel.text.chunks import split
from bookwheel.text.matching import parse_words
from bookwheel.text.ranking import WordIndex, list_words
from bookwheel.types import Answer, Chunk, Flag, Memory, Step, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

    from bookwheel.reading.estimate import CallCost, CostInputs

# Names in the memory lead to the next fact, but most of them are of facts that are known already.
_MEMORY_SHARE: Final = 0.5


class ChunkIndex:
    """The chunks of a document with the words of each; the text itself is not held."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks: list[Chunk] = []
        self._words = WordIndex(self._drop_texts(chunks))

    def _drop_texts(self, chunks: Iterable[Chunk]) -> Iterator[str]:
        for chunk in chunks:
            self.chunks.append(replace(chunk, text=""))
            yield chunk.text

    def find_best(
        self, unread: Iterable[int], question: str, memory: str, ranking: Sequence[float] | None = None
    ) -> int:
        """Return the best unread chunk for question and memory; of equal ones, the first.

        A ranking stands in place of the question's words.
        """
        asked = {key for word in parse_words(question) if word.is_distinctive for key in list_words(word.text)}
        exact = [word for line in memory.splitlines() for word in parse_words(line) if word.is_exact]
        left, led = sorted(unread), self._words.score({key for word in exact for key in list_words(word.text)} - asked)
        mine = self._words.score(asked) if ranking is None else ranking
        if ranking is not None:
            # Cosines and BM25 have scales of their own.
            mine, led = _spread(mine, left), _spread(led, left, least=0.0)
        return max(left, key=lambda place: mine[place] + _MEMORY_SHARE * led[place])


def _spread(values: Sequence[float], places: Sequence[int], least: float = inf) -> list[float]:
    """Return the values, those of these places between 0 and 1; a least value may be given."""
    mine = [values[place] for place in places]
    least, most = min(least, *mine), max(mine)
    return [(value - least) / (most - least or 1.0) for value in values]


async def read_by_rank(
    context: ReadingContext, gated: Write, plain: Write, leave: Leave | None, done: Sequence[Step]
) -> AsyncGenerator[Step | Answer]:
    """Read the best chunk next, until the exit or the last one. Questions about the whole are read in order."""
    del plain
    chunks = split(context.document, context.model.tokenizer, context.plan.chunk_tokens)
    index = await asyncio.to_thread(ChunkIndex, chunks)
    read = {(step.chunk.start, step.chunk.end) for step in done if Flag.UNREAD not in step.flags}
    unread = {place for place, chunk in enumerate(index.chunks) if (chunk.start, chunk.end) not in read}
    memory, steps = done[-1].after if done else Memory.blank(context.plan.memory_tokens), list(done)
    if any(Flag.UNREAD in step.flags for step in done):
        judged = Decision(score=done[-1].score or 0.0, usage=Usage())
        for step in list_unread([index.chunks[place] for place in unread], memory, judged, done):
            yield step
        return
    in_order = asks_for_all(context.question)
    ranking = find_ranking(done)
    if ranking is None and context.plan.rank is Rank.EMBEDDINGS and not in_order and not done:
        order = await rank_chunks(context, index.chunks)
        yield order
        ranking = order.ranking
    while unread:
        verdict = await leave(context, memory, steps) if leave else None
        if verdict and verdict.answer:
            for step in list_unread([index.chunks[place] for place in unread], memory, verdict):
                yield step
            yield verdict.answer
            return
        place = min(unread) if in_order else index.find_best(unread, context.question, memory.text, ranking)
        unread.remove(place)
        chunk = index.chunks[place]
        text = context.document.slice(chunk.start, chunk.end)
        step = await gated(context, memory, replace(chunk, text=text))
        step = add_usage(step, verdict.usage) if verdict else step
        steps.append(step.without_texts())
        yield step
        memory = step.after


def _list_calls(given: CostInputs) -> list[CallCost]:
    by_embeddings = given.plan.rank is Rank.EMBEDDINGS and not asks_for_all(given.question)
    return list_calls(given) if by_embeddings else []


RANKED = ComposedWay(
    name="ranked",
    course=Course(read=read_by_rank, ranks=True, list_calls=_list_calls),
    exit=EXIT,
    turns=("suffices",),
    needs=frozenset({Ability.JUDGE}),
)
