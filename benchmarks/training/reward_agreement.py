"""Does the reward without labels prefer memories that lead to right answers? Rollouts of warm starts, nothing trained.

    python benchmarks/training/train_labels.py --task toy-bridge --seed 0 --steps 60 --out runs/labels
    python benchmarks/training/reward_agreement.py runs/labels/toy-bridge-evidence-0 --task toy-bridge --count 64

Of each held-out sample G readings are drawn as in a run. R is the reward's, `recovered_probability`. AUC is how often
it is higher for a right reading than for a wrong one of the same sample, over all such pairs: that order within a group
is all that an advantage sees. `expected` is the share of the samples of which the gold answer is among the targets.
`others` is the mean R of last memories of other samples, `silence` that of an empty one: who writes earns more than by
silence where `mean` is above it, and who knows nothing should not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import torch
from train_tiny import load_best

from bookwheel.lab.training.config import ROLLOUT, TrainConfig
from bookwheel.lab.training.launch import build_policy, build_samples
from bookwheel.lab.training.likelihood import LikelihoodCredit
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import RewardResult, build_reward
from bookwheel.lab.training.rollouts import RolloutSettings, roll_group
from bookwheel.lab.training.toys import TOYS
from bookwheel.lab.training.workflows import reading
from bookwheel.types import Memory

if TYPE_CHECKING:
    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.rollouts import Group
    from bookwheel.lab.training.workflows import Episode


def agreement(groups: list[Group]) -> tuple[float, int]:
    """Return the AUC over the pairs of a right and a wrong reading of one sample, and their number."""
    wins = []
    for group in groups:
        scores = {True: [], False: []}
        for one in group.scored:
            scores[one.result.answer > 0].append(one.result.parts.get("recovered_probability", 0.0))
        wins += [(right > wrong) + (right == wrong) / 2 for right, wrong in product(scores[True], scores[False])]
    return fmean(wins) if wins else float("nan"), len(wins)


async def score_strangers(groups: list[Group], credit: LikelihoodCredit) -> dict[str, float]:
    """Return the mean R of each sample's readings, of as many of other samples', and of an empty memory."""

    async def score(episode: Episode, sample: Sample) -> float:
        result = await credit.credit(RewardResult(score=0.0, answer=0.0), episode, sample)
        return result.parts.get("recovered_probability", 0.0)

    others, silence = [], []
    for at, group in enumerate(groups):
        strangers = [groups[(at + 1 + k) % len(groups)].scored[k] for k in range(len(group.scored))]
        others += [await score(one.episode, group.sample) for one in strangers if one.episode.steps[-1].after.text]
        last = group.scored[0].episode.steps[-1]
        empty = replace(group.scored[0].episode, steps=(replace(last, after=Memory.blank(last.after.limit)),))
        silence.append(await score(empty, group.sample))
    own = [one.result.parts.get("recovered_probability", 0.0) for group in groups for one in group.scored]
    return {"mean": fmean(own), "others": fmean(others), "silence": fmean(silence)}


def main() -> None:
    """Draw the readings, score them, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("warm", type=Path)
    parser.add_argument("--task", choices=tuple(TOYS), default="toy-records")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    config = replace(TrainConfig.load("tiny-cpu"), seed=given.seed, reward=RewardSettings(answer=0.0, recovered=1.0))
    config = replace(config, task=replace(config.task, name=given.task))
    policy = build_policy(config)
    load_best(policy, given.warm)
    policy.freeze_reference()
    samples = build_samples(config, policy, given.count, held_out=True)
    model = PolicyModel(policy, plan=config.plan, budget=config.policy.rollout_tokens)
    credit = LikelihoodCredit(model, samples, config)
    how = RolloutSettings(
        model=model,
        workflow=reading(config.plan),
        reward=build_reward(config.reward),
        sampling=ROLLOUT,
        seed=given.seed,
        credits=[credit],
    )

    async def measure() -> tuple[list[Group], list[bool], dict[str, float]]:
        names = [str(number) for number in range(config.group_size)]
        groups = [await roll_group(one, [f"{one.id}/{name}" for name in names], how) for one in samples]
        targets = [await credit.find_targets(one) for one in samples]
        expected = [
            any(one.score(found.text).score for found in its) for one, its in zip(samples, targets, strict=True)
        ]
        return groups, expected, await score_strangers(groups, credit)

    groups, expected, strangers = asyncio.run(measure())
    auc, pairs = agreement(groups)
    right = fmean(one.result.answer for group in groups for one in group.scored)
    told = {"task": given.task, "n": given.count, "right": right, "expected": fmean(expected)}
    print(json.dumps({**told, "auc": auc, "pairs": pairs, **strangers}))


if __name__ == "__main__":
    main()
