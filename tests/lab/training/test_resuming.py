"""A run that was killed, damaged or begun before: what goes on, and what is refused."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import killed_run  # noqa: E402
from killed_run import records  # noqa: E402

from bookwheel.lab.training.errors import CheckpointError, DeviceFull  # noqa: E402


@pytest.mark.parametrize("lines", [5, *(pytest.param(lines, marks=pytest.mark.long) for lines in (2, 8))])
def test_a_killed_run_goes_on_with_the_same_metrics_bit_for_bit(whole, tmp_path, lines):
    folder = tmp_path / "run"
    killed = killed_run.launch(folder, records=lines)
    assert killed.codes == [-signal.SIGKILL], killed.errors
    assert len(records(folder)) == lines
    resumed = killed_run.trainer(folder)
    resumed.train(resume=True)
    assert records(folder) == records(whole.folder)
    for mine, theirs in zip(resumed.policy.trainable, whole.policy.trainable, strict=True):
        assert torch.equal(mine, theirs)


def finished(whole, folder):
    """A copy of the whole run, before its last two steps were known."""
    shutil.copytree(whole.folder, folder)
    return folder


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.pt", "progress.json", "hashes.json"])
@pytest.mark.parametrize("how", ["flip", "cut"])
def test_a_damaged_newest_checkpoint_is_told_and_the_one_before_goes_on(whole, tmp_path, caplog, name, how):
    folder = finished(whole, tmp_path / "run")
    newest = max((folder / "checkpoints").glob("step-*"))
    raw = bytearray((newest / name).read_bytes())
    raw[len(raw) // 2] ^= 8
    (newest / name).write_bytes(raw if how == "flip" else raw[: len(raw) // 2])
    resumed = killed_run.trainer(folder)
    resumed.train(resume=True)
    assert f"{newest.name} is damaged" in caplog.text
    assert records(folder) == records(whole.folder)


def test_where_all_others_are_damaged_the_best_goes_on_and_what_it_writes_stays(whole, tmp_path, monkeypatch, caplog):
    folder = finished(whole, tmp_path / "run")
    for place in (folder / "checkpoints").glob("step-*"):
        (place / "weights.safetensors").write_bytes(b"")
    # Of a policy that was best at the end of its warm start.
    early = tmp_path / "early"
    killed_run.launch(early, records=6)
    shutil.rmtree(folder / "checkpoints" / "best")
    shutil.copytree(early / "checkpoints" / "best", folder / "checkpoints" / "best")
    resumed = killed_run.trainer(folder)
    kept = []
    monkeypatch.setattr(resumed, "_observe", lambda _: kept.append([*(folder / "checkpoints").glob("step-000004")]))
    resumed.train(resume=True)
    assert caplog.text.count("is damaged") == 2
    assert any(kept), "its first checkpoint was removed for newer ones, which are damaged"
    assert records(folder) == records(whole.folder)


def test_a_run_with_no_whole_checkpoint_is_neither_resumed_nor_told_to_begin(whole, tmp_path):
    folder = finished(whole, tmp_path / "run")
    for place in (folder / "checkpoints").iterdir():
        (place / "weights.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"no checkpoint that is whole: .* another folder"):
        killed_run.trainer(folder).train(resume=True)


def test_a_checkpoint_of_an_earlier_version_goes_on(whole, tmp_path, caplog):
    folder = finished(whole, tmp_path / "run")
    for place in (folder / "checkpoints").iterdir():
        (place / "hashes.json").unlink()
        record = json.loads((place / "progress.json").read_text())
        del record["progress"]["failed_steps"]
        del record["settings"]["train"]["failed_steps"]
        (place / "progress.json").write_text(json.dumps(record))
    (folder / "reference.json").unlink()
    resumed = killed_run.trainer(folder)
    resumed.train(resume=True)
    assert records(folder) == records(whole.folder)
    assert "all 5 steps of this run are done" in caplog.text


def test_a_damaged_reference_is_not_trained_against(whole, tmp_path):
    folder = finished(whole, tmp_path / "run")
    raw = bytearray((folder / "reference.safetensors").read_bytes())
    raw[-1] ^= 1
    (folder / "reference.safetensors").write_bytes(raw)
    with pytest.raises(CheckpointError, match=r"reference\.safetensors changed"):
        killed_run.trainer(folder).train(resume=True)


def test_lost_records_are_told_and_later_ones_still_counted(whole, tmp_path, caplog):
    folder = finished(whole, tmp_path / "run")
    lines = (folder / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_bytes(b"".join(lines[:-4]) + b'{"kind"')
    resumed = killed_run.trainer(folder, config=replace(killed_run.CONFIG, steps=7))
    resumed.train(resume=True)
    assert "lost its last" in caplog.text
    assert resumed.progress.metrics_lines == len(records(folder))


def test_a_start_that_failed_does_not_block_the_corrected_one(tmp_path, monkeypatch):
    from bookwheel.lab.training import policy_model

    def full(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory")

    config = replace(killed_run.CONFIG, warm_start=replace(killed_run.CONFIG.warm_start, steps=0))
    run = killed_run.trainer(tmp_path / "run", config=config)
    plain = policy_model.generate
    calls = []

    def full_later(*args, **kwargs):
        calls.append(1)
        # The evaluation of 6 samples with 4 conversations comes first, and its record and checkpoints with it.
        return plain(*args, **kwargs) if len(calls) <= 4 else full()

    monkeypatch.setattr(policy_model, "generate", full_later)
    with pytest.raises(DeviceFull, match=r"lower train\.policy\.rollout_tokens"):
        run.train()
    assert [one["kind"] for one in records(tmp_path / "run")] == ["evaluation"]
    monkeypatch.setattr(policy_model, "generate", plain)
    smaller = replace(config, policy=replace(config.policy, rollout_tokens=200), group_size=2)
    again = killed_run.trainer(tmp_path / "run", config=smaller)
    again.train()
    assert [one["kind"] for one in records(tmp_path / "run")].count("step") == 5
    with pytest.raises(CheckpointError, match="--resume"):
        killed_run.trainer(tmp_path / "run", config=smaller).train()


def test_a_run_is_not_begun_over_another(whole, tmp_path):
    with pytest.raises(CheckpointError, match="--resume"):
        killed_run.trainer(finished(whole, tmp_path / "run")).train()
    with pytest.raises(CheckpointError, match="no checkpoint to resume"):
        killed_run.trainer(tmp_path).train(resume=True)


def test_a_launched_run_that_hangs_ends(tmp_path):
    assert killed_run.launch(tmp_path / "run", timeout=0).codes == [-signal.SIGKILL]
