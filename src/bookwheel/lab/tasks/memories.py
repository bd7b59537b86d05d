"""The ideal memory after each chunk: the target of a warm start, and the upper bound of what reading can keep.

A span counts as read with its last character, so evidence across two chunks is noted after the second.

    chunk 0  "… the levy is 40 …"      ->  levy: 40
    chunk 1  "… the levy is now 55 …"  ->  levy: 55          (the same key: the last value wins)
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.base import MemoryRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks.base import Sample
    from bookwheel.types import Chunk

# Words that a tally keeps: more than any question needs, few enough for a small memory.
_KEPT: Final = 40
_WORD: Final = re.compile(r"[a-z]+(?:-[a-z]+)*", re.IGNORECASE)


def ideal_memories(sample: Sample, chunks: Sequence[Chunk]) -> list[str]:
    """Return the text of the ideal memory after each chunk. The chunks cover the document from its beginning."""
    return _build_tallies(chunks) if sample.memory is MemoryRule.TALLY else _build_notes(sample, chunks)


def _build_notes(sample: Sample, chunks: Sequence[Chunk]) -> list[str]:
    waiting = sorted(sample.evidence, key=lambda one: one.end)
    notes: dict[str, str] = {}
    memories: list[str] = []
    for chunk in chunks:
        while waiting and waiting[0].end <= chunk.end:
            evidence = waiting.pop(0)
            for key in evidence.replaces:
                notes.pop(key, None)
            if evidence.note:
                notes[evidence.key or f"{evidence.start}-{evidence.end}"] = evidence.note
        memories.append("\n".join(notes.values()))
    return memories


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
