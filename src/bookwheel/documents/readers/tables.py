"""Read tables: values between commas, semicolons or tabs, lists of records in JSON, and workbooks sheet by sheet.

All come out as Markdown tables, row by row in their own order. A formula shows the value that was saved with it,
or where there is none itself.
"""

from __future__ import annotations

import csv
import datetime as dt
import html
import json
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, reduce
from io import IncrementalNewlineDecoder
from itertools import chain, islice
from pathlib import PurePath
from typing import Any, Final

from bookwheel.documents.damage import explain_damage, import_extra, name_unread, open_package, skip_damage
from bookwheel.documents.decoding import decode
from bookwheel.documents.formats import Format, look_at
from bookwheel.documents.readers.grid import Span, format_rows
from bookwheel.documents.readers.html import parse_xml
from bookwheel.documents.readers.texts import KNOWN_IN_OPENDOCUMENT, OFFICE, TEXT, read_margins
from bookwheel.documents.sources import SourceFile, SourceWarnings, to_printable
from bookwheel.errors import SourceError
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


# Where a workbook has no text of its own: settings, looks, values that stand in cells.
_KNOWN_IN_WORKBOOKS: Final = re.compile(
    r"\[Content_Types\]|(?:.+/)?_rels/|docProps/|docMetadata/|customXml/|xl/(?:workbook|styles|sharedStrings|calcChain|"
    r"metadata|connections|volatileDependencies)\.(?:xml|bin)|xl/(?:worksheets|chartsheets|dialogsheets|macrosheets|"
    r"tables|theme|pivotTables|queryTables|printerSettings|persons|threadedComments|ctrlProps|slicer\w*|"
    r"timeline\w*|drawings|charts(?!/chartEx)|richData|activeX|revisions|diagrams)/|xl/(?:comments\d*\.xml|vbaProject)"
)
_COMMENTS_IN_WORKBOOKS: Final = re.compile(r"xl/(?:comments/|threadedComments/)?(?:threadedC|c)omment[^/]*\.xml")
_SHEETS_IN_WORKBOOKS: Final = re.compile(r"xl/(?:worksheets|chartsheets)/[^/]*\.xml")
_BOOK: Final = "xl/workbook.xml"
_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
# Possessive: a tag or a run of blanks is walked once. A result that is an empty text is a saved one (t="str").
_UNSAVED_FORMULA: Final = re.compile(
    rb"<c\b([^<>]*+)>\s*+<f\b[^<>]*+(?:(?<=/)>|>([^<]*+)</f>)\s*+(?:<v\s*+/>|<v>\s*+</v>)?+\s*+</c>"
)
_EMPTY_TEXT: Final = re.compile(rb"\bt=[\"']str[\"']")
_CELL_PLACE: Final = re.compile(rb"\br=[\"']([A-Z]{1,3})(\d{1,7})")
# Rows and columns beyond the last value in which formulas are looked for.
_BEYOND: Final = 100
_HIDDEN: Final = re.compile(rb"\b(?:hidden=[\"'](?:1|true)|visibility=[\"'](?:collapse|filter))")
_ROW: Final = re.compile(rb"<(?:row|table:table-row)\b[^<>]*>")
_COLUMN: Final = re.compile(rb"<(?:col|table:table-column)\b[^<>]*>")
_FIRST_COLUMN: Final = re.compile(rb"\bmin=[\"'](\d+)")
_REPEATED: Final = re.compile(rb"\bnumber-columns-repeated=[\"'](\d+)")
_OPEN_SHEET: Final = re.compile(rb"<table:table\s[^<>]*?\btable:name=[\"']([^\"']*)")
_SHEET_MARGIN: Final = re.compile(rb"<(?:odd|even|first)(?:Header|Footer)>([^<]*)<")
# A font, a size, a side, a field such as the page.
_MARGIN_CODE: Final = re.compile(r'&(?:"[^"]*"|\d+|K[\dA-Fa-f]{6}|[A-Za-z])')
_BESIDE_OPEN_CELLS: Final = re.compile(rb":annotation|:shapes")
_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DRAWINGS_IN_WORKBOOKS: Final = re.compile(r"xl/(?:drawings/drawing|charts/chart|diagrams/data)[^/]*\.xml")


