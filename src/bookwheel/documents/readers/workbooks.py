"""Read workbooks sheet by sheet, as Markdown tables: XLSX, XLS and ODS.

A formula shows the value that was saved with it, or where there is none itself. What stands beside cells comes last:
comments, the words of drawings, headers and footers.
"""

from __future__ import annotations

import datetime as dt
import html
import posixpath
import re
import zipfile
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from bookwheel.documents.damage import explain_damage, import_extra, name_unread, open_package, skip_damage
from bookwheel.documents.formats import Format, look_at
from bookwheel.documents.readers.areas import format_sheet
from bookwheel.documents.readers.cell_formats import Show, find_struck, read_formats
from bookwheel.documents.readers.grid import Span
from bookwheel.documents.readers.html import parse_xml
from bookwheel.documents.readers.texts import KNOWN_IN_OPENDOCUMENT, OFFICE, TEXT, read_margins
from bookwheel.documents.sources import SourceFile, SourceWarnings, to_printable
from bookwheel.errors import SourceError
from bookwheel.types import Part

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
_STYLES: Final = "xl/styles.xml"
_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
# Possessive: a tag or a run of blanks is walked once. A result that is an empty text is a saved one (t="str").
_UNSAVED_FORMULA: Final = re.compile(
    rb"<c\b([^<>]*+)>\s*+<f\b[^<>]*+(?:(?<=/)>|>([^<]*+)</f>)\s*+(?:<v\s*+/>|<v>\s*+</v>)?+\s*+</c>"
)
_EMPTY_TEXT: Final = re.compile(rb"\bt=[\"']str[\"']")
_CELL_PLACE: Final = re.compile(rb"\br=[\"']([A-Z]{1,3})(\d{1,7})")
_STYLED_CELL: Final = re.compile(rb"<c\b(?=[^<>]*?\bs=[\"'](\d{1,6})[\"'])[^<>]*?\br=[\"']([A-Z]{1,3})(\d{1,7})[\"']")
# Of more digits a spreadsheet keeps none.
_MOST: Final = 1e15
# Rows and columns beyond the last value in which formulas are looked for.
_BEYOND: Final = 100
_HIDDEN: Final = re.compile(rb"\b(?:hidden=[\"'](?:1|true)|visibility=[\"'](?:collapse|filter))")
_ROW: Final = re.compile(rb"<(?:row|table:table-row)\b[^<>]*>")
_ROW_PLACE: Final = re.compile(rb"\br=[\"'](\d{1,7})[\"']")
# Cells that tell which row is hidden, and rows that are told.
_TELLING: Final = 2
_MOST_TOLD: Final = 20
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
        is_package = look_at(source) is Format.ZIP
        formats, markup = _read_markup(source, warnings) if is_package else (_Styles({}, set()), {})
        for sheet in workbook.sheets_metadata:
            name = to_printable(sheet.name)
            place, title = f"{source.name}#{name}", name
            if sheet.typ is not calamine.SheetTypeEnum.WorkSheet:
                warnings.add("sheets without cells, such as charts and macros, that are not read", place)
                continue
            if sheet.visible is not calamine.SheetVisibleEnum.Visible:
                place += " (hidden)"  # what is quoted from here says so
                title += " (hidden)"
                warnings.add("sheets that are hidden, and are read too", place)
            with skip_damage(warnings, "sheets", place):
                cells = workbook.get_sheet_by_name(sheet.name)
                widths[name] = cells.end[1] + 1 if cells.end else 0
                values = cells.to_python()
                start = cells.start or (0, 0)
                if name in markup and (cut := _show_cells(values, start, markup[name].styles, formats)):
                    warnings.add(
                        "numbers shown rounded, as their cells show them (--everything keeps all digits)", place, cut
                    )
                rows: Iterable[list[str]] = ([_to_text(value) for value in row] for row in values)
                if name in markup and (unsaved := markup[name].formulas):
                    rows = _show_formulas([*rows], start, unsaved)
                hidden = _tell_hidden(values, start[0], markup[name].hidden.rows) if name in markup else ""
                guess = partial(warnings.add, where=place)
                if table := format_sheet([*rows], guess, spans=_find_spans(cells)):
                    yield Part(text=f"## {title}\n\n{table}\n\n{hidden}", source=place)
    if is_package:
        with open_package(source, "workbook", "Save it again as .xlsx.") as archive:
            yield from _read_beside_cells(archive, source.name, warnings, widths, markup.values())


