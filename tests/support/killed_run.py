"""A small run that can kill itself without warning after so many records, in a process of its own or on several ranks.

    sharded    the ranks share the weights out among themselves
    grouped    SHARED in place of CONFIG: what rows have in common is read once, in four mini-batches a batch
    stale      the next batch is sampled while this one is trained on, and some of its rounds are refilled
    resume     from the newest checkpoint

One that lives to its end writes the bytes that each rank held, and a digest of its weights, into `memory-RANK.json`.

`launch` forks its processes from one that has imported everything and done nothing: the imports take four times as long
as the run. `killed_run.py FOLDER RECORDS [OPTION…]` is the same for torchrun.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path

from torch.distributed import TCPStore

from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.config import TrainConfig, WarmStart
from bookwheel.lab.training.loading import build_fresh_policy
from bookwheel.lab.training.objective import LossSettings, RewardSettings
from bookwheel.lab.training.rewards import RewardResult, build_reward
from bookwheel.lab.training.toys import toy_samples, vocabulary
from bookwheel.lab.training.trainer import Trainer
from bookwheel.plan import Layout

CONFIG = TrainConfig.from_tables(
    {
        "train": {
            "steps": 5,
            "samples": 3,
            "group_size": 3,
            "updates": 2,
            "learning_rate": 1e-3,
            "warmup_steps": 1,
            "decay": 0.5,
            "checkpoint_every": 2,
            "fresh": {"hidden": 32, "layers": 1, "heads": 2, "window": 128},
            "loss": {"kl": 0.01},
            "warm_start": {"steps": 3, "until": 1.0, "every": 2, "samples": 2, "learning_rate": 1e-3},
            "evaluation": {"every": 2, "samples": 6},
        },
        "plan": {"prompts": "tiny", "language": "en", "chunk_tokens": 16, "memory_tokens": 8, "answer_tokens": 8},
    }
)

# Section first, so that the rollouts of a sample share; fast enough for bad tokens to become likely within a batch.
SHARED = replace(
    CONFIG,
    steps=8,
    samples=4,
    group_size=6,
    updates=4,
    learning_rate=0.01,
    decay=0.0,
    checkpoint_every=3,
    reward=RewardSettings(overlong=1.0, overlong_share=1.0),
    loss=LossSettings(kl=0.001, clip_high=0.3, dual_clip=1.5),
    warm_start=WarmStart(),
    evaluation=replace(CONFIG.evaluation, every=0),
    plan=replace(CONFIG.plan, layout=Layout.SECTION_FIRST),
)


def luck(episode, sample):
    """A reward with spread for a policy that knows nothing yet: how many letters the answer has."""
    score = len(episode.answer) % 7 / 7
    return RewardResult(score=score, answer=score)


def trainer(folder, *, config=CONFIG, **more):
    import torch

    torch.set_num_threads(1)
    words = [*vocabulary(), "none same notes section question answer"]
    return Trainer(
        build_fresh_policy(words, config.fresh, config.seed, share_prefixes=config.policy.share_prefixes),
        toy_samples(tokens=48, count=10, seed=1),
        # A model that knows nothing earns by short replies, which it learns in a few steps.
        more.pop("reward", luck if config.reward == RewardSettings() else build_reward(config.reward)),
        config,
        folder=folder,
        held_out=toy_samples(tokens=48, count=6, seed=2),
        oracle=ideal_memories,
        **more,
    )


def records(folder, *, clock=False):
    """Return the lines of a run's metrics, without what its clock says."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return lines if clock else [{key: value for key, value in one.items() if key != "clock"} for one in lines]


def assert_alike(mine, theirs):
    """Compare what is counted exactly, and figures to rounding: sums over ranks come in another order."""
    import pytest

    for one, other in zip(mine, theirs, strict=True):
        assert one.keys() == other.keys()
        assert one == {
            key: value if isinstance(value, str | int) else pytest.approx(value, rel=2e-3, abs=1e-5)
            for key, value in other.items()
        }


def held_bytes(run):
    """Return what this rank holds of weights and optimizer state, in bytes."""

    def size(tensor):
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        return local.numel() * local.element_size()

    state = run.optimizer.optimizer.state.values()
    moments = sum(size(value) for one in state for value in one.values() if value.ndim)
    weights = run.policy.trainable
    digest = str(sum(float(weight.detach().double().abs().sum()) for weight in weights))
    return {"weights": sum(map(size, weights)), "moments": moments, "digest": digest}


def train(folder, records, options):
    """Train in this process, which dies after so many records."""
    seen = []

    def die(record):
        seen.append(record)
        if len(seen) == records:
            os.kill(os.getpid(), signal.SIGKILL)

    config = SHARED if "grouped" in options else CONFIG
    config = replace(config, policy=replace(config.policy, sharded="sharded" in options))
    if "stale" in options:
        config = replace(config, steps=12, staleness=2, refills=1, warm_start=WarmStart())
    run = trainer(folder, config=config, observe=die)
    run.train(resume="resume" in options)
    rank = os.environ.get("RANK", "0")
    (folder / f"memory-{rank}.json").write_text(json.dumps(held_bytes(run)), encoding="utf-8")


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "torch.distributed.checkpoint.state_dict",
        "torch.distributed.fsdp",
        "transformers.models.llama.modeling_llama",
        "bookwheel.lab.training.trainer",
        "bookwheel.lab.tasks.memories",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedRun:
    """The end of a run in processes of its own."""

    codes: list[int]
    """The exit code of every rank; below 0 it is the signal that killed it."""
    errors: str


def launch(folder, *options, ranks=1, records=999, timeout=300):
    """Train on so many ranks and wait for their end; where one dies or none ends in time, the others are killed."""
    # The store stands before the ranks do, as torchrun's does: a port that was only looked up, another may take.
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    together = {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }
    errors = folder.with_suffix(".errors")
    errors.touch()
    started = []
    for rank in range(ranks):
        variables = {**together, "RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {}
        started.append(_FORKS.Process(target=_train_forked, args=(folder, records, options, variables, errors)))
        started[-1].start()
    left = {one.sentinel: one for one in started}
    while left:
        ready = [left.pop(sentinel) for sentinel in wait(left, timeout)]
        for ended in ready:
            ended.join()
        # Where nothing ends any more, they wait for each other.
        for other in left.values() if not ready or any(ended.exitcode for ended in ready) else ():
            other.kill()
    return LaunchedRun(codes=[one.exitcode for one in started], errors=errors.read_text(encoding="utf-8"))


def _train_forked(folder, records, options, variables, errors):
    os.environ.update(variables)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    train(folder, records, options)


if __name__ == "__main__":
    train(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
