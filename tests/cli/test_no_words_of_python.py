"""No command answers broken input with words of Python."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing

import pytest
from outsider import OBEYED, RAW

from bookwheel.cli.main import list_commands, main

ODD = (
    "no-such-file",
    "-",
    "",
    "--no-such",
    "\udcff",
    "x" * 3000,
    "\x1b[2J",
    "broken.pdf",
    "broken.json",
    "broken.toml",
)
JOURNALS = ("no.sqlite", "broken.sqlite", "other.sqlite", "folder")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of broken files, far from the user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    for name in ("broken.pdf", "broken.json", "broken.toml", "broken.sqlite"):
        (tmp_path / name).write_bytes(b"\xff\x00{[%PDF-1.4 = ]" * 20)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.executescript("create table readings (x); pragma user_version = 9999")
    (tmp_path / "folder").mkdir()
    return tmp_path


def run(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    found = "".join(capsys.readouterr())
    assert ended.value.code in {0, 2, 3, 4, 5, 130}, (words, found[:400])
    assert not RAW.search(found), (words, RAW.search(found)[0], found[:600])
    assert not OBEYED.search(found), (words, found[:400])


@pytest.mark.parametrize("name", sorted(set(list_commands()) - {"serve", "mcp", "models", "train", "doctor"}))
def test_a_command_says_in_our_words_what_is_wrong(name, place, capsys):
    # Opening the built-in model ten times, to hear that it writes no rows, would take the longest of all.
    model = ["--model", "scripted"] if name == "graph" else []
    for odd in ODD:
        run([name, odd, *model, *(["--journal", "no.sqlite"] if odd == "no-such-file" else [])], capsys)


@pytest.mark.parametrize("journal", JOURNALS)
@pytest.mark.parametrize("words", ["list", "show last", "search lamp", "resume last", "memory list", "forget last"])
def test_a_journal_that_is_none_is_told_in_our_words(words, journal, place, capsys):
    run([*words.split(), "--journal", journal], capsys)


FILES = {
    "bytes": b"\xff\xfe\xe9",
    "deep": b"[" * 100_000,
    "digits": b'{"a": ' + b"9" * 5000 + b"}",
    "list": b"[1, 2]",
    "other": b'{"brief": 1, "readings": [], "outline": null, "properties": 7}',
    "toml": b"a = [\n",
    "deep-toml": b"a = " + b"[" * 100_000,
}
TAKERS = (
    "ask book.txt Who? --model scripted --schema {}",
    "ask book.txt Who? --model scripted --prompts {}",
    "ask book.txt --model scripted --questions {}",
    "ask book.txt Who? --model {}",
    "ask book.txt Who? --model scripted --tokenizer {}",
    "report {} --model scripted",
    "report --matrix {} --model scripted",
    "batch {} --model scripted",
    "serve --model scripted --keys {} --port 1",
)


@pytest.mark.parametrize("words", TAKERS)
def test_a_file_that_an_option_names_is_told_in_our_words(words, place, capsys):
    (place / "book.txt").write_text("Ada wound the clock.")
    for name, content in FILES.items():
        for suffix in ("json", "toml", "gguf", "csv", "report.json"):
            (place / f"{name}.{suffix}").write_bytes(content)
            run(words.format(f"{name}.{suffix}").split(), capsys)
    run(words.format("folder").split(), capsys)
