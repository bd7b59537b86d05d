"""Dense and hybrid retrieval: pick overlapping passages by their embeddings, then answer in one turn.

    dense    cos(embedding(question), embedding(passage))
    hybrid   1 / (60 + rank by embeddings) + 1 / (60 + rank by BM25), the sum of both lists (reciprocal rank fusion)

A passage is two neighbouring pieces of 80 tokens, and each piece is in two passages, so that no sentence is cut in all
of them. Pieces are taken by the best passages first, until the window is full, and shown in the document's order. The
similarities are the first step of the reading: they are paid for once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bookwheel.models.base import ModelWrapper
from bookwheel.models.embeddings import BATCH as TEXTS_OF_REQUEST
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.ways.bm25 import PASSAGE_TOKENS
from bookwheel.reading.ways.nearest import BATCH, build_step, compare_vectors, find_ranking
from bookwheel.reading.ways.single_turn import ask_once, count_one_call, join_chunks, text_budget
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.text.chunks import split
from bookwheel.text.ranking import score_texts
from bookwheel.text.sanitize import escape_markup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Chunk, Document, Step

# The constant of reciprocal rank fusion as it was published; it keeps one list's first place from deciding alone.
_FUSION: Final = 60
_LEAST_PIECE: Final = 4


async def dense(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from the passages that are nearest to the question, as many as fit."""
    async for event in _retrieve(document, question, model, plan, done, is_hybrid=False):
        yield event


async def hybrid(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from the passages that are best by embeddings and BM25 together, as many as fit."""
    async for event in _retrieve(document, question, model, plan, done, is_hybrid=True):
        yield event


async def _retrieve(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step], *, is_hybrid: bool
) -> AsyncGenerator[Step | Answer]:
    limit = text_budget(question, model, plan, "passages", plan.answer_tokens)
    size = find_piece_tokens(question, model, plan)
    pieces = await asyncio.to_thread(lambda: list(split(document, model.tokenizer, size)))
    passages = join_neighbours(pieces)
    ranking = find_ranking(done)
    if ranking is None or len(ranking) != len(passages):
        step = await _measure(question, passages, model, plan)
        yield step
        ranking = step.ranking
    order = sorted(range(len(passages)), key=lambda place: -ranking[place])
    if is_hybrid:
        matches = await asyncio.to_thread(score_texts, passages, question)
        # A passage without a word of the question has no place among those that have some.
        by_words = sorted((place for place in order if matches[place] > 0), key=lambda place: -matches[place])
        order = fuse_ranks([order, by_words])
    yield await ask_once(question, _take_pieces(order, pieces, model, limit), model, plan, "passages")


def find_piece_tokens(question: str, model: Model, plan: Plan) -> int:
    """Return the tokens of a piece: half a passage, of which four at least fit the window."""
    limit = text_budget(question, model, plan, "passages", plan.answer_tokens)
    return max(_LEAST_PIECE, min(PASSAGE_TOKENS, limit // 4) // 2)


def join_neighbours(pieces: Sequence[Chunk]) -> list[str]:
    """Return the text of each piece with the one after it; a single piece is a passage by itself."""
    if len(pieces) == 1:
        return [pieces[0].text]
    return [one.text + other.text for one, other in pairwise(pieces)]


async def _measure(question: str, passages: Sequence[str], model: Model, plan: Plan) -> Step:
    """Return the step that holds the similarity of each passage to the question."""
    embedder = ModelWrapper(model)
    asked = await embedder.embed([question.strip()])
    usage, scores = asked.usage, list[float]()
    for start in range(0, len(passages), BATCH):
        found = await embedder.embed(passages[start : start + BATCH])
        usage += found.usage
        scores += compare_vectors(asked.vectors[0], found.vectors)
    return build_step(scores, usage, plan.memory_tokens)


def fuse_ranks(orders: Sequence[Sequence[int]]) -> list[int]:
    """Return the first order's places by the sum of 1 / (60 + rank) over all orders; others may name some of them."""
    scores = dict.fromkeys(orders[0], 0.0)
    for order in orders:
        for rank, place in enumerate(order, start=1):
            scores[place] += 1 / (_FUSION + rank)
    return sorted(scores, key=lambda place: -scores[place])


def _take_pieces(order: Sequence[int], pieces: Sequence[Chunk], model: Model, limit: int) -> str:
    """Return the text of the best passages within the limit; pieces that two passages share count once."""
    taken: dict[int, Chunk] = {}
    tokens = 0
    for place in order:
        fresh = [at for at in (place, place + 1) if at < len(pieces) and at not in taken]
        tokens += sum(pieces[at].tokens for at in fresh)
        if tokens > limit:
            break
        taken |= {at: pieces[at] for at in fresh}
    chosen = list(taken.values())
    while chosen and model.tokenizer.count(escape_markup(join_chunks(chosen))) > limit:
        chosen.pop()
    return join_chunks(chosen)


def _list_calls(given: CostInputs) -> list[CallCost]:
    """Return the calls that embed question and passages, and the one that answers; each piece is in two passages."""
    tokens = given.size.tokens
    # A piece ends with a sentence where one ends in its second half.
    most = 1 + 2 * -(-tokens // find_piece_tokens(given.question, given.model, given.plan))
    # A model with embeddings of its own may take all passages at once.
    embedding = CallCost(
        least=2,
        most=1 + -(-most // TEXTS_OF_REQUEST),
        words=given.question_tokens,
        reply=0,
        least_text=tokens // 2,
        most_text=2 * tokens,
    )
    return [embedding, *count_one_call("passages")(given)]


def _embed_always(_plan: Plan) -> bool:
    return True


DENSE = WaySpec(run=dense, embeds=_embed_always, list_calls=_list_calls)
HYBRID = replace(DENSE, run=hybrid)
