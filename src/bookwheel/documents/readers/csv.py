"""Read a table of comma-, semicolon- or tab-separated values row by row, in its own order."""

from __future__ import annotations

import csv
import sys
from io import IncrementalNewlineDecoder
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from bookwheel.documents.decoding import decode
from bookwheel.documents.readers.tables import format_rows
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_SEPARATORS: Final = ",;\t|"
# Characters and lines by which the separator is chosen.
_SAMPLE: Final = 1 << 14
_SAMPLED_LINES: Final = 50
_LINES_IN_PART: Final = 64


def read_csv(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the rows as a Markdown table. A file that is no table is yielded as it is."""
    with source.open() as file:
        pieces = decode(file.read, source.name, warnings, source.charset)
        head = next(pieces, "")
        separator = _find_separator(head[:_SAMPLE])
        if not separator:
            yield from (Part(text=text, source=source.name) for text in chain((head,), pieces) if text)
        else:
            csv.field_size_limit(sys.maxsize)
            rows = csv.reader(_iterate_lines(head, pieces), delimiter=separator)
            batch: list[str] = []
            for line in format_rows(rows):
                batch.append(line)
                if len(batch) == _LINES_IN_PART:
                    yield Part(text="\n".join([*batch, ""]), source=source.name)
                    batch.clear()
            if batch:
                yield Part(text="\n".join([*batch, ""]), source=source.name)


def _find_separator(sample: str) -> str:
    """Return the separator of which most lines have equally many, or an empty string."""
    best, score = "", 0.5
    for separator in _SEPARATORS:
        lines = islice(_iterate_lines(sample, ()), _SAMPLED_LINES)
        rows = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        width = max(rows, key=rows.count, default=0)
        share = rows.count(width) / len(rows) if width > 1 else 0.0
        if share > score:
            best, score = separator, share
    return best


def _iterate_lines(head: str, pieces: Iterable[str]) -> Iterator[str]:
    """Yield lines with their ends, NULs shown as a sign: the parser refuses them."""
    # Not splitlines, which also ends a line at marks that may stand in a cell, such as a form feed.
    line_ends = IncrementalNewlineDecoder(None, translate=True)
    unfinished: list[str] = []
    for piece in chain((head,), pieces):
        text = line_ends.decode(piece.replace("\0", "\N{REPLACEMENT CHARACTER}"))
        first, *others = text.split("\n")
        unfinished.append(first)
        if others:
            yield "".join(unfinished) + "\n"
            yield from (f"{line}\n" for line in others[:-1])
            unfinished = [others[-1]]
    if last := "".join(unfinished):
        yield last
