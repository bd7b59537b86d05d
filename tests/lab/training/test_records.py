from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import asyncio
import json

from bookwheel.journal import Journal
from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.config import ROLLOUT, TrainConfig
from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.records import (
    RolloutStore,
    build_card,
    curves,
    held_out_scores,
    load_records,
    load_rollouts,
    newest_progress,
    plot_curves,
    totals,
)
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.rollouts import RolloutBatch, RolloutSettings, roll_group
from bookwheel.lab.training.toys import toy_samples
from bookwheel.lab.training.workflows import reading
from bookwheel.plan import Plan


def record(kind: str, step: int, **more: object) -> dict:
    return {"kind": kind, "step": step, "clock": {"seconds": 0.5}, **more}


def test_a_long_curve_is_thinned_to_means_that_say_of_how_many_steps():
    (curve,) = curves([record("warm", step, loss=float(step)) for step in range(1, 1001)])
    assert (curve.name, curve.warm, curve.every) == ("loss", True, 5)
    assert curve.points[0] == (5, 3.0)
    assert curve.points[-1] == (1000, 998.0)


def test_what_was_not_measured_is_no_point():
    steps = [
        record("step", 1, loss=float("nan"), reward=0.5),
        record("step", 2, loss=None),
        record("step", 3, loss=1.0),
    ]
    assert {curve.name: curve.points for curve in curves(steps)} == {"reward": ((1, 0.5),), "loss": ((3, 1.0),)}


def test_evaluations_have_the_interval_of_their_count():
    (found,) = held_out_scores([record("evaluation", 7, accuracy=0.25, n=64, failed=1), record("warm", 8, loss=1.0)])
    assert found.low == pytest.approx(0.160, abs=5e-4)
    assert found.high == pytest.approx(0.368, abs=5e-4)


def test_totals_count_each_kind_of_step():
    spent = {"rollouts": 4, "failed": 1, "prompt_tokens": 10, "reply_tokens": 2}
    took = totals([record("warm", 1), record("step", 2, **spent), record("step", 3, **spent)])
    assert (took.warm, took.steps, took.rollouts, took.failed, took.tokens, took.seconds) == (1, 2, 8, 2, 24, 1.5)


def test_a_line_that_is_being_written_is_left_out_and_a_broken_one_named(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps(record("warm", 1)) + '\n{"kind": "wa')
    assert len(load_records(tmp_path)) == 1
    path.write_text('{"kind": "wa\n' + json.dumps(record("warm", 1)) + "\n")
    with pytest.raises(CheckpointError, match="line 1"):
        load_records(tmp_path)


def test_the_settings_are_of_the_newest_checkpoint(tmp_path):
    assert newest_progress(tmp_path) is None
    for name in ("best", "step-000009", "step-000010", ".step-000011.new"):
        place = tmp_path / "checkpoints" / name
        place.mkdir(parents=True)
        (place / "progress.json").touch()
        if name == "best":
            assert newest_progress(tmp_path).parent.name == "best"
    assert newest_progress(tmp_path).parent.name == "step-000010"


def test_of_a_rollout_that_was_kept_twice_the_later_line_stands(tmp_path):
    told = {"step": 0, "reading": "a", "rollout": "r", "sample": "s", "outcome": "scored", "reward": 0.0}
    lines = [told, {**told, "reading": "b", "reward": 1.0}, {**told, "step": 10}]
    (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"st')
    assert [(one.step, one.reading, one.reward) for one in load_rollouts(tmp_path)] == [(0, "b", 1.0), (10, "a", 0.0)]
    (tmp_path / "rollouts.jsonl").write_text('{"step": 1}\n')
    with pytest.raises(CheckpointError, match="not a file of rollouts"):
        load_rollouts(tmp_path)


RECORDS = [
    {"kind": "warm", "step": 1, "loss": 2.0, "clock": {"seconds": 4.0}},
    {"kind": "evaluation", "step": 1, "accuracy": 0.25, "n": 64, "failed": 1, "clock": {"seconds": 1.0}},
    *(
        {
            "kind": "step",
            "step": step,
            "reward": 0.5,
            "rollouts": 32,
            "failed": 2,
            "prompt_tokens": 100,
            "reply_tokens": 11,
            "clock": {"seconds": 2.0},
        }
        for step in (2, 3)
    ),
    {"kind": "evaluation", "step": 3, "accuracy": 0.75, "n": 64, "failed": 0, "clock": {"seconds": 1.0}},
]


def test_every_figure_of_the_card_comes_from_the_records():
    told = build_card(TrainConfig(samples=7, seed=41).to_json(), RECORDS, base="a test model")
    for figure in (
        "1 supervised steps",
        "then 2 steps",
        "64 rollouts, 4 failed",
        "222 tokens",
        "10 seconds",
        "7 samples x 16",
        "seed 41",
        "a test model",
    ):
        assert figure in told
    assert "| 1 | 25.0 % | 16.0 to 36.8 | 64 | 1 |" in told
    assert "| 3 | 75.0 % | 63.2 to 84.0 | 64 | 0 |" in told


def test_the_card_names_what_was_imitated_and_who_taught():
    tables = {
        "warm_start": {"steps": 1, "traces": "runs/teacher", "learning_rate": 0.005},
        "reward": {"answer": 0.0, "kept": 0.5},
        "teacher": {"model": "large"},
    }
    told = build_card(TrainConfig.from_tables({"train": tables}).to_json(), RECORDS, base="a test model")
    for words in ("a teacher's readings (runs/teacher)", "0.005", "rewards (kept x 0.5) and the log-probabilities"):
        assert words in told
    assert "ideal traces" not in told


def test_curves_are_drawn_with_the_intervals_of_their_accuracies(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    drawn, plain = [], Axes.errorbar
    monkeypatch.setattr(
        Axes, "errorbar", lambda self, *args, **options: drawn.append(options["yerr"]) or plain(self, *args, **options)
    )
    plot_curves({"one": RECORDS, "two": RECORDS}, tmp_path / "curves.svg")
    assert "<svg" in (tmp_path / "curves.svg").read_text()
    below, above = drawn[0]
    assert [25 - below[0], 25 + above[0]] == [pytest.approx(16.0, abs=0.05), pytest.approx(36.8, abs=0.05)]


@pytest.mark.parametrize("kinds", [("warm",), ("step",), ("evaluation",), ("step", "evaluation")])
def test_a_run_of_one_step_is_drawn(tmp_path, kinds):
    pytest.importorskip("matplotlib")
    short = [one for one in RECORDS if one["kind"] in kinds and one["step"] < 3]
    plot_curves({"short": short}, tmp_path / "curves.svg")
    assert "<svg" in (tmp_path / "curves.svg").read_text()


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(CheckpointError, match="holds no run"):
        load_records(tmp_path)


PLAN = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, question_tokens=8)


def rolled(policy, *, names="abc"):
    def judge(episode, sample):
        if episode.conversations[0].reply.tokens.logprobs[0] < -1e9:
            raise ValueError
        score = float(len(episode.answer) % 2)
        return RewardResult(score=score, answer=score, parts={"answer": score})

    how = RolloutSettings(model=PolicyModel(policy), workflow=reading(PLAN), reward=judge, sampling=ROLLOUT, seed=3)
    (sample,) = toy_samples(tokens=48, count=1, seed=1)
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
    from bookwheel.cli.main import main

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
