"""Where an evaluation's samples come from: the catalogue of tasks, measured by one tokenizer for all models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.text.tokens import FileTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.evaluation.models import ModelUnderTest
    from bookwheel.evaluation.settings import Evaluation
    from bookwheel.evaluation.work import SampleSource
    from bookwheel.tasks.base import Sample


def open_task_source(evaluation: Evaluation, opened: Sequence[ModelUnderTest]) -> SampleSource:
    """Samples made when they are asked for. InputError for tasks that are not there, before anything is read."""
    from bookwheel.tasks import load_task, make_samples

    for task in evaluation.tasks:
        load_task(task)
    tokenizer = FileTokenizer(Path(evaluation.tokenizer)) if evaluation.tokenizer else opened[0].model.tokenizer

    def samples(task: str, length: int) -> Iterator[Sample]:
        return make_samples(
            task,
            tokens=length,
            count=evaluation.count,
            seed=evaluation.seed,
            tokenizer=tokenizer,
            language=evaluation.language,
            data=Path(evaluation.data) if evaluation.data else None,
        )

    return samples


def check_source(evaluation: Evaluation, source: SampleSource) -> None:
    """Make the shortest sample of every task, so that what is wrong is said before anything is paid for."""
    for task in evaluation.tasks:
        next(source(task, min(evaluation.lengths)), None)