def _read_beside_cells(
    archive: zipfile.ZipFile,
    name: str,
    warnings: SourceWarnings,
    widths: Mapping[str, int],
    markup: Iterable[_SheetMarkup],
) -> Iterator[Part]:
    is_office = "[Content_Types].xml" in archive.NameToInfo
    name_unread(archive, name, warnings, _KNOWN_IN_WORKBOOKS if is_office else KNOWN_IN_OPENDOCUMENT)
    beside = _BesideCells(name, warnings, widths)
    for sheet in markup:
        beside.margins += sheet.margins
        beside.count_hidden(sheet.name, sheet.hidden)
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

    def __init__(self, name: str, warnings: SourceWarnings, widths: Mapping[str, int]) -> None:
        self.comments: list[str] = []
        self.drawings: list[str] = []
        self.margins: list[str] = []
        self._said: set[str] = set()
        self._name, self._warnings, self._widths = name, warnings, widths

    def add(self, path: str, archive: zipfile.ZipFile) -> None:
        if _COMMENTS_IN_WORKBOOKS.fullmatch(path):
            self._add_comments(parse_xml(archive.read(path)))
        elif _DRAWINGS_IN_WORKBOOKS.fullmatch(path):
            self.drawings += [_join_words(one, "{*}t") for one in parse_xml(archive.read(path)).iter(f"{_A}p")]
        elif path == "content.xml":
            found = [*_OPEN_SHEET.finditer(content := archive.read(path))]
            for one, end in zip(found, [*(one.start() for one in found[1:]), len(content)], strict=True):
                name = _decode(one[1])
                self.count_hidden(to_printable(name), _find_hidden(content[one.end() : end]))
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

    def count_hidden(self, place: str, hidden: _Hidden) -> None:
        """Add a note where rows are hidden, or columns; those beyond the cells are folded away and no loss."""
        count = len(hidden.rows) + sum(column < self._widths.get(place, column + 1) for column in hidden.columns)
        if count:
            self._warnings.add("rows or columns that are hidden, and are read too", f"{self._name}#{place}", count)


class _Hidden(NamedTuple):
    """What a sheet does not show."""

    rows: list[int]
    columns: list[int]


def _find_hidden(sheet: bytes) -> _Hidden:
    columns, column = list[int](), 0
    for tag in _COLUMN.findall(sheet):
        first, repeated = _FIRST_COLUMN.search(tag), _REPEATED.search(tag)
        column = int(first[1]) - 1 if first else column
        columns += [column] if _HIDDEN.search(tag) else []
        column += int(repeated[1]) if repeated else 1
    numbered = ((_ROW_PLACE.search(row[0]), at, row[0]) for at, row in enumerate(_ROW.finditer(sheet)))
    rows = [int(place[1]) - 1 if place else at for place, at, tag in numbered if _HIDDEN.search(tag)]
    return _Hidden(rows, columns)


def _tell_hidden(values: Sequence[Sequence[Any]], start: int, rows: Iterable[int]) -> str:
    """Return a line that says which rows of a sheet are hidden, by the cells that they begin with; empty for none."""
    inside = (values[row - start] for row in rows if 0 <= row - start < len(values))
    shown = [", ".join([*filter(None, map(_to_text, row))][:_TELLING]) for row in inside]
    named = [one for one in shown if one]
    more = f"; and {len(named) - _MOST_TOLD} more" if len(named) > _MOST_TOLD else ""
    return f"Hidden rows: {'; '.join(named[:_MOST_TOLD])}{more}.\n\n" if named else ""


