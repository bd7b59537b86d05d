"""The table that a reading has collected: its rows with quote and place, typed, asked by SQL, written to files.

table = collect("lease.pdf", "every obligation: who, what, until when, amount")
table.rows[0].cells, table.rows[0].places[0].quote
table.query("select who, sum(amount_number) from rows group by who")
table.write("rows.csv")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from typing_extensions import TypedDict

from bookwheel.errors import InputError
from bookwheel.flags import Flag
from bookwheel.picture import Box
from bookwheel.reading.prompts import prompts_for
from bookwheel.tables import files
from bookwheel.tables.columns import BARE_NUMBER, QUOTE, Column, Kind, TableRequest
from bookwheel.tables.sql import list_sort_keys, query_records
from bookwheel.text.cells import TOTAL, is_total, split_cells
from bookwheel.text.sanitize import escape_markdown
from bookwheel.text.tokens import replace_surrogates
from bookwheel.types import Reading, find_gaps
from bookwheel.verdict.parsing import blank_struck
from bookwheel.views.verdicts import describe_unseen

_FACTS: Final = (
    *(QUOTE, "source", "page", "start", "end", "places", "proven"),
    *("contradicts", "later", "holds", "corrects", "by hand", "row"),
)
"""What a record tells of a row besides its cells; `row` is the id by which it is edited."""
_SCALES: Final = ("万", "亿", "萬", "億")
"""What may stand behind a number whose unit goes without saying."""
_MOST_NAMED: Final = 5
_Row = TypeVar("_Row")
_OF_PICTURES: Final = ("picture", "box", "confidence", "seen")
"""What it tells besides where rows are from pictures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a row stands in the document."""

    quote: str
    """The document's own words, or the model's where they do not stand there."""
    start: int | None
    end: int | None
    step: int
    source: str = ""
    page: int | None = None
    picture: str = ""
    """The label of the picture that it stands in."""
    box: Box | None = None
    """Its place on its page, where it stands in a picture."""
    confidence: float | None = None
    """How sure the recogniser is of the words, from 0 to 1."""


@dataclass(slots=True, kw_only=True)
class TableRow:
    """One row; the same row in two places is one with both."""

    id: str
    """A digest of its cells as they were found; it stays when they are edited."""
    cells: tuple[str | None, ...]
    places: list[Place]
    is_proven: bool
    """Its quote stands in the document, and so do the numbers and names of its values."""
    missing: tuple[str, ...] = ()
    is_seen: bool = False
    """The model saw it in a picture, and no words bear it out."""
    corrects: str = ""
    """What was said before and is put right here, in the words of the model that read it."""
    groups: list[tuple[str, ...]] = field(default_factory=list)
    """The ids of rows that say otherwise of the same, itself among them; the rows of a group share one."""
    later: str | None = None
    """The last of them, where it stands further on than this row."""
    is_corrected: bool = False
    """A row further on says that it puts this one right."""
    taken: tuple[str | None, ...] = ()
    """The cells of the row that it puts right, without those of which it says that they no longer hold."""
    is_by_hand: bool = False
    """A person changed its cells."""

    @property
    def held(self) -> tuple[str | None, ...]:
        """Its cells; where it puts one right and says nothing of the others, with those of the row before it."""
        if not self.taken or self.is_by_hand:
            return self.cells
        return tuple(old if own is None else own for own, old in zip(self.cells, self.taken, strict=True))

    @property
    def contradicts(self) -> bool:
        """Another row says something else of the same."""
        return bool(self.groups)

    @property
    def others(self) -> tuple[str, ...]:
        """The ids of rows that say otherwise of the same: of many, the first few and the last."""
        return name_others(self.groups, self.id)


def name_others(groups: Iterable[Sequence[_Row]], own: _Row) -> tuple[_Row, ...]:
    """Return the first few and the last of each group, without the one whose groups they are."""
    few = (one for group in groups for one in (*group[:_MOST_NAMED], *group[-1:]))
    return tuple(dict.fromkeys(one for one in few if one != own))


class ColumnJson(TypedDict):
    """A column of a table in JSON."""

    name: str
    kind: str


class TableJson(TypedDict):
    """A table in JSON: the same on the command line and over HTTP."""

    reading: str
    status: str
    columns: list[ColumnJson]
    rows: list[dict[str, str | int | float | bool | None]]
    """By the names of the columns, then quote, source, page, start, end, places, proven, contradicts, later
    (the id of a row further on that says otherwise), holds (no row puts it right), corrects (what it puts right, by
    the model), by hand, row.

    Of rows from pictures also picture, box, confidence and seen.
    """
    count: int
    unproven: int
    seen: int
    """Rows that the model saw in a picture, and that no words bear out."""
    removed: int
    """Rows that a person removed."""
    gaps: list[tuple[int, int]]
    """Sections that were not taken in, as characters of the document."""
    skipped: list[tuple[int, int]]
    """Sections that a gate left out."""
    notes: list[str]


@dataclass(kw_only=True)
class Table:
    """Rows of one kind, from one reading."""

    reading: Reading
    request: TableRequest
    rows: list[TableRow]
    key: tuple[str, ...] = ()
    """Columns whose values name a row; none: rows that differ in one number or date alone contradict each other."""
    removed: int = 0
    """Rows that a person removed."""
    waited: int = 0
    """Lines that found no room in the memory, and waited beside it."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.request.columns

    @cached_property
    def _typed_columns(self) -> tuple[Column, ...]:
        """The columns, those of numbers where every cell is a bare one, whatever the name says: "rent due", "since"."""
        return tuple(self._type(at, column) for at, column in enumerate(self.columns))

    def _type(self, at: int, column: Column) -> Column:
        cells = [cell for row in self.rows if (cell := blank_struck(row.cells[at] or "").strip())]
        number = replace(column, kind=Kind.NUMBER)
        is_number = all(BARE_NUMBER.fullmatch(cell) and number.normalize(cell) is not None for cell in cells)
        return number if cells and is_number else column

    @property
    def unproven(self) -> int:
        """How many rows neither the document's words nor its pictures bear out, without those that a person wrote."""
        return sum(not (row.is_proven or row.is_by_hand or row.is_seen) for row in self.rows)

    @property
    def seen(self) -> int:
        """How many rows the model saw in a picture, and no words bear out."""
        return sum(row.is_seen and not row.is_by_hand for row in self.rows)

    @cached_property
    def fields(self) -> list[str]:
        """The names in files and SQL: each column, the number or date of those that have one, and facts of the row."""
        names = []
        for column in self._typed_columns:
            names.append(column.name)
            if column.kind is not Kind.TEXT:
                names.append(f"{column.name} ({column.kind})")
        taken = {name.casefold() for name in names}
        facts = (*_FACTS, *_OF_PICTURES) if self._has_pictures else _FACTS
        return [*names, *(f"{fact} (of the row)" if fact in taken else fact for fact in facts)]

    @cached_property
    def _has_pictures(self) -> bool:
        return any(place.picture for row in self.rows for place in row.places)

    def list_records(self) -> Iterator[dict[str, Any]]:
        """Yield each row as one flat record."""
        for row in self.rows:
            values: list[Any] = []
            for column, value in zip(self._typed_columns, row.held, strict=True):
                values.append(value)
                if column.kind is not Kind.TEXT:
                    values.append(column.normalize(value))
            first = row.places[0]
            values += (first.quote, first.source, first.page, first.start, first.end, len(row.places))
            values += (row.is_proven, row.contradicts, row.later, not row.is_corrected)
            values += (row.corrects or None, row.is_by_hand, row.id)
            if self._has_pictures:
                box = " ".join(f"{side:g}" for side in first.box) if first.box else None
                values += (first.picture or None, box, first.confidence, row.is_seen)
            sound = (replace_surrogates(value) if isinstance(value, str) else value for value in values)
            yield dict(zip(self.fields, sound, strict=True))

    def find_row(self, row: str) -> TableRow:
        """Return the row of an id or the beginning of one."""
        found = [one for one in self.rows if one.id.startswith(row)] if row else []
        if len(found) != 1:
            several = "more than one row has" if found else "no row of this table has"
            raise InputError(f"{several} the id {row!r}; the column `row` of --out and --json names each")
        return found[0]

    def change_cells(self, row: TableRow, values: Mapping[str, str | None]) -> tuple[str | None, ...]:
        """Return the cells of a row with these values; InputError for a column that is not there."""
        names = {column.name.casefold(): at for at, column in enumerate(self.columns)}
        cells = list(row.held)
        for name, value in values.items():
            if name.casefold() not in names:
                raise InputError(f"no column {name!r}; there are: {', '.join(column.name for column in self.columns)}")
            cells[names[name.casefold()]] = value or None
        return tuple(cells)

    def to_json(self) -> TableJson:
        """Return the table as `bookwheel collect --json` prints it."""
        return {**self.describe(), "rows": list(self.list_records())}

    def describe(self) -> TableJson:
        """Return what is to be known of the table, without its rows."""
        return {
            "reading": self.reading.id,
            "status": str(self.reading.status),
            "columns": [{"name": column.name, "kind": str(column.kind)} for column in self._typed_columns],
            "rows": [],
            "count": len(self.rows),
            "unproven": self.unproven,
            "seen": self.seen,
            "removed": self.removed,
            "gaps": [(step.chunk.start, step.chunk.end) for step in self.reading.gaps],
            "skipped": self.list_skipped(),
            "notes": self.list_notes(),
        }

    def list_skipped(self) -> list[tuple[int, int]]:
        """Return the sections that a gate left out, as characters of the document."""
        steps = find_gaps(self.reading.steps, frozenset({Flag.SKIPPED}))
        return [(step.chunk.start, step.chunk.end) for step in steps]

    def list_notes(self) -> list[str]:
        """Return what is to be known of the table before it is relied on."""
        whole, doubles = len(self.rows), sum(row.contradicts for row in self.rows)
        later = sum(row.later is not None for row in self.rows)
        lost = sum(bool(row.corrects) and not row.contradicts for row in self.rows)
        same = f"with the same {', '.join(self.key)}" if self.key else "in one number or date; --key tells rows apart"
        is_empty = not whole and self.reading.status == "answered" and not self.reading.gaps
        notes = [
            (is_empty, "no row of that kind was found"),
            (self.unproven, f"{self.unproven} of {whole} rows are unproven: the document's words do not bear them out"),
            (self.seen, f"{self.seen} of {whole} rows are seen in pictures, and not checked by words"),
            (doubles, f"{doubles} rows contradict others {same}, or are put right by them"),
            (later, f"rows of which one further on says otherwise: {later}; the column 'later' names that one"),
            (lost, f"rows that put right what stands in no other row: {lost}; the column 'corrects' has the words"),
            (
                sums := self._count_sums(),
                f"{sums} rows sum up others, by what their quotes are called: SQL counts both",
            ),
            (unseen := describe_unseen(self.reading), unseen),
            *self._list_unread(),
            *self._list_empty(),
            (len(self.reading.gaps), f"{len(self.reading.gaps)} sections were not taken in; their rows are missing"),
            (len(self.list_skipped()), f"{len(self.list_skipped())} sections were skipped by the gate and not read"),
            (
                self.waited,
                f"{self.waited} lines had no room in the memory and came back where a section shares their rare words",
            ),
            (self.removed, f"{self.removed} rows were removed by hand"),
            (
                "parallel" in self.reading.way,
                "segments were read side by side: what a word stands for is known only within each",
            ),
        ]
        return [*self.reading.document.notes, *(note for holds, note in notes if holds)]

    def _list_empty(self) -> Iterator[tuple[bool, str]]:
        """Yield which files gave no row, and that a model without words of its own misses what sentences say."""
        reading = self.reading
        # Of a chat each message has a name of its own, behind that of the file.
        sources = dict.fromkeys(source.partition("#")[0] for step in reading.steps for source in step.chunk.sources)
        held = {place.source.partition("#")[0] for row in self.rows for place in row.places}
        empty = [source for source in sources if source not in held]
        more = f" and {len(empty) - _MOST_NAMED} more" if len(empty) > _MOST_NAMED else ""
        yield bool(self.rows and empty), f"no row is from {', '.join(empty[:_MOST_NAMED])}{more}"
        is_quoted = prompts_for(reading.plan, reading.question).quotes
        yield (
            is_quoted and bool(self.rows),
            "this model only quotes: rows of tables and lists are here, and of sentences those with most of your words",
        )
        yield (
            is_quoted and not self.rows,
            "this model only quotes, and finds rows of tables and lists: one that writes may find some in sentences",
        )

    def _count_sums(self) -> int:
        """Return how many rows rest on a row of a table that sums up others, where none is asked for."""
        quotes = [split_cells(row.places[0].quote) for row in self.rows]
        most = max((sum(map(bool, cells)) for cells in quotes), default=0)
        wants_totals = TOTAL.search(self.request.thing)
        return 0 if wants_totals else sum(is_total(cells, most) for cells in quotes)

    def _list_unread(self) -> Iterator[tuple[int, str]]:
        """Yield for columns of numbers or dates how many values are none, and so missing in sums, and mixed units."""
        for at, column in enumerate(self._typed_columns):
            if column.kind is not Kind.TEXT:
                values = [cell for row in self.rows if (cell := row.cells[at])]
                count = sum(column.normalize(value) is None for value in values)
                yield (
                    count,
                    f"{count} of {len(values)} values of {column.name!r} give no one {column.kind}; SQL has null",
                )
                told = (value for value in values if column.normalize(value) and not value.endswith(_SCALES))
                units = dict.fromkeys(column.find_unit(value) or "none" for value in told)
                named = ", ".join([*units][:_MOST_NAMED])
                yield (
                    column.kind is Kind.NUMBER and len(units) > 1,
                    f"values of {column.name!r} have different units ({named}): a sum over them mixes these",
                )

    def to_markdown(self) -> str:
        """Return the table in Markdown, with the quote of each row."""
        names = [*(column.name for column in self.columns), QUOTE]
        return format_grid(names, [[*(cell or "" for cell in row.held), describe_row(row)] for row in self.rows])

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; pandas is yours to install."""
        return import_module("pandas").DataFrame(list(self.list_records()), columns=self.fields)

    def write(self, path: str | Path) -> None:
        """Write the table: .csv, .jsonl, .parquet, .xlsx or .md. Cells that a spreadsheet would run are neutral."""
        path = Path(path)
        check_target(path)
        if path.suffix.lower() == ".md":
            path.write_text(self.to_markdown(), encoding="utf-8")
        else:
            files.write_table(path, list(self.list_records()), self.fields)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names and rows that a SELECT over the table `rows` gives. SQLite counts, not a model."""
        return query_records(self.fields, list_sort_keys(self.fields, self._typed_columns), self.list_records(), sql)


