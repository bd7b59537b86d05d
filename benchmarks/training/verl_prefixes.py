"""What verl's engine saves by reading once what rows share, against verl's engine on each row by itself.

    make .venv-verl/.ready
    .venv-verl/bin/python benchmarks/training/verl_prefixes.py update --out runs/verl-prefixes
    .venv-verl/bin/python benchmarks/training/verl_prefixes.py run --out runs/verl-prefixes --steps 2

`update` scores the same rows and takes one optimizer step with both engines, one process each. `run` is whole runs of
`bookwheel train --engine verl`, on the test bed of tests/lab/training/verl; both draw with the same seeds, so their
first steps have the same rollouts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "lab" / "training" / "verl"))

from bed import ENVIRONMENT, PATH, Bed, build_batch, build_engine, make_base

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.verl.reader import SessionRow

_SHAPE = {"hidden": 256, "layers": 6, "heads": 4, "window": 2048}
_MEMORY = 64
_FIGURES = ("loss", "gradient", "entropy", "reward", "prompt_tokens", "reply_tokens", "shared")


def measure_update(base: Path, section: int, readings: int, *, shares: bool) -> dict[str, float]:
    """Return the figures of one step on readings of two samples, in seconds of processor."""
    import torch
    from torch import distributed

    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    policy = {"path": str(base), "row_tokens": 8192}
    train = {"samples": 2, "group_size": readings, "policy": policy, "warmup_steps": 0, "loss": {"kl": 0.0}}
    config = TrainConfig.from_tables({"train": train})
    engine, loss = build_engine(config, shares=shares)
    draw = random.Random(0)
    rows = []
    for _ in range(2):
        words = draw.choices(range(3, 40), k=section)
        for _ in range(readings):
            own, reply = draw.choices(range(3, 40), k=_MEMORY), draw.choices(range(3, 40), k=_MEMORY)
            rows.append(SessionRow(prompt=words + own, response=reply, mask=[1] * _MEMORY, logprobs=[-4.0] * _MEMORY))
    advantages = [draw.uniform(-1, 1) for _ in rows]
    data = build_batch(rows, advantages, [torch.full((_MEMORY,), -4.0) for _ in rows], config)
    began = time.process_time()
    with engine.eval_mode():
        engine.infer_batch(data)
    scored = time.process_time()
    with engine.train_mode():
        output = engine.train_batch(data, loss_function=loss)
    trained = time.process_time()
    return {
        "old_log_prob": round(scored - began, 2),
        "update": round(trained - scored, 2),
        "loss": sum(output["loss"]),
        "gradient": float(output["metrics"]["grad_norm"]),
        "shared": output["metrics"].get("shared", [0.0])[0],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def run(folder: Path, base: Path, section: int, steps: int) -> None:
    """Train with and without sharing, and print the figures of each step."""
    for name, shares in (("shared", True), ("apart", False)):
        train = {
            "steps": steps,
            "samples": 8,
            "group_size": 8,
            # Of several mini-batches each would have other samples in another run: verl names samples at random.
            "updates": 1,
            "learning_rate": 1e-3,
            "warmup_steps": 0,
            "checkpoint_every": steps,
            "keep_rollouts": 0,
            "policy": {"path": str(base), "row_tokens": 4096, "share_prefixes": shares},
            "task": {"name": "toy-records", "tokens": 2 * section, "count": 64},
            "loss": {"kl": 0.0},
            "reward": {"overlong": 1.0, "overlong_share": 1.0},
            "evaluation": {"every": 0, "samples": 8},
        }
        seeded = "+actor_rollout_ref.rollout.engine_kwargs.cpu={seed: 0}"
        bed = Bed(folder=folder)
        bed.run(bed.write(name, train, seeded, layout="question-section", chunk_tokens=section), folder / name)
        for record in load_records(folder / name):
            if record["kind"] == "step":
                print(name, record["step"], {figure: record.get(figure) for figure in _FIGURES}, flush=True)


def main() -> None:
    """Compare both engines."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("update", "run", "shared", "apart"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--section", type=int, default=256)
    parser.add_argument("--readings", type=int, default=8)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    folder = given.out.resolve()
    base = folder / "base"
    if not base.exists():
        make_base(base, **_SHAPE)
    if given.what == "run":
        run(folder, base, given.section, given.steps)
    elif given.what == "update":
        environment = os.environ | ENVIRONMENT | {"PYTHONPATH": PATH, "VERL_USE_EXTERNAL_MODULES": "cpu_bed"}
        for name in ("shared", "apart"):
            command = [sys.executable, __file__, name, *sys.argv[2:]]
            subprocess.run(command, env=environment, check=True)
    else:
        figures = measure_update(base, given.section, given.readings, shares=given.what == "shared")
        print(given.what, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
