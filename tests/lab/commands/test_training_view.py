import io
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from rich.console import Console

from bookwheel.errors import MissingExtra
from bookwheel.lab.commands.training_view import RunView, format_record, open_tensorboard, open_tracker, sparkline

WARM = {"kind": "warm", "step": 2, "loss": 0.25, "clock": {"seconds": 0.5}}
CHECK = {"kind": "evaluation", "step": 2, "accuracy": 0.5, "n": 64, "failed": 1, "clock": {"seconds": 1.0}}
STEPS = [
    {
        "kind": "step",
        "step": 3 + k,
        "reward": k / 4,
        "groups": 8,
        "dropped": 3,
        "failed": 1,
        "loss": -0.01,
        "entropy": 0.2,
    }
    | {"gradient": 1.25, "clock": {"seconds": 0.75}}
    for k in range(4)
]
LAST = CHECK | {"step": 6, "accuracy": 0.75}


def drawn(records, *, terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=110, height=30, color_system=None)
    view = RunView("runs/tiny · seed 0", warm=2, steps=4, console=console)
    for record in records:
        view(record)
    view.close()
    return console.file.getvalue()


def test_a_run_is_a_line_a_record_where_nothing_can_be_redrawn():
    lines = drawn([WARM, CHECK, *STEPS], terminal=False).splitlines()
    assert len(lines) == 6
    assert "warm start  loss 0.2500" in lines[0]
    assert "held-out accuracy 50.0 % (n = 64, 1 failed)" in lines[1]
    assert "reward 0.750  groups 8  dropped 3  failed 1  entropy 0.200" in lines[-1]


def test_a_terminal_shows_the_phase_the_rewards_and_the_held_out_accuracies():
    assert "warm start" in drawn([WARM], terminal=True)
    shown = drawn([WARM, CHECK, *STEPS, LAST], terminal=True)
    last = shown[shown.rindex("runs/tiny") :]
    assert "reinforcement" in last
    assert "4/4" in last
    assert "50.0 % at step 2, then 75.0 % at step 6" in last
    assert "reward 0.75" in last


def test_a_step_without_anything_to_learn_is_still_told():
    skipped = {key: value for key, value in STEPS[0].items() if key not in {"loss", "entropy", "gradient"}}
    line = format_record(skipped | {"skipped": True})
    assert "dropped 3" in line
    assert "nothing learnt: every group's rewards are equal" in line


@pytest.mark.parametrize("count", [1, 47, 48, 49, 4000])
def test_a_sparkline_never_outgrows_its_width(count):
    line = sparkline([index / count for index in range(count)])
    assert 1 <= len(line) <= 48
    assert sorted(line) == list(line)


def test_figures_go_to_tensorboard(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with open_tensorboard(tmp_path) as write:
        for record in (WARM, CHECK, *STEPS):
            write(record)
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    assert [(event.step, event.value) for event in found.Scalars("step/reward")] == [
        (3, 0.0),
        (4, 0.25),
        (5, 0.5),
        (6, 0.75),
    ]
    assert {"warm/loss", "evaluation/accuracy", "step/seconds"} <= set(found.Tags()["scalars"])


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_figures_go_to_a_tracker_with_their_kind_and_the_runs_settings(name, tmp_path, monkeypatch):
    """A stand-in with the functions that both packages document: init, log, finish."""
    asked, logged, finished = {}, [], []

    def init(**options):
        asked.update(options)
        return types.SimpleNamespace(log=logged.append)

    monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(init=init, finish=lambda: finished.append(True)))
    with open_tracker(name, tmp_path / "tiny-0", {"train": {"steps": 4}}) as log:
        for record in (WARM, CHECK, *STEPS):
            log(record)
    assert (asked["project"], asked["name"], asked["resume"]) == ("bookwheel", "tiny-0", "allow")
    assert asked["config"] == {"train": {"steps": 4}}
    assert logged[0] == {"warm/loss": 0.25, "warm/seconds": 0.5, "training_step": 2}
    assert logged[1]["evaluation/accuracy"] == 0.5
    assert [one["step/reward"] for one in logged[2:]] == [0.0, 0.25, 0.5, 0.75]
    assert finished == [True]


def test_a_tracker_is_closed_when_the_run_fails(tmp_path, monkeypatch):
    finished = []
    fake = types.SimpleNamespace(
        init=lambda **options: types.SimpleNamespace(log=print), finish=lambda: finished.append(True)
    )
    monkeypatch.setitem(sys.modules, "wandb", fake)
    with pytest.raises(RuntimeError), open_tracker("wandb", tmp_path, {}):
        raise RuntimeError
    assert finished == [True]


def test_a_tracker_that_is_not_installed_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trackio", None)
    with pytest.raises(MissingExtra, match=r"\[trackio\]"), open_tracker("trackio", tmp_path, {}):
        pass


@pytest.mark.slow
def test_weights_and_biases_takes_a_run_offline(tmp_path):
    """The real package, in a process of its own: it starts a service beside it."""
    pytest.importorskip("wandb")
    script = (
        "import json, sys; from pathlib import Path; from bookwheel.lab.commands.training_view import open_tracker\n"
        "with open_tracker('wandb', Path(sys.argv[1]), {'train': {'steps': 4}}) as log:\n"
        "    for record in json.loads(sys.argv[2]): log(record)\n"
    )
    (tmp_path / "tiny-0").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "tiny-0"), json.dumps([WARM, CHECK, *STEPS])],
        env=os.environ | {"WANDB_MODE": "offline", "WANDB_SILENT": "true"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert list(Path(tmp_path).rglob("*.wandb"))
