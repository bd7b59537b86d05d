"""A table keeps its rows, whatever its cells hold and wherever the file is cut into blocks."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace

import pytest

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers import tables
from bookwheel.documents.readers.tables import read_csv
from bookwheel.documents.sources import SourceWarnings


def read(content: bytes) -> list[str]:
    source = SimpleNamespace(name="t.csv", charset="", open=lambda: BytesIO(content))
    return "".join(part.text for part in read_csv(source, SourceWarnings())).splitlines()


@pytest.mark.parametrize("mark", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_a_mark_in_a_cell_ends_no_row(mark: str) -> None:
    rows = read(f"name,note\nAda,first{mark}second\nBo,third\n".encode())
    assert rows[2:] == ["| Ada | first second |", "| Bo | third |"]


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
    assert "- B2: counted by Ada" in text
    assert "1000000000000000" in text
    assert "123456789012345 " in text


def test_rows_without_names_of_columns_lose_none_to_a_header() -> None:
    assert read(b"pane,74.00\nputty,9.50\n") == ["|  |  |", "| --- | --- |", "| pane | 74.00 |", "| putty | 9.50 |"]
    assert read(b"item,price\nputty,9.50\n")[0] == "| item | price |"
