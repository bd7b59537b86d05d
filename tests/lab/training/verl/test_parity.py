"""The same trajectories on both engines: the same advantages, the same loss and the same AdamW steps.

verl is installed without what it depends on, and what it imports has stand-ins: only its arithmetic runs here.
"""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from stand_ins import stand_ins

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.rollouts import Group, Rollout, RolloutOutcome, rows_of_groups
from bookwheel.lab.training.step import PolicyOptimizer
from bookwheel.lab.training.toys import toy_samples
from bookwheel.lab.training.verl.credit import row_advantages, split_by_sample
from bookwheel.lab.training.verl.reader import build_rows
from bookwheel.lab.training.verl.settings import ClusterSettings, translate
from bookwheel.lab.training.workflows import Episode
from bookwheel.types import Conversation, Message, Reply, TokenRecord

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("verl") is None, reason="verl is not installed: pip install --no-deps 'verl>=0.9.1,<0.10'"
)
_MICRO = 3


@pytest.fixture(scope="module")
def arithmetic():
    with stand_ins():
        from verl.trainer.ppo import core_algos, rollout_corr_helper

        yield SimpleNamespace(losses=core_algos, correction=rollout_corr_helper)


def make_config(**train):
    return TrainConfig.from_tables(
        {
            "train": {
                "samples": 4,
                "group_size": 4,
                "learning_rate": 1e-3,
                "warmup_steps": 0,
                "policy": {"path": "x", "row_tokens": 200},
                "task": {"name": "toy-records", "tokens": 32, "count": 4},
            }
            | train
        }
    )


def make_groups(vocabulary, section=0):
    """Return four samples, each read four times, in 1 to 5 conversations; one reading of the second sample failed.

    The readings of a sample begin their conversations with the same `section` ids.
    """
    draw = random.Random(5)
    groups = []
    for sample, name in zip(toy_samples(tokens=32, count=4, seed=0), "abcd", strict=True):
        rollouts = []
        sections = [tuple(draw.randrange(vocabulary) for _ in range(section)) for _ in range(5)]
        for session in range(4):
            conversations = tuple(_make_conversation(draw, vocabulary, one) for one in sections[: draw.randint(1, 5)])
            reward = draw.choice([0.0, 0.5, 1.0])
            failed = (name, session) == ("b", 2)
            rollouts.append(
                Rollout(
                    id=f"{name}_{session}",
                    sample=sample,
                    outcome=RolloutOutcome.FAILED if failed else RolloutOutcome.SCORED,
                    episode=Episode(conversations=conversations, answer="", limits=(8,) * len(conversations)),
                    result=None if failed else RewardResult(score=reward, answer=reward),
                )
            )
        groups.append(Group(sample=sample, rollouts=tuple(rollouts)))
    return groups


def _make_conversation(draw, vocabulary, section):
    prompt = section + tuple(draw.randrange(vocabulary) for _ in range(draw.randint(4, 20)))
    reply = tuple(draw.randrange(vocabulary) for _ in range(draw.randint(1, 8)))
    logprobs = tuple(-draw.uniform(2.0, 6.0) for _ in reply)
    record = TokenRecord(prompt=prompt, reply=reply, logprobs=logprobs)
    return Conversation(messages=(Message(role="user", content=""),), reply=Reply(text="", tokens=record))


