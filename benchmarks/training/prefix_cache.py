"""How many prompt tokens of rollouts a server's prefix cache holds already, in both layouts.

    python benchmarks/training/prefix_cache.py                         counted, by blocks as vLLM has them and by tokens
    python benchmarks/training/prefix_cache.py --engine vllm --block 32  the same, sampled by vLLM, and its own counters

G rollouts of each sample read sections of 768 tokens past memories of up to 64. The policy is new, so every rollout
writes another memory: section, question and template are all that is shared. Of the first section all rollouts share
the whole prompt, since every memory is blank.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch

from bookwheel.lab.training.config import ROLLOUT, FreshSettings
from bookwheel.lab.training.generation import GenerationRequest, GenerationResult, generate
from bookwheel.lab.training.loading import build_fresh_policy
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import build_reward
from bookwheel.lab.training.rollouts import RolloutSettings, roll_group
from bookwheel.lab.training.toys import toy_samples, vocabulary
from bookwheel.lab.training.workflows import reading
from bookwheel.plan import Layout, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.training.policy import Policy

WORDS = "none same notes section question answer"
# While requests of the rollouts in flight come in.
PAUSE = 0.05


class Engine:
    """Samples waiting requests together and notes their prompts in the order in which they are sampled."""

    def __init__(self, policy: Policy) -> None:
        self.prompts: list[tuple[int, ...]] = []
        self._policy = policy
        self._waiting: list[tuple[GenerationRequest, asyncio.Future[GenerationResult]]] = []

    async def submit(self, request: GenerationRequest) -> GenerationResult:
        """Return the request's result when its batch was sampled."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[GenerationResult] = loop.create_future()
        self._waiting.append((request, future))
        if len(self._waiting) == 1:
            self._task = loop.create_task(self._run())
        return await future

    async def _run(self) -> None:
        await asyncio.sleep(PAUSE)
        batch, self._waiting = self._waiting, []
        self.prompts += [request.prompt for request, _ in batch]
        results = self.sample([request for request, _ in batch])
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)

    def sample(self, requests: Sequence[GenerationRequest]) -> list[GenerationResult]:
        """Return the results, sampled by this package."""
        return generate(self._policy.model, requests, stop=self._policy.stop_ids, sharing_limit=4096)

    def measure(self) -> dict[str, float]:
        """Return what the engine counted itself."""
        return {}


class VllmEngine(Engine):
    """The same, sampled by vLLM in this process."""

    def __init__(self, policy: Policy, folder: Path, block: int) -> None:
        super().__init__(policy)
        from vllm import LLM

        policy.save(folder)
        self._llm = LLM(
            model=str(folder),
            dtype="float32",
            block_size=block,
            max_model_len=policy.window,
            enable_prefix_caching=True,
            enforce_eager=True,
            disable_log_stats=False,
        )

    def sample(self, requests: Sequence[GenerationRequest]) -> list[GenerationResult]:
        """Return the results of vLLM."""
        from vllm import SamplingParams

        stop = sorted(self._policy.stop_ids)
        outputs = self._llm.generate(
            [{"prompt_token_ids": list(request.prompt)} for request in requests],
            [
                SamplingParams(
                    max_tokens=request.limit, temperature=1.0, seed=request.seed, stop_token_ids=stop, logprobs=0
                )
                for request in requests
            ],
            use_tqdm=False,
        )
        return [_parse(output.outputs[0]) for output in outputs]

    def measure(self) -> dict[str, float]:
        """Return the prompt tokens that vLLM looked up and found."""
        counts: dict[str, float] = {}
        for metric in self._llm.get_metrics():
            if metric.name in {"vllm:prefix_cache_queries", "vllm:prefix_cache_hits"}:
                counts[metric.name] = counts.get(metric.name, 0) + metric.value
        return {
            "looked_up": counts["vllm:prefix_cache_queries"],
            "vllm": counts["vllm:prefix_cache_hits"] / counts["vllm:prefix_cache_queries"],
        }


def _parse(output: Any) -> GenerationResult:
    return GenerationResult(
        ids=list(output.token_ids),
        logprobs=[entry[token].logprob for entry, token in zip(output.logprobs, output.token_ids, strict=True)],
        stopped=output.finish_reason == "stop",
    )


def count_hits(prompts: Sequence[tuple[int, ...]], block: int) -> float:
    """Return the share of prompt tokens in blocks that an earlier prompt, or one before it in the batch, began with."""
    known: set[tuple[int, ...]] = set()
    hits = 0
    for prompt in prompts:
        # The last token is computed anyway: the first sampled one follows from it.
        ends = range(block, len(prompt), block)
        hits += max((end for end in ends if prompt[:end] in known), default=0)
        known.update(prompt[:end] for end in range(block, len(prompt) + 1, block))
    return hits / sum(map(len, prompts))


def measure(layout: Layout, given: argparse.Namespace) -> dict[str, Any]:
    """Roll out every sample in one layout, and return the shares."""
    plan = Plan(
        prompts="tiny",
        language="en",
        layout=layout,
        question_tokens=8,
        chunk_tokens=768,
        memory_tokens=64,
        answer_tokens=64,
    )
    shape = FreshSettings(hidden=64, layers=1, heads=2, window=2048)
    policy = build_fresh_policy([*vocabulary(), WORDS], shape, seed=0)
    samples = toy_samples(tokens=768 * given.chunks, count=given.samples, seed=0)
    with TemporaryDirectory() as folder:
        engine = VllmEngine(policy, Path(folder), given.block) if given.engine == "vllm" else Engine(policy)
        how = RolloutSettings(
            model=PolicyModel(policy, plan=plan, sampler=engine),
            workflow=reading(plan),
            reward=build_reward(RewardSettings()),
            sampling=ROLLOUT,
            seed=0,
        )

        async def roll() -> None:
            for sample in samples:
                group = await roll_group(sample, [f"{sample.id}/{k}" for k in range(given.group)], how)
                failed = [one.error for one in group.rollouts if one.error]
                assert not failed, failed

        asyncio.run(roll())
        counted = engine.measure()
    return {
        "layout": str(layout),
        "prompts": len(engine.prompts),
        "tokens": sum(map(len, engine.prompts)),
        "block": given.block,
        "blocks": round(count_hits(engine.prompts, given.block), 4),
        "single_tokens": round(count_hits(engine.prompts, 1), 4),
        **counted,
    }


def main() -> None:
    """Print a line for each layout."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=("own", "vllm"), default="own")
    parser.add_argument("--block", type=int, default=16, help="tokens; vLLM takes multiples of 32 on a CPU")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--group", type=int, default=8)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for layout in Layout:
        print(json.dumps(measure(layout, given)), flush=True)


if __name__ == "__main__":
    main()
