"""Small samples and models that all tests of the evaluation use."""

from collections.abc import Iterator

import pytest

from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec
from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.models.scripted import ScriptedModel, keyword_reader

PLAN = {"question_tokens": 60, "chunk_tokens": 120, "memory_tokens": 60, "answer_tokens": 60}


def samples(task: str, length: int) -> Iterator[Sample]:
    """A fact about a wheel in filler of about that many words."""
    number = 0
    while True:
        lines = [f"Page {n} tells of harvests, tolls and rain in plain words.\n" for n in range(length // 11)]
        lines.insert(number % (len(lines) + 1), f"The colour of wheel {number + 100} is vermilion{number}.\n")
        yield Sample(
            id=f"{task}-{number}",
            task=task,
            question=f"What is the colour of wheel {number + 100}?",
            golds=(f"vermilion{number}",),
            document=SampleDocument(f"{task}-{number}", lines),
            metric="contains",
            length=length,
            tokens=length,
        )
        number += 1


@pytest.fixture
def source():
    return samples


@pytest.fixture
def settings():
    def make(**changes) -> Evaluation:
        given = {
            "tasks": ("wheels",),
            "lengths": (300, 900),
            "ways": ("sequential", "whole"),
            "models": (ModelSpec(name="scripted", window=800),),
            "count": 5,
            "plan": PLAN,
        }
        return Evaluation(**{**given, **changes})

    return make


@pytest.fixture
def reader():
    """Opens the same scripted model again and again, so that its calls can be counted."""
    model = ScriptedModel(keyword_reader)

    async def open_model(_reader: ModelSpec) -> ScriptedModel:
        return model

    open_model.model = model
    return open_model
