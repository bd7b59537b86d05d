"""Train a preset, then read with it before and after at many lengths: what a run on one GPU is judged by.

    python benchmarks/training/train_lengths.py smollm2-135m --policy FOLDER --out runs/needles
    python benchmarks/training/train_lengths.py smollm2-135m --policy FOLDER --out runs/questions
        --task hqa --data FOLDER
    python benchmarks/training/train_lengths.py tiny-cpu --out runs/tiny --lengths 64 640 6400

It stands on torch, transformers, peft and safetensors alone, so it runs from a checkout (PYTHONPATH=src) on a machine
with nothing else. `--minutes` bounds the training; a run that was stopped goes on when the command is given again.
The result is one JSON file: accuracy with its 95 % interval before and after, for each length; tokens read and written
a second; peak memory of the device. The curve in between stands in the run's metrics.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from train_tiny import measure

from bookwheel.lab.training import checkpoint
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_trainer
from bookwheel.lab.training.records import load_records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bookwheel.lab.training.trainer import Trainer


class OutOfTime(Exception):
    """The minutes are over; the newest checkpoint stands."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="a preset or a TOML file")
    parser.add_argument("--policy", help="the folder, GGUF or name of the model, in place of the preset's")
    parser.add_argument("--task", help="in place of the preset's")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lengths", type=int, nargs="+", default=[8192, 32768, 131072, 524288])
    parser.add_argument("--count", type=int, default=64, help="samples a length")
    parser.add_argument("--minutes", type=float, default=22.0, help="of training, warm start included")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def configured(given: argparse.Namespace) -> TrainConfig:
    config = replace(TrainConfig.load(given.config), seed=given.seed)
    if given.policy:
        config = replace(config, policy=replace(config.policy, path=given.policy))
    if given.task:
        config = replace(config, task=replace(config.task, name=given.task))
    return config


def at_lengths(trainer: Trainer, config: TrainConfig, given: argparse.Namespace) -> list[dict[str, float]]:
    """Accuracy and speed for each length."""
    told = []
    for length in given.lengths:
        found = measure(trainer.policy, config, length, given.count, given.data)
        told.append({**found, "document_tokens_a_second": round(length * given.count / found["seconds"])})
        print(json.dumps(told[-1]), flush=True)
    return told


def clock(minutes: float) -> Callable[[Mapping[str, Any]], None]:
    """Told every record; stops the run when its minutes are over."""
    until: list[float] = []

    def watch(record: Mapping[str, Any]) -> None:
        print(json.dumps(record), flush=True)
        until.append(time.monotonic() + 60 * minutes)
        if time.monotonic() > until[0]:
            raise OutOfTime

    return watch


def trained(trainer: Trainer, given: argparse.Namespace) -> bool:
    """Train; whether the run came to its end."""
    going = checkpoint.find_newest(given.out / "run" / "checkpoints") is not None
    try:
        trainer.train(resume=going)
    except OutOfTime:
        return False
    return True


def rates(folder: Path) -> dict[str, float]:
    """Tokens a second over all reinforcement steps: read and written in rollouts, and trained on."""
    steps = [record for record in load_records(folder) if record["kind"] == "step"]
    seconds = sum(record["clock"]["seconds"] for record in steps) or 1.0
    names = ("prompt_tokens", "reply_tokens", "tokens")
    return {name: round(sum(record.get(name, 0) for record in steps) / seconds, 1) for name in names}


def main() -> None:
    given = options()
    config = configured(given)
    given.out.mkdir(parents=True, exist_ok=True)
    folder, result = given.out / "run", given.out / "lengths.json"
    told: dict[str, Any] = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    trainer = build_trainer(config, folder, data=given.data, observe=clock(given.minutes))
    if "before" not in told:
        told["before"] = at_lengths(trainer, config, given)
        result.write_text(json.dumps(told, indent=1), encoding="utf-8")
    told["whole"] = trained(trainer, given)
    best = folder / "checkpoints" / "best"
    place = best if best.exists() else checkpoint.find_newest(folder / "checkpoints")
    checkpoint.load_weights(place / "weights.safetensors", trainer.policy.model)
    told["after"] = at_lengths(trainer, config, given)
    told["rates"] = rates(folder)
    told["seconds"] = round(sum(record["clock"]["seconds"] for record in load_records(folder)))
    told["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    told["peak_mb"] = round(torch.cuda.max_memory_allocated() / 2**20) if torch.cuda.is_available() else None
    result.write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
