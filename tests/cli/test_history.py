"""`bookwheel list` and `bookwheel show`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from bookwheel.cli.listing import _format_table
from bookwheel.journal.listing import ListedReading


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


def test_show_tells_where_each_line_entered(run, book: Path, ask) -> None:
    ask()
    shown = run("show", "last").out
    assert "where the memory's lines come from" in shown
    start = book.read_text().index("The harbour master")
    assert f"characters {start:,}" in shown


def test_show_writes_one_self_contained_page(run, book: Path, tmp_path: Path, ask) -> None:
    ask()
    page = tmp_path / "timeline.html"
    assert run("show", "last", "--html", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert "Ada Quill" in html
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html)


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
    assert second == f"01234567  2026-11-24 09:00  answered   0.5   {'書' * 23} …  {'q' * 47}…  x�[31m y"
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
    assert "book.txt · characters " in ran.out
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
