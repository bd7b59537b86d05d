"""What verl loads by the entry point `verl.plugins`: agent loop, engine, and the trainer with credit by sample.

One call of the agent loop is one session: the workflow run once on a sample, with all its conversations. A session
whose workflow or verifier fails raises. verl logs it and keeps the sample's other sessions, which are then compared
among themselves; the trainer counts the missing one as failed, and one that is left alone is not trained on.

What differs from the stock trainer, and nothing else:

    stock                                             here
    advantages from each session's last row           from each session's reward, on all of its rows
    mini-batches of so many rows                      of so many samples: `updates` optimizer steps a batch
    rows made up until the batch divides              rows dealt to the ranks evenly to within one
    every row read by itself                          what rows share read once, where the layout lets them (engine.py)

The loss is verl's own: a mean over all tokens of a mini-batch on all ranks. Without TransferQueue, which verl's newer
trainer needs, nothing is registered, and verl works as it does alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
import transfer_queue as tq
from omegaconf import open_dict
from tensordict import TensorDict
from transformers import AutoConfig, GenerationConfig
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register
from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer
from verl.utils.metric import reduce_metrics
from verl.utils.py_functional import rename_dict

from bookwheel.lab.training.errors import ConfigError, NothingToLearn
from bookwheel.lab.training.records import StoredRollout, add_rollouts
from bookwheel.lab.training.verl.credit import (
    RunRecords,
    count_rows,
    deal_rows,
    find_family,
    parse_key,
    row_advantages,
    split_by_sample,
)
from bookwheel.lab.training.verl.engine import SharingEngine
from bookwheel.lab.training.verl.launch import prune
from bookwheel.lab.training.verl.reader import Reader, RolloutSession, RunSettings, ServedPolicy, SessionSampler
from bookwheel.lab.training.verl.settings import NAME, shares_prefixes

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from transfer_queue import KVBatchMeta

__all__ = ["SampleTrainer", "SharingEngine", "WorkflowLoop"]

_ROLE: Final = "actor"


@register(NAME)
class WorkflowLoop(AgentLoopBase):
    """Runs the workflow of `[train]`; the prompts, the reward and the samples are this package's own."""

    async def run(
        self, sampling_params: Mapping[str, Any], *, uid: str, index: int, is_held_out: bool, **_: Any
    ) -> list[AgentLoopOutput]:
        """Return the session's conversations in order, each with the reward of its answer."""
        policy, reader = _open_reader(self.tokenizer, self.config.actor_rollout_ref.model.path, self.config.data[NAME])
        sampler = SessionSampler(self.server_manager, uid, sampling_params, policy.stop_ids)
        session = await reader.read(int(index), sampler, is_held_out=bool(is_held_out))
        return build_outputs(session, sampler.versions)


def build_outputs(session: RolloutSession, versions: list[int]) -> list[AgentLoopOutput]:
    """Return the rows of a session in verl's form; `versions` are those of the weights that sampled them."""
    result = session.result
    extra = {
        "min_global_steps": min(versions, default=0),
        "max_global_steps": max(versions, default=0),
        "reward_extra_info": {"acc": result.answer, **result.parts},
        "sample": session.sample,
        "reading": session.reading,
    }
    return [
        AgentLoopOutput(
            prompt_ids=row.prompt,
            response_ids=row.response,
            response_mask=row.mask,
            response_logprobs=row.logprobs,
            reward_score=result.score,
            num_turns=2,
            metrics=AgentLoopMetrics(),
            extra_fields=dict(extra),
        )
        for row in session.rows
    ]


@cache
def _open_reader(tokenizer: Any, path: str, settings: str) -> tuple[ServedPolicy, Reader]:
    """Return the one reader of this process: verl makes a loop for every session."""
    try:
        generation = GenerationConfig.from_pretrained(path)
    except OSError:  # an optional file of a model's folder
        generation = None
    policy = ServedPolicy(tokenizer, AutoConfig.from_pretrained(path), generation)
    return policy, Reader(settings, policy)


@register_trainer(NAME)
class SampleTrainer(PPOTrainerSync):
    """Trains on whole samples, and writes the records that every run of this package has."""

    def __init__(self, config: DictConfig) -> None:
        # The base class chooses its replay buffer by the mode, and knows only its own modes.
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"
        super().__init__(config)
        self._settings = RunSettings.parse(config.data[NAME]).config
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
        """Order the rows so that the engine's equal cuts give every rank a similar number of tokens.

        Rows that begin alike stay together where the engine reads that once.
        """
        workers = self.actor_rollout_wg
        if _ROLE not in workers._dispatch_info:  # noqa: SLF001 - the stock trainer asks the same way
            workers._dispatch_info[_ROLE] = workers._query_dispatch_info(_ROLE)  # noqa: SLF001
        ranks = max(workers._dispatch_info[_ROLE]) + 1  # noqa: SLF001
        if len(batch) < ranks:
            raise ConfigError(f"{len(batch)} conversations are too few for {ranks} ranks: lower train.updates")
        families = [find_family(key) for key in batch.keys] if shares_prefixes(self._settings) else ()
        batch.reorder(deal_rows([tag["seq_len"] for tag in batch.tags], ranks, families))

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
        self._keep_rollouts(rewards, dict(zip(batch.keys, extras, strict=True)))
        values = torch.nested.as_nested_tensor(
            [
                mask.float() * self._advantages.get(key, 0.0)
                for key, mask in zip(batch.keys, data["response_mask"].unbind(), strict=True)
            ],
            layout=torch.jagged,
        )
        output = TensorDict({"advantages": values, "returns": values}, batch_size=len(batch))
        return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=output)

    def _keep_rollouts(self, rewards: Mapping[str, float], extras: Mapping[str, Mapping[str, Any]]) -> None:
        """Write a line for each session of every so many steps; its reading was kept where it was read."""
        step, every = self.global_steps - 1, self._settings.keep_rollouts
        if not every or step % every:
            return
        sessions = {"_".join(parse_key(key)): key for key in rewards}
        add_rollouts(
            self._folder,
            [
                StoredRollout(
                    step=step,
                    reading=extras[key].get("reading"),
                    rollout=session,
                    sample=str(extras[key].get("sample", "")),
                    outcome="scored",
                    reward=rewards[key],
                    parts={name: one for name, one in extras[key]["reward_extra_info"].items() if name != "acc"},
                    advantage=self._advantages.get(key, 0.0),
                )
                for session, key in sessions.items()
            ],
        )

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
