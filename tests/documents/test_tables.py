"""A table keeps its rows, whatever its cells hold and wherever the file is cut into blocks."""

from __future__ import annotations

import zipfile
from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers import tables
from bookwheel.documents.readers.tables import read_csv
from bookwheel.documents.sources import SourceWarnings
from bookwheel.tables.files import write_table
from bookwheel.text.lines import has_lines

if TYPE_CHECKING:
    from pathlib import Path


def read(content: bytes) -> list[str]:
    source = SimpleNamespace(name="t.csv", charset="", open=lambda: BytesIO(content))
    return "".join(part.text for part in read_csv(source, SourceWarnings())).splitlines()


@pytest.mark.parametrize("mark", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_a_mark_in_a_cell_ends_no_row(mark: str) -> None:
    rows = read(f"name,note\nAda,first{mark}second\nBo,third\n".encode())
    assert rows[2:] == ["| Ada | first second |", "| Bo | third |"]


def test_of_two_separators_that_fit_the_one_of_more_columns_counts() -> None:
    """Amounts with decimal commas, and a comma in a name."""
    rows = "".join(f"{at},21;S;EUR;3200;Mehl Müller\n" for at in range(9))
    assert read(f'7;"Bäckerei Öhl, Ost";1,5;x;y\n{rows}'.encode())[3] == "| 0,21 | S | EUR | 3200 | Mehl Müller |"


def test_the_line_that_tells_excel_the_separator_is_no_row() -> None:
    assert read(b"sep=;\r\nname;oil\r\nAda;3\r\n")[0] == "| name | oil |"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_end_as_their_system_ends_lines(end: str) -> None:
    text = end.join(["name,note", 'Ada,"first', 'second"', "Bo,third"])
    assert read(text.encode())[2:] == ["| Ada | first second |", "| Bo | third |"]


def test_a_row_may_be_cut_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwheel.documents.decoding.BLOCK", 5)
    rows = read(b"a,b,c\r\n" + b"first,second,third\r\n" * 3)
    assert rows[2:] == ["| first | second | third |"] * 3


def test_a_quote_that_never_ends_loses_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_CELL", 200)
    rows = read(b'name,note\nAda,first\nBo,"open\n' + b"Cy,third\n" * 60)
    assert rows[2] == "| Ada | first |"
    assert rows[3] == 'Bo,"open'
    assert rows[4:] == ["Cy,third"] * 60


def test_a_line_without_end_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_CELL", 200)
    monkeypatch.setattr("bookwheel.documents.decoding.BLOCK", 64)
    assert "".join(read(b"a,b\nc,d\n" + b"x" * 5000)).count("x") == 5000


@pytest.mark.parametrize(
    ("line", "cells"), [("a;b,c", ["a;b", "c"]), ("a\tb;c", ["a\tb", "c"]), ("one column", ["one column"])]
)
def test_of_separators_that_fit_equally_well_the_more_usual_one_counts(line: str, cells: list[str]) -> None:
    rows = read(f"{line}\n".encode() * 3)
    assert rows[-1] == (f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |" if len(cells) > 1 else line)


def test_a_comment_beside_a_cell_is_read_with_its_cell_and_its_words(tmp_path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    book = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet = book.add_worksheet("Stock")
    sheet.write("B2", 1e15)
    sheet.write("B3", 123456789012345.0)
    sheet.write_comment("B2", "counted  by Ada")
    book.close()
    text = "".join(part.text for part in open_document([tmp_path / "a.xlsx"]).parts())
    assert "## Comments\n\n- B2: counted by Ada" in text
    assert "1000000000000000" in text
    assert "123456789012345 " in text


def test_rows_without_names_of_columns_lose_none_to_a_header() -> None:
    assert read(b"pane,74.00\nputty,9.50\n") == ["|  |  |", "| --- | --- |", "| pane | 74.00 |", "| putty | 9.50 |"]
    assert read(b"item,price\nputty,9.50\n")[0] == "| item | price |"


def test_commas_within_numbers_part_no_cells() -> None:
    assert (
        read("Zoë;Hülsen 3;12,50;paid\nMårten;Brücke 9;8,00;open\n".encode())[2] == "| Zoë | Hülsen 3 | 12,50 | paid |"
    )
    assert read(b"a;1,5;2,5\nb;2,5;3,5\n")[-1] == "| b | 2,5 | 3,5 |"
    assert read(b"1,2\n3,4\n")[-1] == "| 3 | 4 |"


def test_hidden_rows_and_columns_of_a_sheet_are_said(tmp_path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    book = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet = book.add_worksheet("Stock")
    for at in range(4):
        sheet.write_row(at, 0, [f"pane {at}", at])
    sheet.set_row(2, None, None, {"hidden": True})
    sheet.set_column(1, 1, None, None, {"hidden": True})
    sheet.set_column(5, 16383, None, None, {"hidden": True})
    folded = book.add_worksheet("Folded")
    folded.write_row(0, 0, ["pane", "glue"])
    folded.set_column(2, 16383, None, None, {"hidden": True})
    book.close()
    document = open_document([tmp_path / "a.xlsx"])
    assert "| pane 2 | 2 |" in "".join(part.text for part in document.parts())
    notes = [note for note in document.notes if "hidden" in note]
    assert notes == ["rows or columns that are hidden, and are read too: a.xlsx#Stock (2)"]


def test_a_column_of_an_open_sheet_that_is_hidden_is_said_by_the_name_of_its_sheet(tmp_path) -> None:
    pytest.importorskip("python_calamine")
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    column = '<table:table-column table:visibility="collapse"'
    cells = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{one}</text:p></table:table-cell>' for one in "ab"
    )
    first = f'<table:table-column/>{column}/>{column} table:number-columns-repeated="1022"/>'
    second = f'<table:table-column table:number-columns-repeated="2"/>{column} table:number-columns-repeated="1022"/>'
    sheets = "".join(
        f'<table:table table:style-name="t" table:name="{name}">{columns}<table:table-row>{cells}</table:table-row></table:table>'
        for name, columns in (("Stock &amp; co", first), ("Folded", second))
    )
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{office}manifest:1.0"/>')
        archive.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{office}office:1.0" xmlns:table="{office}table:1.0" '
            f'xmlns:text="{office}text:1.0"><office:body><office:spreadsheet>{sheets}</office:spreadsheet>'
            "</office:body></office:document-content>",
        )
    document = open_document([tmp_path / "a.ods"])
    assert "Folded" in "".join(part.text for part in document.parts())
    notes = [note for note in document.notes if "hidden" in note]
    assert notes == ["rows or columns that are hidden, and are read too: a.ods#Stock & co (1)"]


GUESS = "first rows taken for the names of columns, in tables where nothing tells: "
WORDS = (("pane", "workshop", "Ida"), ("putty", "cellar", "Bo"), ("glass", "attic", "Cy"))


def write_words(path: Path, *, is_marked: bool) -> Path:
    """Write a table of words, its first row marked as names where the format can mark it."""
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in WORDS)
    if is_marked:
        rows = rows.replace("td>", "th>", 6)
    page = f"<html><body><table>{rows}</table></body></html>"
    if path.suffix == ".csv":
        path.write_text("\n".join(map(",".join, WORDS)))
    elif path.suffix == ".xlsx":
        write_table(path, [dict(zip(WORDS[0], row, strict=True)) for row in WORDS[1:]])
    elif path.suffix == ".docx":
        document = pytest.importorskip("docx").Document()
        table = document.add_table(rows=0, cols=3)
        for row in WORDS:
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text
        document.save(path)
    elif path.suffix == ".eml":
        path.write_text(f"From: a@b.c\nTo: d@e.f\nSubject: x\nContent-Type: text/html\n\n{page}")
    else:
        path.write_text(page)
    return path


@pytest.mark.parametrize(
    ("name", "is_marked", "place"),
    [
        ("a.csv", False, "a.csv"),
        ("a.xlsx", False, "a.xlsx#rows"),
        ("a.html", False, "a.html (1)"),
        ("a.html", True, ""),
        ("a.eml", False, "a.eml (1)"),
        ("a.docx", False, "a.docx (1)"),
    ],
)
def test_names_of_columns_that_are_a_guess_are_said(name: str, is_marked: bool, place: str, tmp_path: Path) -> None:
    document = open_document([write_words(tmp_path / name, is_marked=is_marked)])
    text = "".join(part.text for part in document.parts())
    assert "| pane | workshop | Ida |\n| --- | --- | --- |\n| putty |" in text
    assert [note for note in document.notes if note.startswith(GUESS)] == ([GUESS + place] if place else [])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            '[{"pane": "east", "price": 74.00}, {"price": 1e30, "in": null, "pane": "a|b"}, {"pane": "", "in": true}]',
            "| pane | price | in |\n| --- | --- | --- |\n| east | 74.00 |  |\n| a\\|b | 1e30 |  |\n|  |  | true |\n",
        ),
        *(
            (content, content)
            for content in (
                '[{"a": 1}, {"a": {"b": 2}}]',
                '[{"a": 1, "a": 2}, {"a": 3}]',
                '[{"a": 1}, {"a": null}]',
                '[{"a": 1}, {"b": 2}, {"c": 3}]',
                '[{"a": 1}, {"a": "two\\nlines"}]',
                '[{"a": 1}, {"a": 2}',
                '[{"a": 1}]',
                '[{"a": 1}, 2]',
            )
        ),
    ],
)
def test_a_list_of_flat_objects_is_a_table_and_other_json_stays_as_it_is(
    content: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(content)
    document = open_document([tmp_path / "a.json"])
    parts = list(document.parts())
    assert "".join(part.text for part in parts) == text
    # What is written anew has no lines of its file.
    assert {has_lines(part.source) for part in parts} == {text == content}
    assert not document.notes


def test_what_stands_on_a_hidden_sheet_or_slide_says_so_where_it_is_quoted(tmp_path: Path) -> None:
    book = pytest.importorskip("xlsxwriter").Workbook(str(tmp_path / "a.xlsx"))
    for name in ("Open", "Old"):
        book.add_worksheet(name).write_row(0, 0, ["pane", name])
    book.get_worksheet_by_name("Old").hide()
    book.close()
    show = pytest.importorskip("pptx").Presentation()
    for title in ("Open", "Old"):
        show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = title
    show.slides[1]._element.set("show", "0")
    show.save(tmp_path / "a.pptx")
    sources = {
        name: [part.source for part in open_document([tmp_path / name]).parts()] for name in ("a.xlsx", "a.pptx")
    }
    assert sources == {"a.xlsx": ["a.xlsx#Open", "a.xlsx#Old (hidden)"], "a.pptx": ["a.pptx", "a.pptx#hidden slide"]}


def test_a_quotation_mark_that_nothing_closes_takes_in_no_other_rows(tmp_path: Path) -> None:
    rows = [f"{number},{number % 9},Vasko" for number in range(3, 2000)]
    (tmp_path / "a.csv").write_text("\n".join(["claim,desk,handler", '2,3,"Imre said: open', *rows]))
    document = open_document([tmp_path / "a.csv"])
    text = "".join(part.text for part in document.parts())
    assert '| 2 | 3 | "Imre said: open |\n| 3 | 3 | Vasko |' in text
    assert "| 1500 | 6 | Vasko |" in text
    assert document.notes == ("quotation marks that nothing closes, read as signs of their lines: a.csv",)
