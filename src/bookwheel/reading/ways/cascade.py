"""Cascade: a small model judges which chunks the large one reads.

The judge is a companion of the large model: the built-in one, or another that the user names. Its
gate, scorer and threshold, is its own calibration and not the large model's. A chunk that does not fit the small
window is judged in halves, and the better half counts.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import WindowExceeded
from bookwheel.models.base import Ability, require_ability
from bookwheel.models.companions import find_companions
from bookwheel.reading.ways.compose import ComposedWay, Decision, Gate, ReadingContext, Write
from bookwheel.reading.ways.gated import estimate_judgements, find_gate, let_through
from bookwheel.reading.ways.judging import ChunkScorer
from bookwheel.reading.ways.spec import Threshold

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bookwheel.types import Chunk, Memory

# A chunk of fewer characters is not cut any more.
_LEAST_CHARACTERS: Final = 200


class HalvingScorer(ChunkScorer):
    """A scorer for chunks that were cut for a larger window."""

    async def score(self, memory: Memory, chunk: Chunk) -> Decision:
        """Return the chunk's score, or that of its better half."""
        try:
            return await super().score(memory, chunk)
        except WindowExceeded:
            if len(chunk.text) < _LEAST_CHARACTERS:
                raise
        middle = _find_middle(chunk.text)
        halves = [
            await self.score(memory, replace(chunk, text=text)) for text in (chunk.text[:middle], chunk.text[middle:])
        ]
        return Decision(score=max(half.score for half in halves), usage=halves[0].usage + halves[1].usage)


def _find_middle(text: str) -> int:
    """Return the end of the first line after the middle, or the middle."""
    middle = len(text) // 2
    found = text.find("\n", middle, middle + len(text) // 4)
    return found + 1 if found >= 0 else middle


@asynccontextmanager
async def open_cascade(context: ReadingContext, write: Write) -> AsyncIterator[Write]:
    """Open the small model and return a writer that it lets through to `write`."""
    judge = await find_companions(context.model).open_judge()
    try:
        gate = find_gate(judge)
        model = await require_ability(judge, Ability(gate.scorer), way="cascade")
        scorer = HalvingScorer(gate.scorer, model, context.prompts, context.question)
        yield let_through(scorer, gate.threshold, write)
    finally:
        await judge.aclose()


# The judge is counted as the model itself would be.
CASCADE = ComposedWay(
    name="cascade", gate=Gate(open=open_cascade, threshold=Threshold.JUDGE, estimate=estimate_judgements)
)
