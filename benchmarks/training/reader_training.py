"""How the reader's adapter learns: long runs, every weight instead of an adapter, and the answers' reward.

    python benchmarks/training/reader_training.py train runs/reader/adapter --steps 720
    python benchmarks/training/reader_training.py train runs/reader/whole --steps 720 --rank 0 --rate 2e-5
    python benchmarks/training/reader_training.py train runs/reader/reward --steps 720
        --begin runs/reader/adapter/checkpoints/step-000180
    python benchmarks/training/reader_training.py train runs/reader/lessons --steps 240 --rate 2e-4 --adapter reader
        --lessons runs/lessons.jsonl
    python benchmarks/training/reader_training.py measure runs/reader/adapter 0 90 180 --out runs/reader/adapter.json
    python benchmarks/training/reader_training.py export runs/reader/adapter 240 runs/reader/adapter-240.gguf
    python benchmarks/training/reader_training.py plot lab/reader.svg runs/reader/*.json
    python benchmarks/training/reader_training.py compare runs/reader/reward.json:240 runs/reader/adapter.json:240

A run is the preset's; stopped, the same command goes on. `--begin` starts from another run's checkpoint, with its
optimizer and its place in the schedule, and maximizes the expected reward of the answer instead of the likelihood of
the right choice. `--lessons` trains on a file of lessons (reader_lessons.py), from the adapter that `--adapter` names.
`measure` poses the choices of held-out articles (SQuAD's development set) to checkpoints of a run: it draws the same
ones whatever it measures, so that two runs can be compared choice by choice. `export` writes the adapter of a
checkpoint, for whole readings (`reader.py --model`).

The expected reward needs no rollout. A policy that draws its passage with the probability softmax(z), or says "not
found" with that of a z of 0, is rewarded where the passage holds a gold answer, or where none does and it says so:

    J = sum over rewarded i of p_i      dJ/dz_i = p_i (r_i - J)

That is what the advantages r - J of many rollouts estimate. Likelihood, which the preset maximizes in much the same
form, is log J: its gradient is this one divided by J, so that questions that are seldom answered right weigh more.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean as mean
from typing import TYPE_CHECKING, Any

import torch
from matplotlib.figure import Figure

from bookwheel.lab.evaluation.calibration import measure_auc
from bookwheel.lab.training import checkpoint, warmstart
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_policy, build_samples, build_trainer, export_adapter, list_turns
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.warmstart import build_lesson, build_rows, choice_loss, compute_log_odds, is_chosen_right

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


def expected_reward(log_odds: Tensor, is_right: Tensor) -> Tensor:
    """Return the probability of a rewarded choice; the first one is that of no passage."""
    probabilities = torch.softmax(torch.cat((log_odds.new_zeros(1), log_odds)), 0)
    return probabilities[torch.cat(((~is_right.any()).reshape(1), is_right))].sum()


def load_config(options: argparse.Namespace) -> TrainConfig:
    """Return the preset with the run's own steps, and another policy where that is asked for."""
    config = TrainConfig.load("reader")
    warm = replace(config.warm_start, steps=options.steps, learning_rate=options.rate)
    if options.lessons:
        warm = replace(warm, lessons=str(options.lessons), samples=options.groups)
    layers = config.policy.lora_layers if options.rank else 0
    policy = replace(config.policy, lora_rank=options.rank, lora_layers=layers, adapter=options.adapter)
    return replace(config, warm_start=warm, policy=policy, seed=options.seed, checkpoint_every=options.every, keep=100)


def train(options: argparse.Namespace) -> None:
    """Run or go on."""
    checkpoints = options.folder / "checkpoints"
    if options.begin:
        warmstart.choice_loss = lambda log_odds, is_right: -expected_reward(log_odds, is_right)
        if not checkpoints.exists():
            shutil.copytree(options.begin, checkpoints / options.begin.name)
            with (options.begin.parent.parent / "metrics.jsonl").open(encoding="utf-8") as metrics:
                done = list(islice(metrics, checkpoint.load_progress(options.begin).metrics_lines))
            (options.folder / "metrics.jsonl").write_text("".join(done), encoding="utf-8")
    trainer = build_trainer(load_config(options), options.folder, data=options.data, observe=print)
    trainer.train(resume=checkpoint.find_newest(checkpoints) is not None)


def find_checkpoint(run: Path, at: int) -> Path:
    """Return the folder of a step."""
    return run / "checkpoints" / f"step-{at:06d}"


def load_run(run: Path, at: int) -> TrainConfig:
    """Return the settings that a run had at a step."""
    return TrainConfig.from_tables(json.loads((find_checkpoint(run, at) / "progress.json").read_text())["settings"])


def export(options: argparse.Namespace) -> None:
    """Write the adapter of a checkpoint."""
    config = load_run(options.folder, options.at)
    policy = build_policy(config)
    checkpoint.load_weights(find_checkpoint(options.folder, options.at) / "weights.safetensors", policy.model)
    plan = replace(config.plan, sampling=config.evaluation.sampling)
    export_adapter(policy, options.out, plan, config.way, turns=list_turns(config))


