"""Ranked and early exit: the likeliest chunks are read first, and reading stops when the memory is enough.

    next chunk = argmax over the unread ones of BM25(question) + half of BM25(names and numbers of the memory)

With `rank = "embeddings"` in the plan, the nearness of the chunk's embeddings to the question's stands in place of
BM25(question), both terms spread from 0 to 1; a chunk is as near as its nearest passage. Passages are short, because
embedding models have short windows and a long text has a blurred embedding. The nearness of all chunks is a step, an
empty span at the document's beginning, so it is paid for once: a resumed reading reads its order from there.

The exit: after a step that changed the memory, one token says whether the memory answers the question. If it does, the
answer is asked for, and stands only when its numbers and names are borne out by the chunks that were read. Otherwise
reading goes on, to the last chunk. What was not read has steps with the flag `unread`. A question about the whole
document ("how many", "list all") is read in order and never stops early: no part of a document can show that nothing
more follows.

Rank decides on the order alone, never on what is left out. A fact found early leads to the chunk that its names lead
to. The steps stand in the order of reading.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from bookwheel.claims import BORNE_OUT, Claim, Verdict
from bookwheel.errors import InputError
from bookwheel.flags import Flag
from bookwheel.models.base import Ability, ModelWrapper, Vector, require_ability
from bookwheel.models.embeddings import measure_similarity
from bookwheel.plan import Plan, Rank
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.loop import answer
from bookwheel.reading.ways.compose import ComposedWay, add_usage, build_idle_step, list_unread
from bookwheel.reading.ways.document_index import cut_around, index_chunks, list_read
from bookwheel.reading.ways.gates import decide
from bookwheel.reading.ways.spec import Course, Decision, Exit, Leave, ReadingContext, Write
from bookwheel.text.chunks import fill_in, split
from bookwheel.text.matching import parse_words
from bookwheel.text.questions import asks_for_all
from bookwheel.text.ranking import list_words
from bookwheel.text.remarks import has_no_answer
from bookwheel.text.tokens import EstimatingTokenizer
from bookwheel.types import Answer, Chunk, Document, Memory, Part, Step, Usage
from bookwheel.verdict.judge import judge_answer

# Names in the memory lead to the next fact, but most of them are of facts that are known already.
_MEMORY_SHARE: Final = 0.5
# Estimated on the high side, so that a passage fits the 512 tokens of the smallest common embedding models.
_PASSAGE_TOKENS: Final = 400
BATCH: Final = 128
"""Passages that are embedded together: a failed batch is sent again, and vectors are dropped when they are compared."""
_NOTE: Final = "nearness of each chunk to the question, by embeddings"
_DIGITS: Final = 4
# To stop one chunk too late costs a chunk, to stop too early costs the answer.
_SURE: Final = 0.8
_NOT_READ: Final = frozenset({Flag.UNREAD, Flag.SKIPPED})


class ChunkOrder:
    """The chunks of a document, best first for a question and for what the memory names; their texts are not held."""

    def __init__(self, context: ReadingContext, done: Sequence[Step] = ()) -> None:
        cut = context.document, context.model.tokenizer, context.plan.chunk_tokens
        self.chunks = cut_around(*cut, done)
        self._words = index_chunks(*cut, self.chunks)
        distinctive = (word.text for word in parse_words(context.question) if word.is_distinctive)
        self._asked = sorted({key for text in distinctive for key in list_words(text)})
        self._names: list[str] = []
        self._memory = ""
        self._led: list[tuple[float, int]] = []

    def sort(self, ranking: Sequence[float] | None) -> None:
        """Order the chunks by the question's words, or by a ranking in their place."""
        scores = self._words.score(self._asked)
        self._scores = [scores.get(place, 0.0) for place in range(len(self.chunks))]
        # Cosines and BM25 have scales of their own.
        self._is_spread = ranking is not None
        if ranking:
            least, most = min(ranking), max(ranking)
            self._scores = [(score - least) / (most - least or 1.0) for score in ranking]
        # The last one is the best; of equal ones, the first in the document.
        self._order = sorted((score, -place) for place, score in enumerate(self._scores))

    def find_best(self, unread: set[int], memory: str) -> int:
        """Return the best unread chunk; of equal ones, the first in the document."""
        if memory != self._memory:
            self._memory = memory
            self._follow(memory)
        # Only a chunk that the memory leads to can come before the best one for the question.
        for order in (self._order, self._led):
            while order and -order[-1][1] not in unread:
                order.pop()
        return -max(order[-1] for order in (self._order, self._led) if order)[1]

    def _follow(self, memory: str) -> None:
        """Order the chunks that the names and numbers of the memory lead to, for new names only."""
        exact = (word for line in memory.splitlines() for word in parse_words(line) if word.is_exact)
        names = sorted({key for word in exact for key in list_words(word.text)}.difference(self._asked))
        if names != self._names:
            self._names, led = names, self._words.score(names)
            share = _MEMORY_SHARE / (max(led.values(), default=0.0) or 1.0) if self._is_spread else _MEMORY_SHARE
            self._led = sorted((self._scores[place] + share * score, -place) for place, score in led.items())


