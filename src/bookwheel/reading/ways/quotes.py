"""Quotes: a way for models too small to write. Memory and answer are the document's own words.

The memory holds verbatim passages of the document, a passage a line, the best first. Passages are chosen by one
measure, their gain: how much of the question they explain (reading/ways/question_scorer.py).

    code                    what its names tell is asked of no model (reading/ways/code_answers.py)
    for each chunk          those with the best windows of the whole document first (reading/ways/passages.py)
        for each window     of the best that begin in it: its gain
        judgement           where the plan asks for it: the log-odds, by the model's judgement, that one of the best
                            windows so far answers the question, times a weight, are added to its gain
        memory              the best windows of all chunks so far that fit its size
        until               the best window answers, and its own gain is enough, and a little less for each chunk
                            since it was found; or the eight best windows of the document were measured in vain;
                            what was not read then is flagged `unread`
    with no enough          a plan that has none reads everything: the gain of each chunk first, half of which is added
                            to that of its windows; a chunk that is not among the best few so far changes nothing
    second passage          where passages are judged: one of the whole document that answers together with the best;
                            its chunk's step is flagged `joined`
    answer                  if the best window does not answer, by its judgement, or by its gain where there is none,
                            and none joined it: not in the document; so too if it is a row of something else
                            else a cell of its table (table_answers.py), the one of two that a question names
                            (compared_answers.py), or a short answer out of that window, or of
                            the one that joined it (question_scorer.py), with the passages beside it

A small model judges far better than it writes: it can tell which text a question is about, but not repeat it without
errors. Every line of the memory is the document's own wording, so its place in the document is exact. With a prompt set
for larger models the last line is what the model says to question and memory. A line of the user's is never dropped.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from itertools import takewhile
from math import inf
from typing import Final

from bookwheel.flags import Flag
from bookwheel.models.base import Ability, Model, require_ability
from bookwheel.plan import Plan
from bookwheel.reading import loop
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.reading.ways.code_answers import cite_passage, leave_all, look_up_code
from bookwheel.reading.ways.compared_answers import find_compared
from bookwheel.reading.ways.compose import list_unread
from bookwheel.reading.ways.document_index import cut_around, index_passages, list_read
from bookwheel.reading.ways.passages import Window, fit, split_windows
from bookwheel.reading.ways.question_scorer import (
    JUDGED,
    MEASURED,
    QuestionScorer,
    ScoredQuote,
    ShortAnswer,
    find_second,
)
from bookwheel.reading.ways.quoted_memory import (
    build_step,
    find_joined,
    find_lines,
    join_second,
    judge_quotes,
    restore_quotes,
    select_quotes,
)
from bookwheel.reading.ways.spec import Decision, WaySpec
from bookwheel.reading.ways.table_answers import (
    ToldAnswer,
    find_numbered_row,
    find_row,
    find_table_answer,
    names_other_row,
)
from bookwheel.text.ranking import QuestionWords
from bookwheel.types import Answer, Chunk, Conversation, Document, Memory, Reply, Step, Usage

# Windows are searched in the best chunks only; one more costs seconds and rarely has the answer.
_CHUNKS: Final = 2
# Windows of a chunk that are measured. The few with the most of the question's words nearly always have the answer.
WINDOWS: Final = 4
# Windows of the whole document that are measured before the search ends; of more, hardly one more is right.
_SEARCHED: Final = 8
# Where everything is read, windows of the document that are preferred to others of their chunk.
_PREFERRED: Final = 24
# Chunks that are read in vain where few windows have a word of the question.
_MOST_CHUNKS: Final = 5
# What each chunk that was read in vain takes off the gain that is enough: the likeliest chunks come first.
_PATIENCE: Final = 0.1


async def quotes(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Read past a memory of verbatim passages, chosen by likelihood, and answer with the best ones."""
    scorer, plan = await _prepare(question, model, plan)
    memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
    if scorer.prompts.quotes and (told := await look_up_code(question, document, done)):
        for step in await leave_all(document, model, plan, done):
            yield step
        yield _conclude_told(scorer, told)
        return
    lines = find_lines(done)
    second = find_joined(lines)
    kept = [quote for quote in await restore_quotes(memory, lines, scorer) if quote.text != second]
    scores = [step.score for step in done if step.score is not None and Flag.UNREAD not in step.flags]
    # In a thread: the whole document is cut into chunks, and a server's tokenizer waits for the network.
    searched = _SEARCHED if plan.enough_gain else _PREFERRED
    chunks = await asyncio.to_thread(cut_around, document, model.tokenizer, plan.chunk_tokens, done)
    ranked, found_by_start = await asyncio.to_thread(_rank_chunks, document, scorer.words, chunks, searched)
    read = list_read(done)
    left = [chunk for chunk in ranked if (chunk.start, chunk.end) not in read]
    index, waited = len(done), _count_waited(kept, done)
    gain = _find_enough(kept, waited, scorer, plan, done)
    most = len(ranked)
    if plan.enough_gain:  # Where few windows have a word of the question, more chunks are read before the search ends.
        is_full = sum(map(len, found_by_start.values())) == _SEARCHED
        most = len(found_by_start) if is_full else max(len(found_by_start), _MOST_CHUNKS)
    while left and gain is None and len(scores) < most:
        place = left.pop(0)
        chunk = replace(place, index=index, text=document.slice(place.start, place.end))
        score = 0.0 if plan.enough_gain else await scorer.gain(chunk.text)
        if plan.enough_gain or _is_good(score, scores, kept, scorer, plan):
            found = await _search(chunk, found_by_start.get(chunk.start, ()), score, scorer, model, plan)
            kept = select_quotes(await judge_quotes((*kept, *found), scorer), model, plan.memory_tokens)
            score = score or max((quote.window for quote in found), default=0.0)
        scores.append(score)
        step = build_step(chunk, memory, kept, score, scorer, model)
        yield step
        index, memory = index + 1, step.after
        waited = waited + 1 if _count_waited(kept, [step]) else 0
        gain = _find_enough(kept, waited, scorer, plan)
    best = kept[0] if kept else None
    is_open = best is not None and scorer.words.share(best.text) < 1
    was_ended = any(Flag.UNREAD in step.flags for step in done)
    if best and is_open and best.chunk < inf and scorer.weight and not second and not was_ended:
        joining = await find_second(best, ranked, document, scorer, model, plan)
        if joining:
            step = join_second(joining, memory, kept, scorer, model)
            yield step.with_index(index)
            index, memory, second = index + 1, step.after, joining.text
            left = [chunk for chunk in left if chunk.start != joining.chunk.start]
    if left:
        for step in list_unread(left, memory, Decision(score=gain or 0.0, usage=Usage()), done):
            yield step.with_index(index)
            index += 1
    yield await _answer(kept, second, memory, scorer, model, plan, document=document)