class _Styles(NamedTuple):
    """What styles of cells say of what they hold."""

    shows: Mapping[int, Show]
    struck: Collection[int]


class _SheetMarkup(NamedTuple):
    """What the markup of a sheet says beside its values."""

    name: str
    formulas: Mapping[tuple[int, int], str]
    """Those without a saved value, by row and column."""
    hidden: _Hidden
    margins: list[str]
    styles: array[int]
    """The row, column and style of each cell in turn whose style has a format of numbers, or is struck out."""


def _read_markup(source: SourceFile, warnings: SourceWarnings) -> tuple[_Styles, dict[str, _SheetMarkup]]:
    """Return the formats of styles, and by its name what the markup of each sheet says, which is unpacked once."""
    formats = _Styles({}, set())
    markup: dict[str, _SheetMarkup] = {}
    with open_package(source, "workbook", "Save it again as .xlsx.") as archive:
        names = _name_sheets(archive, source.name, warnings)
        if _STYLES in archive.NameToInfo:
            with skip_damage(warnings, "formats of numbers", source.name):
                styles = parse_xml(archive.read(_STYLES))
                formats = _Styles(read_formats(styles, keeps_digits=source.everything), find_struck(styles))
        for path in filter(_SHEETS_IN_WORKBOOKS.fullmatch, archive.namelist()):
            name = names.get(path) or to_printable(PurePath(path).name)
            with skip_damage(warnings, "formulas and margins", f"{source.name}#{name}"):
                sheet = archive.read(path)
                unsaved = [cell for cell in _UNSAVED_FORMULA.findall(sheet) if not _EMPTY_TEXT.search(cell[0])]
                if unsaved:
                    what = "formulas without a saved value, whose results are not known"
                    warnings.add(what, f"{source.name}#{name} ({len(unsaved)})")
                formulas = {
                    (int(at[2]) - 1, _count_letters(at[1])): f"={_decode(text)}"
                    for cell, text in unsaved
                    if text and (at := _CELL_PLACE.search(cell))  # a formula of many cells has its text in the first
                }
                margins = [_MARGIN_CODE.sub(" ", _decode(found)).strip() for found in _SHEET_MARGIN.findall(sheet)]
                markup[name] = _SheetMarkup(name, formulas, _find_hidden(sheet), margins, _find_styles(sheet, formats))
    return formats, markup


def _find_styles(sheet: bytes, formats: _Styles) -> array[int]:
    found = array("l")
    wanted = {b"%d" % style: style for style in {*formats.shows, *formats.struck}}
    columns: dict[bytes, int] = {}
    for style, letters, row in _STYLED_CELL.findall(sheet) if wanted else ():
        if style in wanted:
            column = columns[letters] if letters in columns else columns.setdefault(letters, _count_letters(letters))
            found.extend((int(row) - 1, column, wanted[style]))
    return found


def _show_cells(values: list[list[Any]], start: tuple[int, int], styles: array[int], formats: _Styles) -> int:
    """Write the numbers of cells as they are shown, and what is struck out. Return how many have more digits."""
    cut = 0
    for row, column, style in zip(styles[::3], styles[1::3], styles[2::3], strict=True):
        at, along = row - start[0], column - start[1]
        is_inside = 0 <= at < len(values) and 0 <= along < len(values[at])
        value = values[at][along] if is_inside else None
        if isinstance(value, float) and abs(value) < _MOST and style in formats.shows:
            values[at][along], is_cut = formats.shows[style](value)
            cut += is_cut
        if style in formats.struck and is_inside and (text := _to_text(values[at][along])):
            values[at][along] = f"~~{text}~~"
    return cut


def _decode(text: bytes) -> str:
    return html.unescape(text.decode("utf-8", "replace"))


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
        return f"{value:.15g}" if abs(value) < _MOST else str(value)
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
