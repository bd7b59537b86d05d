"""Read tables as Markdown ones: values between commas, semicolons or tabs, and lists of records in JSON."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import IncrementalNewlineDecoder
from itertools import chain, islice
from typing import Any, Final

from bookwheel.documents.decoding import decode
from bookwheel.documents.readers.grid import format_rows
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.types import Part

_SEPARATORS: Final = ",;\t|"
# The line by which Excel is told the separator.
_EXCEL_SEPARATOR: Final = re.compile(r"\A\ufeff?sep=.\r?\n")
_BARE_COMMA: Final = re.compile(r"(?<!\d),|,(?!\d)")
# Characters and lines by which the separator is chosen.
_SAMPLE: Final = 1 << 14
_SAMPLED_LINES: Final = 50
_LINES_IN_PART: Final = 64
# Characters of a cell, and of a line.
_MOST_CELL: Final = 8 << 20
_UNCLOSED: Final = "quotation marks that nothing closes, read as signs of their lines"
# Bytes of a list in JSON that is a table, and of it the characters of a value and the names.
_MOST_JSON: Final = 64 << 20
_MOST_VALUE: Final = 400
_MOST_NAMES: Final = 200


def read_csv(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the rows as a Markdown table. A file that is no table comes as it is, and so does what follows damage."""
    with source.open() as file:
        pieces = decode(file.read, source.name, warnings, source.charset)
        head = _EXCEL_SEPARATOR.sub("", next(pieces, ""))
        separator = _find_separator(head[:_SAMPLE])
        if not separator:
            yield from (Part(text=text, source=source.name) for text in chain((head,), pieces) if text)
            return
        csv.field_size_limit(_MOST_CELL)
        lines = _iterate_lines(head, pieces)
        pending: list[str] = []
        is_whole = True

        def rows() -> Iterator[list[str]]:
            nonlocal is_whole
            try:
                yield from _parse_rows(lines, separator, pending, partial(warnings.add, _UNCLOSED, source.name))
            except csv.Error:  # a cell as long as a book
                is_whole = False

        table = format_rows(rows(), partial(warnings.add, where=source.name))
        while batch := list(islice(table, _LINES_IN_PART)):
            yield Part(text="\n".join([*batch, ""]), source=source.name)
        if not is_whole:
            warnings.add("rows that are no table are shown as they are", source.name)
            yield from (Part(text=line, source=source.name) for line in chain(pending, lines))


def read_records(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a list of flat objects as a Markdown table, numbers as they are written; any other JSON as it is."""
    with source.open() as file:
        pieces = decode(file.read, source.name, warnings, source.charset)
        if source.fingerprint.size <= _MOST_JSON:
            text = "".join(pieces)
            if table := "\n".join(format_rows(iter(_list_records(text)), is_marked=True, keeps_empty=True)):
                # A source of its own, as its lines are not those of the file.
                yield Part(text=f"{table}\n", source=f"{source.name}#records")
                return
            pieces = iter([text])
        yield from (Part(text=piece, source=source.name) for piece in pieces if piece)


def _list_records(text: str) -> list[list[str]]:
    """Return the names and the values of a list of flat objects; empty for what no table holds as it is."""
    try:
        # Objects become tuples of pairs, in which a name that stands twice is not lost.
        found = json.loads(text, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, list) or len(found) < 2 or not all(isinstance(one, tuple) for one in found):  # noqa: PLR2004
        return []
    records = [dict(pairs) for pairs in found]
    names = list(dict.fromkeys(name for record in records for name in record))
    is_flat = len(names) <= _MOST_NAMES and all(
        len(record) == len(pairs) >= len(names) / 2
        and all(map(_is_line, record.values()))
        and any(map(str.strip, map(_spell, record.values())))
        for record, pairs in zip(records, found, strict=True)
    )
    return [names, *([_spell(record.get(name)) for name in names] for record in records)] if is_flat else []


def _is_line(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _MOST_VALUE and len(value.splitlines()) <= 1
    return value is None or isinstance(value, bool)


def _spell(value: str | bool | None) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _parse_rows(
    lines: Iterable[str], separator: str, pending: list[str], warn: Callable[[], object]
) -> Iterator[list[str]]:
    """Yield the rows. A quotation mark that nothing closes is a sign of its line, and takes in no others."""

    def record() -> Iterator[str]:
        for line in lines:
            pending.append(line)
            yield line

    for row in csv.reader(record(), delimiter=separator):
        if len(pending) > 1 and sum(line.count('"') for line in pending) % 2:
            first, *others = pending
            pending.clear()
            warn()
            yield from csv.reader([first], delimiter=separator, quoting=csv.QUOTE_NONE)
            yield from _parse_rows(others, separator, pending, warn)
            return
        pending.clear()
        yield row


def _find_separator(sample: str) -> str:
    """Return the separator of which most lines have equally many, and the most, or an empty string."""
    best, score = "", (0.5, 0)
    # Commas that stand in numbers alone are decimal ones.
    for separator in _SEPARATORS if _BARE_COMMA.search(sample) else _SEPARATORS[1:] + _SEPARATORS[0]:
        lines = islice(_iterate_lines(sample, ()), _SAMPLED_LINES)
        rows = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        width = max(rows, key=rows.count, default=0)
        share = rows.count(width) / len(rows) if width > 1 else 0.0
        if (share, width) > score and share > 0.5:  # noqa: PLR2004
            best, score = separator, (share, width)
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
        if not others and sum(map(len, unfinished)) > _MOST_CELL:
            yield "".join(unfinished)
            unfinished = []
        if others:
            yield "".join(unfinished) + "\n"
            yield from (f"{line}\n" for line in others[:-1])
            unfinished = [others[-1]]
    if last := "".join(unfinished):
        yield last
