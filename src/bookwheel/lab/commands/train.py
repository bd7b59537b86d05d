"""`bookwheel train`: warm start and reinforcement learning of a memory policy, watched, resumable, exported."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from bookwheel.cli.arguments import Option
from bookwheel.cli.options import AsJson, Count, OutPath, PositiveInt, Quiet, Text
from bookwheel.errors import MissingExtra
from bookwheel.lab.commands.training_view import Observer, RunView, open_tensorboard, open_tracker
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import CheckpointError, ConfigError
from bookwheel.lab.training.records import has_checkpoint, held_out_scores, load_records
from bookwheel.models.base import Model
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from bookwheel.lab.training.trainer import Trainer, TrainingResult


def train(
    settings: Text,
    *,
    out: OutPath | None = None,
    resume: bool = False,
    auto_resume: bool = False,
    dry: bool = False,
    engine: Literal["embedded", "verl"] = "embedded",
    seed: int | None = None,
    steps: Count | None = None,
    data: Path | None = None,
    gguf_like: Path | None = None,
    threads: PositiveInt | None = None,
    with_tensorboard: Annotated[bool, Option(name="--tensorboard")] = False,
    with_wandb: Annotated[bool, Option(name="--wandb")] = False,
    with_trackio: Annotated[bool, Option(name="--trackio")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Train a memory policy: a supervised warm start, then reinforcement learning from the answers alone.

    Parameters
    ----------
    settings
        A preset (tiny-cpu, smollm2-135m, reader, paper-7b, paper-14b) or a TOML file with [train] and [plan].
    out
        The run's folder; runs/NAME-SEED by default.
    resume
        Continue from the folder's newest checkpoint.
    auto_resume
        Continue where the folder holds a checkpoint, and begin otherwise: for whatever starts the command again.
    dry
        Train nothing: check settings and data, build the model without its weights' values, and print what the run
        would take and what would not fit. The exit code is 2 where something does not.
    engine
        What trains: this process, or verl on the machines of [verl] (bookwheel[verl], docs/verl.md).
    seed
        Replaces the settings' seed.
    steps
        Replaces the settings' number of reinforcement steps.
    data
        The folder of question sets, for tasks that draw on them.
    gguf_like
        A GGUF of the base model, where the base is no GGUF itself; the export takes tokenizer and settings from it.
    threads
        CPU threads; by default as many as are idle, or with --resume as many as the run began with.
    with_tensorboard
        Also write the metrics for TensorBoard, into the run's folder.
    with_wandb
        Also log the metrics to Weights & Biases; WANDB_MODE=offline keeps them here.
    with_trackio
        Also log the metrics to trackio.
    as_json
        Print one JSON object and nothing else.
    quiet
        Show no progress.

    """
    # Before torch, whose import takes seconds: a wrong setting is reported at once.
    from bookwheel.lab.training.samples import check_sources

    config = _load_config(settings, seed, steps)
    problem = ""
    try:
        check_sources(config, data)
    except ConfigError as error:
        if not dry:
            raise
        problem = str(error)
    try:
        import torch
        import transformers  # noqa: F401 - imported here for a clear message where it is missing
    except ImportError as error:
        raise MissingExtra("training", "train") from error
    if dry:
        return _print_forecast(config, settings, problem, as_json=as_json)
    folder = out or Path("runs") / f"{Path(settings).stem}-{config.seed}"
    resume = resume or (auto_resume and has_checkpoint(folder))
    chosen = {"tensorboard": with_tensorboard, "wandb": with_wandb, "trackio": with_trackio}
    trackers = [name for name, is_chosen in chosen.items() if is_chosen]
    if engine == "verl":
        from bookwheel.lab.training.verl.launch import export_run, run
        from bookwheel.lab.training.verl.settings import ClusterSettings

        cluster = ClusterSettings.load(settings)
        result = run(config, cluster, folder, data=data, resume=resume, trackers=trackers)
        export_run(config, cluster, folder, gguf_like=gguf_like)
        _print_result(result, config, as_json=as_json)
        return 0
    from bookwheel.lab.training.launch import build_trainer

    if threads or "RANK" not in os.environ:
        torch.set_num_threads(threads or _choose_threads(folder if resume else None))
    with _open_observers(config, folder, quiet=quiet or as_json, trackers=trackers) as observe:
        trainer = build_trainer(config, folder, data=data, observe=observe)
        try:
            result = trainer.train(resume=resume)
        except KeyboardInterrupt:
            print(f"interrupted; continue with: bookwheel train {settings} --out {folder} --resume", file=sys.stderr)
            return 130
    if int(os.environ.get("RANK", "0")):
        return 0
    _export_policy(trainer, gguf_like)
    _print_result(result, config, as_json=as_json)
    return 0


