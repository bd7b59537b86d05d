"""The samples of an evaluation, from the catalogue of tasks. One tokenizer measures them for all models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.evaluation.unknown import ROOM, TRIES, choose_unknown
from bookwheel.lab.tasks.base import MissingSample
from bookwheel.lab.tasks.definition import LazySamples, make_sample
from bookwheel.text.tokens import FileTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bookwheel.lab.evaluation.models import ModelUnderTest
    from bookwheel.lab.evaluation.settings import Evaluation
    from bookwheel.lab.evaluation.unknown import KnownAnswers, UnknownPlaces
    from bookwheel.lab.evaluation.work import SampleSource
    from bookwheel.lab.tasks.base import Sample
    from bookwheel.lab.tasks.definition import SampleSeries
    from bookwheel.models.base import Model
    from bookwheel.text.tokens import Tokenizer

# So many samples are tried before a length counts as too short for a task.
_TRIES: Final = 5


class ChosenSamples(LazySamples):
    """The samples at some places of a series."""

    def __init__(self, series: Sequence[Sample], places: Sequence[int]) -> None:
        self._series = series
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def _load_sample(self, place: int) -> Sample:
        return self._series[self._places[place]]


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


def open_task_source(
    evaluation: Evaluation,
    models: Sequence[ModelUnderTest],
    chosen: Mapping[tuple[str, str], Sequence[int]] | None = None,
) -> SampleSource:
    """Return a source that makes samples on demand. InputError for an unknown task, before anything is read.

    `chosen` has places of some tasks' series, by task and language; of the others the first `count` are taken.
    """
    tokenizer = _open_tokenizer(evaluation, models)
    languages = list_languages(evaluation)

    def take(task: str, length: int, language: str) -> Sequence[Sample]:
        places = chosen.get((task, language)) if chosen else None
        count = evaluation.count if places is None else max(places) + 1
        series = open_series(evaluation, task, language, tokenizer=tokenizer, length=length, count=count)
        return series if places is None else ChosenSamples(series, places)

    def samples(task: str, length: int) -> Sequence[Sample]:
        return JoinedSeries(take(task, length, language) for language in languages[task])

    return samples


def open_series(
    evaluation: Evaluation, task: str, language: str, *, tokenizer: Tokenizer, length: int, count: int
) -> SampleSeries:
    """Return so many samples of a task in one language."""
    from bookwheel.lab.tasks import sample_series

    return sample_series(
        task,
        tokens=length,
        count=count,
        seed=evaluation.seed,
        tokenizer=tokenizer,
        language=language,
        data=Path(evaluation.data) if evaluation.data else None,
        **evaluation.options.get(task, {}),
    )


def list_languages(evaluation: Evaluation) -> dict[str, list[str]]:
    """Return the languages of each task of the evaluation."""
    from bookwheel.lab.tasks import load_task

    return {task: _choose_languages(evaluation, load_task(task).languages, task) for task in evaluation.tasks}


async def choose_unknown_places(
    evaluation: Evaluation, models: Sequence[ModelUnderTest], knower: Model, known_answers: KnownAnswers
) -> dict[tuple[str, str], UnknownPlaces]:
    """Return the places of each task and language whose questions `knower` cannot answer without a document.

    They are chosen at the shortest length: a question is the same at every length, or invented for each.
    """
    tokenizer = _open_tokenizer(evaluation, models)
    count, length = evaluation.count, evaluation.every_length[0]
    chosen = {}
    for task, languages in list_languages(evaluation).items():
        for language in languages:
            series = open_series(evaluation, task, language, tokenizer=tokenizer, length=length, count=ROOM * count)
            chosen[task, language] = await choose_unknown(
                series, count, knower, known_answers, at_once=evaluation.concurrency
            )
    return chosen


def _open_tokenizer(evaluation: Evaluation, models: Sequence[ModelUnderTest]) -> Tokenizer:
    return FileTokenizer(Path(evaluation.tokenizer)) if evaluation.tokenizer else models[0].model.tokenizer


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
    from bookwheel.lab.tasks import describe_left_out as describe

    data = Path(evaluation.data) if evaluation.data else None
    sentences = [
        sentence
        for task, languages in list_languages(evaluation).items()
        for language in languages
        for sentence in describe(task, language, "dev", data)
    ]
    return list(dict.fromkeys(sentences))


def describe_passed_over(evaluation: Evaluation, chosen: Mapping[tuple[str, str], UnknownPlaces]) -> list[str]:
    """Return a sentence for each task of which questions were passed over."""
    name = evaluation.unknown_to.display_name if evaluation.unknown_to else ""
    return [
        f"{one.passed_over} of the first {one.passed_over + len(one.places)} questions of {task} ({language}) are "
        f"passed over: {name} answers them without the document (best of {TRIES})"
        for (task, language), one in chosen.items()
        if one.passed_over
    ]


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
