"""`bookwheel train`: warm start and reinforcement learning of a memory policy, watched, resumable, exported."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from bookwheel.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bookwheel.cli.training import Observer
    from bookwheel.training.config import TrainConfig
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
    with_tensorboard: Annotated[bool, Parameter(name="--tensorboard", negative="")] = False,
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
        A GGUF of the model that is trained, where that is not one itself; tokenizer and settings of the trained GGUF.
    threads
        Threads on a CPU; by default as many as are idle, and with --resume as many as the run began with.
    with_tensorboard
        Write the figures for TensorBoard too, under the run's folder.
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
    from bookwheel.training.launch import launch

    config = _config(settings, seed, steps)
    folder = out or Path("runs") / f"{Path(settings).stem}-{config.seed}"
    if threads or "RANK" not in os.environ:
        torch.set_num_threads(threads or _threads(folder if resume else None))
    with _observing(config, folder, quiet=quiet or as_json, with_tensorboard=with_tensorboard) as observe:
        trainer = launch(config, folder, data=data, observe=observe)
        try:
            trained = trainer.train(resume=resume)
        except KeyboardInterrupt:
            print(f"interrupted; go on with: bookwheel train {settings} --out {folder} --resume", file=sys.stderr)
            return 130
    if int(os.environ.get("RANK", "0")):
        return 0
    _finish(trainer, trained, gguf_like)
    _tell(trained, as_json=as_json)
    return 0


def _config(settings: str, seed: int | None, steps: int | None) -> TrainConfig:
    from bookwheel.training.config import TrainConfig

    config = TrainConfig.load(settings)
    return replace(config, seed=config.seed if seed is None else seed, steps=config.steps if steps is None else steps)


def _threads(begun: Path | None) -> int:
    """As many as the run in this folder began with; of a new run, as many as are idle."""
    from bookwheel.models.engine import choose_thread_count
    from bookwheel.training.checkpoint import load_progress, newest

    place = newest(begun / "checkpoints") if begun else None
    return (load_progress(place).threads if place else 0) or choose_thread_count()


@contextmanager
def _observing(config: TrainConfig, folder: Path, *, quiet: bool, with_tensorboard: bool) -> Iterator[Observer]:
    """What is told every record: the view, and TensorBoard where it is wanted."""
    from bookwheel.cli.training import RunView, tensorboard

    with ExitStack() as stack:
        observers: list[Observer] = []
        if not quiet:
            view = RunView(f"{folder} · seed {config.seed}", warm=config.warm_start.steps, steps=config.steps)
            stack.callback(view.close)
            observers.append(view)
        if with_tensorboard:
            observers.append(stack.enter_context(tensorboard(folder / "tensorboard")))

        def observe(record: Mapping[str, Any]) -> None:
            for tell in observers:
                tell(record)

        yield observe


def _finish(trainer: Trainer, trained: Trained, gguf_like: Path | None) -> None:
    """Export the best policy, with its card and curves."""
    from bookwheel.training.export import export
    from bookwheel.training.llamacpp import ARCHITECTURES
    from bookwheel.training.policy import gguf_path

    config = trainer.config
    base = config.policy.path or f"a fresh model (seed {config.seed})"
    if gguf_like is None and trainer.policy.model.config.model_type in ARCHITECTURES:
        gguf_like = gguf_path(config.policy.path)
    export(trainer.policy, trained.folder, config, base=base, gguf_like=gguf_like)


def _tell(trained: Trained, *, as_json: bool) -> None:
    import json

    figures = {"before": trained.before, "after": trained.after, "best": trained.best}
    if as_json:
        print(json.dumps({"folder": str(trained.folder), "steps": trained.steps, **figures}))
        return
    for name, value in figures.items():
        print(f"{name:7} {'not measured' if value is None else f'{100 * value:.1f} %'}")
    print(f"the policy is in {trained.folder / 'policy'}")
    for file in (trained.folder / "adapter.gguf", trained.folder / "policy.gguf"):
        if file.exists():
            print(f"read with it: bookwheel ask DOCUMENT QUESTION --model {file}")
            break
