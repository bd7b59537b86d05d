"""Memories and a sample's evidence: the ideal memory after each chunk, and what a reading's memories made of it.

The ideal memories are the target of a warm start, and the upper bound of what reading can keep. A span counts as read
with its last character, so evidence across two chunks is noted after the second.

    chunk 0  "… the levy is 40 …"      ->  levy: 40
    chunk 1  "… the levy is now 55 …"  ->  levy: 55          (the same key: the last value wins)

A trace tells of each reading whether its memories captured, kept, overwrote or used the evidence.

    chunk 0  "… the levy is 40 …"   memory after it: "levy 40"      captured
    chunk 1                         memory after it: "levy 40, ale" kept
    chunk 2                         memory after it: "ale, barley"  overwritten at step 2

A piece of evidence is in a memory when a gold answer that stands in its note is, or, for a note without one, most of
the words that it adds to the question. Where these stand in another piece as well, as the owner of a ship does in where
she lives, they count in one sentence with a word that is this piece's own. So do they where a piece that is replaced
holds the gold too, and the memory has others of its kind: four owners, and not whose ship it is. What a later piece
replaces is not needed.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, inf
from typing import Final

from bookwheel.lab.tasks.base import GoldEvidence, MemoryRule, Sample
from bookwheel.text.lexicon import FUNCTION_WORDS
from bookwheel.text.normalization import contains_words, words
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Chunk, Step

# Words that a tally keeps: more than any question needs, few enough for a small memory.
_KEPT: Final = 40
_WORD: Final = re.compile(r"[a-z]+(?:-[a-z]+)*", re.IGNORECASE)


def ideal_memories(sample: Sample, chunks: Sequence[Chunk]) -> list[str]:
    """Return the text of the ideal memory after each chunk. The chunks cover the document from its beginning."""
    if sample.memory is MemoryRule.TALLY:
        return _build_tallies(chunks)
    return ["\n".join(one.note for one in needed_evidence(sample, chunk.end)) for chunk in chunks]


def _build_tallies(chunks: Sequence[Chunk]) -> list[str]:
    counts: Counter[str] = Counter()
    memories: list[str] = []
    rest = ""
    for chunk in chunks:
        text = rest + chunk.text
        whole = max(text.rfind(" "), text.rfind("\n")) + 1
        last = chunk is chunks[-1]
        counts.update(_WORD.findall(text if last else text[:whole]))
        rest = "" if last else text[whole:]
        memories.append("\n".join(f"{word}: {count}" for word, count in counts.most_common(_KEPT)))
    return memories


# Of a note without a gold answer, a memory holds it when it has this share of its words: notes are reworded.
_LEAST_SHARE: Final = 0.6
RIGHT: Final = 0.5
"""From this score on an answer counts as right."""


class MemoryOutcome(StrEnum):
    """What became of the evidence between the document and the answer."""

    SUPPORTED = "supported"
    """Right, and the last memory held the evidence."""
    UNSUPPORTED = "unsupported"
    """Right, but the last memory did not hold the evidence: a guess, or knowledge from elsewhere."""
    MISUSED = "misused"
    """Wrong, although the last memory held all the evidence."""
    OVERWRITTEN = "overwritten"
    """Wrong: the evidence was in the memory, and a later step dropped it."""
    NEVER_CAPTURED = "never-captured"
    """Wrong: some of the evidence was in no memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceTrace:
    """The way of a sample's evidence through one reading."""

    outcome: MemoryOutcome
    step: int | None
    """The step that overwrote it or should have captured it; None for other outcomes, or where no step read it."""
    captured: float
    """The share of the evidence that was in the memory at some time."""
    kept: float
    """The share that was in the last memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PieceTrace:
    """One piece of evidence in one reading."""

    read_at: int | None
    """Position of the first step whose section ends the piece."""
    lost_at: int | None
    """Position of the step that dropped it for good; None while it is held, or where it never was."""
    was_held: bool
    is_held: bool
    has_gold: bool


def trace_evidence(sample: Sample, steps: Sequence[Step], *, is_right: bool) -> EvidenceTrace | None:
    """Return what became of the evidence; None where there are no steps or no evidence to look for."""
    pieces = needed_evidence(sample)
    if not steps or not pieces:
        return None
    tests = [_build_test(piece, pieces, sample) for piece in pieces]
    # Each memory is tokenized once, and not for every piece.
    memories = [(words(step.after.text), step.after.text) for step in steps]
    traces = [_trace_piece(piece, test, steps, memories) for piece, test in zip(pieces, tests, strict=True)]
    outcome, position = _judge(traces, is_right=is_right)
    return EvidenceTrace(
        outcome=outcome,
        step=None if position is None else steps[position].chunk.index,
        captured=sum(trace.was_held for trace in traces) / len(traces),
        kept=sum(trace.is_held for trace in traces) / len(traces),
    )


def needed_evidence(sample: Sample, end: float = inf) -> list[GoldEvidence]:
    """Return the pieces up to `end` that the answer rests on: those with a note that no later piece replaces."""
    newest: dict[str, GoldEvidence] = {}
    for piece in sorted((one for one in sample.evidence if one.end <= end), key=lambda one: one.end):
        for key in piece.replaces:
            newest.pop(key, None)
        if piece.note:
            newest[piece.key or f"{piece.start}-{piece.end}"] = piece
    return list(newest.values())


def evidence_depth(sample: Sample) -> float | None:
    """Return where the needed evidence lies, from 0 (beginning) to 1: the mean of its pieces' middles."""
    pieces, length = needed_evidence(sample), sample.document.length
    if not pieces or not length:
        return None
    return sum((piece.start + piece.end) / 2 for piece in pieces) / len(pieces) / length


