"""Build a trainer from settings: samples, policy, oracle and the store of rollouts.

Held-out samples are of the same task and length. They come from another seed and, where a task draws on a question set,
from its other split, so the policy is never measured on what it was trained on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bookwheel.lab.tasks import sample_series
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.loading import build_fresh_policy, load_policy
from bookwheel.lab.training.policy_model import export_tokenizer
from bookwheel.lab.training.rewards import build_reward
from bookwheel.lab.training.rollout_store import RolloutStore
from bookwheel.lab.training.samples import TASK, SampleFile, check_sources, toy_records, vocabulary
from bookwheel.lab.training.servers import open_server
from bookwheel.lab.training.trainer import Trainer
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.policy import Policy
    from bookwheel.lab.training.rollouts import Group
    from bookwheel.lab.training.rows import Row

# Added to the seed for held-out samples.
_HELD_OUT_OFFSET: Final = 7919


def build_trainer(
    config: TrainConfig,
    folder: Path,
    *,
    data: Path | None = None,
    observe: Callable[[Mapping[str, Any]], None] | None = None,
    rows_of: Callable[[Sequence[Group]], list[Row]] | None = None,
) -> Trainer:
    """Return the trainer of these settings, ready to run in `folder`; `data` is the folder of question sets.

    `rows_of` replaces the advantages of the settings' estimator.
    """
    check_sources(config, data)
    policy = build_policy(config)
    samples, held_out = build_sample_sets(config, policy, data=data)
    warm: Sequence[Sample] = ()
    if config.warm_start.tokens:
        warm = build_samples(config, policy, config.task.count, tokens=config.warm_start.tokens, data=data)
    return Trainer(
        policy,
        samples,
        build_reward(config.reward),
        config,
        folder=folder,
        held_out=held_out,
        server=open_server(config.server, policy.stop_ids),
        oracle=ideal_memories,
        warm_samples=warm,
        observe=observe,
        rows_of=rows_of,
        store=RolloutStore(folder, config.plan, config.estimator, every=config.keep_rollouts, way=config.way),
    )


def build_policy(config: TrainConfig) -> Policy:
    """Return the model that the settings name, or a new one over the words of the toy-records task."""
    if config.policy.path:
        return load_policy(config.policy)
    prompts = prompts_for(config.plan, "")
    words = [*vocabulary(), prompts.blank, prompts.unchanged, prompts.answer_template, *prompts.updates.values()]
    return build_fresh_policy(words, config.fresh, config.seed, share_prefixes=config.policy.share_prefixes)


def build_sample_sets(
    config: TrainConfig, policy: Policy, *, data: Path | None = None
) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Return the samples to train on and the held-out ones: of the settings' file, or of their task."""
    task, held_out = config.task, config.evaluation.samples
    if not task.file:
        return (
            build_samples(config, policy, task.count, data=data),
            build_samples(config, policy, held_out, data=data, held_out=True),
        )
    whole = SampleFile(Path(task.file), needs_evidence=config.warm_start.steps > 0)
    if task.held_out:
        training, measured = whole, SampleFile(Path(task.held_out))
    else:
        training, measured = whole.split(held_out, task.seed)
    return training.take(range(min(task.count or len(training), len(training)))), measured


def build_samples(
    config: TrainConfig,
    policy: Policy,
    count: int,
    *,
    tokens: int | None = None,
    data: Path | None = None,
    held_out: bool = False,
) -> Sequence[Sample]:
    """Return `count` samples of the settings' task, of the training length or another."""
    task = config.task
    length, seed = tokens or task.tokens, task.seed + _HELD_OUT_OFFSET * held_out
    if task.name == TASK:
        return toy_records(tokens=length, count=count, seed=seed, **task.options)
    # Made when they are drawn: a large task would take hours and gigabytes to make at once.
    return sample_series(
        task.name,
        tokens=length,
        count=count,
        seed=seed,
        tokenizer=export_tokenizer(policy.tokenizer, "policy"),
        data=data,
        split="dev" if held_out else "train",
        **task.options,
    )
