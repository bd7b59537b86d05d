"""A second passage: what the best one leaves open may stand in another part of the document.

    question   In which town was the keeper born who lit the lamp at Sallow Point in 1891?
    best       The lamp at Sallow Point was lit in 1891 by Amos Thorne, a quiet man.      tells who, not where
    second     Amos Thorne was a cooper's son from Brill.                                 no word of the question

    words      those of the question that the best passage lacks, and the names and numbers that it adds
    windows    the few with the rarest of these words, from the few chunks of the whole document that have them
    gain       of the best passage and a window, read as one text
    worth      that gain and the judgement of the same text, for the two with the most gain
    joins      the window with the most, if both together have twice the least that one passage must have,
               and enough more than the best one has by itself

The second one may say nothing of the question by itself, as here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.windows import overlaps, split_windows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.ways.question_scorer import QuestionScorer, ScoredQuote
    from bookwheel.text.ranking import QuestionWords
    from bookwheel.types import Chunk, Document

# Chunks whose windows are looked through for the words; that costs no call.
_CHUNKS: Final = 6
# Windows that are measured together with the best passage, and those of them that are judged with it.
MEASURED: Final = 4
JUDGED: Final = 2
# A question with one fact seldom gains that much by a second passage; one with two nearly always does.
_ENOUGH: Final = 0.4


@dataclass(frozen=True, slots=True)
class SecondPassage:
    """A passage that answers together with the best one."""

    chunk: Chunk
    """Where it stands."""
    text: str
    gain: float
    """How much of the question both explain together."""


async def find_second(
    best: ScoredQuote, places: Iterable[Chunk], document: Document, scorer: QuestionScorer, model: Model, plan: Plan
) -> SecondPassage | None:
    """Return the passage that answers together with the best one; None if the best one is better alone.

    The places are those of the document's chunks, whose texts are not needed.
    """
    words = scorer.words.beyond(best.text)
    # In a thread: the whole document is looked through once more.
    windows = await asyncio.to_thread(_find_windows, best, words, places, document, model, plan)
    found = [
        SecondPassage(windows[text], text, await scorer.gain(f"{best.text} {text}"))
        for text in words.choose(list(windows), MEASURED)
    ]
    found.sort(key=lambda second: -second.gain)
    worths = [
        second.gain + scorer.weight * await scorer.judge(f"{best.text} {second.text}") for second in found[:JUDGED]
    ]
    enough = max(best.worth + _ENOUGH, 2 * plan.least_gain)
    return found[worths.index(max(worths))] if worths and max(worths) >= enough else None


def _find_windows(
    best: ScoredQuote, words: QuestionWords, places: Iterable[Chunk], document: Document, model: Model, plan: Plan
) -> dict[str, Chunk]:
    """Return the windows that have any of the words and fit the memory beside the best passage, with their chunks."""
    in_order = sorted(places, key=lambda place: place.start)
    ranked = words.rank(replace(place, text=document.slice(place.start, place.end)) for place in in_order)
    chunks = [replace(place, text=document.slice(place.start, place.end)) for place in ranked[:_CHUNKS]]
    return {
        window: chunk
        for chunk in chunks
        for window in split_windows(chunk.text, model.tokenizer, plan.memory_tokens // 2)
        if words.find(window)
        and not overlaps(window, best.text)
        and model.tokenizer.count(f"{best.text}\n{window}") <= plan.memory_tokens
    }
