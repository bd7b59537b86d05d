"""Seconds and peak memory of a whole training step, with shared prefixes, without them, and by TRL's GRPOTrainer.

    python benchmarks/training/shared_prefixes.py --turns 2 [--trl PYTHON]  in turn, each step in a process of its own
    python benchmarks/training/shared_prefixes.py --only shared             one of them, as one line of JSON

One sample, G = 8: every rollout reads the same section of 768 words past a memory of 64 words of its own and replies
with 64. The model has the shape of SmolLM2-135M and random weights; one thread, float32, no KL, one optimizer step. TRL
gets the same number of rows of the same length, and does what it does: 8 completions of one prompt. A whole step is
rollouts, rewards, log-probabilities, gradients and AdamW; `update` is all but the rollouts.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.lab.training.config import PolicySettings, TrainConfig, WarmStart
from bookwheel.lab.training.loading import build_word_tokenizer
from bookwheel.lab.training.objective import LossSettings
from bookwheel.lab.training.policy import Policy
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.trainer import Trainer
from bookwheel.lab.training.workflows import Episode
from bookwheel.plan import Plan
from bookwheel.types import Conversation, Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.base import Model

WORDS = [f"w{i}" for i in range(49152 - 5)]
QUESTION = 16


def build_model(layers: int) -> Any:
    """Return SmolLM2-135M's shape with random weights."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=layers,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config)


def draw_words(seed: object, count: int) -> str:
    """Return some words."""
    return " ".join(Random(str(seed)).choices(WORDS, k=count))


class OneUpdate:
    """A workflow: one update of a memory that every rollout has for itself, section first."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.rollouts = 0
        self.ended = (0.0, 0.0)

    async def __call__(self, model: Model, sample: Sample) -> Episode:
        """Return the one conversation."""
        self.rollouts += 1
        memory = draw_words(self.rollouts, self.given.memory)
        messages = (Message(role="user", content=f"{sample.text} {sample.question} {memory}"),)
        reply = await model.reply(messages, limit=self.given.memory, sampling=Plan().sampling)
        self.ended = (time.perf_counter(), time.process_time())
        return Episode(
            conversations=(Conversation(messages=messages, reply=reply),), answer="", limits=(self.given.memory,)
        )


def ours(given: argparse.Namespace, *, share_prefixes: bool) -> dict[str, float]:
    """Time our step."""
    config = TrainConfig(
        steps=1,
        samples=1,
        group_size=given.group,
        warmup_steps=0,
        keep_rollouts=0,
        checkpoint_every=10**6,
        loss=LossSettings(kl=0.0),
        policy=PolicySettings(row_tokens=given.row_tokens, share_prefixes=share_prefixes),
        warm_start=WarmStart(),
        plan=Plan(prompts="tiny", language="en"),
    )
    policy = Policy(build_model(given.layers), build_word_tokenizer([" ".join(WORDS)]), share_prefixes=share_prefixes)
    text, question = draw_words("section", given.section), draw_words("question", QUESTION)
    document = SampleDocument("section", [text])
    sample = Sample(id="0", task="section", question=question, golds=("none",), document=document, metric="qa_f1")
    workflow = OneUpdate(given)

    def reward(episode: Episode, sample: Sample) -> RewardResult:  # noqa: ARG001 - the trainer names it
        """Return a reward with spread."""
        score = float(sum(map(ord, episode.conversations[-1].reply.text)) % 2)
        return RewardResult(score=score, answer=score)

    with TemporaryDirectory() as folder:
        trainer = Trainer(policy, [sample], reward, config, folder=Path(folder) / "run", workflow=workflow)
        # No checkpoint is part of the step, and its serialisation would count as peak memory.
        trainer._save = lambda *_: None  # type: ignore[method-assign]
        began = (time.perf_counter(), time.process_time())
        before = resource.getrusage(resource.RUSAGE_SELF)
        trainer.train()
        cpu, after = time.process_time() - began[1], resource.getrusage(resource.RUSAGE_SELF)
        (record,) = [one for one in load_records(Path(folder) / "run") if one["kind"] == "step"]
    seconds = record["clock"]["seconds"]
    return {
        "seconds": seconds,
        "rollouts": workflow.ended[0] - began[0],
        "update": seconds - (workflow.ended[0] - began[0]),
        "cpu": cpu,
        "cpu_rollouts": workflow.ended[1] - began[1],
        "cpu_update": cpu - (workflow.ended[1] - began[1]),
        "before": before.ru_maxrss / 1024,
        "peak": after.ru_maxrss / 1024,
        "loss": record["loss"],
        "gradient": record["gradient"],
    }


def theirs(given: argparse.Namespace) -> dict[str, float]:
    """Time TRL's step."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    words = given.section + QUESTION + given.memory
    model, tokenizer = build_model(given.layers), build_word_tokenizer([" ".join(WORDS)])

    def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        return [float(sum(ids) % 2) for ids in completion_ids]

    with TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=given.group,
            num_generations=given.group,
            max_completion_length=given.memory,
            max_steps=1,
            beta=0.0,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            report_to="none",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=config,
            train_dataset=Dataset.from_dict({"prompt": [[{"role": "user", "content": draw_words("section", words)}]]}),
            processing_class=tokenizer,
        )
        before, began = resource.getrusage(resource.RUSAGE_SELF), (time.perf_counter(), time.process_time())
        trainer.train()
        seconds, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu": cpu,
        "before": before.ru_maxrss / 1024,
        "peak": after.ru_maxrss / 1024,
    }


def run_one(python: str, name: str, arguments: Sequence[str]) -> dict[str, float]:
    """Run one of them in a process of its own."""
    command = [python, __file__, "--only", name, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, float] = json.loads(output.splitlines()[-1])
    print(json.dumps({"what": name, **result}), flush=True)
    return result


def main() -> None:
    """Run one step, or all of them turn about and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["shared", "plain", "trl"])
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--trl", metavar="PYTHON", help="an interpreter with TRL, where it is to be compared")
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--section", type=int, default=768)
    parser.add_argument("--memory", type=int, default=64)
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--row-tokens", type=int, default=16384)
    given, arguments = parser.parse_args(), sys.argv[1:]
    torch.set_num_threads(1)
    if given.only:
        print(json.dumps(theirs(given) if given.only == "trl" else ours(given, share_prefixes=given.only == "shared")))
        return
    pythons = {"shared": sys.executable, "plain": sys.executable} | ({"trl": given.trl} if given.trl else {})
    results: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
    for _ in range(given.turns):
        for name, python in pythons.items():
            results[name].append(run_one(python, name, [one for one in arguments if one not in ("--trl", given.trl)]))
    medians = {
        name: {key: statistics.median(one[key] for one in each) for key in each[0]} for name, each in results.items()
    }
    ratios = {
        f"{key}, {name} over shared": medians[name][key] / medians["shared"][key]
        for name in pythons
        if name != "shared"
        for key in ("seconds", "cpu", "peak")
    }
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()
