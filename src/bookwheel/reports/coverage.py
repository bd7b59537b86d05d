"""What a report rests on: of each document, the characters under its sentences, those read and not used, the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwheel.flags import GAPS, Flag
from bookwheel.types import find_gaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.types import Reading

    Spans = list[tuple[int, int]]

_NOT_READ = GAPS | {Flag.SKIPPED, Flag.UNREAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCoverage:
    """Three numbers of characters that add up to the document's length, and the spans that nobody read."""

    document: str
    name: str
    length: int
    used: int
    """In the sections that kept sentences rest on."""
    unused: int
    """In sections that were read, and no kept sentence rests on."""
    unread: int
    unread_spans: tuple[tuple[int, int], ...] = ()


def measure_coverage(readings: Sequence[Reading], used_steps: Iterable[tuple[str, int]]) -> DocumentCoverage:
    """Return the coverage of one document by its readings; `used_steps` are readings' ids with steps."""
    wanted, info = set(used_steps), readings[0].document
    used: Spans = []
    read: Spans = []
    for reading in readings:
        gaps = {(step.chunk.start, step.chunk.end) for step in find_gaps(reading.steps, _NOT_READ)}
        for step in reading.steps:
            span = (step.chunk.start, step.chunk.end)
            if span not in gaps:
                read.append(span)
                if (reading.id, step.chunk.index) in wanted:
                    used.append(span)
    read, used = _join(read), _join(used)
    unread = tuple(_invert(read, info.length))
    count_used = sum(end - start for start, end in used)
    count_unread = sum(end - start for start, end in unread)
    return DocumentCoverage(
        document=info.id,
        name=info.name,
        length=info.length,
        used=count_used,
        unused=info.length - count_used - count_unread,
        unread=count_unread,
        unread_spans=unread,
    )


def _join(spans: Spans) -> Spans:
    joined: Spans = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _invert(spans: Spans, length: int) -> Spans:
    edges = [0, *(place for span in spans for place in span), length]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