async def _prepare(question: str, model: Model, plan: Plan) -> tuple[QuestionScorer, Plan]:
    """Return what measures passages, and the plan for this question."""
    judge = await require_ability(model, Ability.LIKELIHOOD, "quotes")
    prompts = prompts_for(plan, question)
    loop.check(question, model, plan, prompts)
    weight = plan.judgement_weight if asks_judgements(plan, prompts) else 0.0
    if weight:
        await require_ability(model, Ability.JUDGE, "quotes")
    plan = replace(plan, least_gain=prompts.least_gain_share * plan.least_gain)
    return QuestionScorer(judge, prompts, question, weight), plan


def asks_judgements(plan: Plan, prompts: Prompts) -> bool:
    """Return whether the passages that come into the memory are judged."""
    return plan.judgement_weight > 0 and "answers" in prompts.turns


def _find_best(kept: Sequence[ScoredQuote]) -> ScoredQuote | None:
    # What the user wrote has no rank among the passages.
    return next((quote for quote in kept if quote.chunk < inf), None)


def _count_waited(kept: Sequence[ScoredQuote], done: Sequence[Step]) -> int:
    """Return how many chunks were read since the best passage was found."""
    best = _find_best(kept)
    was_there = (best is not None and best.text in step.before.text.splitlines() for step in reversed(done))
    return sum(1 for _ in takewhile(bool, was_there))


