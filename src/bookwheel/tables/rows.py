"""Rows as a model writes them, and as they stand in the document.

    {"rows": [{"who": "Ada Quill", "amount": "12 crowns", "quote": "Ada Quill pays 12 crowns"}], "memory": "…"}

A row is proven where its quote stands in the section, word for word, and the numbers and names of its values stand in
the section or in the memory. What is struck out proves none, and neither do words that pose as a row of ours. The reply
of a step is all that is kept: the rows of a table are found in it again.

What only a picture shows has the picture's mark as its quote. Such a row is seen: the model was shown that picture,
and no words bear the row out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from bookwheel.picture import LABEL, MARK, split_label
from bookwheel.reading.json_replies import list_values
from bookwheel.tables.columns import QUOTE, Column
from bookwheel.text.matching import Passage, find_missing_words, parse_words
from bookwheel.text.normalization import words_with_articles
from bookwheel.text.numbers import find_dates, list_amounts, list_days, list_signed, read_amount
from bookwheel.verdict.parsing import blank_struck

_MOST_ROWS: Final = 2000
_MOST_CHARACTERS: Final = 4000
"""Of one value."""
_CORRECTS: Final = "corrects"
"""The key under which a model says what its row puts right, unless a column is called so."""
_QUOTES: Final = frozenset(
    {QUOTE, "quotation", "quotes", "sourcequote", "verbatimquote", "verbatim", "evidence", "citation", "sourcetext"}
    | {"原文", "引文", "引用", "原文引用", "依据", "出处"}
)
"""Other names of the quote, as models write them."""
_REMARKS: Final = frozenset(
    {"id", "index", "row", "rownumber", "no", "note", "notes", "comment", "confidence", "reason", "page", "section"}
    | {"序号", "备注"}
)
"""Keys that models add, and that stand for no column."""
_NOTHING: Final = frozenset(
    {"", "-", "–", "—", "n/a", "na", "n.a", "null", "none", "nil", "unspecified", "not specified", "not stated"}
    | {"not mentioned", "not given", "not provided", "not available", "none specified", "none stated"}
    | {"无", "未说明", "未提及", "未注明", "未指定", "未给出", "未提供", "不适用"}
)
"""What models write where a text does not say."""
_FAULTS: Final = {
    "en": (
        'of "{name}", neither the section nor the memory has {words}',
        f'the words of "{QUOTE}" do not stand in the section side by side',
    ),
    "zh": ("“{name}”中的 {words} 在这一段和记忆里都没有", f"“{QUOTE}”的文字在这一段里不是连在一起的"),
}
_IN_NUMBERS: Final = frozenset(".,'’")
_WITH_UNIT: Final = re.compile(r"\s*(\d[\d.,]*)\s*([^\d\s][^\d]*?)\s*")
_UNIT_TOLD: Final = (
    r"(?:单位|單位|単位|\bunits?|\beinheit|\bunités?|\bunidad(?:es)?|\bin)\s*[:：]?\s*(?:人民币)?{unit}(?!\w)"
    r"|[(（]\s*{unit}\s*[)）]"
)
"""How a table says of all its numbers what they are in."""
_DOTS: Final = re.compile(r"\s*(?:\[\s*(?:\.{3}|…)\s*\]|\.{3,}|…+)\s*")
_MOST_LEFT_OUT: Final = 600
"""Characters between two parts of a quote."""
_POSING: Final = re.compile(r'\{[^{}]*"quote"\s*:[^{}]*\}')


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """A row as the model wrote it."""

    cells: tuple[str | None, ...]
    """One for each column."""
    quote: str
    corrects: str = ""
    """What was said before and is put right here."""

    def to_json(self, columns: Sequence[Column]) -> str:
        return json.dumps(self.to_object(columns), ensure_ascii=False)

    def to_object(self, columns: Sequence[Column]) -> dict[str, str]:
        """Return the row as a model writes it."""
        names = (*(column.name for column in columns), QUOTE)
        pairs = zip(names, (*self.cells, self.quote), strict=True)
        corrects = {_CORRECTS: self.corrects} if self.corrects else {}
        return {**corrects, **{name: cell for name, cell in pairs if cell is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """A row, and where its quote stands in its section."""

    row: WrittenRow
    span: tuple[int, int] | None
    """Characters of the section; None where the quote does not stand there."""
    absent: tuple[tuple[str, ...], ...] = ()
    """For each value, its numbers and names that neither the section nor the memory has."""
    is_seen: bool = False
    """It is not proven, and its quote is the mark of a picture that the model was shown."""

    @property
    def missing(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(word for words in self.absent for word in words)

    def tell_faults(self, columns: Sequence[Column], language: str) -> str:
        """Return what keeps the row from being proven, for the model that wrote it."""
        lacks, apart = _FAULTS.get(language, _FAULTS["en"])
        absent = zip(columns, self.absent, strict=True)
        named = [lacks.format(name=column.name, words=", ".join(words)) for column, words in absent if words]
        return "; ".join([*named, *([] if self.span else [apart])])

    @property
    def is_proven(self) -> bool:
        """The document's words bear the row out."""
        return self.span is not None and not self.missing and not self.is_seen


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRows:
    """What a reply says of one section."""

    rows: tuple[WrittenRow, ...] = ()
    memory: str = ""
    seen: tuple[str, ...] = ()
    """The labels of the pictures that the model was shown with the section."""

    def to_json(self, columns: Sequence[Column]) -> str:
        """Return the reply that says the same; `from_json` reads it again."""
        rows = [row.to_object(columns) for row in self.rows]
        seen = {"seen": self.seen} if self.seen else {}
        return json.dumps({"rows": rows, "memory": self.memory, **seen}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, columns: Sequence[Column]) -> SectionRows:
        """Return what `to_json` wrote; UnreadableRowsError where it did not."""
        try:
            value = json.loads(text)
            names = [column.name for column in columns]
            written = (
                WrittenRow(
                    cells=tuple(row.get(name) for name in names),
                    quote=row.get(QUOTE) or "",
                    corrects=_find_corrects(row, names),
                )
                for row in value["rows"]
            )
            return cls(rows=tuple(written), memory=value["memory"], seen=tuple(value.get("seen", ())))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UnreadableRowsError(str(error)) from error


