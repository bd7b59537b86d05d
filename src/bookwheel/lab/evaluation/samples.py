"""The samples of an evaluation: from the catalogue of tasks, measured by one tokenizer for all models.

    [eval.unknown_to]
    name = "Qwen/Qwen2.5-14B-Instruct"

Questions that this model answers without their document give their place to the task's next ones: they measure
knowledge, not reading. Each is asked twice, and one right answer is enough. The outcomes stand in `known.jsonl` beside
the results: no question is asked again, and a run that was killed chooses the same ones.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bookwheel.errors import InputError
from bookwheel.lab.evaluation.settings import Evaluation, SettingsError
from bookwheel.lab.evaluation.work import ModelUnderTest, SampleSource, open_specs
from bookwheel.lab.tasks import load_task, sample_series
from bookwheel.lab.tasks.base import MissingSample, Sample
from bookwheel.lab.tasks.contamination import FilterOutcome, filter_samples
from bookwheel.lab.tasks.definition import LazySamples, SampleSeries, make_sample
from bookwheel.models.base import Model
from bookwheel.text.tokens import FileTokenizer, Tokenizer

# So many samples are tried before a length counts as too short for a task.
_TRIES: Final = 5


class SampleView(LazySamples):
    """So many samples of others, each loaded by its place."""

    def __init__(self, count: int, load: Callable[[int], Sample]) -> None:
        self._count, self._load = count, load

    def __len__(self) -> int:
        return self._count

    def _load_sample(self, place: int) -> Sample:
        return self._load(place)


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
    specs = open_specs(evaluation)

    def take(task: str, length: int, language: str) -> Sequence[Sample]:
        places = chosen.get((task, language)) if chosen else None
        count = evaluation.count if places is None else max(places) + 1
        series = open_series(evaluation, task, language, tokenizer=tokenizer, length=length, count=count)
        return series if places is None else SampleView(len(places), lambda place: series[places[place]])

    def load(series: Sequence[Sample], place: int) -> Sample:
        return specs.publish(series[place]) if specs else series[place]

    def samples(task: str, length: int) -> Sequence[Sample]:
        parts = [take(task, length, language) for language in languages[task]]
        every = [(series, place) for series in parts for place in range(len(series))]
        return SampleView(len(every), lambda place: load(*every[place]))

    return samples


def open_series(
    evaluation: Evaluation, task: str, language: str, *, tokenizer: Tokenizer, length: int, count: int
) -> SampleSeries:
    """Return so many samples of a task in one language."""
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
    if not evaluation.languages:  # the one language, which a task may refuse
        return {task: [evaluation.language] for task in evaluation.tasks}
    chosen = {}
    for task in evaluation.tasks:
        offered = load_task(task).languages
        chosen[task] = [language for language in evaluation.languages if language in offered]
        if not chosen[task]:
            raise InputError(f"the task {task} is there in {' and '.join(offered)}; add one of them to the languages")
    return chosen


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
            series = open_series(evaluation, task, language, tokenizer=tokenizer, length=length, count=_ROOM * count)
            chosen[task, language] = await choose_unknown(
                series, count, knower, known_answers, at_once=evaluation.concurrency
            )
    return chosen


def _open_tokenizer(evaluation: Evaluation, models: Sequence[ModelUnderTest]) -> Tokenizer:
    return FileTokenizer(Path(evaluation.tokenizer)) if evaluation.tokenizer else models[0].model.tokenizer


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
        f"passed over: {name} answers them without the document (best of {_ASKED})"
        for (task, language), one in chosen.items()
        if one.passed_over
    ]


def check_source(evaluation: Evaluation, source: SampleSource) -> None:
    """Make samples of every task at the shortest length, so that mistakes show before any call is paid for."""
    for task in evaluation.tasks:
        samples = source(task, evaluation.every_length[0])
        if not isinstance(samples, Sequence):
            next(iter(samples), None)
            continue
        # The last one shows whether there are fewer than were asked for.
        make_sample(samples, len(samples) - 1)
        tried = [make_sample(samples, place) for place in range(min(_TRIES, len(samples)))]
        missing = [sample for sample in tried if isinstance(sample, MissingSample)]
        if missing and len(missing) == len(tried):
            raise InputError(missing[0].reason)


# Series are this many times as long as what is taken from them: a large model knows many of the answers.
_ROOM: Final = 8
_ASKED: Final = 2


class KnownAnswers:
    """What one model answered without a document, in a file."""

    def __init__(self, path: Path, model: str) -> None:
        self._path = path
        self._model = model
        self._is_known: dict[str, bool] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            # The last line of a killed run may be cut short; its question is asked again.
            with suppress(ValueError):
                values = json.loads(line)
                if values["model"] == model:
                    self._is_known[values["question"]] = values["is_known"]

    def get(self, question: str) -> bool | None:
        """Return whether the answer is known; None where the question was not asked."""
        return self._is_known.get(question)

    def add(self, question: str, answers: Sequence[str], *, is_known: bool) -> None:
        """Keep what came of asking."""
        self._is_known[question] = is_known
        line = {"model": self._model, "question": question, "is_known": is_known, "answers": list(answers)}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            # First the line end: what a killed run left unfinished stays a line of its own.
            file.write(f"\n{json.dumps(line)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPlaces:
    """The places of a series whose questions are taken."""

    places: tuple[int, ...]
    passed_over: int
    """Questions between them that the model knows."""


async def choose_unknown(
    series: Sequence[Sample], count: int, model: Model, known_answers: KnownAnswers, *, at_once: int
) -> UnknownPlaces:
    """Return the first places whose questions the model cannot answer without a document."""
    places: list[int] = []
    looked = 0
    while len(places) < count:
        upcoming = range(looked, min(looked + count - len(places), len(series)))
        samples = await asyncio.to_thread(_make_samples, series, upcoming)
        await _ask([one for one in samples if isinstance(one, Sample)], model, known_answers, at_once)
        # A sample that cannot be made is a result of its own, which the report lists.
        is_taken = [isinstance(one, MissingSample) or not known_answers.get(one.question) for one in samples]
        places += [looked + at for at, taken in enumerate(is_taken) if taken]
        looked += len(samples)
        if len(samples) < len(upcoming) or not upcoming:
            break
    if len(places) < count:
        raise SettingsError(
            f"{model.name} cannot answer {len(places)} of {looked} questions without the document, and {count} are to "
            f"be asked: lower the count"
        )
    return UnknownPlaces(places=tuple(places), passed_over=looked - len(places))


def _make_samples(series: Sequence[Sample], places: range) -> list[Sample | MissingSample]:
    """Return the samples at these places, fewer where the task has no more questions."""
    samples: list[Sample | MissingSample] = []
    for place in places:
        try:
            samples.append(make_sample(series, place))
        except InputError:
            if not place:
                raise
            break
    return samples


async def _ask(samples: Sequence[Sample], model: Model, known_answers: KnownAnswers, at_once: int) -> None:
    new = {one.question: one for one in samples if known_answers.get(one.question) is None}
    async for result in filter_samples(new.values(), model, tries=_ASKED, concurrency=at_once):
        if result.outcome is FilterOutcome.FAILED:
            raise SettingsError(f"{model.name} failed on a question without its document: {result.reason}")
        known_answers.add(result.sample.question, result.answers, is_known=result.outcome is FilterOutcome.DROPPED)
