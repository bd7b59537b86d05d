"""Rows as a model writes them, and as they stand in the document.

    {"rows": [{"who": "Ada Quill", "amount": "12 crowns", "quote": "Ada Quill pays 12 crowns"}], "memory": "…"}

A row is proven where its quote stands in the section, word for word, and the numbers and names of its values stand in
the section or in the memory. A document can hold words that pose as a row of ours; they prove none. The reply of a step
is all that is kept: the rows of a table are found in it again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from bookwheel.reading.guards import clean
from bookwheel.tables.columns import QUOTE
from bookwheel.text.matching import Passage, find_missing_words, parse_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.tables.columns import Column

_MOST_ROWS: Final = 2000
_MOST_CHARACTERS: Final = 4000
"""Of one value."""
_IN_NUMBERS: Final = frozenset(".,'’")
_POSING: Final = re.compile(r'\{[^{}]*"quote"\s*:[^{}]*\}')


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """A row as the model wrote it."""

    cells: tuple[str | None, ...]
    """One for each column."""
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """A row, and where its quote stands in its section."""

    row: WrittenRow
    span: tuple[int, int] | None
    """Characters of the section; None where the quote does not stand there."""
    missing: tuple[str, ...] = ()
    """Numbers and names of its values that neither the section nor the memory has."""

    @property
    def is_proven(self) -> bool:
        """The document's words bear the row out."""
        return self.span is not None and not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRows:
    """What a reply says of one section."""

    rows: tuple[WrittenRow, ...] = ()
    memory: str = ""

    def to_json(self, columns: Sequence[Column]) -> str:
        """Return the reply that says the same; `parse_rows` reads it again."""
        names = [column.name for column in columns]
        pairs = (zip((*names, QUOTE), (*row.cells, row.quote), strict=True) for row in self.rows)
        rows = [{name: cell for name, cell in row if cell is not None} for row in pairs]
        return json.dumps({"rows": rows, "memory": self.memory}, ensure_ascii=False)


class UnreadableRowsError(Exception):
    """A reply that is not the JSON that was asked for; the message says why, for the model."""


def parse_rows(text: str, columns: Sequence[Column]) -> SectionRows:
    """Return the rows and the memory of a reply."""
    value = parse_object(text)
    rows, memory = value.get("rows"), value.get("memory", "")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnreadableRowsError('"rows" must be a list of objects')
    if len(rows) > _MOST_ROWS:
        raise UnreadableRowsError(f"a section has {_MOST_ROWS} rows at most, not {len(rows)}")
    written = (_parse_row(row, columns) for row in rows)
    return SectionRows(
        rows=tuple(row for row in written if any(row.cells)),
        memory=memory if isinstance(memory, str) else json.dumps(memory, ensure_ascii=False),
    )


def parse_object(text: str) -> dict[str, Any]:
    """Return the first JSON object of a reply; UnreadableRowsError says why there is none."""
    cleaned, _ = clean(text)
    start = cleaned.find("{")
    if start < 0:
        raise UnreadableRowsError("there is no JSON object")
    try:
        value, _ = json.JSONDecoder().raw_decode(cleaned, start)
    except (ValueError, RecursionError) as error:
        raise UnreadableRowsError(f"it is no JSON ({error})") from error
    if not isinstance(value, dict):
        raise UnreadableRowsError("it is no JSON object")
    return value


def _parse_row(row: dict[str, Any], columns: Sequence[Column]) -> WrittenRow:
    given = {str(name).casefold(): value for name, value in row.items()}
    cells = tuple(_to_text(given.get(column.name.casefold())) for column in columns)
    return WrittenRow(cells=cells, quote=_to_text(given.get(QUOTE)) or "")


def _to_text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())[:_MOST_CHARACTERS] or None


def place_rows(rows: Sequence[WrittenRow], section: str, memory: str) -> list[PlacedRow]:
    """Return where the quotes of rows stand in their section."""
    section = _POSING.sub(lambda found: " " * len(found[0]), section)
    place = _Section(section, memory)
    return [
        PlacedRow(
            row=row,
            span=place.find_quote(row.quote),
            missing=tuple(word for value in row.cells if value for word in place.find_missing(value)),
        )
        for row in rows
    ]


class _Section:
    """A section and the memory before it; words are compared only where a text does not stand there as it is."""

    def __init__(self, section: str, memory: str) -> None:
        self._section, self._known = section, f"{memory}\n{section}"

    @cached_property
    def _passage(self) -> Passage:
        return Passage(self._section)

    @cached_property
    def _keys(self) -> set[str]:
        return set(Passage(self._known).index_keys)

    def find_quote(self, quote: str) -> tuple[int, int] | None:
        """Return the span of a quote whose words all stand there in its order, with nothing between them."""
        start = _find_whole(quote, self._section)
        if start >= 0:
            return start, start + len(quote)
        words = parse_words(quote)
        run = self._passage.find_longest_run(words) if words else None
        return run[1] if run and run[0] == len(words) else None

    def find_missing(self, value: str) -> tuple[str, ...]:
        """Return the numbers and names of a value that stand in neither."""
        return () if _find_whole(value, self._known) >= 0 else find_missing_words(parse_words(value), self._keys)


def _find_whole(words: str, text: str) -> int:
    """Return where words stand in a text as they are, and not as a part of longer words; -1 where they do not."""
    start = text.find(words) if any(map(str.isalnum, words)) else -1
    while start >= 0:
        end = start + len(words)
        if not _are_joined(text[start - 1 : start], words[0]) and not _are_joined(text[end : end + 1], words[-1]):
            return start
        start = text.find(words, start + 1)
    return -1


def _are_joined(beside: str, sign: str) -> bool:
    """Return whether a sign and the one beside it are of one word or number: 5 is no part of 1.5 or 5,000."""
    if sign.isdigit() and beside in _IN_NUMBERS:
        return True
    return _is_in_word(beside) and _is_in_word(sign)


def _is_in_word(sign: str) -> bool:
    # Chinese words have no blanks between them.
    return sign.isalnum() and sign < "\u2e80"
