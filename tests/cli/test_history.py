"""`bookwheel list` and `bookwheel show`."""

from __future__ import annotations

import json
import re
from pathlib import Path


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
