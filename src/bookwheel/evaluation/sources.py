"""The samples of an evaluation, from the catalogue of tasks. One tokenizer measures them for all models."""

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


def open_task_source(evaluation: Evaluation, models: Sequence[ModelUnderTest]) -> SampleSource:
    """Return a source that makes samples on demand. InputError for an unknown task, before anything is read."""
    from bookwheel.tasks import load_task, make_samples

    for task in evaluation.tasks:
        load_task(task)
    tokenizer = FileTokenizer(Path(evaluation.tokenizer)) if evaluation.tokenizer else models[0].model.tokenizer

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
    """Make the shortest sample of every task, so that mistakes show before any call is paid for."""
    for task in evaluation.tasks:
        next(source(task, min(evaluation.lengths)), None)