async def read_by_rank(
    context: ReadingContext, gated: Write, plain: Write, leave: Leave | None, done: Sequence[Step]
) -> AsyncGenerator[Step | Answer]:
    """Read the best chunk next, until the exit or the last one. Questions about the whole are read in order."""
    del plain
    index, read = await asyncio.to_thread(ChunkOrder, context, done), list_read(done)
    unread = {place for place, chunk in enumerate(index.chunks) if (chunk.start, chunk.end) not in read}
    memory, steps = done[-1].after if done else Memory.blank(context.plan.memory_tokens), list(done)
    if any(Flag.UNREAD in step.flags for step in done):
        judged = Decision(score=done[-1].score or 0.0, usage=Usage())
        for step in list_unread([index.chunks[place] for place in unread], memory, judged, done):
            yield step
        return
    in_order = asks_for_all(context.question)
    ranking = find_ranking(done)
    # Of chunks that another tokenizer cut.
    ranking = ranking if ranking is None or len(ranking) == len(index.chunks) else None
    if ranking is None and context.plan.rank is Rank.EMBEDDINGS and not in_order and not done:
        order = await _rank_by_embeddings(context, index.chunks)
        yield order
        ranking = order.ranking
    index.sort(ranking)
    while unread:
        verdict = await leave(context, memory, steps) if leave else None
        if verdict and verdict.answer:
            for step in list_unread([index.chunks[place] for place in unread], memory, verdict):
                yield step
            yield verdict.answer
            return
        place = min(unread) if in_order else index.find_best(unread, memory.text)
        unread.remove(place)
        chunk = fill_in(index.chunks[place], context.document, context.model.tokenizer, context.plan.chunk_tokens)
        step = add_usage(await gated(context, memory, chunk), verdict.usage if verdict else None)
        steps.append(step.without_texts())
        yield step
        memory = step.after


async def _rank_by_embeddings(context: ReadingContext, chunks: Sequence[Chunk]) -> Step:
    """Embed the question and all passages; return the step that holds the score of each chunk."""
    model = ModelWrapper(context.model)
    asked = await model.embed([context.question.strip()])
    scores, usage = [-1.0] * len(chunks), asked.usage
    passages = split(context.document, EstimatingTokenizer(), _find_passage_tokens(context.plan))
    while batch := await asyncio.to_thread(lambda: list(islice(passages, BATCH))):
        found = await model.embed([passage.text for passage in batch])
        usage += found.usage
        await asyncio.to_thread(_raise_scores, scores, chunks, batch, found.vectors, asked.vectors[0])
    return build_ranking_step(scores, usage, context.plan.memory_tokens)


def _raise_scores(
    scores: list[float], chunks: Sequence[Chunk], passages: Sequence[Chunk], vectors: Sequence[Vector], asked: Vector
) -> None:
    """Raise the score of each chunk to that of its nearest passage."""
    for passage, near in zip(passages, compare_vectors(asked, vectors), strict=True):
        place = max(0, bisect_right(chunks, passage.start, key=lambda chunk: chunk.start) - 1)
        while place < len(chunks) and chunks[place].start < passage.end:
            scores[place] = max(scores[place], near)
            place += 1


def compare_vectors(asked: Vector, vectors: Sequence[Vector]) -> list[float]:
    """Return how near each passage's vector is to the question's; InputError if they cannot be compared."""
    if any(len(vector) != len(asked) for vector in vectors):
        raise InputError("the embeddings of question and document have different lengths: was the model changed?")
    return [measure_similarity(asked, vector) for vector in vectors]


