"""Cascade: a small model judges which chunks the large one reads.

The judge is the built-in local model, or the one that `BOOKWHEEL_JUDGE` names as `bookwheel ask --model` would. Its
gate, scorer and threshold, is its own calibration and not the large model's. A chunk that does not fit the small
window is judged in halves, and the better half counts.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import WindowExceeded
from bookwheel.models.address import ModelAddress
from bookwheel.models.base import Ability, require_ability
from bookwheel.reading.calibration import find_gate, load_calibration
from bookwheel.reading.ways.compose import ComposedWay, Decision, Gate, ReadingContext, Write
from bookwheel.reading.ways.gated import estimate_judgements, let_through
from bookwheel.reading.ways.judging import ChunkScorer
from bookwheel.reading.ways.spec import Threshold

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bookwheel.types import Chunk, Memory

VARIABLE: Final = "BOOKWHEEL_JUDGE"
_BUILT_IN: Final = "local"
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


def find_judge() -> ModelAddress:
    """Return the way to the small model."""
    name = os.environ.get(VARIABLE)
    if not name:
        return ModelAddress(model=_BUILT_IN)
    from bookwheel.configuration import choose_address, load_configuration  # only a name needs the settings files

    return choose_address(name, None, load_configuration())


def has_threshold() -> bool:
    """Return True if the small model's threshold is known: it has been calibrated, or its plan ships with one."""
    name = find_judge().model
    return name == _BUILT_IN or (name is not None and load_calibration(name) is not None)


@asynccontextmanager
async def open_cascade(context: ReadingContext, write: Write) -> AsyncIterator[Write]:
    """Open the small model and return a writer that it lets through to `write`."""
    judge = await find_judge().open()
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
