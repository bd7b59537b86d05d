"""The trainer's own part, with verl's workers and queue played by lists."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import importlib.util
from types import SimpleNamespace

import torch
from stand_ins import stand_ins

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError, NothingToLearn
from bookwheel.lab.training.records import load_records, load_rollouts
from bookwheel.lab.training.verl.credit import RunRecords

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("verl") is None, reason="verl is not installed: pip install --no-deps 'verl>=0.9.1,<0.10'"
)

SETTINGS = TrainConfig.from_tables({"train": {"samples": 4, "group_size": 2, "updates": 2, "patience": 2}})
REWARDS = {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (1.0, 1.0), "d": (0.5, None)}
"""Of each sample, of its two sessions; None for the one that failed."""
CHUNKS = {"a": (2, 12), "b": (5, 3), "c": (1, 7), "d": (4, 0)}


class Batch:
    """The part of TransferQueue's KVBatchMeta that a trainer uses."""

    def __init__(self, keys, tags=None):
        self.keys, self.partition_id, self.extra_info = list(keys), "train", {}
        self.tags = tags or [{"seq_len": 10 + i, "prompt_len": 10, "response_len": i} for i, _ in enumerate(keys)]

    def __len__(self):
        return len(self.keys)

    def select_keys(self, keys):
        return Batch(keys, [self.tags[self.keys.index(key)] for key in keys])

    def reorder(self, order):
        self.keys, self.tags = [self.keys[i] for i in order], [self.tags[i] for i in order]


class Workers:
    """Two ranks that note what they are told."""

    def __init__(self, ranks=2):
        self._dispatch_info = {"actor": list(range(ranks))}
        self.updates = []

    def update_actor(self, batch):
        self.updates.append((list(batch.keys), dict(batch.extra_info)))
        return {"metrics": {"loss": [0.5], "grad_norm": [1.0], "lr": [1e-6 * len(self.updates)], "mfu": [0.1]}}


@pytest.fixture
def make_trainer(tmp_path, monkeypatch):
    with stand_ins():
        from bookwheel.lab.training.verl import plugin as module

        def make(rewards=REWARDS, ranks=2, chunks=CHUNKS):
            trainer = object.__new__(module.SampleTrainer)
            trainer.global_steps = 1
            actor = SimpleNamespace(calculate_entropy=False, data_loader_seed=42)
            rollout = SimpleNamespace(temperature=1.0)
            trainer.config = SimpleNamespace(actor_rollout_ref=SimpleNamespace(actor=actor, rollout=rollout))
            trainer.actor_rollout_wg = Workers(ranks)
            trainer._settings, trainer._records, trainer._folder = SETTINGS, RunRecords(tmp_path), tmp_path
            trainer._advantages, trainer._steps_without_signal = {}, 0
            trainer.stored = {}
            keys = [
                (f"{sample}_{session}_{row}", reward)
                for sample, pair in rewards.items()
                for session, reward in enumerate(pair)
                if reward is not None
                for row in range(chunks[sample][session])
            ]
            batch = Batch([key for key, _ in keys])
            known = dict(keys)

            def get(keys, **_):
                scores = [torch.tensor([0.0, known[key]]) for key in keys]
                # The last token of every row is masked.
                masks = [torch.tensor([1, 0]) for _ in keys]
                return {
                    "rm_scores": torch.nested.as_nested_tensor(scores, layout=torch.jagged),
                    "response_mask": torch.nested.as_nested_tensor(masks, layout=torch.jagged),
                    "extra_fields": [
                        {"reward_extra_info": {"acc": known[key]}, "sample": "s", "reading": f"reading-{key[:3]}"}
                        for key in keys
                    ],
                }

            monkeypatch.setattr(module.PPOTrainerSync, "_compute_advantage", lambda self, batch, metrics: batch)
            monkeypatch.setattr(module, "TensorDict", lambda fields, batch_size: fields)
            monkeypatch.setattr(module.tq, "kv_batch_get", get, raising=False)

            def put(keys, fields, **_):
                trainer.stored = dict(zip(keys, fields["advantages"].unbind(), strict=True))
                return batch

            monkeypatch.setattr(module.tq, "kv_batch_put", put, raising=False)
            return trainer, batch

        yield make


def samples_in(keys):
    return {key.partition("_")[0] for key in keys}


def test_every_row_of_a_session_gets_its_rollouts_advantage_also_where_the_last_token_is_masked(make_trainer):
    trainer, batch = make_trainer()
    trainer._compute_advantage(batch, {})
    for key, values in trainer.stored.items():
        sample, session, _ = key.split("_")
        expected = {"a": (0.5, -0.5), "b": (-0.5, 0.5), "c": (0.0, 0.0), "d": (0.0, 0.0)}[sample][int(session)]
        assert values.tolist() == [expected, 0.0]