class UnreadableRowsError(Exception):
    """A reply that is not the JSON that was asked for; the message says why, for the model."""


def parse_rows(text: str, columns: Sequence[Column], *, by_order: bool = False) -> SectionRows:
    """Return the rows and the memory of a reply, in whichever of the usual shapes a model writes them.

    Keys that name no column are a fault; `by_order` takes them for the columns that are missing, in their order.
    """
    values, fault = list_values(text)
    if not values:
        raise UnreadableRowsError(fault)
    rows, memory = _find_rows(values, columns)
    if rows is None or not all(isinstance(row, dict) for row in rows):
        raise UnreadableRowsError('"rows" must be a list of objects')
    if len(rows) > _MOST_ROWS:
        raise UnreadableRowsError(f"a section has {_MOST_ROWS} rows at most, not {len(rows)}")
    names = _match_keys(rows, columns, by_order=by_order)
    written = (_parse_row(row, columns, names) for row in rows)
    return SectionRows(
        rows=tuple(row for row in written if any(row.cells)),
        memory=memory if isinstance(memory, str) else json.dumps(memory, ensure_ascii=False),
    )


def parse_object(text: str) -> dict[str, Any]:
    """Return the first JSON object of a reply; UnreadableRowsError says why there is none."""
    values, fault = list_values(text)
    value = next((value for value in values if isinstance(value, dict)), None)
    if value is None:
        raise UnreadableRowsError(fault or "it is no JSON object")
    return value


def _find_rows(values: Sequence[Any], columns: Sequence[Column]) -> tuple[list[Any] | None, Any]:
    """Return the rows and the memory of the values of a reply; None where they hold no rows."""
    wanted = {_fold_key(column.name) for column in columns} | _QUOTES
    rows: list[Any] | None = None
    memory: Any = ""
    for value in values:
        found: Any = value
        if isinstance(value, dict):
            memory = value.get("memory") or memory
            lists = [one for one in value.values() if isinstance(one, list) and all(isinstance(i, dict) for i in one)]
            if "rows" in value:
                found = [] if value["rows"] is None else value["rows"]
            elif len(wanted & {_fold_key(key) for key in value}) > 1:
                found = [value]
            else:
                found = lists[0] if len(lists) == 1 else None
            found = [found] if isinstance(found, dict) else found
        if isinstance(found, list):
            rows = [*(rows or ()), *found]
    return rows, memory


