from __future__ import annotations

import json

import pytest

from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.records import curves, held_out_scores, load_records, newest_progress, totals
from bookwheel.lab.training.rollout_store import load_rollouts


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