def _find_enough(
    kept: Sequence[ScoredQuote], waited: int, scorer: QuestionScorer, plan: Plan, done: Sequence[Step] = ()
) -> float | None:
    """Return the gain of the best passage if no better one is to be looked for."""
    left_before = next((step.score for step in done if Flag.UNREAD in step.flags), None)
    if left_before is not None:
        return left_before
    best = _find_best(kept)
    if not plan.enough_gain or best is None:
        return None
    is_enough = scorer.answers(best, plan.least_gain) and best.window + _PATIENCE * waited >= plan.enough_gain
    return best.window if is_enough else None


def _rank_chunks(
    document: Document, words: QuestionWords, chunks: Sequence[Chunk], most: int
) -> tuple[list[Chunk], dict[int, list[Window]]]:
    """Return the chunks without texts, those with the best windows of the whole document first, and their windows."""
    starts = [chunk.start for chunk in chunks]
    found: dict[int, list[Window]] = {}
    for one in index_passages(document).rank(words, most):
        start = starts[max(0, bisect_right(starts, one.window.start) - 1)]
        found.setdefault(start, []).append(one.window)
    order = {start: at for at, start in enumerate(found)}
    return sorted(chunks, key=lambda chunk: order.get(chunk.start, len(order))), found


def _is_good(
    score: float, scores: Sequence[float], kept: Sequence[ScoredQuote], scorer: QuestionScorer, plan: Plan
) -> bool:
    """Return whether a chunk is among the best few so far, of those that are not refuted.

    Others take the place of a chunk of which the memory has passages, and none that answers.
    """
    refuted = {quote.chunk for quote in kept}
    refuted -= {quote.chunk for quote in kept if scorer.answers(quote, plan.least_gain)}
    # A passage gains up to twice what its chunk does.
    return sum(other >= score for other in scores if other not in refuted) < _CHUNKS and 2 * score >= plan.least_gain


async def _search(
    chunk: Chunk, found: Sequence[Window], score: float, scorer: QuestionScorer, model: Model, plan: Plan
) -> list[ScoredQuote]:
    """Return the windows that begin in a chunk and rank best in the document, with their gains.

    Where no word of the question stands in the chunk, any window of it may answer.
    """
    limit = plan.memory_tokens // 2
    texts = [fit(window, model.tokenizer, limit) for window in found]
    if not texts:
        texts = scorer.words.choose(split_windows(chunk.text, model.tokenizer, limit), WINDOWS)
    # Of everything, the few best windows of each chunk.
    texts = texts if plan.enough_gain else texts[:WINDOWS]
    return [ScoredQuote(text, score, await scorer.gain(text)) for text in dict.fromkeys(texts)]


