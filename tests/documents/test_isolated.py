"""A document that is opened in a child is the same document."""

from __future__ import annotations

from pathlib import Path

import pytest

from bookwheel.documents.isolated import open_fetched, open_isolated
from bookwheel.documents.opening import open_document, open_file
from bookwheel.documents.sources import spool
from bookwheel.errors import SourceError

PAGES = {
    "a.txt": b"\xff\xfeplain\n" + b"words \xe9 " * 9,
    "b.html": b"<html><title>T</title><body><h1>T</h1><p>One. <p>Two.</body>",
    "c.csv": b"name,age\nAda,36\nEve,9\n",
    "d.md": ("渡口的老人说。\n" * 20_000).encode(),
}


@pytest.mark.parametrize("name", PAGES)
def test_text_places_and_notes_are_those_of_an_open_document(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PAGES[name])
    isolated, opened = open_isolated(path, name), open_document([path])

    def read(document) -> tuple[str, set]:
        parts = list(document.parts())
        return "".join(part.text for part in parts), {(part.source, part.page) for part in parts}

    assert read(isolated) == read(opened)
    assert isolated.notes == opened.notes


def test_what_was_fetched_is_read_by_its_content_type() -> None:
    source = spool([PAGES["b.html"]], "http://example.org/page", media="text/html")
    assert "".join(part.text for part in open_fetched(source).parts()) == "".join(
        part.text for part in open_file(source).parts()
    )


def test_a_document_without_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    with pytest.raises(SourceError, match=r"empty\.txt holds no text"):
        list(open_isolated(tmp_path / "empty.txt", "empty.txt").parts())