def _fold_key(key: str) -> str:
    """Return what makes two keys the same: `Due Date`, `due_date` and `dueDate` are one."""
    return "".join(sign for sign in str(key).casefold() if sign.isalnum())


def _match_keys(rows: Sequence[dict[str, Any]], columns: Sequence[Column], *, by_order: bool) -> dict[str, str]:
    """Return the name that each key of the rows stands for; UnreadableRowsError where columns are called otherwise."""
    keys = list(dict.fromkeys(str(key) for row in rows for key in row))
    names = {key: column.name for key in keys for column in columns if _fold_key(column.name) == _fold_key(key)}
    if QUOTE not in keys:
        names |= {key: QUOTE for key in keys if key not in names and _fold_key(key) in _QUOTES}
    missing = [column.name for column in columns if column.name not in names.values()]
    others = [key for key in keys if key not in names and key != QUOTE and _fold_key(key) not in {*_REMARKS, _CORRECTS}]
    if missing and others and not by_order:
        raise UnreadableRowsError(f"the keys of a row are {', '.join(missing)}, and not {', '.join(others)}")
    if len(missing) == len(others):
        names |= dict(zip(others, missing, strict=True))
    return names


def _parse_row(row: dict[str, Any], columns: Sequence[Column], names: dict[str, str]) -> WrittenRow:
    given = {names.get(str(key), str(key)): value for key, value in row.items()}
    cells = (_to_text(given.get(column.name)) for column in columns)
    quote = _to_text(given.get(QUOTE)) or ""
    return WrittenRow(
        cells=tuple(None if cell and _is_nothing(cell, quote) else cell for cell in cells),
        quote=quote,
        corrects=_find_corrects(given, [column.name for column in columns]),
    )


