"""The samples of an evaluation, from the catalogue of tasks. One tokenizer measures them for all models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.tasks.base import MissingSample
from bookwheel.tasks.series import LazySamples, make_sample
from bookwheel.text.tokens import FileTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.evaluation.models import ModelUnderTest
    from bookwheel.evaluation.settings import Evaluation
    from bookwheel.evaluation.work import SampleSource
    from bookwheel.tasks.base import Sample

# So many samples are tried before a length counts as too short for a task.
_TRIES: Final = 5


class JoinedSeries(LazySamples):
    """The samples of several series, one series after the other."""

    def __init__(self, series: Iterable[Sequence[Sample]]) -> None:
        self._series = tuple(series)

    def __len__(self) -> int:
        return sum(map(len, self._series))

    def _load_sample(self, place: int) -> Sample:
        for series in self._series:
            if place < len(series):
                return series[place]
            place -= len(series)
        raise IndexError(place)


def open_task_source(evaluation: Evaluation, models: Sequence[ModelUnderTest]) -> SampleSource:
    """Return a source that makes samples on demand. InputError for an unknown task, before anything is read."""
    from bookwheel.tasks import load_task, sample_series

    tokenizer = FileTokenizer(Path(evaluation.tokenizer)) if evaluation.tokenizer else models[0].model.tokenizer
    languages = {task: _choose_languages(evaluation, load_task(task).languages, task) for task in evaluation.tasks}

    def samples(task: str, length: int) -> Sequence[Sample]:
        return JoinedSeries(
            sample_series(
                task,
                tokens=length,
                count=evaluation.count,
                seed=evaluation.seed,
                tokenizer=tokenizer,
                language=language,
                data=Path(evaluation.data) if evaluation.data else None,
                **evaluation.options.get(task, {}),
            )
            for language in languages[task]
        )

    return samples


def _choose_languages(evaluation: Evaluation, offered: Sequence[str], task: str) -> list[str]:
    """Return the evaluation's languages that the task has; with one language, that one, which may be refused."""
    if not evaluation.languages:
        return [evaluation.language]
    languages = [language for language in evaluation.languages if language in offered]
    if not languages:
        raise InputError(f"the task {task} is there in {' and '.join(offered)}; add one of them to the languages")
    return languages


def describe_left_out(evaluation: Evaluation) -> list[str]:
    """Return a sentence for each kind of question that a task's file has and its samples do not."""
    from bookwheel.tasks import describe_left_out as describe
    from bookwheel.tasks import load_task

    data = Path(evaluation.data) if evaluation.data else None
    sentences = [
        sentence
        for task in evaluation.tasks
        for language in _choose_languages(evaluation, load_task(task).languages, task)
        for sentence in describe(task, language, "dev", data)
    ]
    return list(dict.fromkeys(sentences))


def check_source(evaluation: Evaluation, source: SampleSource) -> None:
    """Make samples of every task at the shortest length, so that mistakes show before any call is paid for."""
    for task in evaluation.tasks:
        samples = source(task, evaluation.every_length[0])
        if isinstance(samples, Sequence):
            _check_series(samples)
        else:
            next(iter(samples), None)


def _check_series(series: Sequence[Sample]) -> None:
    """Raise InputError when none of the first samples can be made, or when there are fewer than were asked for."""
    make_sample(series, len(series) - 1)
    tried = [make_sample(series, place) for place in range(min(_TRIES, len(series)))]
    missing = [sample for sample in tried if isinstance(sample, MissingSample)]
    if missing and len(missing) == len(tried):
        raise InputError(missing[0].reason)
