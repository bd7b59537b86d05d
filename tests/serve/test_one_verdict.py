"""HTML, terminal, MCP and HTTP give every edit of a memory the same verdict."""

from __future__ import annotations

import asyncio
import re
from html import unescape

import pytest

pytest.importorskip("mcp")

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bookwheel import TextDocument
from bookwheel.cli.output import memory_diff
from bookwheel.journal import Journal
from bookwheel.plan import Plan
from bookwheel.types import Chunk, Conversation, Memory, Reading, Reply, Status, Step
from bookwheel.views.html import render_page

EDITS = {
    "case": ("signed by ada quill", "Signed by Ada Quill"),
    "punctuation": ("Ada signed in May.", "Ada signed, in May!"),
    "a word": ("built in 1588 by monks\nkept", "built in 1589 by monks\nkept"),
    "order": ("one hill\ntwo mills\nthree ponds", "three ponds\ntwo mills\none hill"),
    "duplicates": ("a mill\na mill\na pond", "a mill\na pond\na pond"),
    "Chinese": ("一五八八年由僧人建成\n埃达签字", "一五八九年由僧人建成\n奥多签字"),
    "blank lines": ("a mill\n\na pond", "a mill\na pond\n"),
    "from empty": ("", "Ada Quill\nOdo"),
    "to empty": ("Ada Quill\nOdo", ""),
    "both empty": ("", ""),
    "the same": ("Ada Quill\nOdo", "Ada Quill\nOdo"),
    "a space": ("Ada  Quill", "Ada Quill"),
    "markup": ("<b>Ada</b> signed", "<b>Odo</b> signed & left"),
}
TEXT = "Gulls circle over the pier. " * len(EDITS)
SPAN = len(TEXT) // len(EDITS)


def step_of(index: int, before: str, after: str) -> Step:
    start = index * SPAN
    return Step(
        chunk=Chunk(index=index, start=start, end=start + SPAN, text=TEXT[start : start + SPAN], tokens=6),
        before=Memory(text=before, tokens=1, limit=64),
        after=Memory(text=after, tokens=1, limit=64),
        conversation=Conversation(messages=(), reply=Reply(text=after)),
    )


def keep_reading(journal: Journal) -> Reading:
    """Store a reading with one step for each edit."""
    reading = Reading(
        id="ab12cd34",
        document=journal.keep(TextDocument(TEXT, name="pier")).info,
        question="Who signed?",
        plan=Plan(memory_tokens=64),
        model="scripted",
        status=Status.READING,
        created="2026-11-21T10:00:00+00:00",
    )
    journal.begin(reading)
    for index, (before, after) in enumerate(EDITS.values()):
        step = step_of(index, before, after)
        asyncio.run(journal.add_step(reading.id, step))
        reading = reading.with_step(step)
    return reading


def verdicts_in_terminal(reading: Reading) -> list[list[tuple[str, str]]]:
    marks = {"+": "new", "-": "gone", "~": "reworded"}

    def plain(line: str) -> tuple[str, str]:
        unmarked = re.sub(r"\[-.*?-\]|\{\+(.*?)\+\}", r"\1", line[2:]) if line[0] == "~" else line[2:]
        return marks[line[0]], unmarked

    return [
        [plain(str(line)) for line in memory_diff(step.before.text, step.after.text, unchanged=False)]
        for step in reading.steps
    ]


def verdicts_in_html(reading: Reading) -> list[list[tuple[str, str]]]:
    steps = re.split(r'<section id="step-\d+"', render_page(reading))[1:]
    found = []
    for step in steps:
        lines = re.findall(r'<div class="(new|gone|reworded)" dir="auto">(.*?)</div>', step)
        found.append([(kind, unescape(re.sub(r"<del>.*?</del>|</?ins>", "", line))) for kind, line in lines])
    return found


def verdicts_over_http(up, id_: str) -> list[list[tuple[str, str]]]:
    with up.client() as client:
        steps = client.get(f"/readings/{id_}?changes=1").json()["steps"]
    return [[(one["kind"], one["text"]) for one in step["changes"] if one["kind"] != "kept"] for step in steps]


def verdicts_over_mcp(up, id_: str) -> list[list[tuple[str, str]]]:
    async def main():
        async with Client(streamable_http_client(f"{up.url}/mcp")) as client:
            return await client.call_tool("timeline", {"reading": id_, "characters": 50_000})

    steps: list[list[tuple[str, str]]] = [[] for _ in EDITS]
    names = {"added": "new", "removed": "gone", "reworded": "reworded"}
    for change in asyncio.run(main()).structured_content["changes"]:
        steps[change["step"]] += [(names[name], line) for name, line in change.items() if name in names]
    return steps


@pytest.mark.slow
def test_every_view_gives_an_edit_the_same_verdict(serving) -> None:
    with serving() as up:
        reading = keep_reading(up.journal)
        over_http, over_mcp = verdicts_over_http(up, reading.id), verdicts_over_mcp(up, reading.id)
    in_terminal, in_html = verdicts_in_terminal(reading), verdicts_in_html(reading)
    for index, edit in enumerate(EDITS):
        views = (over_http[index], over_mcp[index], in_terminal[index], in_html[index])
        assert [sorted(view) for view in views] == [sorted(over_http[index])] * 4, edit
    verdicts = dict(zip(EDITS, over_http, strict=True))
    assert verdicts["case"] == [("reworded", "Signed by Ada Quill")]
    assert {kind for kind, _ in verdicts["order"]} == {"new", "gone"}
    assert verdicts["duplicates"] == [("gone", "a mill"), ("new", "a pond")]
    assert verdicts["blank lines"] == verdicts["the same"] == verdicts["both empty"] == []


@pytest.mark.slow
def test_a_reading_holds_changes_only_where_they_are_asked_for(serving) -> None:
    with serving() as up, up.client() as client:
        reading = keep_reading(up.journal)
        plain = client.get(f"/readings/{reading.id}").json()
        full = client.get(f"/readings/{reading.id}?changes=1").json()
    assert not any({"changes", "changed_share"} & step.keys() for step in plain["steps"])
    for step, values in zip(reading.steps, full["steps"], strict=True):
        lines = [line for line in step.after.text.splitlines() if line.strip()]
        assert [change["text"] for change in values["changes"] if change["kind"] != "gone"] == lines
        assert 0 <= values["changed_share"] <= 1


@pytest.mark.slow
def test_the_events_of_a_reading_hold_the_same_changes(serving) -> None:
    with serving() as up, up.client() as client:
        begun = up.begin()
        events = up.events(f"{begun['reading']}", query="?changes=1")
        whole = client.get(f"/readings/{begun['reading']}?changes=1").json()
    steps = [values for kind, _, values in events if kind == "step"]
    assert steps == whole["steps"]
    assert any(change["kind"] == "new" for step in steps for change in step["changes"])
