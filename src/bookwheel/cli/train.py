"""`bookwheel train`: warm start and reinforcement learning of a memory policy, watched, resumable, exported."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from bookwheel.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.training.trainer import Trained, Trainer


def train(
    settings: str,
    *,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative="")] = False,
    seed: int | None = None,
    steps: int | None = None,
    data: Path | None = None,
    gguf_like: Path | None = None,
    threads: int | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Train a memory policy: a supervised warm start, then reinforcement learning from the answers alone.

    Parameters
    ----------
    settings
        A preset (tiny-cpu, smollm2-135m, paper-7b, paper-14b) or a TOML file with [train] and [plan].
    out
        The run's folder; runs/NAME-SEED by default.
    resume
        Go on from the folder's newest checkpoint.
    seed
        Another seed than the settings'.
    steps
        Another number of reinforcement steps than the settings'.
    data
        Where question sets are read from, for tasks that stand on them.
    gguf_like
        A GGUF of the model that was trained; its tokenizer and settings go into the trained GGUF.
    threads
        Threads on a CPU; by default as many as torch takes.
    as_json
        One JSON object on standard output and nothing else.
    quiet
        No progress.

    """
    try:
        import torch
        import transformers  # noqa: F401 - asked for here so that its absence is told in words
    except ImportError as error:
        raise MissingExtra("training", "train") from error
    if threads:
        torch.set_num_threads(threads)
    trainer = _trainer(settings, out, seed, steps, data=data, quiet=quiet or as_json)
    try:
        trained = trainer.train(resume=resume)
    except KeyboardInterrupt:
        print(f"interrupted; go on with: bookwheel train {settings} --out {trainer.folder} --resume", file=sys.stderr)
        return 130
    if int(os.environ.get("RANK", "0")):
        return 0
    _finish(trainer, trained, gguf_like)
    _tell(trained, as_json=as_json)
    return 0


def _trainer(
    settings: str, out: Path | None, seed: int | None, steps: int | None, *, data: Path | None, quiet: bool
) -> Trainer:
    from dataclasses import replace

    from bookwheel.training.config import TrainConfig
    from bookwheel.training.launch import launch

    config = TrainConfig.load(settings)
    config = replace(config, seed=config.seed if seed is None else seed, steps=config.steps if steps is None else steps)
    folder = out or Path("runs") / f"{Path(settings).stem}-{config.seed}"
    return launch(config, folder, data=data, observe=None if quiet else _show)


def _show(record: Mapping[str, Any]) -> None:
    """One line a record on standard error."""
    step, seconds = record["step"], record["clock"]["seconds"]
    match record["kind"]:
        case "evaluation":
            line = f"held-out accuracy {100 * record['accuracy']:.1f} % (n = {record['n']}, {record['failed']} failed)"
        case "warm":
            line = f"warm start  loss {record['loss']:.4f}"
        case _:
            line = f"reward {record['reward']:.3f}  groups {record['groups']}  dropped {record['dropped']}"
            if "loss" in record:
                line += f"  entropy {record['entropy']:.3f}  gradient {record['gradient']:.2f}"
    print(f"step {step:>5}  {line}  [{seconds:.1f} s]", file=sys.stderr)


def _finish(trainer: Trainer, trained: Trained, gguf_like: Path | None) -> None:
    """Export the best policy, with its card and curves."""
    from bookwheel.training.export import export

    config = trainer.config
    base = config.policy.path or f"a fresh model (seed {config.seed})"
    export(trainer.policy, trained.folder, config.to_json(), base=base, gguf_like=gguf_like)


def _tell(trained: Trained, *, as_json: bool) -> None:
    import json

    figures = {"before": trained.before, "after": trained.after, "best": trained.best}
    if as_json:
        print(json.dumps({"folder": str(trained.folder), "steps": trained.steps, **figures}))
        return
    for name, value in figures.items():
        print(f"{name:7} {'not measured' if value is None else f'{100 * value:.1f} %'}")
    print(f"the policy is in {trained.folder / 'policy'}")