def check_target(path: Path) -> None:
    """Raise InputError where a table cannot be written in the format that a file's name says."""
    files.check_format(path, (*files.TARGETS, ".md"))


def describe_row(row: TableRow) -> str:
    """Return a row's quote with what is to be known of it in brackets, where it is not proven and alone."""
    marks = {"contradicts": row.contradicts, "is_by_hand": row.is_by_hand, "is_seen": row.is_seen}
    return row.places[0].quote + describe_marks(is_proven=row.is_proven, later=row.later, **marks)


def describe_marks(
    *, is_proven: bool, contradicts: bool, is_by_hand: bool, is_seen: bool = False, later: str | None = None
) -> str:
    """Return the marks of a row in brackets."""
    marks = {
        "by hand": is_by_hand,
        "unproven": not (is_proven or is_by_hand or is_seen),
        "seen in a picture, not checked by words": is_seen and not is_by_hand,
        f"row {later} further on says otherwise": later is not None,
        "contradicts another": contradicts and later is None,
    }
    named = [mark for mark, holds in marks.items() if holds]
    return f" ({', '.join(named)})" if named else ""


def format_grid(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table of Markdown whose cells are text and nothing else."""
    lines = [names, *rows]
    head, *body = ("| " + " | ".join(map(escape_markdown, line)) + " |" for line in lines)
    return "\n".join((head, "|" + " --- |" * len(names), *body)) + "\n"
