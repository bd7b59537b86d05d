"""A teacher's readings become rows under the student's own prompts."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.configuration import Connection
from bookwheel.journal import Journal
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.launch import build_trainer
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.samples import toy_records
from bookwheel.lab.training.traces import TraceFile
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.session import WayRequest, open_session

TINY = {
    "prompts": "tiny",
    "language": "en",
    "question_tokens": 8,
    "chunk_tokens": 16,
    "memory_tokens": 8,
    "answer_tokens": 8,
}
TEACHER = Plan.from_json({**TINY, "prompts": "standard", "question_tokens": 60})


def teach(messages):
    """Note the record that the question begins, and answer with its value."""
    prompt = messages[-1].content
    question = prompt.partition("<question>\n")[2].partition("\n")[0]
    line = next((one for one in prompt.splitlines() if one.startswith(f"{question} ")), "")
    words = line.removesuffix(" .").split()
    if "boxed" in prompt:
        return words[-1] if words else "red"
    return " ".join(words) or "UNCHANGED"


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "journal.sqlite"

    async def read():
        model = ScriptedModel(teach, plan=TEACHER)
        with Journal(path) as journal:
            async with open_session(Connection(), journal, model=model) as session:
                for sample in toy_records(tokens=32, count=3, seed=0):
                    kept = await session.keep(sample.document)
                    request = WayRequest(way="sequential")
                    prepared = await session.prepare(kept, [sample.question], TEACHER, request)
                    await session.run(prepared)

    asyncio.run(read())
    return path


def student(policy):
    return PolicyModel(policy, plan=Plan.from_json(TINY))


def test_rows_are_the_kept_memories_under_the_students_prompts(journal, still_policy):
    model = student(still_policy)
    traces = TraceFile(journal, model, model.plan, 0)
    rows = traces.draw(2, 0)
    assert [row.ids for row in rows] == [row.ids for row in traces.draw(2, 0)]
    decode = still_policy.tokenizer.decode
    prompts = [decode([one for one, kept in zip(row.ids, row.trained, strict=True) if not kept]) for row in rows]
    replies = [decode([one for one, kept in zip(row.ids, row.trained, strict=True) if kept]) for row in rows]
    assert len(rows) == 6
    assert all("question" in one and "<question>" not in one for one in prompts)
    assert any(" has " in one for one in replies)


def test_a_policy_learns_from_a_teacher(journal, tmp_path):
    tables = {
        "plan": TINY,
        "train": {
            "steps": 0,
            "fresh": {"hidden": 32, "layers": 2, "heads": 2, "window": 256},
            "warm_start": {"steps": 30, "samples": 3, "traces": str(journal), "learning_rate": 3e-3},
            "evaluation": {"samples": 4},
            "task": {"name": "toy-records", "tokens": 32, "count": 6},
            "loss": {"kl": 0.0},
        },
    }
    records = []
    build_trainer(TrainConfig.from_tables(tables), tmp_path / "run", observe=records.append).train()
    losses = [one["loss"] for one in records if one["kind"] == "warm"]
    assert losses[-1] < 0.6 * losses[0]


def test_a_place_without_traces_is_refused(tmp_path, still_policy):
    model = student(still_policy)
    with pytest.raises(ConfigError, match="neither an evaluation's folder nor a journal"):
        TraceFile(tmp_path / "none.sqlite", model, model.plan, 0)
    with Journal(tmp_path / "empty.sqlite"):
        pass
    with pytest.raises(ConfigError, match="no reading that was answered"):
        TraceFile(tmp_path / "empty.sqlite", model, model.plan, 0)