def measure(options: argparse.Namespace) -> None:
    """Pose held-out choices to checkpoints, and write what came out of each choice."""
    told: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    config = load_run(options.folder, options.at[0])
    policy = build_policy(config)
    model = PolicyModel(policy, plan=config.plan, budget=config.policy.rollout_tokens)
    samples = build_samples(config, policy, options.count, data=options.data, held_out=True)
    lessons = [build_lesson(sample, model.tokenizer, config.plan) for sample in samples]
    choices = [(one.passages, build_rows([one], model, config.plan, "held-out").rows) for one in lessons]
    records = [json.loads(line) for line in (options.folder / "metrics.jsonl").open()]
    for at in options.at:
        if str(at) in told:
            continue
        checkpoint.load_weights(find_checkpoint(options.folder, at) / "weights.safetensors", policy.model)
        policy.model.eval()
        began, outcomes = time.perf_counter(), []
        for passages, rows in choices:
            with torch.no_grad():
                log_odds = compute_log_odds(policy.score(rows).logprobs)
            is_right = torch.tensor([one.is_right for one in passages])
            outcomes.append(
                {
                    "log_odds": log_odds.tolist(),
                    "is_right": is_right.tolist(),
                    "right": is_chosen_right(log_odds, is_right),
                    "loss": choice_loss(log_odds, is_right).item(),
                    "reward": expected_reward(log_odds, is_right).item(),
                }
            )
        minutes = sum(one["clock"]["seconds"] for one in records[:at]) / 60
        told[str(at)] = {"minutes": minutes, "choices": outcomes}
        options.out.write_text(json.dumps(told))
        means = {name: mean([one[name] for one in outcomes]) for name in ("right", "loss", "reward")}
        print(at, f"{minutes:.1f} minutes", means, f"measured in {time.perf_counter() - began:.0f} s", flush=True)


def separation(choices: list[dict[str, Any]]) -> float:
    """Return how often the best passage of a question with an answer is ahead of that of one without (AUC)."""
    return measure_auc([max(one["log_odds"]) for one in choices], [any(one["is_right"]) for one in choices])


PANELS: dict[str, tuple[str, Callable[[list[dict[str, Any]]], float]]] = {
    "right": ("right choices", lambda choices: mean([one["right"] for one in choices])),
    "there": ("an answer is told from none (AUC)", separation),
    "loss": ("loss", lambda choices: mean([one["loss"] for one in choices])),
}


def plot(options: argparse.Namespace) -> None:
    """Draw every run over the minutes of one core, and print what its checkpoints are worth."""
    figure = Figure(figsize=(12, 4), layout="constrained")
    all_axes = dict(zip(PANELS, figure.subplots(1, len(PANELS)), strict=True))
    for path in options.runs:
        told = sorted(json.loads(path.read_text()).values(), key=lambda one: one["minutes"])
        minutes = [one["minutes"] for one in told]
        for name, (_, measured) in PANELS.items():
            bounds = [interval(one["choices"], measured) for one in told]
            centres = [centre for centre, _, _ in bounds]
            bars = [[centre - low for centre, low, _ in bounds], [high - centre for centre, _, high in bounds]]
            all_axes[name].errorbar(minutes, centres, yerr=bars, marker="o", capsize=2, alpha=0.8, label=path.stem)
            for at, (centre, low, high) in zip(minutes, bounds, strict=True):
                print(f"{path.stem:10} {name:6} {at:4.0f} minutes  {centre:.3f} ({low:.3f} to {high:.3f})")
    for name, axes in all_axes.items():
        axes.set(xlabel="minutes of one core", title=PANELS[name][0], ylim=(0, None if name == "loss" else 1))
        axes.grid(alpha=0.3)
    all_axes["right"].legend(loc="lower right")
    figure.savefig(options.picture)


def compare(options: argparse.Namespace) -> None:
    """Print the paired differences between two checkpoints, choice by choice."""
    first, second = (json.loads(path.read_text())[at]["choices"] for path, at in (options.first, options.second))
    for name in ("right", "loss", "reward"):
        differences = [one[name] - other[name] for one, other in zip(first, second, strict=True)]
        centre, low, high = interval(differences, mean)
        print(f"{name:6} {centre:+.3f} ({low:+.3f} to {high:+.3f}), n = {len(first)}")


def interval(values: list[Any], measured: Callable[[list[Any]], float]) -> tuple[float, float, float]:
    """Return what is measured of the values, and its bootstrap interval of 95 %."""
    draw = random.Random(1)
    drawn = sorted(measured(draw.choices(values, k=len(values))) for _ in range(1000))
    return measured(values), drawn[25], drawn[974]


def checkpoint_name(text: str) -> tuple[Path, str]:
    """Return file and step of `runs/reader/adapter.json:180`."""
    path, _, at = text.rpartition(":")
    return Path(path), at


def main() -> None:
    """Train, measure, draw or compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train")
    training.add_argument("folder", type=Path)
    training.add_argument("--steps", type=int, required=True)
    training.add_argument("--rank", type=int, default=16)
    training.add_argument("--rate", type=float, default=4e-4)
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--begin", type=Path)
    training.add_argument("--lessons", type=Path)
    training.add_argument("--groups", type=int, default=3, help="groups of lessons that make a step")
    training.add_argument("--adapter", default="", help="a file that training begins with, or `reader`")
    training.add_argument("--every", type=int, default=30, help="steps between two checkpoints")
    training.set_defaults(run=train)
    measuring = commands.add_parser("measure")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("at", type=int, nargs="+")
    measuring.add_argument("--out", type=Path, required=True)
    measuring.add_argument("--count", type=int, default=120)
    measuring.set_defaults(run=measure)
    exporting = commands.add_parser("export")
    exporting.add_argument("folder", type=Path)
    exporting.add_argument("at", type=int)
    exporting.add_argument("out", type=Path)
    exporting.set_defaults(run=export)
    drawing = commands.add_parser("plot")
    drawing.add_argument("picture", type=Path)
    drawing.add_argument("runs", type=Path, nargs="+")
    drawing.set_defaults(run=plot)
    comparing = commands.add_parser("compare")
    comparing.add_argument("first", type=checkpoint_name)
    comparing.add_argument("second", type=checkpoint_name)
    comparing.set_defaults(run=compare)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.run(options)


if __name__ == "__main__":
    main()
