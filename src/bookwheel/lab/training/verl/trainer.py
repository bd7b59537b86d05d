"""verl's synchronous trainer with credit by sample: what differs from the stock one, and nothing else.

    stock                                             here
    advantages from each session's last row           from each session's reward, on all of its rows
    mini-batches of so many rows                      of so many samples: `updates` optimizer steps a batch
    rows made up until the batch divides              rows dealt to the ranks evenly to within one

The loss is verl's own: a mean over all tokens of a mini-batch on all ranks. Sessions that failed have no rows; the
others of their sample are compared among themselves, and one that is left alone is not trained on.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
import transfer_queue as tq
from omegaconf import open_dict
from tensordict import TensorDict
from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer
from verl.utils.metric import reduce_metrics
from verl.utils.py_functional import rename_dict

from bookwheel.lab.training.errors import ConfigError, NothingToLearn
from bookwheel.lab.training.verl.checkpoints import prune
from bookwheel.lab.training.verl.credit import deal_rows, row_advantages, split_by_sample
from bookwheel.lab.training.verl.dataset import parse_settings
from bookwheel.lab.training.verl.records import RunRecords, count_rows
from bookwheel.lab.training.verl.translate import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omegaconf import DictConfig
    from transfer_queue import KVBatchMeta

_ROLE: Final = "actor"


@register_trainer(NAME)
class SampleTrainer(PPOTrainerSync):
    """Trains on whole samples, and writes the records that every run of this package has."""

    def __init__(self, config: DictConfig) -> None:
        # The base class chooses its replay buffer by the mode, and knows only its own modes.
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"
        super().__init__(config)
        self._settings, _ = parse_settings(config.data[NAME])
        self._folder = Path(config.trainer.default_local_dir).parent
        self._records = RunRecords(self._folder)
        self._advantages: dict[str, float] = {}
        self._steps_without_signal = 0
        self._began = 0.0
        self._seconds = 0.0

    def on_train_begin(self) -> None:
        """Drop the records of steps that a killed run took after its last checkpoint."""
        super().on_train_begin()
        self._records.keep_before(self.global_steps)

    def on_step_begin(self) -> None:
        """Start the step's clock."""
        super().on_step_begin()
        self._began = time.perf_counter()

    def on_step_end(self) -> None:
        """Send the weights to the servers and stop the step's clock."""
        super().on_step_end()
        self._seconds = time.perf_counter() - self._began

    def _save_checkpoint(self) -> None:
        super()._save_checkpoint()
        prune(self._folder, self._settings.keep)

    def on_validate_begin(self) -> None:
        """Start the evaluation's clock."""
        super().on_validate_begin()
        self._began = time.perf_counter()

    def _val_metrics_update(
        self,
        data_sources: Sequence[str],
        sample_uids: Sequence[str],
        reward_extra_infos_dict: Mapping[str, Sequence[float]],
        sample_turns: Sequence[int],
        expected_acc_counts: Mapping[tuple[str, str], int] | None = None,
    ) -> dict[str, float]:
        samples = sum((expected_acc_counts or {}).values()) or len(sample_uids)
        answers = [float(one) for one in reward_extra_infos_dict.get("acc", ()) if one is not None]
        self._records.add_evaluation(self.global_steps, answers, samples, time.perf_counter() - self._began)
        figures: dict[str, float] = super()._val_metrics_update(
            data_sources, sample_uids, reward_extra_infos_dict, sample_turns, expected_acc_counts=expected_acc_counts
        )
        return figures

    def _balance_batch(self, batch: KVBatchMeta, *_: Any, **__: Any) -> KVBatchMeta:
        self._deal(batch)
        return batch

    def _deal(self, batch: KVBatchMeta) -> None:
        """Order the rows so that the engine's equal cuts give every rank a similar number of tokens."""
        workers = self.actor_rollout_wg
        if _ROLE not in workers._dispatch_info:  # noqa: SLF001 - the stock trainer asks the same way
            workers._dispatch_info[_ROLE] = workers._query_dispatch_info(_ROLE)  # noqa: SLF001
        ranks = max(workers._dispatch_info[_ROLE]) + 1  # noqa: SLF001
        if len(batch) < ranks:
            raise ConfigError(f"{len(batch)} conversations are too few for {ranks} ranks: lower train.updates")
        batch.reorder(deal_rows([tag["seq_len"] for tag in batch.tags], ranks))

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        # The stock method also computes the weights between sampler and trainer; its advantages are replaced.
        batch = super()._compute_advantage(batch, metrics)
        fields = ["rm_scores", "response_mask", "extra_fields"]
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
        rewards = dict(zip(batch.keys, (float(one.sum()) for one in data["rm_scores"].unbind()), strict=True))
        # Some of TransferQueue's stores wrap what is no tensor.
        extras = [getattr(extra, "data", extra) for extra in data["extra_fields"]]
        answers = [float(extra["reward_extra_info"]["acc"]) for extra in extras]
        self._advantages = row_advantages(rewards, self._settings.estimator)
        self._records.counts = count_rows(
            rewards,
            dict(zip(batch.keys, answers, strict=True)),
            batch.tags,
            expected=self._settings.samples * self._settings.group_size,
        )
        values = torch.nested.as_nested_tensor(
            [
                mask.float() * self._advantages.get(key, 0.0)
                for key, mask in zip(batch.keys, data["response_mask"].unbind(), strict=True)
            ],
            layout=torch.jagged,
        )
        output = TensorDict({"advantages": values, "returns": values}, batch_size=len(batch))
        return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=output)

    def _update_actor(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        trained = [key for key in batch.keys if key in self._advantages]
        if not any(self._advantages.values()):
            self._stop_if_no_signal()
            return batch
        self._steps_without_signal = 0
        figures: dict[str, list[Any]] = {}
        parts = split_by_sample(trained, self._settings.updates)
        for keys in parts:
            part = batch.select_keys(keys)
            self._deal(part)
            part.extra_info.update(self._step_settings(len(part)))
            output = self.actor_rollout_wg.update_actor(part)["metrics"]
            for name, value in output.items():
                figures.setdefault(name, []).extend(value if isinstance(value, list) else [value])
        # After a step the rate is the next one's; the last says where the schedule stands.
        figures["lr"] = figures.get("lr", [0.0])[-1:]
        reduced = rename_dict(reduce_metrics(figures), "actor/")
        reduced["perf/mfu/actor"] = reduced.pop("actor/mfu", 0.0)
        metrics.update(reduced, **{"actor/optimizer_steps": len(parts)})
        return batch

    def _step_settings(self, rows: int) -> dict[str, Any]:
        """Return what the workers are told about one optimizer step on so many rows."""
        config = self.config.actor_rollout_ref
        return {
            "calculate_entropy": config.actor.calculate_entropy,
            "distillation_use_topk": False,
            "distillation_only": False,
            "global_batch_size": rows,
            # One step on all rows. With `mini_batch_size` the steps would grow with the conversations.
            "num_mini_batch": 1,
            "epochs": 1,
            "seed": config.actor.data_loader_seed,
            "dataloader_kwargs": {"shuffle": False},
            "temperature": config.rollout.temperature,
        }

    def _stop_if_no_signal(self) -> None:
        self._steps_without_signal += 1
        if self._steps_without_signal >= self._settings.patience:
            raise NothingToLearn(
                f"for {self._steps_without_signal} steps all rollouts of every sample had the same reward: take easier "
                f"or harder samples, or raise train.group_size"
            )

    def _compute_metrics(
        self, batch: KVBatchMeta, metrics: dict[str, Any], timing_raw: dict[str, Any], global_steps: int, epoch: int
    ) -> None:
        super()._compute_metrics(batch, metrics, timing_raw, global_steps=global_steps, epoch=epoch)
        self._records.add_step(global_steps, metrics, self._seconds)
