"""Two runs on verl from one new policy, one that reads what rows share once and one that reads every row by itself.

    make .venv-verl/.ready
    .venv-verl/bin/python benchmarks/training/verl_prefixes.py --out runs/verl-prefixes --steps 4 --nodes 1

Whole runs of `bookwheel train --engine verl` on the test bed of tests/lab/training/verl, on processors. Both draw with
the same seeds, so their first steps have the same rollouts.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "lab" / "training" / "verl"))

from bed import Bed, make_base, start_cluster

from bookwheel.lab.training.records import load_records

_FIGURES = ("loss", "gradient", "entropy", "reward", "conversations", "prompt_tokens", "reply_tokens", "shared")
_PHASES = ("old_log_prob", "update_actor")


def main() -> None:
    """Train with and without sharing, and print the figures of each step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--section", type=int, default=256)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    folder = given.out.resolve()
    base = make_base(folder / "base", hidden=128, layers=4, heads=4, window=2 * given.section)
    for name, shares in (("shared", True), ("apart", False)):
        with start_cluster(given.nodes) if given.nodes > 1 else nullcontext("") as address:
            bed = Bed(folder=folder, address=address)
            train = {
                "steps": given.steps,
                "samples": 8,
                "group_size": 8,
                # Of several mini-batches each would have other samples in another run: verl names samples at random.
                "updates": 1,
                "learning_rate": 1e-3,
                "warmup_steps": 0,
                "checkpoint_every": given.steps,
                "keep_rollouts": 0,
                "policy": {"path": str(base), "row_tokens": 4096, "share_prefixes": shares},
                "task": {"name": "toy-records", "tokens": 2 * given.section, "count": 64},
                "loss": {"kl": 0.0},
                "reward": {"overlong": 1.0, "overlong_share": 1.0},
                "evaluation": {"every": 0, "samples": 8},
            }
            file = bed.write(
                name,
                train,
                "+actor_rollout_ref.rollout.engine_kwargs.cpu={seed: 0}",
                nodes=given.nodes,
                layout="question-section",
                chunk_tokens=given.section,
            )
            bed.run(file, folder / name)
        for record in load_records(folder / name):
            if record["kind"] == "step":
                phases = {phase: record["clock"]["phases"].get(phase) for phase in _PHASES}
                print(name, record["step"], {figure: record.get(figure) for figure in _FIGURES} | phases, flush=True)


if __name__ == "__main__":
    main()