def read_sheets(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every sheet with values: `stores.xlsx#2025`. Then come comments, and the words of drawings."""
    calamine = import_extra("python_calamine", "reading XLSX, XLS and ODS")
    with explain_damage(source.name, "workbook", "Save it again as .xlsx."), source.open() as file:
        try:
            workbook = calamine.load_workbook(file)
        except calamine.PasswordError as error:
            raise SourceError(f"{source.name} needs a password: save it without one") from error
        widths: dict[str, int] = {}
        formulas = _list_formulas(source, warnings)
        for sheet in workbook.sheets_metadata:
            name = to_printable(sheet.name)
            place = f"{source.name}#{name}"
            if sheet.typ is not calamine.SheetTypeEnum.WorkSheet:
                warnings.add("sheets without cells, such as charts and macros, that are not read", place)
                continue
            if sheet.visible is not calamine.SheetVisibleEnum.Visible:
                place += " (hidden)"  # what is quoted from here says so
                warnings.add("sheets that are hidden, and are read too", place)
            with skip_damage(warnings, "sheets", place):
                cells = workbook.get_sheet_by_name(sheet.name)
                widths[name] = cells.end[1] + 1 if cells.end else 0
                rows: Iterable[list[str]] = ([_to_text(value) for value in row] for row in cells.to_python())
                if unsaved := formulas.get(name):
                    rows = _show_formulas([*rows], cells.start or (0, 0), unsaved)
                guess = partial(warnings.add, where=place)
                if table := "\n".join(format_rows(rows, guess, spans=_find_spans(cells))):
                    yield Part(text=f"## {name}\n\n{table}\n\n", source=place)
    if look_at(source) is Format.ZIP:
        with open_package(source, "workbook", "Save it again as .xlsx.") as archive:
            yield from _read_beside_cells(archive, source.name, warnings, widths)


def _read_beside_cells(
    archive: zipfile.ZipFile, name: str, warnings: SourceWarnings, widths: Mapping[str, int]
) -> Iterator[Part]:
    is_office = "[Content_Types].xml" in archive.NameToInfo
    name_unread(archive, name, warnings, _KNOWN_IN_WORKBOOKS if is_office else KNOWN_IN_OPENDOCUMENT)
    beside = _BesideCells(name, warnings, _name_sheets(archive, name, warnings), widths)
    for path in archive.namelist():
        with skip_damage(warnings, "texts beside cells", f"{name}#{to_printable(path)}"):
            beside.add(path, archive)
    with skip_damage(warnings, "headers and footers", name):
        beside.margins += read_margins(archive, name, warnings)
    titles = {"Comments": beside.comments, "Drawings": beside.drawings, "Headers and footers": beside.margins}
    for title, lines in titles.items():
        if unique := list(dict.fromkeys(filter(None, lines))):
            text = "\n".join([f"## {title}", "", *(f"- {one}" for one in unique), "", ""])
            yield Part(text=text, source=f"{name}#{title}")


def _name_sheets(archive: zipfile.ZipFile, name: str, warnings: SourceWarnings) -> dict[str, str]:
    """Return the name of each sheet by the path of its part; none where the archive does not say."""
    if not archive.NameToInfo.keys() >= {_BOOK, _RELATIONS}:
        return {}
    with skip_damage(warnings, "names of sheets", name):
        relations = parse_xml(archive.read(_RELATIONS)).iter("{*}Relationship")
        paths = {one.get("Id"): posixpath.join("/xl", one.get("Target", ""))[1:] for one in relations}
        sheets = parse_xml(archive.read(_BOOK)).iter("{*}sheet")
        ids = ((sheet, next((v for key, v in sheet.attrib.items() if key.endswith("}id")), "")) for sheet in sheets)
        return {paths[one]: to_printable(sheet.get("name", "")) for sheet, one in ids if one in paths}
    return {}


class _BesideCells:
    """The texts that stand beside the cells of a workbook."""

    def __init__(
        self, name: str, warnings: SourceWarnings, names: Mapping[str, str], widths: Mapping[str, int]
    ) -> None:
        self.comments: list[str] = []
        self.drawings: list[str] = []
        self.margins: list[str] = []
        self._said: set[str] = set()
        self._name, self._warnings = name, warnings
        self._names, self._widths = names, widths

    def add(self, path: str, archive: zipfile.ZipFile) -> None:
        if _COMMENTS_IN_WORKBOOKS.fullmatch(path):
            self._add_comments(parse_xml(archive.read(path)))
        elif _DRAWINGS_IN_WORKBOOKS.fullmatch(path):
            self.drawings += [_join_words(one, "{*}t") for one in parse_xml(archive.read(path)).iter(f"{_A}p")]
        elif _SHEETS_IN_WORKBOOKS.fullmatch(path):
            place, sheet = self._names.get(path) or to_printable(PurePath(path).name), archive.read(path)
            self._count_hidden(place, sheet)
            for found in _SHEET_MARGIN.findall(sheet):
                self.margins.append(_MARGIN_CODE.sub(" ", html.unescape(found.decode("utf-8", "replace"))).strip())
        elif path == "content.xml":
            found = [*_OPEN_SHEET.finditer(content := archive.read(path))]
            for one, end in zip(found, [*(one.start() for one in found[1:]), len(content)], strict=True):
                name = html.unescape(one[1].decode("utf-8", "replace"))
                self._count_hidden(to_printable(name), content[one.end() : end])
            root = parse_xml(content if _BESIDE_OPEN_CELLS.search(content) else b"<nothing/>")
            self.comments += [_join_words(one, f"{TEXT}p") for one in root.iter(f"{OFFICE}annotation")]
            self.drawings += [_join_words(one, f"{TEXT}p") for one in root.iter("{*}shapes")]

    def _add_comments(self, root: Any) -> None:
        for comment in root.iter("{*}comment", "{*}threadedComment"):
            words = _join_words(comment, "{*}text")
            # What has a thread stands a second time as a plain comment, behind words about old programs.
            if words not in self._said:
                self.comments.append(f"{comment.get('ref')}: {words}")
            if words.startswith("["):
                self._said.add(words.partition("Comment: ")[2])

    def _count_hidden(self, place: str, sheet: bytes) -> None:
        """Add a note where rows are hidden, or columns; those beyond the cells are folded away and no loss."""
        count, column = sum(bool(_HIDDEN.search(row[0])) for row in _ROW.finditer(sheet)), 0
        for tag in _COLUMN.findall(sheet):
            first, repeated = _FIRST_COLUMN.search(tag), _REPEATED.search(tag)
            column = int(first[1]) - 1 if first else column
            count += bool(_HIDDEN.search(tag)) and column < self._widths.get(place, column + 1)
            column += int(repeated[1]) if repeated else 1
        if count:
            self._warnings.add("rows or columns that are hidden, and are read too", f"{self._name}#{place}", count)


def _list_formulas(source: SourceFile, warnings: SourceWarnings) -> dict[str, dict[tuple[int, int], str]]:
    """Return the formulas without a saved value, by the name of their sheet and their row and column."""
    found: dict[str, dict[tuple[int, int], str]] = {}
    if look_at(source) is not Format.ZIP:
        return found
    with open_package(source, "workbook", "Save it again as .xlsx.") as archive:
        names = _name_sheets(archive, source.name, SourceWarnings())  # said once, of what is beside cells
        for path in filter(_SHEETS_IN_WORKBOOKS.fullmatch, archive.namelist()):
            place = names.get(path) or to_printable(PurePath(path).name)
            with skip_damage(warnings, "formulas", f"{source.name}#{place}"):
                cells = _UNSAVED_FORMULA.findall(archive.read(path))
                if unsaved := [cell for cell in cells if not _EMPTY_TEXT.search(cell[0])]:
                    what = "formulas without a saved value, whose results are not known"
                    warnings.add(what, f"{source.name}#{place} ({len(unsaved)})")
                found[place] = {
                    (int(at[2]) - 1, _count_letters(at[1])): f"={html.unescape(text.decode('utf-8', 'replace'))}"
                    for cell, text in unsaved
                    if text and (at := _CELL_PLACE.search(cell))  # a formula of many cells has its text in the first
                }
    return found


def _count_letters(letters: bytes) -> int:
    """Return the number of a column from 0 on: A, B, … Z, AA."""
    return reduce(lambda number, letter: 26 * number + letter - 64, letters, 0) - 1


def _show_formulas(
    rows: list[list[str]], start: tuple[int, int], formulas: Mapping[tuple[int, int], str]
) -> list[list[str]]:
    """Return rows in which a formula stands where no value does."""
    last = len(rows) + _BEYOND, max(map(len, rows), default=0) + _BEYOND
    for place, text in formulas.items():
        row, column = place[0] - start[0], place[1] - start[1]
        if 0 <= row < last[0] and 0 <= column < last[1]:
            rows += [[] for _ in range(row - len(rows) + 1)]
            rows[row] += [""] * (column - len(rows[row]) + 1)
            rows[row][column] = rows[row][column] or text
    return rows


def _find_spans(sheet: Any) -> list[Span]:
    """Return the merged cells of a sheet, whose first row and column with a value count as 0."""
    top, left = sheet.start or (0, 0)
    return [
        Span(first[0] - top, first[1] - left, last[0] - first[0] + 1, last[1] - first[1] + 1)
        for first, last in sheet.merged_cell_ranges or ()
        if first >= (top, left) and first[1] >= left
    ]


def _join_words(element: Any, *tags: str) -> str:
    return " ".join(" ".join("".join(inner.itertext()) for inner in element.iter(*tags)).split())


def _to_text(value: Any) -> str:
    """Return a cell as a spreadsheet shows it, in the plainest format."""
    if isinstance(value, float):
        # 15 digits are what a spreadsheet keeps; the rest is noise of binary fractions.
        return f"{value:.15g}" if abs(value) < 1e15 else str(value)  # noqa: PLR2004
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.timedelta):
        thousandths = round(value / dt.timedelta(milliseconds=1))
        hours, rest = divmod(abs(thousandths), 3_600_000)
        clock = f"{hours}:{rest // 60_000:02}:{rest % 60_000 / 1000:06.3f}"
        return "-" * (thousandths < 0) + clock.removesuffix(".000").removesuffix(":00")
    if isinstance(value, dt.datetime):
        # A day's fraction has no exact number.
        near = value + min(dt.timedelta(microseconds=500), dt.datetime.max - value)  # noqa: DTZ901
        return near.isoformat(" ", "milliseconds").removesuffix(".000").removesuffix(" 00:00:00")
    return str(value)
