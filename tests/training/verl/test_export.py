from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.training.errors import CheckpointError
from bookwheel.training.verl.export import choose_checkpoint, list_checkpoints

PLACES = {step: Path(f"global_step_{step}") for step in (20, 40, 60)}


def evaluation(step, accuracy):
    return {"kind": "evaluation", "step": step, "accuracy": accuracy}


def test_the_best_measured_checkpoint_is_exported_and_of_equals_the_last():
    records = [evaluation(0, 0.9), evaluation(20, 0.5), evaluation(40, 0.7), evaluation(60, 0.6)]
    assert choose_checkpoint(PLACES, records) == PLACES[40]
    assert choose_checkpoint(PLACES, [evaluation(20, 0.5), evaluation(40, 0.5)]) == PLACES[40]
    assert choose_checkpoint(PLACES, []) == PLACES[60]


def test_without_a_checkpoint_there_is_nothing_to_export(tmp_path):
    assert list_checkpoints(tmp_path) == {}
    with pytest.raises(CheckpointError, match="checkpoint_every"):
        choose_checkpoint({}, [])


def test_only_whole_checkpoints_of_the_run_are_listed(tmp_path):
    for name in ("global_step_20", "global_step_100", "global_step_x", "settings.json"):
        (tmp_path / "verl" / name).mkdir(parents=True)
    assert sorted(list_checkpoints(tmp_path)) == [20, 100]
