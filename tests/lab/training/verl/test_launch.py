from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.errors import MissingExtra
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import CheckpointError, NothingToLearn, TrainingStopped
from bookwheel.lab.training.verl import launch
from bookwheel.lab.training.verl.launch import begin, check_packages, find_cause
from bookwheel.lab.training.verl.records import RunRecords
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
    with pytest.raises(MissingExtra, match=r"bookwheel\[verl\]"):
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