def _is_nothing(cell: str, quote: str) -> bool:
    """Return whether a value says that there is none; as a word of the row's quote it is the document's own."""
    words = cell.strip(" ()[].。")
    if words.casefold() not in _NOTHING:
        return False
    return not (words and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", quote, re.IGNORECASE))


def _find_corrects(row: dict[str, Any], names: Sequence[str]) -> str:
    value = None if _CORRECTS in names else row.get(_CORRECTS)
    words = _to_text(value or None) or ""
    return "" if words.strip(" ()[].。").casefold() in _NOTHING else words


def _to_text(value: Any) -> str | None:
    """Return a value as text; what stands in an object or a list is joined: {"value": 5, "unit": "kg"} is 5 kg."""
    if isinstance(value, dict):
        value = " ".join(text for one in value.values() if (text := _to_text(one)))
    elif isinstance(value, list):
        value = ", ".join(text for one in value if (text := _to_text(one)))
    elif value is not None and not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return " ".join(value.split())[:_MOST_CHARACTERS] or None if value else None


def place_rows(said: SectionRows, section: str, memory: str) -> list[PlacedRow]:
    """Return where the quotes of rows stand in their section."""
    section = blank_struck(_POSING.sub(lambda found: " " * len(found[0]), section))
    place = _Section(section, memory)
    placed = []
    for row in said.rows:
        labels = [split_label(found[1])[0] for found in MARK.finditer(row.quote)]
        label, quote = next((one for one in labels if one in said.seen), ""), blank_struck(row.quote)
        span = place.find_quote(quote)
        if labels and not any(map(str.isalnum, MARK.sub("", row.quote))) and LABEL.search(labels[0]):
            # A mark is no words that bear anything out.
            start = section.find(f"[{labels[0]}]") if label else -1
            span = (start, start + len(labels[0]) + 2) if start >= 0 else None
        absent = tuple(place.find_missing(blank_struck(value or "").strip(), quote) for value in row.cells)
        is_seen = bool(label) and (span is None or any(absent) or not MARK.sub("", row.quote).strip())
        placed.append(PlacedRow(row=row, span=span, absent=absent, is_seen=is_seen))
    return placed


def _lacks_sign(value: str, quote: str) -> bool:
    """Tell if a value is one of the quote's numbers without its minus; a dash with a blank behind it is none."""
    amount, amounts = read_amount(value) or 0.0, list_signed(re.sub(r"[-−]\s", " ", quote))
    return amount > 0 and -amount in amounts and amount not in amounts


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

    @cached_property
    def _words(self) -> set[str]:
        return set(words_with_articles(self._known))

    @cached_property
    def _amounts(self) -> set[float]:
        return list_amounts(self._known)

    @cached_property
    def _dates(self) -> set[str]:
        return {*find_dates(self._known), *list_days(self._known)}

    def find_quote(self, quote: str) -> tuple[int, int] | None:
        """Return the span of a quote whose words all stand there in its order, with nothing between them.

        Where the quote leaves words out and says so with dots, its parts stand near each other.
        """
        parts = [part for part in _DOTS.split(quote) if any(map(str.isalnum, part))]
        spans = [span for part in parts or [quote] if (span := self._find_part(part))]
        if len(spans) != max(1, len(parts)):
            return None
        gaps = [after[0] - before[1] for before, after in pairwise(spans)]
        return (spans[0][0], spans[-1][1]) if all(0 <= gap <= _MOST_LEFT_OUT for gap in gaps) else None

    def _find_part(self, quote: str) -> tuple[int, int] | None:
        start = _find_whole(quote, self._section)
        if start >= 0:
            return start, start + len(quote)
        words = parse_words(quote)
        run = self._passage.find_longest_run(words) if words else None
        return run[1] if run and run[0] == len(words) else None

    def find_missing(self, value: str, quote: str) -> tuple[str, ...]:
        """Return the numbers and names of a value that stand in neither, whichever way they are written."""
        if _lacks_sign(value, quote):
            return (value,)
        if not value or _find_whole(value, self._known) >= 0:
            return ()
        strange = find_missing_words(parse_words(value), self._keys)
        missing = tuple(word for word in strange if not set(words_with_articles(word)) <= self._words)
        digits = tuple(word.text for word in parse_words(value) if any(map(str.isdigit, word.text)))
        if not missing and not digits:
            return ()
        if self._has_quantity(value) or self._has_unit_above(value):
            return tuple(word for word in missing if word not in digits)
        # The comma of 8,75 is none of thousands: it is not 875.
        return tuple(dict.fromkeys((*missing, *digits))) if read_amount(value) is not None else missing

    def _has_quantity(self, value: str) -> bool:
        """Return whether the one date or number that a value gives stands there; a day may have its year elsewhere."""
        dates = find_dates(value)
        if dates:
            year, day = dates[0][:4], dates[0][5:]
            return len(dates) == 1 and (
                dates[0] in self._dates or (day in self._dates and float(year) in self._amounts)
            )
        # "A reduction of 29 %" is -29 % in a table.
        amount = read_amount(value)
        return amount is not None and abs(amount) in self._amounts

    def _has_unit_above(self, value: str) -> bool:
        """Return whether the number stands there without the unit that is told above it: 73.5 of 73.5万元."""
        found = _WITH_UNIT.fullmatch(value)
        amount = read_amount(found[1]) if found else None
        if not found or amount not in self._amounts:
            return False
        unit = re.escape(found[2])
        return re.search(_UNIT_TOLD.format(unit=unit), self._known, re.IGNORECASE) is not None


def _find_whole(words: str, text: str) -> int:
    """Return where words stand in a text as they are, and not as a part of longer words; -1 where they do not."""
    start = text.find(words) if any(map(str.isalnum, words)) else -1
    while start >= 0:
        end = start + len(words)
        # A full stop or a comma behind a number goes on in it only where a digit follows.
        after = text[end : end + 1] if text[end + 1 : end + 2].isdigit() or text[end : end + 1].isalnum() else ""
        if not _are_joined(text[start - 1 : start], words[0]) and not _are_joined(after, words[-1]):
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
