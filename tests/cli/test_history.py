"""`bookwheel list`, `show`, `search`, `share` and `forget`, and which reading `last` is."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest

from bookwheel.cli import last
from bookwheel.cli.listing import _format_table
from bookwheel.cli.main import main
from bookwheel.documents.opening import TextDocument
from bookwheel.journal import Journal, journal_path
from bookwheel.journal.listing import ListedReading
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading import runner


def test_ask_resume_show_and_list_speak_of_one_shape(run, book: Path, ask) -> None:
    asked = ask("--json").json
    assert run("show", "last", "--json").json == asked
    assert run("resume", asked["reading"], "--json").json == asked
    (listed,) = json.loads(run("list", "--json").out)
    assert listed == {key: value for key, value in asked.items() if key not in {"steps", "evidence", "gaps"}}


def test_the_newest_reading_is_listed_first(run, book: Path, ask) -> None:
    first, second = ask("--json").json, ask("--json").json
    assert [row["reading"] for row in json.loads(run("list", "--json").out)] == [second["reading"], first["reading"]]
    assert second["reading"][:8] in run("list").out


def test_a_reading_that_was_killed_is_listed_as_interrupted(run) -> None:
    with Journal(journal_path()) as journal:
        kept = journal.keep(TextDocument("The lamp burned.", "a.txt"))
        reading = runner.new_reading(kept.info, "Who?", ScriptedModel(keyword_reader), Plan())
        journal.begin(reading)
        with journal.claim(reading.id):
            assert "interrupted" not in run("list").out
    assert "interrupted" in run("list").out


def test_show_tells_where_each_line_entered(run, book: Path, ask) -> None:
    ask()
    shown = run("show", "last").out
    assert "where the memory's lines come from" in shown
    line = book.read_text().partition("The harbour master")[0].count("\n") + 1
    assert f"book.txt:{line} " in shown


def test_show_writes_one_self_contained_page(run, book: Path, tmp_path: Path, ask) -> None:
    ask()
    page = tmp_path / "timeline.html"
    assert run("show", "last", "--html", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert "Ada Quill" in html
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html)


def test_a_page_that_cannot_be_written_leaves_no_half_of_it(run, tmp_path: Path, ask, monkeypatch) -> None:
    ask()

    def fail(path: Path, text: str, **_more: str) -> None:
        path.write_bytes(text[:9].encode())
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    failed = run("show", "last", "--html", page := tmp_path / "timeline.html")
    assert (failed.code, "timeline.html cannot be written" in failed.err) == (2, True)
    assert not any(file.name.startswith(page.name) for file in tmp_path.iterdir())


def row(**values) -> ListedReading:
    return ListedReading(
        **{
            "id": "0123456789ab",
            "created": "2026-11-24T09:00:00+00:00",
            "status": "answered",
            "document": "a.txt",
            "question": "Who?",
            "outcome": "Ada",
            "cost": None,
            **values,
        }
    )


def test_the_columns_of_a_list_are_as_wide_as_they_must_be_and_cut_what_is_wider() -> None:
    head, first, second = _format_table(
        [row(), row(document="書" * 40, question="q" * 60, outcome="x\x1b[31m\ny", cost=0.5)]
    )
    assert head.split() == ["reading", "when", "status", "cost", "document", "question", "answer"]
    assert first == f"01234567  2026-11-24 09:00  answered         {'a.txt':48}  {'Who?':48}  Ada"
    assert second == f"01234567  2026-11-24 09:00  answered   0.5   {'書' * 23}…   {'q' * 47}…  x�[31m y"
    assert "cost" not in next(iter(_format_table([row()])))


def test_a_terminal_gets_colours_and_no_line_wider_than_it_is(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("os.get_terminal_size", lambda _handle=0: os.terminal_size((80, 24)))
    monkeypatch.setattr("sys.stdout.fileno", lambda: 1, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    head, line = _format_table([row(document="d" * 60, question="q" * 60, outcome="o" * 60, status="failed")])
    assert "\x1b[31mfailed   \x1b[0m" in line
    plain = [re.sub(r"\x1b\[\d+m", "", text) for text in (head, line)]
    assert len(plain[1]) == 80
    monkeypatch.setenv("NO_COLOR", "1")
    assert list(_format_table([row()]))[1].startswith("01234567  2026")


def test_search_finds_readings_and_passages(run, book: Path, ask) -> None:
    assert run("search", "harbour").out == ""
    id_ = ask("--json").json["reading"]
    ran = run("search", "harbour", "mast")
    assert ran.code == 0
    assert ran.out.startswith(f"{id_[:8]} · Who is the harbour master of Skarholm?\n")
    assert "\nbook.txt:9\n" in ran.out
    assert re.search(r"^  \S.*Ada Quill", ran.out, re.MULTILINE), "the text around the words stands indented"
    found = run("search", "quill", "--json").json
    assert [bool(hit["reading"]) for hit in found] == [True, False]
    text = book.read_text()
    assert "Quill" in text[found[1]["start"] : found[1]["end"]]
    assert len(run("search", "quill", "--limit", "1", "--json").json) == 1
    nothing = run("search", "zeppelin")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "nothing kept here has 'zeppelin'\n")
    assert run("search").code == 2


def test_a_reading_is_shared_as_one_page(run, book: Path, ask, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    id_ = ask("--json").json["reading"]
    assert run("share", id_[:8]).code == 0
    page = (tmp_path / f"{id_[:8]}.html").read_text(encoding="utf-8")
    assert "Ada Quill" in page
    run("share", "last", "--out", tmp_path / "lease.html")
    assert (tmp_path / "lease.html").read_text(encoding="utf-8") == page
    assert run("share", "none").code == 2
    assert run("share").code == 2


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


def forget_in(path: Path, *words: str) -> tuple[int, list[str]]:
    with pytest.raises(SystemExit) as ended:
        main(["forget", *words, "--journal", str(path), "--json"])
    with Journal(path) as journal:
        return ended.value.code, [reading.id for reading in journal.readings()]


def test_readings_are_forgotten_by_name_and_by_age(path: Path, capsys) -> None:
    assert forget_in(path, "--older-than", "30") == (0, ["new00000"])
    assert json.loads(capsys.readouterr().out) == {"deleted": ["0ld00000"], "kept": {}}
    assert forget_in(path, "new") == (0, [])
    content = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())
    assert b"What of" not in content


def test_what_is_not_there_or_not_said_is_an_error(path: Path) -> None:
    assert forget_in(path, "nothing")[0] == 2
    assert forget_in(path)[0] == 2


def test_documents_that_nobody_asked_about_go_too(path: Path) -> None:
    assert forget_in(path, "--unread") == (0, ["new00000", "0ld00000"])
    with Journal(path) as journal:
        assert journal._reader.fetch_all("SELECT name FROM documents ORDER BY id") == [("0ld00000",), ("new00000",)]


def test_a_reading_under_way_stays(path: Path, capsys) -> None:
    with Journal(path) as journal, journal.claim("new00000"):
        code, left = forget_in(path, "0ld", "new")
    assert (code, left) == (2, ["new00000"])
    assert "being read" in json.loads(capsys.readouterr().out)["kept"]["new00000"]


@pytest.fixture
def sit(monkeypatch: pytest.MonkeyPatch):
    """Sit down at a terminal, in a project."""

    def at(terminal: str, project: str = "lease") -> None:
        places = {terminal: "of this terminal", project: "of this project"}
        monkeypatch.setattr(last, "_name_places", lambda: {name: words for name, words in places.items() if name})

    return at


def test_last_belongs_to_the_terminal_and_a_newer_reading_is_told(run, ask, sit) -> None:
    sit("one")
    first = ask("--json").json["reading"]
    sit("two")
    second = ask("--json").json["reading"]
    assert run("show", "last", "--json").json["reading"] == second
    sit("one")
    ran = run("show", "last", "--json")
    assert ran.json["reading"] == first
    assert f"note: last is {first[:8]}, of this terminal; the newest reading of the journal is {second[:8]}" in ran.err
    assert run("show", "last").out.splitlines()[1].startswith(first[:8]), "without the parser too"


def test_a_new_terminal_takes_the_project_s_last_and_another_project_the_journal_s(run, ask, sit) -> None:
    sit("one", "lease")
    first = ask("--json").json["reading"]
    sit("two", "novel")
    second = ask("--json").json["reading"]
    sit("three", "lease")
    ran = run("show", "last", "--json")
    assert (ran.json["reading"], "of this project" in ran.err) == (first, True)
    sit("", "poem")
    ran = run("show", "last", "--json")
    assert (ran.json["reading"], ran.err) == (second, "")


def test_what_was_forgotten_is_not_last_and_leaves_no_error(run, ask, sit) -> None:
    sit("one")
    first = ask("--json").json["reading"]
    second = ask("--json").json["reading"]
    run("forget", "last")
    assert run("show", "last", "--json").json["reading"] == first
    assert second not in [one["reading"] for one in run("list", "--json").json]


def test_a_reading_that_goes_on_is_last(run, ask, sit) -> None:
    sit("one")
    stopped = ask("--json", "--max-tokens-total", "900").json["reading"]
    ask()
    run("resume", stopped[:6])
    assert run("show", "last", "--json").json["reading"] == stopped


def test_a_damaged_or_unwritable_file_of_last_readings_does_no_harm(run, ask, sit, book: Path) -> None:
    sit("one")
    ask()
    file = journal_path().with_name(journal_path().name + ".last")
    assert file.stat().st_mode & 0o077 == 0
    for content in ("{", "[]", '{"one": 7}'):
        file.write_text(content)
        assert run("show", "last").code == 0
    file.unlink()
    file.mkdir()
    (file / "kept").touch()
    assert ask().code == 0


def test_a_place_is_a_terminal_session_or_the_root_of_a_repository(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")
    assert last._name_places() == {str(tmp_path): "of this project"}
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        assert list(last._name_places().values()) == ["of this terminal", "of this project"]
    os.close(master)


def test_show_lets_a_model_judge_an_answer_that_is_there(run, book: Path, ask) -> None:
    asked = ask("--json").json
    judged = run("show", "last", "--judge", "--json")
    assert judged.code == 0, judged.err
    assert (asked["plan"]["verdict"], judged.json["plan"]["verdict"]) == ("auto", "model")
    assert judged.json["usage"]["calls"] >= asked["usage"]["calls"]
    assert run("show", "last", "--json").json == judged.json


def test_a_reading_that_another_process_holds_is_not_judged(run, book: Path, ask) -> None:
    asked = ask("--json").json
    with Journal(journal_path()) as journal, journal.claim(asked["reading"]):
        judged = run("show", "last", "--judge")
    assert judged.code != 0
    assert "another process" in judged.err


def test_show_measures_what_the_memories_are_worth(run, book: Path, ask) -> None:
    asked = ask("--json").json
    shown = run("show", "last", "--worth")
    assert shown.code == 0, shown.err
    assert "what the memories are worth" in shown.out
    assert "The harbour master of Skarholm is Ada Quill." in shown.out.rpartition("without a line")[2]
    worth = run("show", "last", "--worth", "--json").json["worth"]
    assert len(worth["steps"]) == len(asked["steps"])
    assert worth["steps"][-1]["answer"]["bits"] > 0
    assert run("show", "last", "--json").json == asked
