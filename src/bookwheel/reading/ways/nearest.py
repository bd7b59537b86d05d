"""Rank chunks by embeddings: a chunk is as near to the question as its nearest passage.

    score(chunk) = max over its passages of cos(embedding(question), embedding(passage))

Passages are short, because embedding models have short windows and a long text has a blurred embedding. The scores are
a step of the reading, an empty span at the document's beginning, so they are paid for once: a resumed reading reads
its order from there.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.models.base import ModelWrapper
from bookwheel.models.embeddings import measure_similarity
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.text.chunks import split
from bookwheel.text.tokens import EstimatingTokenizer
from bookwheel.types import Chunk, Conversation, Memory, Reply, Step, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.models.base import Vector
    from bookwheel.plan import Plan
    from bookwheel.reading.ways.compose import ReadingContext

# Estimated on the high side, so that a passage fits the 512 tokens of the smallest common embedding models.
_PASSAGE_TOKENS: Final = 400
BATCH: Final = 128
"""Passages that are embedded together: a failed batch is sent again, and vectors are dropped when they are compared."""
_HEADING: Final = "nearness of each chunk to the question, by embeddings"
_DIGITS: Final = 4


def find_passage_tokens(plan: Plan) -> int:
    """Return how long a passage may be: half of a chunk at most, or it would say too little of where it is near."""
    return min(_PASSAGE_TOKENS, max(1, plan.chunk_tokens // 2))


async def rank_chunks(context: ReadingContext, chunks: Sequence[Chunk]) -> Step:
    """Embed the question and all passages; return the step that holds the score of each chunk."""
    model = ModelWrapper(context.model)
    asked = await model.embed([context.question.strip()])
    scores, usage = [-1.0] * len(chunks), asked.usage
    passages = split(context.document, EstimatingTokenizer(), find_passage_tokens(context.plan))
    while batch := await asyncio.to_thread(lambda: list(islice(passages, BATCH))):
        found = await model.embed([passage.text for passage in batch])
        usage += found.usage
        await asyncio.to_thread(_raise_scores, scores, chunks, batch, found.vectors, asked.vectors[0])
    return build_step(scores, usage, context.plan.memory_tokens)


def _raise_scores(
    scores: list[float], chunks: Sequence[Chunk], passages: Sequence[Chunk], vectors: Sequence[Vector], asked: Vector
) -> None:
    """Raise the score of each chunk to that of its nearest passage."""
    for passage, near in zip(passages, compare_vectors(asked, vectors), strict=True):
        for place in _find_overlaps(chunks, passage):
            scores[place] = max(scores[place], near)


def compare_vectors(asked: Vector, vectors: Sequence[Vector]) -> list[float]:
    """Return how near each passage's vector is to the question's; InputError if they cannot be compared."""
    if any(len(vector) != len(asked) for vector in vectors):
        raise InputError("the embeddings of question and document have different lengths: was the model changed?")
    return [measure_similarity(asked, vector) for vector in vectors]


def list_calls(given: CostInputs) -> list[CallCost]:
    """Return the calls that embed the question and every passage."""
    # A passage can be half as long as it may be: it ends with a sentence. Its tokens are estimates, on the high side.
    most = 3 + 4 * given.size.tokens // find_passage_tokens(given.plan)
    text = given.size.tokens + given.question_tokens
    # Another tokenizer counts these.
    return [CallCost(least=2, most=most, words=0, reply=0, least_text=given.size.tokens // 2, most_text=2 * text)]


def _find_overlaps(chunks: Sequence[Chunk], passage: Chunk) -> Iterator[int]:
    """Yield the places of the chunks that hold a part of a passage."""
    place = max(0, bisect_right(chunks, passage.start, key=lambda chunk: chunk.start) - 1)
    while place < len(chunks) and chunks[place].start < passage.end:
        yield place
        place += 1


def build_step(scores: Sequence[float], usage: Usage, limit: int) -> Step:
    """Return the step that holds the scores: an empty span at the document's beginning."""
    blank = Memory.blank(limit)
    conversation = Conversation(messages=(), reply=Reply(text=_HEADING, usage=usage))
    place = Chunk(index=0, start=0, end=0, text="", tokens=0)
    ranking = tuple(round(score, _DIGITS) for score in scores)
    return Step(chunk=place, before=blank, after=blank, conversation=conversation, ranking=ranking)


def find_ranking(steps: Sequence[Step]) -> tuple[float, ...] | None:
    """Return the scores that an earlier run of the reading has stored; None if there are none."""
    for step in steps[:1]:
        text = step.conversation.reply.text
        if step.ranking or text == _HEADING:
            return step.ranking
        # Journals of versions before the ranking have it in the reply.
        if text.startswith(f"{_HEADING}:"):
            return tuple(float(score) for score in text.removeprefix(f"{_HEADING}:").split())
    return None
