"""A teacher's readings become rows under the student's own prompts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict

import pytest
from evaluations import RUN, record

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.configuration import Connection
from bookwheel.errors import MissingAbility
from bookwheel.journal import Journal
from bookwheel.lab.training.config import TeacherSettings, TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.launch import build_trainer
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import RewardResult, build_reward
from bookwheel.lab.training.rows import rows_of
from bookwheel.lab.training.teacher import Teacher, TraceFile, compare_tokens
from bookwheel.lab.training.toys import toy_samples
from bookwheel.lab.training.trainer import Trainer
from bookwheel.lab.training.workflows import Episode
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.session import WayRequest, open_session
from bookwheel.types import Conversation, Reply, TokenRecord

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
                for sample in toy_samples(tokens=32, count=3, seed=0):
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


def test_a_teachers_readings_of_held_out_samples_are_left_out(journal, still_policy):
    with Journal(journal) as kept:
        ids = sorted(one.id for one in kept.readings())
    samples = toy_samples(tokens=32, count=3, seed=0)
    records = [record(sample=one.id, content=one.content, reading=id_) for one, id_ in zip(samples, ids, strict=True)]
    lines = [{"kind": "run", **asdict(RUN)}, *(one.to_line() for one in records)]
    (journal.parent / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    model = student(still_policy)
    traces = TraceFile(journal.parent, model, model.plan, 0, held_out=samples[1:])
    assert traces._ids == ids[:1]
    with pytest.raises(ConfigError, match="are of held-out samples"):
        TraceFile(journal.parent, model, model.plan, 0, held_out=samples)


class Folder:
    """A policy as `open_model` gives it."""

    def __init__(self, policy):
        self.policy = policy

    async def __call__(self, name, **how):
        assert (name, how) == ("large", {"base_url": "http://there/v1"})
        return PolicyModel(self.policy, plan=Plan.from_json(TINY))


def test_a_policy_comes_nearer_to_a_teacher_by_its_own_replies(make_policy, tmp_path, monkeypatch):
    large = make_policy(seed=7)
    # So that it has an opinion: a fresh policy finds everything equally likely.
    for weight in large.trainable:
        weight.data.mul_(3)
    monkeypatch.setattr("bookwheel.lab.training.teacher.open_model", Folder(large))
    config = TrainConfig.from_tables(
        {
            "plan": TINY,
            "train": {
                "steps": 12,
                "samples": 4,
                "group_size": 2,
                "learning_rate": 5e-3,
                "warmup_steps": 1,
                "loss": {"kl": 0.0},
                "reward": {"answer": 0.0},
                "teacher": {"model": "large", "base_url": "http://there/v1"},
            },
        }
    )
    records = []
    samples = toy_samples(tokens=32, count=8, seed=0)
    run = Trainer(
        make_policy(), samples, build_reward(config.reward), config, folder=tmp_path / "run", observe=records.append
    )
    run.train()
    gaps = [one["teacher"] for one in records if one["kind"] == "step"]
    assert all(gap < 0 for gap in gaps[:3])
    assert sum(gaps[-3:]) > 0.7 * sum(gaps[:3])


def test_each_token_has_its_own_credit_beside_the_advantage():
    rows = rows_of([said((1, 2), (3, 4)), said((1, 5), (6,))], 0.5, "r", [(1.0, -1.0), (0.25,)])
    assert [row.weights for row in rows] == [(1.5, -0.5), (0.75,)]
    (longer,) = rows_of([said((1, 2), (3, 4)), said((1, 2, 3, 4, 9), (6,))], 0.5, "r", [(1.0, -1.0), (0.25,)])
    assert longer.weights == (1.5, -0.5, 0.75)
    assert compare_tokens([-90.0], [-1.0], ends=False) == (-5.0,)
    assert compare_tokens([], [-1.0], ends=True) == (0.0,)


def said(prompt, reply):
    record = TokenRecord(prompt=prompt, reply=reply, logprobs=(-1.0,) * len(reply))
    return Conversation(messages=(), reply=Reply(text="x", tokens=record))


def test_a_teacher_without_likelihoods_ends_the_run_with_advice(monkeypatch):
    async def open_blind(name, **how):
        return ScriptedModel(lambda _: "")

    monkeypatch.setattr("bookwheel.lab.training.teacher.open_model", open_blind)
    episode = Episode(conversations=(said((1,), (2,)),), answer="", limits=(1,))

    async def credit():
        return await Teacher(TeacherSettings(model="m")).credit(RewardResult(score=0.0, answer=0.0), episode, None)

    with pytest.raises(MissingAbility, match="teacher"):
        asyncio.run(credit())