async def _answer(
    kept: Sequence[ScoredQuote],
    second: str | None,
    memory: Memory,
    scorer: QuestionScorer,
    model: Model,
    plan: Plan,
    *,
    document: Document,
) -> Answer:
    """Return the passages that answer, or that the document has nothing on the question."""
    best = kept[0] if kept else None
    is_by_hand = best is not None and best.chunk == inf and not second
    is_enough = best is not None and bool(best.chunk == inf or scorer.answers(best, plan.least_gain) or second)
    told, seen, named = None, best.text if best else "", ""
    if scorer.prompts.quotes and not is_by_hand:
        if named := await asyncio.to_thread(find_numbered_row, scorer.question, document):
            seen, second, is_enough = named, None, True
        told = await asyncio.to_thread(find_table_answer, scorer.question, seen, document)
        if scorer.two and (told is None or not told.is_looked_up):
            told = await asyncio.to_thread(find_compared, scorer.two, document) or told
        if told and told.is_looked_up:
            return _conclude_told(scorer, told)
        if best and not second and not named:
            is_enough &= not await asyncio.to_thread(names_other_row, scorer.question, seen, document)
    if plan.least_gain and not is_enough:
        reply = Reply(text=scorer.prompts.not_found, usage=scorer.take_usage())
        return loop.conclude(Conversation(messages=scorer.messages(memory.text), reply=reply))
    if told:
        return _conclude_told(scorer, told)
    if not seen or not scorer.prompts.quotes:
        answer = await loop.answer(scorer.question, memory, model, plan, scorer.prompts)
        return replace(answer, conversation=answer.conversation.add_usage(scorer.take_usage()))
    if is_by_hand:
        return _conclude(scorer, ShortAnswer(seen), "", seen)
    return await _copy(seen, second, scorer, document)


async def _copy(seen: str, second: str | None, scorer: QuestionScorer, document: Document) -> Answer:
    """Return a short answer out of a passage, or of the one that joined it."""
    short = await scorer.answer(seen, second or "")
    # Whoever copies out of a row mistakes one column for another.
    if await asyncio.to_thread(find_row, seen, document):
        short = short._replace(is_sure=False)
    code = await asyncio.to_thread(cite_passage, seen, document)
    if code and seen.endswith(short.text):
        short = ShortAnswer(code, short.is_sure)
    return _conclude(scorer, short, code or (f"{seen}\n{second}" if second else seen), seen)


def _conclude_told(scorer: QuestionScorer, told: ToldAnswer) -> Answer:
    answer = _conclude(scorer, ShortAnswer(told.text, told.is_sure), told.passage, told.passage)
    return replace(answer, flags=(*answer.flags, Flag.LOOKED_UP)) if told.is_looked_up else answer


def _conclude(scorer: QuestionScorer, short: ShortAnswer, passage: str, seen: str) -> Answer:
    """Return a short answer with the passages beside it, as a reply to what was seen."""
    said = Conversation(messages=scorer.messages(seen), reply=Reply(text=short.text, usage=scorer.take_usage()))
    answer = replace(loop.conclude(said), passage=passage if passage != short.text else "")
    return answer if short.is_sure else replace(answer, flags=(*answer.flags, Flag.UNSURE))


def _list_calls(given: CostInputs) -> list[CallCost]:
    """Return the likelihoods of windows, of each chunk where all are read, and the answer's."""
    chunks, plan = given.size.chunks, given.plan
    # The first passage can be enough, and the search ends after a few chunks.
    scored = 0 if plan.enough_gain else chunks
    score = CallCost(
        least=scored,
        most=scored,
        words=given.count_turn("about"),
        reply=given.question_tokens + 1,
        text=given.size.tokens if scored else 0,
    )
    # Fewer windows than are looked for have a word of the question: then other chunks give any of theirs.
    others = WINDOWS * (min(chunks, _MOST_CHUNKS) - 1)
    most = max(WINDOWS, _SEARCHED, _SEARCHED - 1 + others) if plan.enough_gain else WINDOWS * chunks
    windows = replace(score, least=0, most=most, text=most * (plan.memory_tokens // 2))
    # Once without any text.
    choice = replace(windows, least=1, most=1, text=0)
    calls = [score, windows, choice, given.answering()]
    if asks_judgements(plan, given.prompts):
        # Of each window that comes into the memory.
        judged = replace(windows, words=given.count_turn("answers"), reply=1)
        # Of a second passage together with the best one.
        both = MEASURED
        pairs = replace(windows, most=both, text=both * plan.memory_tokens)
        calls += [judged, pairs, replace(judged, most=JUDGED, text=JUDGED * plan.memory_tokens)]
    return calls


QUOTES = WaySpec(run=quotes, needs=frozenset({Ability.LIKELIHOOD}), list_calls=_list_calls)
