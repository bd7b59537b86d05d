"""The whole of training in one file: a model from nothing learns to keep a memory. Needs bookwheel[train].

    python examples/train_loop.py                 some minutes on one core
    python examples/train_loop.py --warm 2 --steps 1

A document is a list of short records, "oak has red .", and the question asks for one of them. It is read in chunks of
four records, past a memory of eight words. Training has two parts:

    1. imitate    ideal memories, so that some readings are right at all
    2. reinforce  for each of S samples, G readings; each reading earns 1 if its answer is right and 0 if not

        A_i  = R_i - mean(R_1 .. R_G)                       one number a reading, on every token that it wrote
        r_t  = exp(log p_new(x_t) - log p_old(x_t))         1 in the first step, and then how far the policy has moved
        loss = -1/T sum_t min(r_t A_t, clip(r_t, 0.8, 1.3) A_t)

A reading of K chunks is K + 1 conversations: K times (question, memory, chunk) -> memory, and once (question, memory)
-> answer. Each is a row of token ids that is trained by itself. So the memory is learned through reward alone: nothing
tells the model which memory was good, only that readings which kept the right record were right more often.

What the trainer of `bookwheel train` adds: checkpoints and resuming, a reference policy, several GPUs, servers that
sample, failed rollouts as data, metrics. The pieces are the same ones, so a change here can be tried there.
"""

import argparse
import asyncio
from random import Random

import torch

from bookwheel.lab.tasks.base import Sample
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.advantages import advantages
from bookwheel.lab.training.config import FreshSettings
from bookwheel.lab.training.loading import build_fresh_policy
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rows import Row, rows_of
from bookwheel.lab.training.toys import toy_samples, vocabulary
from bookwheel.lab.training.warmstart import ideal_rows
from bookwheel.lab.training.workflows import Episode, reading
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.prompts import prompts_for

PLAN = Plan(prompts="tiny", language="en", question_tokens=8, chunk_tokens=16, memory_tokens=8, answer_tokens=8)
SAMPLES, GROUP = 16, 8
LOW, HIGH = 0.2, 0.3
HELD_OUT = 64


def build_policy(seed: int) -> tuple[PolicyModel, torch.optim.Optimizer]:
    """Return a Llama of half a million weights over the words of the task, and AdamW over them."""
    prompts = prompts_for(PLAN, "")
    words = [*vocabulary(), prompts.blank, prompts.unchanged, prompts.answer_template, *prompts.updates.values()]
    policy = build_fresh_policy(words, FreshSettings(hidden=128, layers=3, heads=4, window=256), seed)
    return PolicyModel(policy, plan=PLAN), torch.optim.AdamW(policy.trainable, lr=1e-3, weight_decay=0.01)


def step(model: PolicyModel, optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> float:
    """Take one step of the optimizer, with the gradient clipped to a norm of 1."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.policy.trainable, 1.0)
    optimizer.step()
    return loss.item()


def imitate(model: PolicyModel, optimizer: torch.optim.Optimizer, samples: list[Sample]) -> float:
    """Make the ideal memories of these samples likelier: the mean negative log-probability of every token."""
    rows = [row for sample in samples for row in ideal_rows(sample, model, PLAN, ideal_memories)]
    return step(model, optimizer, -model.policy.score(rows).logprobs.mean())


async def roll_out(model: PolicyModel, samples: list[Sample], group: int, sampling: Sampling) -> list[list[Episode]]:
    """Read every sample `group` times, all at once; a reading's seed decides what it draws."""
    read, dice = reading(PLAN), Random(sampling.seed)  # noqa: S311 - no secrets
    sampled = [(one, model.for_rollout(dice.getrandbits(48), sampling)) for one in samples for _ in range(group)]
    episodes = await asyncio.gather(*(read(reader, one) for one, reader in sampled))
    return [list(episodes[at : at + group]) for at in range(0, len(episodes), group)]


def credit(samples: list[Sample], groups: list[list[Episode]]) -> tuple[list[Row], float]:
    """Return every conversation as a row with the advantage of its reading, and the mean reward."""
    rows, total = [], 0.0
    for sample, episodes in zip(samples, groups, strict=True):
        rewards = [sample.score(episode.answer).score for episode in episodes]
        total += sum(rewards)
        for number, (episode, advantage) in enumerate(zip(episodes, advantages(rewards), strict=True)):
            # With equal rewards there is nothing to learn from.
            rows += rows_of(episode.conversations, advantage, f"{sample.id}/{number}") if advantage else []
    return rows, total / sum(map(len, groups))


def reinforce(model: PolicyModel, optimizer: torch.optim.Optimizer, rows: list[Row], updates: int = 2) -> float:
    """Take `updates` steps on the same readings; from the second on, the clip bounds how far the policy moves."""
    old = torch.tensor([logprob for row in rows for logprob in row.logprobs])
    advantage = torch.tensor([row.advantage for row in rows for _ in row.logprobs])
    loss = 0.0
    for _ in range(updates):
        ratio = torch.exp(model.policy.score(rows).logprobs - old)
        bounded = ratio.clamp(1 - LOW, 1 + HIGH)
        loss = step(model, optimizer, -torch.minimum(ratio * advantage, bounded * advantage).mean())
    return loss


def measure(model: PolicyModel, samples: list[Sample]) -> float:
    """Return the share of held-out samples that are answered right."""
    groups = asyncio.run(roll_out(model, samples, 1, Sampling(temperature=0.7, top_p=0.95, seed=0)))
    return sum(sample.score(one.answer).score for sample, (one,) in zip(samples, groups, strict=True)) / len(samples)


def main() -> None:
    """Train, and print a line every few steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--warm", type=int, default=1500)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    samples = toy_samples(tokens=64, count=4096, seed=0)
    held_out = toy_samples(tokens=64, count=HELD_OUT, seed=7919)
    dice = Random(0)  # noqa: S311 - no secrets
    model, optimizer = build_policy(seed=0)
    for number in range(1, options.warm + 1):
        loss = imitate(model, optimizer, dice.choices(samples, k=SAMPLES))
        if number % 100 == 0 or number == options.warm:
            print(f"imitate {number:5}   loss {loss:.3f}   held out {measure(model, held_out):.0%}")
    for group in optimizer.param_groups:
        group["lr"] = 5e-4
    for number in range(1, options.steps + 1):
        drawn = dice.sample(samples, SAMPLES)
        sampling = Sampling(temperature=1.0, top_p=1.0, seed=number)
        rows, reward = credit(drawn, asyncio.run(roll_out(model, drawn, GROUP, sampling)))
        if rows:
            reinforce(model, optimizer, rows)
        if number % 10 == 0 or number == options.steps:
            print(f"reinforce {number:3}   reward {reward:.2f}   held out {measure(model, held_out):.0%}")


if __name__ == "__main__":
    main()