def _find_passage_tokens(plan: Plan) -> int:
    # Half of a chunk at most, or a passage would say too little of where it is near.
    return min(_PASSAGE_TOKENS, max(1, plan.chunk_tokens // 2))


def build_ranking_step(scores: Sequence[float], usage: Usage, limit: int) -> Step:
    """Return the step that holds the scores: an empty span at the document's beginning."""
    step = build_idle_step(Chunk.empty(), Memory.blank(limit), usage=usage, note=_NOTE)
    return replace(step, ranking=tuple(round(score, _DIGITS) for score in scores))


def find_ranking(steps: Sequence[Step]) -> tuple[float, ...] | None:
    """Return the scores that an earlier run of the reading has stored; None if there are none."""
    return next((step.ranking for step in steps[:1] if step.conversation.reply.text == _NOTE), None)


async def leave_early(context: ReadingContext, memory: Memory, steps: Sequence[Step]) -> Decision | None:
    """Return whether the memory suffices, with its answer; None where there is nothing new to judge."""
    if not steps or steps[-1].after.text == steps[-1].before.text or asks_for_all(context.question):
        return None
    model = await require_ability(context.model, Ability.JUDGE, way="early-exit")
    verdict = await decide(model, context.prompts, "suffices", question=context.question, memory=memory.text)
    if verdict.score < _SURE:
        return verdict
    final = await answer(context.question, memory, context.model, context.plan, context.prompts)
    if await asyncio.to_thread(is_borne_out, final, steps, context):
        return replace(verdict, answer=final)
    return replace(verdict, usage=verdict.usage + final.conversation.reply.usage)


def is_borne_out(final: Answer, steps: Sequence[Step], context: ReadingContext) -> bool:
    """Return whether the chunks that were read bear the answer out."""
    # Words of absence anywhere: only the whole document can show that something is not there.
    if has_no_answer(final):
        return False
    _, claims = judge_answer(final.text, context.question, steps, _ReadText(context.document, steps))
    return bool(claims) and all(map(_has_its_words, claims))


class _ReadText:
    """The chunks of a document that were read, in its order; no other text may bear an answer out."""

    def __init__(self, document: Document, steps: Sequence[Step]) -> None:
        self._document = document
        spans = {(step.chunk.start, step.chunk.end) for step in steps if not _NOT_READ & set(step.flags)}
        self._spans = sorted(span for span in spans if span[0] < span[1])

    def parts(self) -> Iterator[Part]:
        """Yield each chunk, with a break where text between two of them was not read."""
        position = 0
        for start, end in self._spans:
            gap = "" if start == position else "\n\n"
            yield Part(text=gap + self._document.slice(start, end), source=self._document.name)
            position = end


def _has_its_words(claim: Claim) -> bool:
    """Return whether the names and numbers of a sentence were read; one without any must be said by the document.

    An answer that follows from two places is not found in one, so the verdict alone would never let it stand.
    """
    if claim.verdict in {*BORNE_OUT, Verdict.PARTLY} or claim.missing:
        return not claim.missing
    return claim.verdict is Verdict.NOT_FOUND and any(word.is_exact for word in parse_words(claim.text))


def _list_exit_calls(given: CostInputs) -> list[CallCost]:
    """Return the judgements of the memory, and the answers that were not borne out."""
    most = given.size.chunks - 1
    if most < 1 or asks_for_all(given.question):
        return []
    words, memory = given.count_turn("suffices"), given.plan.memory_tokens
    judging = CallCost(least=1, most=most, words=words, reply=1, memory=memory)
    return [judging, replace(given.answering(), least=0, most=most)]


def _list_ranking_calls(given: CostInputs) -> list[CallCost]:
    """Return the calls that embed the question and every passage, where the order rests on embeddings."""
    if given.plan.rank is not Rank.EMBEDDINGS or asks_for_all(given.question):
        return []
    # A passage can be half as long as it may be: it ends with a sentence. Its tokens are estimates, on the high side.
    most = 3 + 4 * given.size.tokens // _find_passage_tokens(given.plan)
    text = given.size.tokens + given.question_tokens
    # Another tokenizer counts these.
    return [CallCost(least=2, most=most, words=0, reply=0, text=2 * text)]


_EXIT: Final = Exit(leave=leave_early, list_calls=_list_exit_calls)
EARLY_EXIT = ComposedWay(name="early-exit", exit=_EXIT, turns=("suffices",), needs=frozenset({Ability.JUDGE}))
RANKED = ComposedWay(
    name="ranked",
    course=Course(read=read_by_rank, ranks=True, list_calls=_list_ranking_calls),
    exit=_EXIT,
    turns=("suffices",),
    needs=frozenset({Ability.JUDGE}),
)
