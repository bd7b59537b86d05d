"""`bookwheel memory`: what each command prints, as text and as JSON, and how it ends."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from bookwheel.cli.memory import format_change
from bookwheel.errors import InputError
from bookwheel.journal import journal_path


@pytest.fixture
def memory(run, book: Path):
    return lambda *words: run("memory", *words)


@pytest.fixture
def tell(memory, monkeypatch: pytest.MonkeyPatch):
    """Add a text from standard input."""

    def add(text: str, *words: str):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
        return memory("add", "ada", "-", *words)

    return add


@pytest.fixture
def ada(memory, tell):
    """A memory that has read two letters."""
    began = memory("new", "ada", "--about", "Everything about Ada Quill", "--model", "scripted")
    assert (began.code, began.out) == (0, "began ada; add to it: bookwheel memory add ada FILE\n")
    tell("Ada Quill lives in Este. Ada Quill has a cat.", "--source", "mail-1", "--at", "2026-01-01")
    tell("Ada Quill lives in Padua now.", "--source", "mail-2", "--at", "2026-02-01")


def test_a_changed_line_has_its_words_marked() -> None:
    change = {"kind": "reworded", "text": "The fee is 150 crowns a year.", "old": "The fee is 140 crowns a year."}
    assert format_change(change) == "  ~ The fee is [-140-]{+150+} crowns a year."
    assert format_change({"kind": "new", "text": "a"}) == "  + a"


def test_what_is_added_is_told_line_by_line(memory, tell) -> None:
    memory("new", "ada", "--about", "Everything about Ada Quill", "--model", "scripted")
    ran = tell("Ada Quill lives in Este. Ada Quill has a cat.", "--source", "mail-1")
    assert ran.code == 0
    assert ran.out == "  + Ada Quill lives in Este.\n  + Ada Quill has a cat.\n"
    assert ran.err.startswith("version 1 · 1 piece read · ")
    again = tell("Ada Quill lives in Este. Ada Quill has a cat.", "--source", "mail-1")
    assert again.out == ""
    assert "mail-1 has said this before; it was not read again" in again.err


@pytest.mark.usefixtures("ada")
def test_a_text_of_an_earlier_time_is_said_to_come_late(tell, memory) -> None:
    ran = tell("Ada Quill was born in Lugo.", "--source", "mail-0", "--at", "2025-12-01")
    assert "note: texts of a later time were read before this one" in ran.err
    assert " · mail-0 · late" in memory("log", "ada").out


@pytest.mark.usefixtures("ada")
def test_the_answer_comes_with_its_verdict_and_its_dated_quotations(memory) -> None:
    ran = memory("ask", "ada", "Where does Ada Quill live?")
    assert ran.code == 0
    assert "Padua" in ran.out
    assert " · version 2 · " in ran.err
    assert "    “Ada Quill lives in Padua now.”  mail-2 · 2026-02-01" in ran.err
    assert "    superseded: “Ada Quill lives in Este.”  mail-1 · 2026-01-01" in ran.err
    asked = memory("ask", "ada", "Where does Ada Quill live?", "--json").json
    assert (asked["version"], asked["status"]) == (2, "answered")
    assert "Este" in memory("ask", "ada", "Where does Ada Quill live?", "--as-of", "2026-01-15", "--quiet").out
    assert "asked at version 2: Where does Ada Quill live? → " in memory("log", "ada").out


def test_a_search_names_the_memories_that_have_the_words(run, ada, memory) -> None:
    found = run("search", "QUILL", "cat")
    assert "lasting memories have it: ada" in found.err
    assert json.loads(run("search", "quill", "--json").out) == []
    assert "nothing kept here has" in run("search", "wombat").err
    assert memory("forget", "ada", "--text", "cat").code == 0
    assert "nothing kept here has" in run("search", "cat").err


@pytest.mark.usefixtures("ada")
def test_versions_are_shown_listed_and_compared(memory) -> None:
    assert memory("show", "ada").out.splitlines()[0] == "Ada Quill lives in Este."
    first = memory("show", "ada", "--version", "1", "--json").json
    assert (first["version"], first["waiting"]) == (1, 0)
    assert [change["kind"] for change in first["changes"]] == ["new", "new"]
    assert memory("show", "ada", "--version", "0").out == "(nothing was read yet)\n"
    log = memory("log", "ada").out
    assert "version 1 · 2026-01-01" in log
    assert "  + Ada Quill lives in Padua now." in log
    assert memory("diff", "ada", "1", "2").out == "  + Ada Quill lives in Padua now.\n"
    assert memory("diff", "ada", "2", "1", "--json").json["changes"][0]["kind"] == "gone"


@pytest.mark.parametrize("prompts", ["small", "standard"])
def test_passages_of_a_model_that_quotes_are_said_to_be_no_news(memory, prompts) -> None:
    memory("new", "ada", "--about", "the vet", "--model", "scripted", "--prompts", prompts)
    memory("edit", "ada", "--memory", "The vet comes on Tuesday.")
    assert ("newer texts may change" in memory("show", "ada").err) is (prompts == "small")


@pytest.mark.usefixtures("ada")
def test_a_correction_is_a_new_version(memory, tmp_path: Path) -> None:
    assert "Abano" in memory("edit", "ada", "--old", "Padua", "--new", "Abano").out
    assert memory("edit", "ada", "--old", "Padua").code == 2
    file = tmp_path / "anew.txt"
    file.write_text("Ada Quill has two cats.")
    memory("edit", "ada", "--memory-file", file)
    assert memory("show", "ada").out == "Ada Quill has two cats.\n"
    memory("edit", "ada", "--memory", "- a line of a list")
    assert memory("show", "ada", "--json").json["text"] == "- a line of a list"


@pytest.mark.usefixtures("ada")
def test_a_source_is_forgotten_after_a_look_at_what_would_go(memory) -> None:
    seen = memory("forget", "ada", "--source", "mail-1", "--preview")
    assert seen.out.startswith("1 text and 1 version would go")
    assert "  mail-1 · 2026-" in seen.out
    assert "Este" in memory("show", "ada").out
    gone = memory("forget", "ada", "--source", "mail-1")
    assert (gone.code, gone.out.startswith("forgot mail-1: ")) == (0, True)
    assert "Este" not in memory("show", "ada").out
    assert re.search(
        r"^forgotten · 20\d\d-\S+ · mail-1 · \d pieces? read again, \d lines? changed: [-+~]\d.*$",
        memory("log", "ada").out,
        re.MULTILINE,
    )
    assert memory("forget", "ada", "--before", "2026-03-01", "--json").json["sources"] == ["mail-2"]


@pytest.mark.usefixtures("ada")
def test_a_forgetting_that_was_interrupted_is_told_until_it_is_finished(memory, monkeypatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("bookwheel.memory.forgetting.read_piece", Mock(side_effect=InputError("the power went")))
        stopped = memory("forget", "ada", "--source", "mail-1")
    assert (stopped.code, stopped.out) == (2, "")
    told = "ada: a forgetting is not finished"
    assert [told in one.err for one in (stopped, memory("show", "ada"), memory("list"))] == [True] * 3
    gone = memory("forget", "ada", "--source", "mail-1")
    assert (gone.code, gone.out.startswith("forgot mail-1: ")) == (0, True)
    assert told not in gone.err + memory("show", "ada").err


@pytest.mark.usefixtures("ada")
def test_what_goes_and_what_stays_with_a_source_is_told(memory, tmp_path: Path) -> None:
    mail, reply = tmp_path / "mail.txt", tmp_path / "reply.txt"
    mail.write_text("Please delete this. The code of the back door is 7731.")
    reply.write_text("> Please delete this. The code of\n> the back door is 7731.\nDone.")
    memory("add", "ada", mail, "--source", "m", "--at", "2026-04-01")
    memory("add", "ada", reply, "--source", "r", "--at", "2026-04-02")
    memory("ask", "ada", "Where does Ada live?")
    seen = memory("forget", "ada", "--source", "m", "--preview", "--json").json
    assert (seen["answers"], seen["repeated"]) == (1, ["r"])
    gone = memory("forget", "ada", "--source", "m")
    assert gone.out.endswith("r stays, and says words of it again\n")
    assert memory("forget", "ada", "--source", "r", "--preview", "--json").json["repeated"] == []


@pytest.mark.usefixtures("ada")
def test_memories_are_listed_renamed_exported_and_deleted(memory, tmp_path: Path) -> None:
    (row,) = memory("list", "--json").json
    assert (row["memory"], row["texts"], row["about"]) == ("ada", 2, "Everything about Ada Quill")
    line = memory("list").out
    assert line.startswith("ada  ")
    assert " of 1024 tokens  2 texts  Everything about Ada Quill" in line
    assert memory("rename", "ada", "ada-2").out == "ada is ada-2 now\n"
    file = tmp_path / "own.sqlite"
    assert memory("export", "ada-2", file).out == f"wrote {file}\n"
    assert memory("list", "--journal", file, "--json").json[0]["memory"] == "ada-2"
    assert memory("delete", "ada-2").out == "deleted ada-2\n"
    assert memory("list").out == ""
    assert memory("show", "ada-2").code == 2


def test_without_a_journal_there_are_no_memories(memory) -> None:
    assert (memory("list", "--json").json, journal_path().exists()) == ([], False)
    assert memory("show", "ada").code == 2


def test_a_memory_that_overflows_ends_with_5_and_says_what_to_do(memory, tell) -> None:
    memory("new", "ada", "--about", "All of Ada Quill", "--model", "scripted", "--memory-tokens", "12")
    ran = tell("Ada Quill lives in Este. Ada Quill has a cat. Ada Quill has a boat. Ada Quill has a hat.")
    assert ran.code == 5
    assert "not taken in whole: 1 of 1 pieces" in ran.err
    assert "--memory-tokens" in ran.err


def test_a_model_that_fails_ends_with_3(memory, tell) -> None:
    memory("new", "ada", "--about", "Ada Quill", "--model", "scripted")
    tell("Ada Quill lives in Este.")
    words = ("ask", "ada", "Where?", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--patience", "0")
    assert memory(*words).code == 3
