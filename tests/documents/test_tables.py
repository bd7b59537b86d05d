"""A table keeps its rows, whatever its cells hold and wherever the file is cut into blocks."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace

import pytest

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
