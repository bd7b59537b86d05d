from __future__ import annotations

import pytest

pytest.importorskip("torch")

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.report import build_card, plot_curves

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
