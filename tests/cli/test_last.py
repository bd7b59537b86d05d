"""`last` is the newest reading of the terminal, then of the project, then of the journal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bookwheel.cli import last
from bookwheel.journal import journal_path


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
