"""What MCP clients see of a reading that waits, or has gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp")

from bookwheel import TextDocument, read
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.serve.mcp.results import list_entries, reading_state

TEXT = "The keeper wrote down the wind and the ships that passed. " * 40


def test_a_wait_for_the_model_is_told_and_cleaned(tmp_path: Path) -> None:
    reading = read(TextDocument(TEXT), "Who wrote?", model="scripted", journal=tmp_path / "journal.sqlite")
    assert "waiting" not in reading_state(reading)
    waiting = Waiting(seconds=95.0, tries=7, error="no server answers at http://gpu:8000/v1\x1b[31m")
    text = reading_state(reading, waiting)["waiting"]
    assert text.startswith("for the model, 1 min 35 s so far, 7 tries: no server answers at http://gpu:8000/v1")
    assert "\x1b" not in text


def test_sections_that_were_not_taken_in_are_listed(tmp_path: Path) -> None:
    replies = iter(range(10**6))

    def answer(_messages: object) -> str:
        return "" if 2 <= next(replies) < 6 else "a note"

    plan = Plan(chunk_tokens=60, memory_tokens=40, answer_tokens=30, question_tokens=60)
    model = ScriptedModel(answer, plan=plan, window=400)
    reading = read(TextDocument(TEXT), "Who wrote?", model=model, way="sequential", patience=0, journal=tmp_path / "j")
    (*gaps,) = list_entries(reading, None, "gaps")
    assert reading_state(reading)["gaps"] == gaps[:3]
    assert [(gap["start"], gap["end"]) for gap in gaps] == [(step.chunk.start, step.chunk.end) for step in reading.gaps]
    assert gaps
    assert gaps[0]["flags"] == ["empty reply, memory kept"]


def test_what_was_not_read_is_a_note(tmp_path: Path) -> None:
    plan = Plan(chunk_tokens=60, memory_tokens=60, answer_tokens=30, question_tokens=60)
    text = TEXT + "The harbour master of Skarholm is Ada Quill. " + TEXT
    document, question = TextDocument(text), "Who is the harbour master of Skarholm?"
    reading = read(document, question, model="scripted", plan=plan, way="ranked", journal=tmp_path / "j")
    assert 0 < reading.share_read < 0.2
    (note,) = reading_state(reading)["notes"]
    assert note.startswith(f"read {reading.share_read:.0%} of the document")
    whole = read(document, question, model="scripted", plan=plan, way="sequential", journal=tmp_path / "j")
    assert (whole.share_read, "notes" in reading_state(whole)) == (1, False)
