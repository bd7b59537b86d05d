from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.journal import Journal
from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.config import ROLLOUT
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.rollout_store import RolloutStore
from bookwheel.lab.training.rollouts import RolloutBatch, RolloutSettings, roll_group
from bookwheel.lab.training.samples import toy_records
from bookwheel.lab.training.workflows import reading
from bookwheel.plan import Plan

PLAN = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, question_tokens=8)


def rolled(policy, *, names="abc"):
    def judge(episode, sample):
        if episode.conversations[0].reply.tokens.logprobs[0] < -1e9:
            raise ValueError
        score = float(len(episode.answer) % 2)
        return RewardResult(score=score, answer=score, parts={"answer": score})

    how = RolloutSettings(model=PolicyModel(policy), workflow=reading(PLAN), reward=judge, sampling=ROLLOUT, seed=3)
    (sample,) = toy_records(tokens=48, count=1, seed=1)
    return asyncio.run(roll_group(sample, list(names), how))


def test_rollouts_are_readings_with_reward_and_advantage_beside_them(still_policy, tmp_path):
    kept, dropped = rolled(still_policy, names="abcdef"), rolled(still_policy, names="xy")
    RolloutStore(tmp_path, PLAN, Estimator.MEAN, every=2)(4, RolloutBatch(groups=[kept], dropped=[dropped]))
    lines = [json.loads(line) for line in (tmp_path / "rollouts.jsonl").read_text().splitlines()]
    expected = {rollout.id: advantage for rollout, advantage in kept.credit(Estimator.MEAN)}
    assert {one["rollout"]: one["advantage"] for one in lines} == expected | {"x": 0.0, "y": 0.0}
    with Journal(tmp_path / "rollouts.sqlite") as journal:
        for line, rollout in zip(lines, (*kept.rollouts, *dropped.rollouts), strict=True):
            found = journal.reading(line["reading"])
            assert line["reward"] == rollout.result.score
            assert found.answer.text == rollout.episode.answer
            assert [step.after.text for step in found.steps] == [step.after.text for step in rollout.episode.steps]
            assert len(found.steps) == 3
            assert found.plan.sampling == ROLLOUT, "not the plan's own: rollouts are drawn with temperature 1"


def test_only_every_so_many_steps_are_kept(still_policy, tmp_path):
    found = RolloutBatch(groups=[rolled(still_policy)])
    for step in range(4):
        RolloutStore(tmp_path, PLAN, Estimator.MEAN, every=3)(step, found)
    assert {json.loads(line)["step"] for line in (tmp_path / "rollouts.jsonl").read_text().splitlines()} == {0, 3}
    RolloutStore(tmp_path / "none", PLAN, Estimator.MEAN, every=0)(0, found)
    assert not (tmp_path / "none").exists()


def test_a_kept_rollout_is_shown_with_its_reward_and_with_its_advantage_beside_each_step(
    still_policy, tmp_path, capsys
):
    from bookwheel.cli import main

    kept = rolled(still_policy, names="abcdef")
    RolloutStore(tmp_path, PLAN, Estimator.MEAN)(10, RolloutBatch(groups=[kept]))
    line = json.loads((tmp_path / "rollouts.jsonl").read_text().splitlines()[0])
    with pytest.raises(SystemExit):
        main(["show", line["reading"], "--journal", str(tmp_path / "rollouts.sqlite")])
    shown = capsys.readouterr().out
    assert f"reward {line['reward']:g} (answer {line['reward']:g})" in shown
    assert shown.count(f"advantage {line['advantage']:+.3f}") == 4
    with pytest.raises(SystemExit):
        main(["show", line["reading"], "--journal", str(tmp_path / "rollouts.sqlite"), "--json"])
    assert json.loads(capsys.readouterr().out)["rollout"]["advantage"] == line["advantage"]
