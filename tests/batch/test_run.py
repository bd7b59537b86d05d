"""A batch prepares its readings as every other door does: abilities, question and plan are checked, each row for itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bookwheel.batch.rows import BatchLedger, make_rows
from bookwheel.batch.run import BatchRun, BatchSettings
from bookwheel.journal import Journal
from bookwheel.models.patience import Patience
from bookwheel.models.registry import ModelAddress
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Budget, Plan
from bookwheel.session import WayRequest

PLAN = Plan(chunk_tokens=100, memory_tokens=40, answer_tokens=40, question_tokens=20)
TEXT = "Gulls circle over the pier. " * 40 + "The harbour master is Ada Quill."


def run_batch(folder: Path, questions: list[str], way: str) -> tuple[BatchRun, int]:
    (folder / "book.txt").write_text(TEXT)
    rows = make_rows([{"source": "book.txt", "answer": "old", "id": 7}], questions, folder, "table")
    model = ScriptedModel(keyword_reader)
    with Journal(folder / "journal.sqlite") as journal:
        settings = BatchSettings(plan=PLAN, address=ModelAddress(model="scripted"), request=WayRequest(way=way))
        work = BatchRun(rows=rows, ledger=BatchLedger(folder / "out.csv"), settings=settings, journal=journal)

        async def read() -> None:
            await work.open_documents(model)
            await work.read(model, Budget(), Patience(), side_by_side=2)

        asyncio.run(read())
    return work, model.calls


def test_a_way_that_the_model_cannot_read_by_is_refused_before_a_call(tmp_path: Path) -> None:
    work, calls = run_batch(tmp_path, ["Who is the harbour master?"], "gated")
    outcome = work.find_outcome(work.rows[0])
    assert (outcome.status, calls) == ("failed", 0)
    assert "log-prob" in outcome.error
    # A column of the table that is called as one of the output stays.
    (line,) = work.build_table()
    assert (line["answer (given)"], line["answer"], line["id"]) == ("old", "", 7)


@pytest.mark.parametrize("place", [0, 1])
def test_a_question_that_is_too_long_fails_alone(tmp_path: Path, place: int) -> None:
    questions = ["Who is the harbour master?"]
    questions.insert(place, "who " * 400)
    work, _ = run_batch(tmp_path, questions, "sequential")
    outcomes = [work.find_outcome(row) for row in work.rows]
    assert [outcome.status for outcome in outcomes] == [
        "failed" if number == place else "answered" for number in range(2)
    ]
    assert "Ada Quill" in outcomes[1 - place].answer