@pytest.mark.parametrize("chunks", [CHUNKS, dict.fromkeys("abcd", (2, 2)), dict.fromkeys("abcd", (12, 12))])
def test_optimizer_steps_are_as_many_however_many_conversations_there_are(make_trainer, chunks):
    trainer, batch = make_trainer(chunks=chunks)
    metrics = {}
    trainer._compute_advantage(batch, metrics)
    trainer._update_actor(batch, metrics)
    updates = trainer.actor_rollout_wg.updates
    assert metrics["actor/optimizer_steps"] == len(updates) == 2
    assert [info["num_mini_batch"] for _, info in updates] == [1, 1]
    assert not any("mini_batch_size" in info for _, info in updates)
    # Whole samples; the session of d whose rival failed is not trained on.
    first, second = (samples_in(keys) for keys, _ in updates)
    assert first | second == {"a", "b", "c"}
    assert not first & second
    trained = [key for keys, _ in updates for key in keys]
    assert sorted(trained) == sorted(key for key in batch.keys if not key.startswith("d"))
    assert metrics["actor/lr"] == pytest.approx(2e-6)


def test_a_failed_session_is_counted_and_its_rows_are_not_made_up(make_trainer):
    trainer, batch = make_trainer()
    rows = len(batch)
    assert trainer._balance_batch(batch, {}, logging_prefix="x") is batch
    assert len(batch) == rows
    trainer._compute_advantage(batch, {})
    counts = trainer._records.counts
    assert (counts["rollouts"], counts["failed"], counts["conversations"]) == (8, 1, rows)
    assert counts["reward"] == pytest.approx(4.5 / 8)


def test_a_batch_without_spread_takes_no_step_and_many_in_a_row_end_the_run(make_trainer):
    trainer, batch = make_trainer(rewards=dict.fromkeys("abcd", (1.0, 1.0)), chunks=dict.fromkeys("abcd", (1, 1)))
    trainer._compute_advantage(batch, {})
    assert trainer._update_actor(batch, {}) is batch
    assert trainer.actor_rollout_wg.updates == []
    with pytest.raises(NothingToLearn, match="for 2 steps"):
        trainer._update_actor(batch, {})


def test_fewer_conversations_than_ranks_are_refused(make_trainer):
    trainer, batch = make_trainer(ranks=64)
    with pytest.raises(ConfigError, match="too few for 64 ranks"):
        trainer._balance_batch(batch, {})


def test_a_step_is_recorded_with_verls_figures(make_trainer, tmp_path, monkeypatch):
    trainer, batch = make_trainer()
    metrics = {}
    trainer._compute_advantage(batch, metrics)
    trainer._update_actor(batch, metrics)
    trainer._seconds = 2.0
    monkeypatch.setattr(type(trainer).__mro__[1], "_compute_metrics", lambda *_, **__: None)
    trainer._compute_metrics(batch, metrics, {}, global_steps=3, epoch=0)
    (record,) = load_records(tmp_path)
    assert (record["step"], record["loss"], record["optimizer_steps"], record["failed"]) == (3, 0.5, 2, 1)


def test_as_many_checkpoints_stay_after_a_resume_as_before(make_trainer, tmp_path, monkeypatch):
    trainer, _ = make_trainer()

    def save(self):
        (tmp_path / "verl" / f"global_step_{self.global_steps}" / "actor").mkdir(parents=True)

    # verl's own counts nothing that an earlier process saved.
    monkeypatch.setattr(type(trainer).__mro__[1], "_save_checkpoint", save)
    for step in (2, 4, 6, 8):
        trainer.global_steps = step
        trainer._save_checkpoint()
    assert SETTINGS.keep == 2
    assert sorted(place.name for place in (tmp_path / "verl").iterdir()) == ["global_step_6", "global_step_8"]


def test_the_rollouts_of_every_so_many_steps_are_kept_with_their_advantages(make_trainer):
    trainer, batch = make_trainer()
    for step in (1, 2):
        trainer.global_steps = step
        trainer._compute_advantage(batch, {})
    kept = load_rollouts(trainer._folder)
    assert {one.step for one in kept} == {0}, "keep_rollouts is 10"
    assert {one.rollout: one.advantage for one in kept} == {
        "a_0": 0.5,
        "a_1": -0.5,
        "b_0": -0.5,
        "b_1": 0.5,
        "c_0": 0.0,
        "c_1": 0.0,
        "d_0": 0.0,
    }
    assert {one.reading for one in kept} == {f"reading-{one.rollout}" for one in kept}
