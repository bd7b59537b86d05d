"""See if a training run that meets every fault ends where an undisturbed one does.

Question: can a run be left alone? Note: lab/2026-11-29-labels.md. Last run: 2026-11-29.

    python benchmarks/faults/soak_training.py --folder soak --warm 800 --steps 200 --every 20

One warm start of the preset tiny-cpu is made. Two copies of it go on with as many steps of reinforcement:

    calm    nothing happens
    storm   replies with log-probabilities NaN and -inf and with unknown ids, lost servers, rewards that are NaN,
            samples that cannot be made, updates without a number: each of them once every so many steps, as soon as it
            can happen. Then the process is killed, and finds its newest checkpoint with a flipped bit or cut short, its
            metrics torn, or both

Prints one JSON object: held-out accuracy of both with 95 % intervals, and what was counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any


def build(folder: Path, warm: int, steps: int, seed: int) -> Any:
    import torch

    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.launch import build_trainer

    torch.set_num_threads(1)
    config = replace(TrainConfig.load("tiny-cpu"), seed=seed)
    warm_start = replace(config.warm_start, steps=warm, until=0.0)
    evaluation = replace(config.evaluation, every=max(1, steps // 3))
    config = replace(config, steps=steps, warm_start=warm_start, evaluation=evaluation, checkpoint_every=5)
    return build_trainer(config, folder)


def disturb(trainer: Any, every: int) -> None:  # noqa: C901 - one fault after the other
    """Let every kind of fault happen inside the process once in `every` steps, and again after each kill."""
    import torch

    from bookwheel.lab.tasks.base import InfeasibleSample

    plain, reward, score, samples = trainer.model._sampler, trainer.reward, trainer.policy.score, trainer.samples
    done: dict[str, int] = {}

    def is_due(kind: str) -> bool:
        turn = trainer.steps_done // every
        if trainer.is_warming_up or done.get(kind) == turn:
            return False
        done[kind] = turn
        return True

    class Sampler:
        async def submit(self, request: Any) -> Any:
            result = await plain.submit(request)
            if is_due("nan"):
                result.logprobs[0] = nan
            elif is_due("-inf"):
                result.logprobs[-1] = -inf
            elif is_due("id"):
                result.ids[0] = 10**6
            elif is_due("lost"):
                raise ConnectionError("the server is lost")
            elif is_due("silent"):
                raise TimeoutError("the server sent nothing")
            return result

    def judge(episode: Any, sample: Any) -> Any:
        result = reward(episode, sample)
        return replace(result, score=nan) if is_due("reward") else result

    class Samples:
        def __len__(self) -> int:
            return len(samples)

        def __getitem__(self, place: int) -> Any:
            if is_due("sample"):
                raise InfeasibleSample(f"sample {place} has no room for its answer")
            return samples[place]

    def spoil(rows: Any) -> Any:
        scored = score(rows)
        if torch.is_grad_enabled() and scored.logprobs.requires_grad and is_due("update"):
            return replace(scored, logprobs=scored.logprobs * nan)
        return scored

    trainer.model._sampler, trainer.reward, trainer.policy.score = Sampler(), judge, spoil
    trainer._order._samples = Samples()


def damage(folder: Path, number: int) -> str:
    """Harm what a killed run left behind, in another way each time, and return how."""
    newest = max((folder / "checkpoints").glob("step-*"))
    file = newest / ("weights.safetensors", "optimizer.pt", "progress.json", "weights.safetensors")[number % 4]
    raw = bytearray(file.read_bytes())
    if number % 2:
        file.write_bytes(raw[: len(raw) // 2])
    else:
        raw[len(raw) // 2] ^= 4
        file.write_bytes(raw)
    if number % 4:
        with (folder / "metrics.jsonl").open("ab") as metrics:
            metrics.write(b'{"kind": "step", "st' if number % 4 == 1 else b"\0" * 100)
    return f"{newest.name}/{file.name} {'cut' if number % 2 else 'flipped'}{', metrics torn' if number % 4 else ''}"


def storm(command: list[str], folder: Path, steps: int, every: int) -> list[str]:
    """Run to the end through all kills, and return what was damaged."""
    damages = []
    for number, last in enumerate(range(every, steps, every)):
        process = subprocess.Popen(command)
        while process.poll() is None and count_steps(folder) < last:
            time.sleep(0.05)
        assert process.poll() is None, f"the run ended by itself with {process.returncode}"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        damages.append(damage(folder, number))
    assert subprocess.run(command, check=False).returncode == 0
    return damages


def read_records(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith(b"{") and line.endswith(b"}")]


def count_steps(folder: Path) -> int:
    return sum(one["kind"] == "step" for one in read_records(folder))


def sum_up(folder: Path) -> dict[str, Any]:
    from bookwheel.lab.training.records import held_out_scores, load_records

    records = load_records(folder)
    steps = [one for one in records if one["kind"] == "step"]
    scores = [one for one in held_out_scores(records) if not one.warm]
    shown = [f"{100 * one.accuracy:.1f} % ({100 * one.low:.1f} to {100 * one.high:.1f})" for one in scores]
    return {
        "steps": len(steps),
        "held_out": dict(zip((one.step for one in scores), shown, strict=True)),
        "n": scores[-1].n,
        "rollouts": sum(one["rollouts"] for one in steps),
        "failed": sum(one["failed"] for one in steps),
        "updates": sum(one.get("updates", 0) for one in steps),
        "bad_updates": sum(one.get("bad_updates", 0) for one in steps),
        "seconds": round(sum(one["clock"]["seconds"] for one in steps)),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=Path("soak"))
    parser.add_argument("--warm", type=int, default=800)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=20, help="steps between two faults of a kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", choices=["warm", "calm", "storm"])
    options = parser.parse_args()
    if options.child:
        steps = 0 if options.child == "warm" else options.steps
        trainer = build(options.folder / options.child, options.warm, options.steps, options.seed)
        trainer.config = replace(trainer.config, steps=steps)
        trainer._files._config = trainer.config
        if options.child == "storm":
            disturb(trainer, options.every)
        trainer.train(resume=options.child != "warm")
        return
    numbers = [f"--{name}={getattr(options, name)}" for name in ("folder", "warm", "steps", "every", "seed")]
    command = [sys.executable, __file__, *numbers, "--child"]
    subprocess.run([*command, "warm"], check=True)
    for name in ("calm", "storm"):
        shutil.copytree(options.folder / "warm", options.folder / name)
    subprocess.run([*command, "calm"], check=True)
    damages = storm([*command, "storm"], options.folder / "storm", options.steps, options.every)
    found = {name: sum_up(options.folder / name) for name in ("calm", "storm")}
    print(json.dumps({**found, "damages": damages}, indent=1))


if __name__ == "__main__":
    main()