_Held = Callable[[Sequence[str], str], bool]
"""Whether a memory holds a piece, by its words and its text."""


def _trace_piece(
    piece: GoldEvidence,
    test: tuple[_Held, bool],
    steps: Sequence[Step],
    memories: Sequence[tuple[Sequence[str], str]],
) -> _PieceTrace:
    is_in, has_gold = test
    held = [is_in(row, text) for row, text in memories]
    was_held = any(held)
    last = len(held) - 1 - held[::-1].index(True) if was_held else None
    covering = (at for at, step in enumerate(steps) if step.chunk.start < piece.end <= step.chunk.end)
    return _PieceTrace(
        read_at=next(covering, None),
        lost_at=last + 1 if last is not None and last + 1 < len(held) else None,
        was_held=was_held,
        is_held=held[-1],
        has_gold=has_gold,
    )


def _build_test(piece: GoldEvidence, pieces: Sequence[GoldEvidence], sample: Sample) -> tuple[_Held, bool]:
    """Return the test whether a memory holds the piece's note, and whether the note holds a gold answer."""
    noted = words(piece.note)
    inside = [gold for gold in map(words, sample.golds) if contains_words(noted, gold)]
    added = set(noted) - set(words(sample.question)) - FUNCTION_WORDS or set(noted)
    replaced = [words(one.note) for one in sample.evidence if one not in pieces and one.note]
    rivals = [note for note in replaced if not any(contains_words(note, gold) for gold in inside)]
    if inside and len(rivals) == len(replaced):
        return lambda row, _: any(contains_words(row, gold) for gold in inside), True
    others = {word for one in pieces if one is not piece for word in words(one.note)}.union(
        *(replaced if inside else ())
    )
    own, shared = set(noted) - others - FUNCTION_WORDS, added & others

    def is_linked(memory: str, least: int) -> bool:
        rows = map(set, map(words, list_sentences(memory)))
        return any(own & row and len(added & row) >= least and shared & row for row in rows)

    if inside:

        def decides(row: Sequence[str], memory: str) -> bool:
            is_there = any(contains_words(row, gold) for gold in inside)
            return is_there and (not any(_has_most({*one}, row) for one in rivals) or is_linked(memory, 1))

        return decides, True
    if shared and own:
        return lambda _, memory: is_linked(memory, ceil(_LEAST_SHARE * len(added))), False
    return lambda row, _: _has_most(added, row), False


def _has_most(wanted: set[str], row: Sequence[str]) -> bool:
    return len(wanted & set(row)) >= _LEAST_SHARE * len(wanted)


def _judge(traces: Sequence[_PieceTrace], *, is_right: bool) -> tuple[MemoryOutcome, int | None]:
    """Return the outcome and the position of the step that explains it."""
    if is_right:
        # Who has the answer may drop what led to it.
        decisive = [trace for trace in traces if trace.has_gold] or traces
        is_supported = all(trace.is_held for trace in decisive)
        return (MemoryOutcome.SUPPORTED if is_supported else MemoryOutcome.UNSUPPORTED), None
    missed = [trace for trace in traces if not trace.was_held]
    if missed:
        return MemoryOutcome.NEVER_CAPTURED, next((t.read_at for t in missed if t.read_at is not None), None)
    lost = [trace.lost_at for trace in traces if trace.lost_at is not None]
    return (MemoryOutcome.OVERWRITTEN, min(lost)) if lost else (MemoryOutcome.MISUSED, None)
