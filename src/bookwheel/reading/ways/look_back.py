"""Look back: after the last chunk, some are read once more with the memory that the whole document gave.

Two kinds deserve it: chunks that a gate skipped though their score was near its threshold, and chunks that left the
memory as it was but hold names and numbers that the final memory holds, the rare ones counting most. They mattered only
because of something that came later. The step of a second reading has the span of the first one and an index of its
own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.compose import ComposedWay, ReadingContext, Review
from bookwheel.reading.ways.gated import is_near
from bookwheel.text.matching import Passage, parse_words
from bookwheel.text.ranking import weigh_rarity
from bookwheel.types import Flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Chunk, Step

# A second pass that cost more than a tenth of the first would be a second reading.
_SHARE: Final = 0.1
_LEAST: Final = 2


def count_room(steps: int) -> int:
    """Return how many chunks are read again after so many steps, at most."""
    return max(_LEAST, ceil(_SHARE * steps))


def choose_chunks(context: ReadingContext, steps: Sequence[Step]) -> list[Chunk]:
    """Return the chunks to read again, in the document's order."""
    idle = [
        step
        for step in steps
        if step.before.text == step.after.text and step.chunk.end > step.chunk.start and Flag.UNREAD not in step.flags
    ]
    room = count_room(len(steps))
    near = sorted((step for step in idle if _is_near(context, step)), key=lambda step: -(step.score or 0.0))[:room]
    pointed = _rank_by_memory(context, [step for step in idle if step not in near], steps[-1].after.text)
    chosen = (*near, *pointed[: max(0, room - len(near))])
    return sorted((replace(step.chunk, text="") for step in chosen), key=lambda chunk: chunk.start)


def _is_near(context: ReadingContext, step: Step) -> bool:
    """Return whether a gate skipped the step's chunk by a little."""
    gate = context.plan.gate
    if Flag.SKIPPED not in step.flags or step.score is None or gate is None:
        return False
    return is_near(step.score, gate.threshold)


def _rank_by_memory(context: ReadingContext, steps: Sequence[Step], memory: str) -> list[Step]:
    """Return the steps whose chunks hold names or numbers of the memory that the question lacks, the rarest first."""
    asked = {word.index_key for word in parse_words(context.question)}
    known = {word.index_key for line in memory.splitlines() for word in parse_words(line) if word.is_exact} - asked
    held = [known & Passage(context.document.slice(step.chunk.start, step.chunk.end)).index_keys for step in steps]
    holders = Counter(key for keys in held for key in keys)
    weights = [sum(weigh_rarity(holders[key], len(steps)) for key in sorted(keys)) for keys in held]
    ranked = sorted(range(len(steps)), key=lambda place: -weights[place])
    return [steps[place] for place in ranked if weights[place] > 0]


LOOK_BACK = ComposedWay(name="look-back", review=Review(choose=choose_chunks, count=count_room))
