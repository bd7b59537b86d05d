import io

import pytest
from rich.console import Console

from bookwheel.lab.commands.training_view import RunView, format_record, sparkline

WARM = {"kind": "warm", "step": 2, "loss": 0.25, "clock": {"seconds": 0.5}}
CHECK = {"kind": "evaluation", "step": 2, "accuracy": 0.5, "n": 64, "failed": 1, "clock": {"seconds": 1.0}}
STEPS = [
    {"kind": "step", "step": 3 + k, "reward": k / 4, "groups": 8, "dropped": 3, "loss": -0.01, "entropy": 0.2}
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
    assert "reward 0.750  groups 8  dropped 3  entropy 0.200" in lines[-1]


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
    assert "dropped 3" in format_record(skipped | {"skipped": True})


@pytest.mark.parametrize("count", [1, 47, 48, 49, 4000])
def test_a_sparkline_never_outgrows_its_width(count):
    line = sparkline([index / count for index in range(count)])
    assert 1 <= len(line) <= 48
    assert sorted(line) == list(line)
