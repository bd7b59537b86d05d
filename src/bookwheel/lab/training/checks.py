"""What can be told before torch is imported and weights are loaded: misspelt tasks, options, files and paths."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.lab.tasks import SampleSeries, sample_series
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.sample_file import SampleFile
from bookwheel.lab.training.toy_records import TASK, toy_records
from bookwheel.text.tokens import WordTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.config import TaskSettings, TrainConfig
    from bookwheel.lab.training.warmstart import Oracle


def check_sources(config: TrainConfig, data: Path | None = None) -> None:
    """Raise ConfigError where the samples or the model that the settings name cannot be there."""
    _check_path(config.policy.path)
    task = config.task
    if task.file:
        _check_files(config)
        return
    if task.tokens < 1 or task.count < 1:
        raise ConfigError("training needs samples: set name, tokens and count in [train.task], or file")
    try:
        if task.name == TASK:
            _check_toy_options(task)
        else:
            sample_series(
                task.name,
                tokens=task.tokens,
                count=1,
                seed=task.seed,
                tokenizer=WordTokenizer(),
                data=data,
                split="train",
                **task.options,
            )
    except InputError as error:
        raise ConfigError(f"train.task: {error}") from error
    if not config.policy.path and task.name != TASK:
        raise ConfigError(
            f"a new model knows only the words of the {TASK} task, and train.task.name is {task.name!r}: "
            f"set train.policy.path to a model"
        )


def check_inputs(
    samples: Sequence[Sample], held_out: Sequence[Sample], config: TrainConfig, oracle: Oracle | None
) -> None:
    """Raise ConfigError where a run of these samples cannot begin."""
    if not samples:
        raise ConfigError("there are no samples to train on")
    # A task and a file give every sample a gold answer; looking at them all would make or read them all.
    given = () if isinstance(samples, SampleSeries | SampleFile) else samples
    without_gold = [sample.id for sample in given if not sample.golds]
    if without_gold:
        raise ConfigError(
            f"{len(without_gold)} samples have no gold answer to verify by, {without_gold[0]} first: leave them out"
        )
    if config.warm_start.steps and oracle is None:
        raise ConfigError(
            "a warm start needs an oracle that gives ideal memories: pass one, or set warm_start.steps = 0"
        )
    if config.warm_start.steps and config.warm_start.until and not held_out:
        raise ConfigError("warm_start.until is measured on held-out samples, and there are none")


def _check_path(path: str) -> None:
    is_file = path.endswith(".gguf") or path.startswith((".", "/", "~"))
    if is_file and not Path(path).expanduser().exists():
        raise ConfigError(f"train.policy.path: there is nothing at {path!r}")


def _check_toy_options(task: TaskSettings) -> None:
    known = signature(toy_records).parameters.keys() - {"tokens", "count", "seed"}
    if unknown := sorted(task.options.keys() - known):
        raise ConfigError(f"the task {TASK} has no option {unknown[0]!r}; it takes: {', '.join(sorted(known))}")


def _check_files(config: TrainConfig) -> None:
    if not config.policy.path:
        raise ConfigError("a new model knows only the words of the toy-records task: set train.policy.path to a model")
    if config.warm_start.tokens:
        raise ConfigError("train.warm_start.tokens makes shorter samples of a task, and a file has none: leave it out")
    for path in filter(None, (config.task.file, config.task.held_out)):
        # The first line tells most mistakes: another format, a wrong field, no evidence for a warm start.
        _ = SampleFile(Path(path), needs_evidence=bool(config.warm_start.steps) and path == config.task.file)[0]
