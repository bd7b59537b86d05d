"""A cell over several rows or columns is known in each of them, whatever format its table comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers.grid import CONTINUED, COVERED, ONCE, REPEATED, Span, format_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROWS = (
    ("Prices in EUR", "", "", ""),
    ("Pier", "Boat", "Day", ""),
    ("", "", "low", "high"),
    ("East", "Heron", "36", "41"),
    ("", "Wherry", "closed", ""),
    ("West", "Skiff", "12", "14"),
    ("All sums", "", "60", "70"),
    ("Ask at the kiosk", "", "", ""),
)
SPANS = (
    Span(0, 0, 1, 4),
    Span(1, 0, 2, 1),
    Span(1, 1, 2, 1),
    Span(1, 2, 1, 2),
    Span(3, 0, 2, 1),
    Span(4, 2, 1, 2),
    Span(6, 0, 1, 2),
    Span(7, 0, 1, 4),
)
TABLE = """\
Prices in EUR

| Pier | Boat | Day low | Day high |
| --- | --- | --- | --- |
| East | Heron | 36 | 41 |
| East | Wherry | closed | closed |
| West | Skiff | 12 | 14 |
| All sums |  | 60 | 70 |

Ask at the kiosk
"""


def write_table(path: Path) -> None:
    if path.suffix == ".html":
        spans = {(span.row, span.column): span for span in SPANS}
        covered = {
            (row, column)
            for span in SPANS
            for row in range(span.row, span.row + span.height)
            for column in range(span.column, span.column + span.width)
        } - spans.keys()
        cells = [
            "".join(
                f'<td rowspan="{span.height}" colspan="{span.width}">{text}</td>'
                for column, text in enumerate(row)
                if (at, column) not in covered and (span := spans.get((at, column), Span(at, column, 1, 1)))
            )
            for at, row in enumerate(ROWS)
        ]
        path.write_text(f"<p>Boats</p><table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")
        return
    if path.suffix == ".xlsx":
        book = pytest.importorskip("xlsxwriter").Workbook(str(path))
        sheet = book.add_worksheet("Boats")
        # The first row and the first column of a sheet are often empty.
        for at, row in enumerate(ROWS, 2):
            sheet.write_row(at, 1, row)
        for top, left, height, width in SPANS:
            sheet.merge_range(top + 2, left + 1, top + height + 1, left + width, ROWS[top][left])
        book.close()
        return
    if path.suffix == ".docx":
        file = pytest.importorskip("docx").Document()
        table = file.add_table(len(ROWS), 4)
    else:
        file = pytest.importorskip("pptx").Presentation()
        shapes = file.slides.add_slide(file.slide_layouts[6]).shapes
        table = shapes.add_table(len(ROWS), 4, 0, 0, 9_000_000, 5_000_000).table
        table.first_row = False
    for at, row in enumerate(ROWS):
        for column, text in enumerate(row):
            table.cell(at, column).text = text
    for top, left, height, width in SPANS:
        merged = table.cell(top, left).merge(table.cell(top + height - 1, left + width - 1))
        if path.suffix == ".docx":
            merged.text = ROWS[top][left]
    file.save(path)


@pytest.mark.parametrize("suffix", ["html", "docx", "xlsx", "pptx"])
def test_what_covers_rows_or_columns_stands_in_each_of_them(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"boats.{suffix}"
    write_table(path)
    assert TABLE.strip() in "".join(part.text for part in open_document([path]).parts())


def lines(rows: Sequence[Sequence[str]], *spans: Span, is_marked: bool | None = None) -> list[str]:
    return [*format_rows(rows, is_marked=is_marked, spans=spans)]


def test_a_row_below_a_name_over_two_columns_is_a_row_where_it_has_a_name_of_its_own() -> None:
    rows = [["Name", "Contact", ""], ["Ann", "by post", "by night"], ["Bo", "by phone", "by day"]]
    assert lines(rows, Span(0, 1, 1, 2), is_marked=True) == [
        "| Name | Contact | Contact |",
        "| --- | --- | --- |",
        "| Ann | by post | by night |",
        "| Bo | by phone | by day |",
    ]


def test_figures_below_a_name_over_two_columns_are_no_names() -> None:
    rows = [["", "Tides", ""], ["Quay", "4.1", "1.7"], ["Pier", "4.0", "1.6"]]
    assert lines(rows, Span(0, 1, 1, 2), is_marked=True)[2] == "| Quay | 4.1 | 1.7 |"


def test_a_table_without_names_loses_no_row_to_a_cell_over_its_first_ones() -> None:
    rows = [["East", "Leeds", "4"], ["", "York", "5"], ["West", "Bath", "6"]]
    found = lines(rows, Span(0, 0, 2, 1))
    assert found == [
        "|  |  |  |",
        "| --- | --- | --- |",
        "| East | Leeds | 4 |",
        "| East | York | 5 |",
        "| West | Bath | 6 |",
    ]


def test_a_long_text_beside_several_rows_stands_once() -> None:
    rows = [["boat", "remark"], ["Heron", "old " * 200], ["Wherry", ""]]
    assert lines(rows, Span(1, 1, 2, 1))[-1] == "| Wherry |  |"


def test_a_cell_may_say_that_it_covers_more_than_there_is() -> None:
    assert lines([["a", "b"], ["c", ""]], Span(0, 1, 99, 99), Span(5, 5, 2, 2))[-1] == "| c | b |"


def test_a_title_and_two_lines_of_names_are_known_where_no_cell_is_marked() -> None:
    rows = [
        ["Berths of April"],
        ["Quay", "Ship", "Inward", "", "Outward", ""],
        ["", "", "tonnes", "boxes", "tonnes", "boxes"],
        ["North", "Old Corin", "88", "3", "61", "2"],
        ["South", "Tern", "12", "1", "4", "0"],
    ]
    assert lines(rows) == [
        "Berths of April",
        "",
        "| Quay | Ship | Inward tonnes | Inward boxes | Outward tonnes | Outward boxes |",
        "| --- | --- | --- | --- | --- | --- |",
        "| North | Old Corin | 88 | 3 | 61 | 2 |",
        "| South | Tern | 12 | 1 | 4 | 0 |",
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [["fruit", "", ""], ["apple", "3", "kg"], ["pear", "4", "kg"]],
        [["no", "name", ""], ["1", "Ann", "by post"], ["2", "Bo", "by phone"]],
        [["", "name", ""], ["1", "Ann", "by post"], ["2", "Bo", "by phone"]],
        [["name", "sum", ""], ["", "4", "5"], ["Ann", "6", "7"]],
    ],
)
def test_rows_with_empty_cells_are_rows_where_nothing_says_that_they_name_columns(rows: list[list[str]]) -> None:
    assert [row for row in rows if f"| {' | '.join(row)} |" not in lines(rows)] == []


def test_a_cell_may_cover_all_of_its_group_and_columns_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "baths.html"
    path.write_text(
        "<p>Baths</p><table><thead><tr><th rowspan=9>hour<th>lane<th>who</thead><tbody><tr><td>8<td rowspan=0>one<td>Ann<tr><td>9"
        "<td>Bo</tbody><tbody><tr><td>10<td colspan=40>closed</tbody></table>"
    )
    assert (
        "| hour | lane | who |\n| --- | --- | --- |\n| 8 | one | Ann |\n| 9 | one | Bo |\n| 10 | closed | closed |"
        in "".join(part.text for part in open_document([path]).parts())
    )


LEDGER = [
    ["Day", "Ship", "Tonnes"],
    ["5 April 2025", "Old Corin", "88"],
    ["", "Tern", "97"],
    ["", "Total", "185"],
    ["9 April 2025", "Tern", "6"],
    ["", "Sabine", "7"],
    ["", "", "198"],
]


def test_rows_of_a_diary_are_of_the_day_above_and_a_note_says_so() -> None:
    guesses = list[str]()
    assert [*format_rows(LEDGER, guesses.append)][2:] == [
        "| 5 April 2025 | Old Corin | 88 |",
        "| 5 April 2025 | Tern | 97 |",
        "|  | Total | 185 |",
        "| 9 April 2025 | Tern | 6 |",
        "| 9 April 2025 | Sabine | 7 |",
        "|  |  | 198 |",
    ]
    assert guesses == [CONTINUED]


@pytest.mark.parametrize(
    "rows",
    [
        [["done", "task"], ["x", "sell"], ["", "buy"], ["x", "lend"], ["", "call"]],
        [["no", "dish"], ["12", "soup"], ["", "bread"], ["13", "stew"], ["", "tea"]],
        [["name", "sum"], ["Ann", "4"], ["Bo", "5"], ["", "6"], ["Cy", "7"]],
        [["name", "sum"], ["Ann", "4"], ["", "5"], ["", "6"]],
        [["nickname", "name", "age"], ["Bob", "Robert", "34"], ["", "Anna", "29"], ["Liz", "Elizabeth", "41"]],
        [["paid", "who", "sum"], ["2025-04-09", "Ann", "34"], ["", "Bo", "29"], ["2025-04-02", "Cy", "41"]],
        [["name", "sum"], ["", "4"], ["Ann", "5"], ["", "6"], ["Bo", "7"]],
    ],
)
def test_an_empty_cell_stays_empty_where_it_may_be_a_lack(rows: list[list[str]]) -> None:
    assert lines(rows, is_marked=True)[2:] == [f"| {' | '.join(row)} |" for row in rows[1:]]


def test_what_lies_below_a_merged_cell_is_left_out_and_named() -> None:
    guesses = list[str]()
    rows = [["room", "1 July", "2 July"], ["12", "Ann", "Zander"], ["14", "Zander", "Zander"]]
    assert [*format_rows(rows, guesses.append, is_marked=True, spans=[Span(1, 1, 2, 2)])][2:] == [
        "| 12 | Ann | Ann |",
        "| 14 | Ann | Ann |",
    ]
    assert guesses == [COVERED]


def test_a_small_table_in_a_cell_is_a_value_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "halls.html"
    inner = "<table><tr><td>West</td><td>46</td></tr><tr><td>East</td><td>31</td></tr></table>"
    path.write_text(
        "<p>Exams</p><table><tr><th>Hall<th>8:00<th>10:00</tr><tr><td>A<td>Latin<td>Greek</tr>"
        f"<tr><td>C<td>Wing {inner}<td>Music</tr></table>"
    )
    assert "| C | Wing; West, 46; East, 31 | Music |" in "".join(part.text for part in open_document([path]).parts())


def read(tmp_path: Path, html: str) -> str:
    path = tmp_path / "table.html"
    path.write_text(f"<p>Tables</p>{html}")
    return "".join(part.text for part in open_document([path]).parts())


def test_rows_below_marked_names_and_cells_over_the_same_columns_name_none(tmp_path: Path) -> None:
    names = "<table><tr><th>who<th colspan=2>phones</tr><tr><td><td>none<td>lost</tr>"
    assert "|  | none | lost |" in read(tmp_path, f"{names}<tr><td>Ann<td>1<td>2</table>")
    rows = [["who", "remarks", ""], ["", "one", ""], ["", "two", ""], ["Ann", "1", "2"]]
    spans = [Span(at, 1, 1, 2) for at in range(3)]
    assert "|  | two | two |" in [*format_rows(rows, spans=spans)]
    assert not [line for line in format_rows(rows, is_marked=True, spans=spans) if "one two" in line]


def test_a_cell_over_more_than_a_table_could_hold_stands_once_and_a_note_says_so(tmp_path: Path) -> None:
    cell = f"<td rowspan=200 colspan=1000>{'w ' * 199}<td>y"
    assert len(read(tmp_path, f"<table><tr><td>x{cell}{'<tr><td>x' * 200}</table>")) < 200_000
    guesses = list[str]()
    rows = [["a", "b"], *(["w" * 399, ""] for _ in range(1000))]
    assert len("".join(format_rows(rows, guesses.append, spans=[Span(1, 0, 1000, 1)]))) < 1_000_000
    assert guesses[0] == COVERED
    assert ONCE in guesses


def test_amounts_that_are_repeated_are_noted_and_words_are_not() -> None:
    guesses = list[str]()
    rows = [["boat", "price"], ["Heron", "36"], ["Teal", ""], ["Otter", "48"]]
    assert "| Teal | 36 |" in [*format_rows(rows, guesses.append, is_marked=True, spans=[Span(1, 1, 2, 1)])]
    assert guesses == [REPEATED]
    guesses.clear()
    rows = [["boat", "state"], ["Heron", "closed"], ["Teal", ""], ["Otter", "open"]]
    assert "| Teal | closed |" in [*format_rows(rows, guesses.append, is_marked=True, spans=[Span(1, 1, 2, 1)])]
    assert guesses == []


def test_a_title_is_no_heading_and_no_item() -> None:
    rows = [["# made by x", "", ""], ["A", "B", "C"], ["one", "2", "3"], ["two", "5", "6"]]
    assert next(iter(format_rows(rows))) == "\\# made by x"


def test_a_name_of_a_group_stays_before_its_rows_wherever_it_stands() -> None:
    rows = [["A", "B", "C"], ["one", "2", "3"], ["two", "5", "6"], ["Late boats", "", ""], ["three", "7", "8"]]
    assert lines(rows, Span(3, 0, 1, 3), is_marked=True)[2:] == [
        "| one | 2 | 3 |",
        "| two | 5 | 6 |",
        "| Late boats |  |  |",
        "| three | 7 | 8 |",
    ]


@pytest.mark.parametrize("outside", [Span(9, 0, 1, 2), Span(0, 9, 1, 2)])
def test_a_merged_cell_outside_of_what_has_values_changes_nothing(outside: Span) -> None:
    rows = [["A", "B"], ["one", "2"], ["two", "5"]]
    assert lines(rows, outside, is_marked=True) == lines(rows, is_marked=True)


SHEET = [
    ["项目", "期末", "期初", "附注"],
    ["货币资金", "1", "2", ""],
    ["存货：在途", "3", "4", "a"],
    ["应付", "", "", ""],
]


def test_notes_above_the_names_of_columns_and_below_the_rows_are_no_rows() -> None:
    above = [["资产负债表", "", "", ""], ["编制单位：甲公司", "", "", "单位：元"]]
    below = ["注：未经审计", "", "", ""]
    table = lines(SHEET)
    assert lines([*above, *SHEET, below]) == [
        *("资产负债表", "", "编制单位：甲公司", "", "单位：元", "", *table, "", "注：未经审计")
    ]
    # In the midst of rows, and with names that stand below each other, it is a row.
    assert lines([*SHEET, below, SHEET[-1]]) == [*table, "| 注：未经审计 |  |  |  |", table[-1]]
    pairs = [["Boat", "", "Q1", "", "Q2", ""], ["", "", "in", "out", "in", "out"], ["Teal", "x", "1", "2", "3", "4"]]
    assert lines(pairs)[0] == "| Boat |  | Q1 |  | Q2 |  |"


def test_many_rows_of_one_cell_with_a_label_are_rows_of_a_log_and_no_notes() -> None:
    log = [["line", "code", "host"], *([f"ERROR: disk {disk} full", "", ""] for disk in range(20))]
    lines = [*format_rows(log)]
    assert lines[2:] == [f"| ERROR: disk {disk} full |  |  |" for disk in range(20)]


def test_titles_above_the_names_of_columns_are_lines_of_their_own_and_no_rows():
    rows = [
        ["The co-operative"],
        [],
        ["Bid of 24 October"],
        [],
        ["Item", "Quantity", "Net"],
        ["Pages", "46500", "16740"],
    ]
    rows += [["Plans", "1100", "330"], ["Total", "", "17070"]]
    lines = [*filter(None, format_rows(rows))]
    assert lines[:4] == ["The co-operative", "Bid of 24 October", "| Item | Quantity | Net |", "| --- | --- | --- |"]
    assert not any("co-operative" in line for line in lines[1:])
