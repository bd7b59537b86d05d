"""The memory of the way `quotes`: a passage a line, the best first, and what is known of each.

What the user wrote stays before all passages, as measured infinitely well; what was measured once is not measured
again when a reading goes on, for a step keeps it beside its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Final

from bookwheel.flags import Flag
from bookwheel.models.base import Model
from bookwheel.reading.ways.passages import overlaps
from bookwheel.reading.ways.question_scorer import QuestionScorer, ScoredQuote, SecondPassage
from bookwheel.types import Chunk, Conversation, Memory, Reply, ScoredLine, Step

# Of all windows so far, those with the most gain that are judged.
_JUDGED: Final = 4
# A memory of overlapping windows would hold one passage several times.
_MOST_QUOTES: Final = 4


def find_lines(done: Sequence[Step]) -> dict[str, ScoredLine]:
    """Return what is known of each passage that was in the memory; nothing of what was changed by hand."""
    own = (step for step in done if step.lines and Flag.EDITED not in step.flags)
    return {text: line for step in own for text, line in zip(step.after.text.splitlines(), step.lines, strict=True)}


async def restore_quotes(memory: Memory, lines: Mapping[str, ScoredLine], scorer: QuestionScorer) -> list[ScoredQuote]:
    """Return the passages of a memory that was kept or edited. Lines of which nothing is known are the user's."""
    kept: list[ScoredQuote] = []
    for text in filter(str.strip, memory.text.splitlines()):
        if line := lines.get(text):
            kept.append(ScoredQuote(text, inf if line.chunk is None else line.chunk, line.gain, line.judgement))
        else:
            kept.append(ScoredQuote(text, inf, await scorer.gain(text)))
    return await judge_quotes(kept, scorer)


def select_quotes(quotes: Iterable[ScoredQuote], model: Model, limit: int) -> list[ScoredQuote]:
    """Return the first passages that fit the memory together and do not overlap."""
    chosen: list[ScoredQuote] = []
    for quote in quotes:
        lines = "\n".join((*(other.text for other in chosen), quote.text))
        is_new = not any(overlaps(quote.text, other.text) for other in chosen)
        if len(chosen) < _MOST_QUOTES and is_new and model.tokenizer.count(lines) <= limit:
            chosen.append(quote)
    return chosen


async def judge_quotes(quotes: Iterable[ScoredQuote], scorer: QuestionScorer) -> list[ScoredQuote]:
    """Return the passages, the best first by gain and judgement; what the user wrote stays before them.

    Where passages are judged, these are the few with the most gain alone.
    """
    ranked = sorted(quotes, key=lambda quote: -quote.rank)
    if not scorer.weight:
        return ranked
    own = [quote for quote in ranked if quote.chunk == inf]
    best = sorted(ranked[len(own) :], key=lambda quote: -quote.gain)[:_JUDGED]
    judged = [
        quote if quote.judgement is not None else replace(quote, judgement=await scorer.weigh(quote.text))
        for quote in best
    ]
    return [*own, *sorted(judged, key=lambda quote: -quote.rank)]


def find_joined(lines: Mapping[str, ScoredLine]) -> str | None:
    """Return the passage that joined the best one before the reading was stopped."""
    return next((text for text, line in lines.items() if line.joins), None)


def join_second(
    second: SecondPassage, memory: Memory, kept: Sequence[ScoredQuote], scorer: QuestionScorer, model: Model
) -> Step:
    """Return the step after which the second passage stands below the best one; the chunk is not scored."""
    best, *others = kept
    joining = ScoredQuote(second.text, second.gain, second.gain)
    quotes = select_quotes((best, joining, *others), model, memory.limit)
    step = build_step(second.chunk, memory, quotes, second.gain, scorer, model)
    lines = tuple(replace(_to_line(quote), joins=quote is joining) for quote in quotes)
    return replace(step, flags=(*step.flags, Flag.JOINED), score=None, lines=lines)


def build_step(
    chunk: Chunk, before: Memory, kept: Sequence[ScoredQuote], score: float, scorer: QuestionScorer, model: Model
) -> Step:
    text = "\n".join(quote.text for quote in kept)
    after = replace(before, text=text, tokens=model.tokenizer.count(text)) if text != before.text else before
    said = Conversation(
        messages=scorer.messages(chunk.text), reply=Reply(text=scorer.question, usage=scorer.take_usage())
    )
    flags = (Flag.UNCHANGED,) if after is before else ()
    lines = tuple(map(_to_line, kept))
    return Step(chunk=chunk, before=before, after=after, conversation=said, flags=flags, score=score, lines=lines)


def _to_line(quote: ScoredQuote) -> ScoredLine:
    chunk = None if quote.chunk == inf else quote.chunk
    return ScoredLine(chunk=chunk, gain=quote.window, judgement=quote.judgement)
