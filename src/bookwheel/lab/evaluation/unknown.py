"""Questions that a model answers without their document give their place to the task's next ones.

    [eval.unknown_to]
    name = "Qwen/Qwen2.5-14B-Instruct"

Such a question measures knowledge, not reading. Each is asked twice, and one right answer is enough. The outcomes stand
in `known.jsonl` beside the results: no question is asked again, and a run that was killed chooses the same ones.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.evaluation.errors import SettingsError
from bookwheel.lab.tasks.base import MissingSample, Sample
from bookwheel.lab.tasks.contamination import FilterOutcome, filter_samples
from bookwheel.lab.tasks.definition import make_sample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bookwheel.models.base import Model

# Series are this many times as long as what is taken from them: a large model knows many of the answers.
ROOM: Final = 8
TRIES: Final = 2


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
    async for result in filter_samples(new.values(), model, tries=TRIES, concurrency=at_once):
        if result.outcome is FilterOutcome.FAILED:
            raise SettingsError(f"{model.name} failed on a question without its document: {result.reason}")
        known_answers.add(result.sample.question, result.answers, is_known=result.outcome is FilterOutcome.DROPPED)
