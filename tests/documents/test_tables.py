"""A table keeps its rows, whatever its cells hold and wherever the file is cut into blocks."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace

import pytest

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
