"""The samples of a run, and what can be told about them before torch is imported and weights are loaded.

SampleFile       a JSON Lines file, each sample read when it is drawn: the file may be larger than memory
SampleOrder      the order in which a run draws them: every epoch has one of its own, made of the seed alone
check_sources    misspelt tasks, options, files and paths
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from inspect import signature
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks import SampleSeries, sample_series
from bookwheel.lab.tasks.base import MISSING, MemoryRule, Sample
from bookwheel.lab.tasks.definition import LazySamples
from bookwheel.lab.tasks.files import parse_sample
from bookwheel.lab.training.config import TaskSettings, TrainConfig, WarmStart
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.toys import TOYS, toy_samples
from bookwheel.text.tokens import WordTokenizer

if TYPE_CHECKING:
    from bookwheel.lab.training.warmstart import Oracle


JOURNAL: Final = "journal.sqlite"
"""The journal in the folder of an evaluation."""
_log: Final = logging.getLogger(__name__)

# A sample that could not be made has its reason first in the line.
_MISSING: Final = f'{{"{MISSING}": '.encode()


class SampleFile(LazySamples):
    """A JSON Lines file as a sequence; it remembers where each line begins and nothing else."""

    def __init__(self, path: Path, *, needs_evidence: bool = False) -> None:
        self._path = path
        self._needs_evidence = needs_evidence
        self._lines: list[tuple[int, int]] = []
        """Offset and number of every line that is not empty."""
        try:
            with path.open("rb") as file:
                offset = 0
                for number, line in enumerate(file, start=1):
                    if line.strip() and not line.startswith(_MISSING):
                        self._lines.append((offset, number))
                    offset += len(line)
        except OSError as error:
            raise ConfigError(f"train.task.file cannot be read: {error}") from error
        if not self._lines:
            raise ConfigError(f"{path} holds no sample to train on")

    def __len__(self) -> int:
        return len(self._lines)

    def _load_sample(self, place: int) -> Sample:
        offset, number = self._lines[place]
        with self._path.open("rb") as file:
            file.seek(offset)
            raw = file.readline()
        try:
            # Programs on Windows begin a file with a mark.
            line = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            where = f"{self._path}, line {number}"
            raise InputError(f"{where}: byte {error.start} is not UTF-8: save the file in that encoding") from error
        sample = parse_sample(line, self._path, number)
        if self._needs_evidence and sample.memory is MemoryRule.NOTES and not sample.evidence:
            raise ConfigError(
                f"{self._path}, line {number}: a warm start makes ideal memories from the sample's evidence, and there "
                f"is none; add it, or set train.warm_start.steps = 0"
            )
        return sample

    def check(self) -> dict[str, str]:
        """Return the ids by content; ConfigError names the lines that cannot be trained on. Each is read once."""
        wrong, found = [], {}
        for place in range(len(self)):
            try:
                sample = self._load_sample(place)
                found[sample.content] = sample.id
            except InputError as error:
                wrong.append(str(error))
        if wrong:
            more = f" (and {len(wrong) - 1} more of {len(self)} samples cannot be used)" if wrong[1:] else ""
            raise ConfigError(f"{wrong[0]}{more}")
        return found

    def take(self, places: Iterable[int]) -> SampleFile:
        part = object.__new__(SampleFile)
        part._path, part._needs_evidence = self._path, self._needs_evidence
        part._lines = [self._lines[place] for place in places]
        return part

    def split(self, held_out: int, seed: int) -> tuple[SampleFile, SampleFile]:
        """Return the samples to train on and `held_out` others; the seed alone decides which."""
        if 2 * held_out > len(self):
            raise ConfigError(
                f"{self._path} holds {len(self)} samples, and train.evaluation.samples = {held_out} would hold back "
                f"more than half of them: lower it, or name another file in train.task.held_out"
            )
        chosen = set(Random(f"{seed}/held-out").sample(range(len(self)), held_out))  # noqa: S311 - reproducible
        return self.take(place for place in range(len(self)) if place not in chosen), self.take(sorted(chosen))


class SampleOrder:
    """Gives the sample of every number; a resumed run asks for the next number and gets the same sample.

    In place of a sample that cannot be made or read comes the next one, and the log names it.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        seed: int,
        *,
        shuffle: bool = True,
        stages: Sequence[tuple[int, Sequence[Sample]]] = (),
    ) -> None:
        """Take the samples, and for each stage before them how many are drawn of which others."""
        self._samples = samples
        self._stages = stages
        self._seed = seed
        self._shuffle = shuffle
        self._drawn: tuple[int, int] | None = None
        self._order: list[int] = []

    def pick(self, number: int) -> Sample:
        """Return the sample that is drawn as the run's `number`-th, counted from 0."""
        samples, stage = self._samples, len(self._stages)
        for at, (draws, others) in enumerate(self._stages):
            if number < draws:
                samples, stage = others, at
                break
            number -= draws
        epoch, place = divmod(number, len(samples))
        if self._drawn != (stage, epoch):
            order = list(range(len(samples)))
            if self._shuffle:
                Random(f"{self._seed}/epoch/{epoch}").shuffle(order)  # noqa: S311 - reproducible, no secrets
            self._drawn, self._order = (stage, epoch), order
        for at in range(len(self._order)):
            try:
                return samples[self._order[(place + at) % len(self._order)]]
            except InputError as error:
                _log.warning("a sample is left out: %s", error)
        raise ConfigError("none of the samples can be made or read; the log says why of each")


