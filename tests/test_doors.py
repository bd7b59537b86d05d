"""Every door reads the same document in the same way, by the same plan, to the same answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("starlette")

from loopback_server import serving  # noqa: F401 - a fixture
from mcp_service import call, client_of

from bookwheel import read
from bookwheel.cli.main import main
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_likelihood, keyword_reader
from bookwheel.plan import Plan
from bookwheel.session import WayRequest
from bookwheel.types import Reading

QUESTION = "Who is the harbour master of Skarholm?"
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. "
FACT = "The harbour master of Skarholm is Ada Quill.\n\n"
SHORT = FILLER * 20 + FACT + FILLER * 20
LONG = FILLER * 500 + FACT + FILLER * 500
"""More than the window of 8,192 tokens."""

# Document, settings, and what every door must do: the way, and the least number of steps.
CASES = {
    "short": (SHORT, {}, "whole", 0),
    "short, cut by the settings": (SHORT, {"chunk_tokens": 200}, "sequential", 2),
    "short, a named way": (SHORT, {"way": "edits", "chunk_tokens": 200}, "edits", 2),
    "long": (LONG, {}, "sequential", 2),
    "long, a search": (LONG, {"way": "bm25"}, "bm25", 0),
}


def make_model() -> ScriptedModel:
    return ScriptedModel(keyword_reader, judge=keyword_judge, likelihood=keyword_likelihood, window=8192)


async def opens_model(*_words: object, **_settings: object) -> ScriptedModel:
    return make_model()


def by_command(file: Path, settings: dict, journal: Path) -> None:
    options = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    words = ["ask", str(file), QUESTION, "--model", "scripted", "--journal", str(journal), "--quiet", *options]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code


def by_function(file: Path, settings: dict, journal: Path) -> None:
    read(str(file), QUESTION, model="scripted", journal=journal, **settings)


def by_batch(file: Path, settings: dict, journal: Path) -> None:
    table = journal.with_name("table.jsonl")
    table.write_text(json.dumps({"source": str(file), "question": QUESTION}) + "\n")
    options = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    words = ["batch", str(table), "--out", str(journal.with_name("out.jsonl")), "--model", "scripted", "--quiet"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--journal", str(journal), *options])
    assert not ended.value.code


def by_mcp(file: Path, settings: dict, journal: Path) -> None:
    text, way = file.read_text(), settings.get("way", "")
    plan = {name: value for name, value in settings.items() if name != "way"}

    async def ask() -> None:
        async with client_of(journal.parent, make_model(), plan=Plan()) as client:
            state = await call(client, "read", text=text, question=QUESTION, way=way, plan=plan)
            await call(client, "wait", reading=state["reading"])

    asyncio.run(ask())


DOORS = {"command": by_command, "function": by_function, "batch": by_batch, "mcp": by_mcp}


def take(journal: Path) -> Reading:
    """Return the one reading of a journal, whole."""
    with Journal(journal) as store:
        (one,) = store.readings()
        return store.reading(one.id, texts=True)


def check(reading: Reading, case: str) -> None:
    _, settings, way, steps = CASES[case]
    assert (reading.way, reading.status) == (way, "answered")
    assert len(reading.steps) >= steps
    assert (len(reading.steps) > 0) == (steps > 0)
    assert reading.plan.chunk_tokens == settings.get("chunk_tokens", Plan().chunk_tokens)
    assert reading.answer is not None
    assert "Ada Quill" in reading.answer.text


def compare(reading: Reading, other: Reading) -> None:
    assert reading.plan == other.plan
    assert reading.answer is not None
    assert other.answer is not None
    assert reading.answer.text == other.answer.text
    assert [step.after.text for step in reading.steps] == [step.after.text for step in other.steps]


@pytest.mark.parametrize("case", CASES)
def test_every_door_reads_alike(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwheel.models.registry.open_model", opens_model)
    file = tmp_path / "book.txt"
    file.write_text(CASES[case][0])
    readings = {}
    for name, door in DOORS.items():
        folder = tmp_path / name
        folder.mkdir()
        door(file, dict(CASES[case][1]), folder / "journal.sqlite")
        readings[name] = take(folder / "journal.sqlite")
        check(readings[name], case)
    for reading in readings.values():
        compare(reading, readings["command"])


@pytest.mark.slow  # a real server for each case
@pytest.mark.parametrize("case", CASES)
def test_the_http_door_reads_as_the_others_do(
    case: str,
    serving,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, settings, _, _ = CASES[case]
    plan = {name: value for name, value in settings.items() if name != "way"}
    with serving(make_model(), plans={"scripted": Plan()}) as up, up.client() as client:
        body = {"text": text, "question": QUESTION, "plan": plan, "way": settings.get("way", "")}
        id_ = client.post("/readings", json=body).json()["reading"]
        up.events(id_)
        reading = up.journal.reading(id_)
    check(reading, case)
    monkeypatch.setattr("bookwheel.models.registry.open_model", opens_model)
    (file := tmp_path / "book.txt").write_text(text)
    by_function(file, dict(settings), tmp_path / "function.sqlite")
    compare(reading, take(tmp_path / "function.sqlite"))


def test_a_servers_own_way_holds_where_a_request_names_none(tmp_path: Path) -> None:
    async def ask() -> None:
        way = WayRequest(way="edits")
        async with client_of(tmp_path, make_model(), plan=Plan(chunk_tokens=200), way=way) as client:
            state = await call(client, "read", text=SHORT, question=QUESTION)
            await call(client, "wait", reading=state["reading"])

    asyncio.run(ask())
    assert take(tmp_path / "journal.sqlite").way == "edits"
