import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from dataclasses import replace
from pathlib import Path

from bookwheel.errors import MissingExtra
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import CheckpointError, NothingToLearn, TrainingStopped
from bookwheel.lab.training.verl import launch
from bookwheel.lab.training.verl.credit import RunRecords
from bookwheel.lab.training.verl.launch import (
    NEWEST,
    begin,
    check_packages,
    choose_checkpoint,
    find_cause,
    list_checkpoints,
    prune,
)
from bookwheel.lab.training.verl.settings import ClusterSettings

CONFIG = TrainConfig.from_tables({"train": {"policy": {"path": "m"}}})
CLUSTER = ClusterSettings()


def begun(tmp_path, *, step=0):
    begin(tmp_path, CONFIG, CLUSTER, resume=False)
    records = RunRecords(tmp_path)
    records.add_evaluation(0, [1.0], 1, 1.0)
    if step:
        records.add_step(step, {}, 1.0)
        (tmp_path / "verl" / "latest_checkpointed_iteration.txt").write_text(str(step))
    return tmp_path


def test_a_folder_with_a_run_is_refused_and_one_where_a_start_failed_is_not(tmp_path):
    begin(begun(tmp_path), CONFIG, CLUSTER, resume=False)
    assert not (tmp_path / "metrics.jsonl").exists()
    begun(tmp_path, step=1)
    with pytest.raises(CheckpointError, match="holds a run already"):
        begin(tmp_path, CONFIG, CLUSTER, resume=False)


def test_a_run_goes_on_with_its_own_settings_on_as_many_gpus(tmp_path):
    begun(tmp_path, step=1)
    begin(tmp_path, replace(CONFIG, steps=900), replace(CLUSTER, readers=3), resume=True)
    with pytest.raises(CheckpointError, match=r"train\.group_size"):
        begin(tmp_path, replace(CONFIG, group_size=4), CLUSTER, resume=True)
    with pytest.raises(CheckpointError, match=r"verl\.nodes"):
        begin(tmp_path, CONFIG, ClusterSettings(nodes=2), resume=True)


def test_without_a_checkpoint_nothing_is_resumed(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint"):
        begin(begun(tmp_path), CONFIG, CLUSTER, resume=True)


def test_a_missing_package_is_told_with_the_extra_to_install(monkeypatch):
    monkeypatch.setattr(launch, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"\[verl\]"):
        check_packages()


class RemoteError(Exception):
    """Stands for Ray's: what a process raised, by way of another."""

    def __init__(self, cause):
        super().__init__("a trace of many lines")
        self.cause = cause


def test_what_stopped_a_run_is_told_in_one_line_and_our_own_errors_as_they_are():
    ours = NothingToLearn("no spread")
    assert find_cause(RemoteError(RemoteError(ours))) is ours
    error = find_cause(RemoteError(RemoteError(ValueError("two\n   lines"))))
    assert type(error) is TrainingStopped
    assert str(error) == "verl stopped: ValueError: two lines. Go on from the last checkpoint with --resume"
    assert "a trace of many lines" in str(find_cause(RemoteError("a worker died")))


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


@pytest.fixture
def run(tmp_path):
    def make(*steps, pruned=(), newest=None):
        for step in steps:
            (tmp_path / "verl" / f"global_step_{step}" / "actor").mkdir(parents=True)
        for step in (*steps, *pruned):
            (tmp_path / "verl" / f"global_step_{step}").mkdir(parents=True, exist_ok=True)
            (tmp_path / "verl" / f"global_step_{step}" / "data.pt").touch()
        (tmp_path / "verl" / "settings.json").touch()
        if newest is not None:
            (tmp_path / "verl" / NEWEST).write_text(str(newest), encoding="utf-8")
        return tmp_path

    return make


def list_folders(folder):
    return sorted(int(place.name.rpartition("_")[2]) for place in (folder / "verl").glob("global_step_*"))


def test_only_whole_checkpoints_of_the_run_are_listed(run):
    folder = run(20, 100, "x", pruned=(10,))
    assert sorted(list_checkpoints(folder)) == [20, 100]
    # The best one of a long run may be gone: what is left of it cannot be exported.
    best_was_removed = [evaluation(10, 0.9), evaluation(20, 0.6), evaluation(100, 0.5)]
    assert choose_checkpoint(list_checkpoints(folder), best_was_removed).name == "global_step_20"


@pytest.mark.parametrize(("keep", "left"), [(1, [100]), (2, [80, 100]), (3, [60, 80, 100]), (9, [60, 80, 100])])
def test_the_newest_checkpoints_stay_whoever_saved_them(run, keep, left):
    folder = run(60, 80, 100, pruned=(20, 40), newest=100)
    prune(folder, keep)
    assert list_folders(folder) == left
    assert (folder / "verl" / "settings.json").exists()


def test_the_checkpoint_to_resume_from_stays_while_a_newer_one_is_written(run):
    folder = run(40, 60, 80, newest=40)
    prune(folder, 1)
    assert list_folders(folder) == [40, 80]


def test_without_a_whole_checkpoint_nothing_is_removed(run):
    folder = run(pruned=(20, 40))
    prune(folder, 2)
    assert list_folders(folder) == [20, 40]