def check_sources(config: TrainConfig, data: Path | None = None) -> None:
    """Raise ConfigError where the samples or the model that the settings name cannot be there."""
    task, path = config.task, config.policy.path
    is_file = path.endswith(".gguf") or path.startswith((".", "/", "~"))
    if is_file and not Path(path).expanduser().exists():
        raise ConfigError(f"train.policy.path: there is nothing at {path!r}")
    if not task.file and (task.tokens < 1 or task.count < 1):
        raise ConfigError("training needs samples: set name, tokens and count in [train.task], or file")
    if task.file and config.warm_start.tokens:
        raise ConfigError("train.warm_start.tokens makes shorter samples of a task, and a file has none: leave it out")
    _check_lessons(config.warm_start)
    # All of them now: one that cannot be read would end the run when it is drawn, days later.
    trained = SampleFile(Path(task.file), needs_evidence=config.warm_start.needs_evidence).check() if task.file else {}
    measured = SampleFile(Path(task.held_out)).check() if task.held_out else {}
    if both := [name for content, name in measured.items() if content in trained]:
        raise ConfigError(
            f"{len(both)} of the {len(measured)} samples of train.task.held_out stand in train.task.file too, "
            f"{both[0]} first: what is trained on measures nothing; take them out of one of the files"
        )
    known = signature(toy_samples).parameters.keys() - {"task", "tokens", "count", "seed"}
    if task.name in TOYS and (unknown := sorted(task.options.keys() - known)):
        raise ConfigError(f"the task {task.name} has no option {unknown[0]!r}; it takes: {', '.join(sorted(known))}")
    made = [] if task.file or task.name in TOYS else _open_series(task, data)
    if not path and task.name not in TOYS:
        raise ConfigError(
            f"a new model knows only the words of {', '.join(TOYS)}, and [train.task] names "
            f"{task.file or task.name!r}: set train.policy.path to a model"
        )
    for series in made:
        _check_count(task.name, series)


def _check_lessons(warm: WarmStart) -> None:
    for name in ("lessons", "traces"):
        if (place := getattr(warm, name)) and not Path(place).exists():
            raise ConfigError(f"train.warm_start.{name}: there is nothing at {place!r}")
    traces = Path(warm.traces or ".")
    if warm.traces and traces.is_dir() and not (traces / JOURNAL).is_file():
        raise ConfigError(f"train.warm_start.traces: {traces} is neither an evaluation's folder nor a journal")


def _open_series(task: TaskSettings, data: Path | None) -> list[SampleSeries]:
    made = partial(sample_series, task.name, count=task.count, seed=task.seed, tokenizer=WordTokenizer(), data=data)
    lengths = (*(stage.tokens for stage in task.stages), task.tokens)
    try:
        return [made(tokens=tokens, split="train", **task.options) for tokens in lengths]
    except InputError as error:
        if near := get_close_matches(task.name, TOYS, n=1, cutoff=0.7):
            raise ConfigError(f"train.task: no task {task.name!r}; did you mean {near[0]!r}?") from error
        raise ConfigError(f"train.task: {error}") from error


def _check_count(name: str, series: SampleSeries) -> None:
    """Raise ConfigError where the data are enough for fewer samples than are asked for: it would end days later."""
    reason = _find_reason(series, len(series) - 1)
    if reason is None:
        return
    # The samples of a set of questions end at some number: find it in as many tries as that has binary digits.
    good, bad = -1, len(series) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        found = _find_reason(series, middle)
        good, bad, reason = (middle, bad, reason) if found is None else (good, middle, found)
    if bad == 0:
        raise ConfigError(f"train.task: {reason}")
    raise ConfigError(
        f"train.task: the data are enough for {bad:,} of {len(series):,} samples of {name}: set count = {bad}, or "
        f"point --data to larger files ({reason})"
    )


def _find_reason(series: SampleSeries, place: int) -> InputError | None:
    try:
        series[place]
    except InputError as error:
        return error
    return None


def check_inputs(
    samples: Sequence[Sample], held_out: Sequence[Sample], config: TrainConfig, oracle: Oracle | None
) -> None:
    """Raise ConfigError where a run of these samples cannot begin."""
    if not samples:
        raise ConfigError("there are no samples to train on")
    # A task and a file give every sample a gold answer; looking at them all would make or read them all.
    given = () if isinstance(samples, SampleSeries | SampleFile) else samples
    without_gold = [sample.id for sample in given if not sample.golds] if config.needs_golds else []
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