class VerlEngine:
    """One optimizer step for each mini-batch, by verl's loss under the translated settings."""

    def __init__(self, policy, config, arithmetic):
        settings = translate(config, ClusterSettings(gpus=1), Path("run"))
        prefix = "actor_rollout_ref.actor."
        self.actor = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
        self.correction = settings["algorithm.rollout_correction.rollout_is_threshold"]
        self.model, self.arithmetic = policy.model, arithmetic
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=self.actor["optim.lr"], weight_decay=self.actor["optim.weight_decay"]
        )

    def train(self, rows, advantages, updates):
        with torch.no_grad():
            old = {key: self._logprobs(row) for key, row in rows.items()}
        return [
            self._step({key: rows[key] for key in keys}, advantages, old)
            for keys in split_by_sample(advantages, updates)
        ]

    def _step(self, rows, advantages, old):
        self.optimizer.zero_grad()
        tokens, keys = sum(sum(row.mask) for row in rows.values()), list(rows)
        total = 0.0
        for start in range(0, len(keys), _MICRO):
            micro = keys[start : start + _MICRO]
            loss = self._loss({key: rows[key] for key in micro}, advantages, old, tokens)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.actor["optim.clip_grad"])
        self.optimizer.step()
        return total

    def _loss(self, rows, advantages, old, tokens):
        mask = _pad([torch.tensor(row.mask, dtype=torch.bool) for row in rows.values()])
        before = _pad([old[key] for key in rows])
        sampler = _pad([torch.tensor(row.logprobs) for row in rows.values()])
        new = _pad([self._logprobs(row) for row in rows.values()])
        batch = {"dp_size": 1, "batch_num_tokens": tokens, "global_batch_size": len(rows), "loss_scale_factor": None}
        config = SimpleNamespace(**{key: value for key, value in self.actor.items() if "." not in key})
        config.get = lambda name, default=None: self.actor.get(name, default)
        config.global_batch_info = batch
        weights, _ = self.arithmetic.correction.compute_rollout_correction_weights(
            log_ratio=before - sampler,
            response_mask=mask.float(),
            rollout_is="token",
            rollout_is_threshold=self.correction,
        )
        loss, _ = self.arithmetic.losses.compute_policy_loss_vanilla(
            before,
            new,
            torch.tensor([advantages[key] for key in rows])[:, None] * mask,
            mask,
            config.loss_agg_mode,
            config,
            weights,
        )
        if config.use_kl_loss:
            # The reference is the policy before its first step, as the old policy is.
            divergence = self.arithmetic.losses.kl_penalty(new, before, config.kl_loss_type)
            loss = loss + config.kl_loss_coef * self.arithmetic.losses.agg_loss(
                divergence, mask, config.loss_agg_mode, **batch
            )
        return loss

    def _logprobs(self, row):
        logits = self.model(torch.tensor([row.prompt + row.response])).logits[0, len(row.prompt) - 1 : -1]
        return torch.log_softmax(logits.float(), -1).gather(1, torch.tensor(row.response)[:, None])[:, 0]


def _pad(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


@pytest.mark.parametrize(
    "train",
    [
        {"updates": 1},
        {"updates": 2, "learning_rate": 1e-2},
        {"updates": 4, "learning_rate": 1e-2, "estimator": "leave-one-out", "loss": {"kl": 0.1, "clip_high": 0.3}},
        {"updates": 2, "estimator": "mean-std", "loss": {"kl": 0.0, "importance_cap": 1.5}},
    ],
)
def test_both_engines_take_the_same_steps(train, make_policy, arithmetic):
    config = make_config(**train)
    ours, theirs = make_policy(), make_policy()
    groups = make_groups(len(ours.tokenizer))
    rows = rows_of_groups(groups, config.estimator)

    keyed = {
        f"{rollout.id}_{index}": (row, rollout.result.score)
        for group in groups
        for rollout in group.scored
        for index, row in enumerate(build_rows(rollout.episode))
    }
    advantages = row_advantages({key: reward for key, (_, reward) in keyed.items()}, config.estimator)
    assert list(advantages.values()) == pytest.approx([row.advantage for row in rows], abs=1e-12)

    engine = VerlEngine(theirs, config, arithmetic)
    their_losses = engine.train({key: row for key, (row, _) in keyed.items()}, advantages, config.updates)

    ours.freeze_reference()
    size = len(groups) // config.updates
    parts = [rows_of_groups(groups[at : at + size], config.estimator) for at in range(0, len(groups), size)]
    figures = PolicyOptimizer(ours, config, lambda _: config.learning_rate).reinforce(parts)
    assert figures["loss"] == pytest.approx(sum(their_losses) / len(their_losses), abs=1e-5)
    start = dict(make_policy().model.named_parameters())
    moved = 0.0
    for (name, left), (_, right) in zip(ours.model.named_parameters(), theirs.model.named_parameters(), strict=True):
        assert torch.allclose(left, right, atol=1e-5), name
        moved = max(moved, (left - start[name]).abs().max().item())
    # The weights have moved by much more than they may differ.
    assert moved > 1e-4 * 5
