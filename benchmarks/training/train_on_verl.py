"""The embedded trainer and verl's on the same settings, from the same warm policy, on one machine without a GPU.

    make .venv-verl/.ready
    bookwheel train warm.toml --out runs/warm          # a small policy that knows a part of the task
    .venv-verl/bin/python benchmarks/training/train_on_verl.py runs/warm/policy --seeds 3 --steps 20 --out runs/engines
    .venv-verl/bin/python benchmarks/training/train_on_verl.py --seeds 3 --steps 12 --out runs/engines

Without a policy it is a new one that knows nothing. It earns by short replies, which it learns in a few steps.
Runs on verl are whole ones, on the test bed of tests/training/verl: Ray, TransferQueue, FSDP2, rollouts by
transformers. A run that is there already is not done again, so an interrupted comparison goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean, stdev

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "lab" / "training" / "verl"))

from bed import Bed, make_base
from matplotlib.figure import Figure

from bookwheel.lab.training.records import load_records

# Of Student's distribution, two-sided 95 %, by degrees of freedom.
_QUANTILES = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78}
_WINDOW = 3
_SMOOTH = 5
# Of a policy that knows nothing: small batches and large steps.
_SHORT = {
    "samples": 6,
    "group_size": 4,
    "updates": 3,
    "learning_rate": 3e-3,
    "task": {"name": "toy-records", "tokens": 32, "count": 2048},
    "loss": {"kl": 0.0},
    "reward": {"overlong": 1.0, "overlong_share": 1.0},
}


def settings(warm: Path, steps: int) -> dict:
    """Return `[train]` for both engines; each has its own way to share prefixes, which changes no figure."""
    return {
        "steps": steps,
        "samples": 16,
        "group_size": 8,
        "updates": 2,
        "learning_rate": 5e-4,
        "warmup_steps": 0,
        "checkpoint_every": steps,
        "keep_rollouts": 0,
        "policy": {"path": str(warm.resolve())},
        # Other samples than those of the warm start, which it may know by heart.
        "task": {"name": "toy-records", "tokens": 32, "count": 2048, "seed": 1},
        "loss": {"kl": 0.0, "clip_high": 0.3},
        "evaluation": {"every": steps, "samples": 128},
    }


def summarize(folder: Path) -> dict[str, float]:
    """Return a run's mean reward in its first and last steps, and its accuracy before and after."""
    records = load_records(folder)
    rewards = [record["reward"] for record in records if record["kind"] == "step"]
    accuracies = [record["accuracy"] for record in records if record["kind"] == "evaluation"]
    return {
        "first": mean(rewards[:_WINDOW]),
        "last": mean(rewards[-_WINDOW:]),
        "before": accuracies[0],
        "after": accuracies[-1],
    }


def describe(values: list[float]) -> str:
    """Return mean and 95 % interval of the seeds' values."""
    if len(values) - 1 not in _QUANTILES:
        return f"{mean(values):.3f}"
    half = _QUANTILES[len(values) - 1] * stdev(values) / len(values) ** 0.5
    return f"{mean(values):.3f} ({mean(values) - half:.3f} to {mean(values) + half:.3f})"


def plot(folders: dict[str, list[Path]], out: Path) -> None:
    """Draw the reward of every run against its steps, thin, and the mean of an engine's runs, smoothed."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for number, (engine, runs) in enumerate(folders.items()):
        rewards = [[record["reward"] for record in load_records(one) if record["kind"] == "step"] for one in runs]
        for reward in rewards:
            axes.plot(range(1, len(reward) + 1), reward, color=f"C{number}", alpha=0.25, linewidth=1)
        means = [mean(step) for step in zip(*rewards, strict=True)]
        smooth = [mean(means[max(0, at - _SMOOTH // 2) : at + _SMOOTH // 2 + 1]) for at in range(len(means))]
        axes.plot(range(1, len(smooth) + 1), smooth, color=f"C{number}", linewidth=2.5, label=engine)
    axes.set(
        xlabel="step",
        ylabel="reward",
        title=f"mean reward of a step's rollouts; thick: the mean of {len(runs)} seeds and {_SMOOTH} steps",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(out / "engines.svg")


def main() -> None:
    """Train with both engines for each seed and print their figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("warm", type=Path, nargs="?")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, list[dict[str, float]]] = {"embedded": [], "verl": []}
    bed = Bed(folder=given.out.resolve())
    warm = given.warm or make_base(bed.folder / "base", hidden=32, layers=1, heads=2, window=128)
    file = bed.write("settings", settings(warm, given.steps) | ({} if given.warm else _SHORT))
    for seed in range(given.seeds):
        out = bed.folder / f"embedded-{seed}"
        command = [sys.executable, "-m", "bookwheel", "train", str(file), "--seed", str(seed), "--threads", "1", "-q"]
        if not (out / "curves.svg").exists():
            subprocess.run([*command, "--out", str(out)], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        results["embedded"].append(summarize(out))
        print(json.dumps({"engine": "embedded", "seed": seed, **results["embedded"][-1]}), flush=True)
    for seed in range(given.seeds):
        out = bed.folder / f"verl-{seed}"
        if not (out / "curves.svg").exists():
            bed.run(file, out, "--seed", str(seed))
        results["verl"].append(summarize(out))
        print(json.dumps({"engine": "verl", "seed": seed, **results["verl"][-1]}), flush=True)
    plot({engine: [bed.folder / f"{engine}-{seed}" for seed in range(given.seeds)] for engine in results}, given.out)
    for engine, runs in results.items():
        print(engine, {name: describe([one[name] for one in runs]) for name in runs[0]})


if __name__ == "__main__":
    main()