def _print_forecast(config: TrainConfig, settings: str, problem: str, *, as_json: bool) -> int:
    from bookwheel.lab.training.forecast import forecast, read_shape
    from bookwheel.lab.training.verl.settings import ClusterSettings

    if not config.policy.path:
        if problem:
            raise ConfigError(problem)
        print("{}" if as_json else "settings and samples are in order; a new model costs minutes and fits everywhere")
        return 0
    # Where no machines are named, those that this process was started with.
    cluster = ClusterSettings.load(settings, ClusterSettings(gpus=int(os.environ.get("WORLD_SIZE", "1"))))
    found = forecast(config, read_shape(config.policy), cluster)
    problems = (*filter(None, [problem]), *found.problems)
    if as_json:
        of = {"model": config.policy.path, "steps": config.steps, "gpus": cluster.ranks}
        print(json.dumps({**of, **asdict(found), "problems": problems}))
        return 2 if problems else 0
    gpus = f"{cluster.ranks} GPUs" if cluster.ranks > 1 else "one GPU"
    trained = "" if found.trained == found.weights else f", {_count(found.trained)} in adapters are trained,"
    print(f"{config.policy.path}: {_count(found.weights)} weights{trained} on {gpus} of 80 GB")
    print(f"a step: {config.samples} x {config.group_size} readings of {found.sections} sections and an answer")
    print(f"  at most {_count(found.prompt_tokens)} prompt and {_count(found.reply_tokens)} reply tokens")
    print(f"{config.steps} steps: at most {found.gpu_hours:,.0f} GPU hours, {found.days:.1f} days of the clock")
    print(f"  of the clock, sampling {found.sampling_hours:,.0f} hours, {found.at_once} readings at once on a copy")
    print(f"  and training {found.training_hours:,.0f} hours")
    print(f"memory of a GPU: {found.training_gb:.0f} GB to train, {found.sampling_gb:.0f} to sample")
    print("taken for granted: H100s at a third of their peak, replies as long as their limits; a warm start, held-out")
    print("samples and filters come on top")
    if problem:
        print(f"not ready: {problem}")
    for sentence in found.problems:
        print(f"does not fit: {sentence}")
    return 2 if problems else 0


def _count(number: float) -> str:
    """Return a large number in words.

    >>> _count(7_615_616_512), _count(14_680_064), _count(99_000)
    ('7.62 billion', '14.7 million', '99,000')
    """
    if number >= 1e9:  # noqa: PLR2004 - a billion
        return f"{number / 1e9:.2f} billion"
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,.0f}"  # noqa: PLR2004 - a million


def open_folder(folder: Path) -> Model:
    """Return the policy in a folder as a model, with the plan and the way that it was trained with."""
    require_extra("a folder of weights", "train", "torch", "transformers")
    from bookwheel.lab.training.launch import open_policy

    return open_policy(folder)


def _load_config(settings: str, seed: int | None, steps: int | None) -> TrainConfig:
    config = TrainConfig.load(settings)
    return replace(config, seed=config.seed if seed is None else seed, steps=config.steps if steps is None else steps)


def _choose_threads(resumed: Path | None) -> int:
    """Return the threads that the resumed run began with; for a new run, the idle ones."""
    from bookwheel.lab.training.checkpoint import load_progress
    from bookwheel.models.engine import choose_thread_count

    for place in sorted((resumed / "checkpoints").glob("step-*"), reverse=True) if resumed else ():
        with suppress(CheckpointError):
            return load_progress(place).threads or choose_thread_count()
    return choose_thread_count()


@contextmanager
def _open_observers(config: TrainConfig, folder: Path, *, quiet: bool, trackers: Sequence[str]) -> Iterator[Observer]:
    """Give a function that passes every record to the view and to the trackers that are wanted."""
    with ExitStack() as stack:
        observers: list[Observer] = []
        if not quiet:
            view = RunView(f"{folder} · seed {config.seed}", warm=config.warm_start.steps, steps=config.steps)
            stack.callback(view.close)
            observers.append(view)
        # With several processes, each would log a run of its own.
        for name in trackers if os.environ.get("RANK", "0") == "0" else ():
            opened = (
                open_tensorboard(folder / "tensorboard")
                if name == "tensorboard"
                else open_tracker(name, folder, config.to_json())
            )
            observers.append(stack.enter_context(opened))

        def observe(record: Mapping[str, Any]) -> None:
            for observer in observers:
                observer(record)

        yield observe


def _export_policy(trainer: Trainer, gguf_like: Path | None) -> None:
    """Export the best policy, with its card and curves."""
    from bookwheel.lab.training.launch import ARCHITECTURES, build_policy, export
    from bookwheel.lab.training.loading import gguf_path

    config, policy = trainer.config, trainer.policy
    if policy.is_sharded:
        # The other ranks are gone, and their shards with them: the best weights are read into a whole model.
        policy = build_policy(replace(config, policy=replace(config.policy, sharded=False, device="cpu")))
    base = config.policy.path or f"a fresh model (seed {config.seed})"
    if gguf_like is None and policy.model.config.model_type in ARCHITECTURES:
        gguf_like = gguf_path(config.policy.path)
    export(policy, trainer.folder, config, base=base, gguf_like=gguf_like)


def _print_result(result: TrainingResult, config: TrainConfig, *, as_json: bool) -> None:
    if as_json:
        accuracies = {"before": result.before, "after": result.after, "best": result.best}
        print(json.dumps({"folder": str(result.folder), "steps": result.steps, **accuracies}))
        return
    scores = [one for one in held_out_scores(load_records(result.folder)) if not one.warm]
    if scores:
        best = max(scores, key=lambda one: (one.accuracy, one.step))
        print(f"held-out accuracy (n = {scores[-1].n}, 95 % intervals)")
        for name, one in (("before", scores[0]), ("after", scores[-1]), ("best", best)):
            interval = f"{100 * one.low:.1f} to {100 * one.high:.1f}"
            print(f"{name:7} {100 * one.accuracy:.1f} % ({interval}) at step {one.step}")
    print(f"the policy is in {result.folder / 'policy'}")
    if not config.policy.path:
        print("it knows the words of its task alone, and reads no other document")
        if (journal := result.folder / "rollouts.sqlite").exists():
            print(f"see how it read: bookwheel list --journal {journal}")
        return
    for file in (result.folder / name for name in ("adapter.gguf", "policy.gguf", "policy")):
        if file.exists():
            print(f"read with it: bookwheel ask DOCUMENT QUESTION --model {file}")
            break
