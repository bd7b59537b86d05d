"""A kill at any moment leaves the old folder or file or the new one, whole."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

import json
import os
from pathlib import Path

from bookwheel.lab.training import checkpoint
from bookwheel.lab.training.checkpoint import TrainingProgress
from bookwheel.lab.training.config import PolicySettings, TrainConfig
from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.objective import LossSettings
from bookwheel.lab.training.step import MasterAdamW

torch = pytest.importorskip("torch")

SETTINGS = TrainConfig().to_json()


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(4, 4)
        self.two = torch.nn.Linear(4, 4)
        self.two.weight = self.one.weight


def trained(seed):
    torch.manual_seed(seed)
    model = Small()
    optimizer = torch.optim.AdamW(model.parameters())
    model.two(model.one(torch.ones(4))).sum().backward()
    optimizer.step()
    return model, optimizer


def weights(model):
    return [weight.tolist() for weight in model.parameters()]


def test_what_was_saved_comes_back_bit_for_bit(tmp_path):
    model, optimizer = trained(1)
    checkpoint.save(tmp_path / "step-000003", model, optimizer, TrainingProgress(step=3, samples_drawn=7), SETTINGS)
    drawn = torch.rand(3).tolist()
    other, further = trained(2)
    progress = checkpoint.load(tmp_path / "step-000003", other, further, SETTINGS)
    assert weights(other) == weights(model)
    assert other.two.weight is other.one.weight
    assert str(further.state_dict()) == str(optimizer.state_dict())
    assert torch.rand(3).tolist() == drawn
    assert (progress.step, progress.samples_drawn) == (3, 7)


def test_parts_that_could_run_code_are_said_to_be_before_they_are_loaded(tmp_path, monkeypatch, caplog):
    model, optimizer = trained(1)
    place = tmp_path / "step-000003"
    checkpoint.save(place, model, optimizer, TrainingProgress(step=3), SETTINGS)
    (place / "shards").mkdir()
    warned = []
    monkeypatch.setattr(checkpoint.ranks, "load_shards", lambda *_, **__: warned.append(caplog.text))
    checkpoint.load(place, model, optimizer, SETTINGS)
    assert "can run code" in warned[0]
    assert "only runs of your own" in warned[0]


def test_a_checkpoint_that_could_not_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    model, optimizer = trained(1)
    place = tmp_path / "step-000001"
    checkpoint.save(place, model, optimizer, TrainingProgress(step=1), SETTINGS)
    kept = weights(model)
    plain = os.fsync

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    changed, _ = trained(2)
    with pytest.raises(CheckpointError, match=r"No space left.*--resume"):
        checkpoint.save(place, changed, optimizer, TrainingProgress(step=1), SETTINGS)
    monkeypatch.setattr(os, "fsync", plain)
    checkpoint.load(place, changed, None, SETTINGS)
    assert weights(changed) == kept
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def test_a_half_written_checkpoint_is_no_checkpoint(tmp_path):
    (tmp_path / ".step-000009.new").mkdir()
    assert checkpoint.find_newest(tmp_path) is None
    (tmp_path / "step-000001").mkdir()
    with pytest.raises(CheckpointError, match="no checkpoint"):
        checkpoint.load_progress(tmp_path / "step-000001")


def test_another_configuration_is_refused_and_named(tmp_path):
    model, optimizer = trained(1)
    checkpoint.save(tmp_path / "step-000001", model, optimizer, TrainingProgress(), SETTINGS)
    other = TrainConfig(weight_decay=0.5, steps=9).to_json()
    with pytest.raises(CheckpointError, match=r"train.weight_decay \(there 0.01, here 0.5\)") as refused:
        checkpoint.load(tmp_path / "step-000001", model, optimizer, other)
    assert "train.steps" not in str(refused.value)
    checkpoint.load(tmp_path / "step-000001", model, optimizer, TrainConfig(steps=9).to_json())


def test_what_our_own_messages_advise_to_change_may_change_at_resume(tmp_path):
    model, optimizer = trained(1)
    checkpoint.save(tmp_path / "step-000001", model, optimizer, TrainingProgress(), SETTINGS)
    policy = PolicySettings(row_tokens=9, rollout_tokens=9, gradient_checkpointing=True)
    advised = TrainConfig(learning_rate=1e-7, loss=LossSettings(kl=0.1), policy=policy)
    checkpoint.load(tmp_path / "step-000001", model, optimizer, advised.to_json())


def test_master_weights_come_back_with_their_bits(tmp_path):
    def trained_in_half(seed):
        torch.manual_seed(seed)
        model = Small().bfloat16()
        optimizer = MasterAdamW(list(model.parameters()), rate=1e-4, weight_decay=0.0)
        model.two(model.one(torch.ones(4, dtype=torch.bfloat16))).sum().backward()
        optimizer.step()
        return model, optimizer

    model, optimizer = trained_in_half(1)
    checkpoint.save(tmp_path / "step-000001", model, optimizer, TrainingProgress(step=1), SETTINGS)
    other, further = trained_in_half(2)
    checkpoint.load(tmp_path / "step-000001", other, further, SETTINGS)
    assert [one.tolist() for one in further.masters] == [one.tolist() for one in optimizer.masters]
    assert weights(other) == weights(model)
    assert str(further.state_dict()) == str(optimizer.state_dict())


def test_weights_of_another_model_are_refused(tmp_path):
    model, _ = trained(1)
    checkpoint.save_weights(tmp_path / "w.safetensors", model)
    with pytest.raises(CheckpointError, match="another model"):
        checkpoint.load_weights(tmp_path / "w.safetensors", torch.nn.Linear(3, 3))


def test_only_the_newest_stay_beside_the_best(tmp_path):
    for name in ("step-000001", "step-000020", "step-000003", "best"):
        (tmp_path / name).mkdir()
    checkpoint.prune(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "step-000003", "step-000020"]
    assert checkpoint.find_newest(tmp_path).name == "step-000020"


def test_a_run_goes_on_that_was_begun_before_a_setting_was_there():
    ours = TrainConfig().to_json()
    older = json.loads(json.dumps(ours))
    del older["train"]["teacher"], older["train"]["loss"]["reply_cap"]
    checkpoint.check_same_settings(older, ours, Path("run"))
    older["train"]["seed"] = 5
    with pytest.raises(CheckpointError, match=r"train\.seed"):
        checkpoint.check_same_settings(older, ours, Path("run"))
