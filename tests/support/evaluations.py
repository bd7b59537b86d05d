"""Evaluations for tests: runs over scripted models, and results that were made up."""

import asyncio
import random

from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.records import Record, SampleOutcome
from bookwheel.lab.evaluation.results import EvaluationRun, Results
from bookwheel.lab.evaluation.run import RunOptions, evaluate
from bookwheel.lab.evaluation.sections import to_html, to_markdown

RUN = EvaluationRun(
    command="bookwheel eval settings.toml",
    created="2026-11-21T10:00:00+00:00",
    version="0.1.0",
    fixed={"seed": 4},
    models={"local": {"window": 800}},
    settings={},
)


def record(sample: str = "s-1", **changes) -> Record:
    given = {
        "fingerprint": "f",
        "task": "needles",
        "length": 1000,
        "sample": sample,
        "way": "sequential",
        "model": "local",
        "outcome": SampleOutcome.SCORED,
        "score": 1.0,
        "official": 1.0,
        "metric": "contains",
        "seed": 4,
        "prompt_tokens": 900,
        "completion_tokens": 30,
        "seconds": 2.5,
    }
    return Record(**{**given, **changes})


def results(*records: Record) -> Results:
    return Results(runs=(RUN,), records=records)


def grid(ways=("sequential", "whole"), tasks=("needles", "words"), lengths=(1000, 4000), n=20) -> Results:
    draw = random.Random(5)
    return results(
        *(
            record(way=way, task=task, length=length, sample=f"{task}-{k}", score=float(draw.random() < 0.6))
            for way in ways
            for task in tasks
            for length in lengths
            for k in range(n)
        )
    )


def texts(found, **options) -> tuple[str, str]:
    laid = build_sections(found, **options)
    return to_markdown("Evaluation", laid), to_html("Evaluation", laid, {})


def evidence_grid():
    lost = {"memory": "overwritten", "memory_step": 3, "evidence_captured": 1.0, "evidence_kept": 0.0, "score": 0.0}
    return results(
        *(record(sample=f"a-{n}", memory="supported", depth=n / 4, evidence_kept=1.0) for n in range(4)),
        record(sample="b", depth=0.9, reading="0123456789abcdef", question="Who?", answer="Bo", **lost),
    )


def go(evaluation, path, source, reader, **options) -> Results:
    return asyncio.run(evaluate(evaluation, path, reader, source=source, options=RunOptions(**options)))


def opener(model):
    async def open_model(_reader):
        return model

    return open_model
