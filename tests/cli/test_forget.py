"""`forget` deletes what it is told to delete, and the file no longer holds it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bookwheel.cli.main import main
from bookwheel.documents.opening import TextDocument
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.reading import runner


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with an old and a new reading, and a document that nobody asked about."""
    path, model = tmp_path / "journal.sqlite", ScriptedModel(keyword_reader)
    with Journal(path) as journal:
        for id_, created in (("0ld00000", "2020-01-01T00:00:00+00:00"), ("new00000", "")):
            document = journal.keep(TextDocument(f"words of {id_}", id_))
            reading = runner.new_reading(document.info, f"What of {id_}?", model, model.plan)
            journal.begin(
                type(reading)(**{**{n: getattr(reading, n) for n in reading.__slots__}, "id": id_, "created": created})
            )
        journal.keep(TextDocument("nobody asked", "unread"))
    return path


def run(path: Path, *words: str) -> tuple[int, list[str]]:
    with pytest.raises(SystemExit) as ended:
        main(["forget", *words, "--journal", str(path), "--json"])
    with Journal(path) as journal:
        return ended.value.code, [reading.id for reading in journal.readings()]


def test_readings_are_forgotten_by_name_and_by_age(path: Path, capsys) -> None:
    assert run(path, "--older-than", "30") == (0, ["new00000"])
    assert json.loads(capsys.readouterr().out) == {"deleted": ["0ld00000"], "kept": {}}
    assert run(path, "new") == (0, [])
    content = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())
    assert b"What of" not in content


def test_what_is_not_there_or_not_said_is_an_error(path: Path) -> None:
    assert run(path, "nothing")[0] == 2
    assert run(path)[0] == 2


def test_documents_that_nobody_asked_about_go_too(path: Path) -> None:
    assert run(path, "--unread") == (0, ["new00000", "0ld00000"])
    with Journal(path) as journal:
        assert journal._reader.fetch_all("SELECT name FROM documents ORDER BY id") == [("0ld00000",), ("new00000",)]


def test_a_reading_under_way_stays(path: Path, capsys) -> None:
    with Journal(path) as journal, journal.claim("new00000"):
        code, left = run(path, "0ld", "new")
    assert (code, left) == (2, ["new00000"])
    assert "being read" in json.loads(capsys.readouterr().out)["kept"]["new00000"]
