"""A folder of runs for what shows them: one evaluation that was really made, one training run with kept rollouts."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookwheel.evaluation.run import RunOptions, evaluate
from bookwheel.evaluation.settings import Evaluation, ModelSpec
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading import runner
from bookwheel.reading.ways.registry import load_way
from bookwheel.tasks.base import Sample, SampleDocument

PLAN = {"question_tokens": 60, "chunk_tokens": 120, "memory_tokens": 60, "answer_tokens": 60}
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory) -> Path:
    """Runs to look at: `first` is an evaluation, `deep/tiny` a training run."""
    root = tmp_path_factory.mktemp("made") / "runs"
    asyncio.run(_evaluated(root / "first"))
    asyncio.run(_trained(root / "deep" / "tiny"))
    return root


@pytest.fixture
def runs(made_runs, tmp_path) -> Path:
    """The same in a folder of the test's own."""
    return shutil.copytree(made_runs, tmp_path / "runs")


async def _evaluated(folder: Path) -> None:
    settings = Evaluation(
        tasks=("wheels", "missing"),
        lengths=(150, 600),
        ways=("sequential", "whole"),
        models=(ModelSpec(name="scripted", window=520),),
        count=3,
        plan=PLAN,
    )

    async def opened(_reader: ModelSpec) -> ScriptedModel:
        return ScriptedModel(keyword_reader)

    with Journal(folder / "journal.sqlite") as journal:
        habits = RunOptions(command="bookwheel eval wheels.toml", journal=journal)
        await evaluate(settings, folder / "results.jsonl", opened, source=_samples, habits=habits)


def _samples(task: str, length: int) -> Iterator[Sample]:
    """A wheel's colour in filler; of `missing`, the gold is another colour, so every answer is wrong."""
    number = 0
    while True:
        lines = [f"Page {n} tells of harvests, tolls and rain in plain words.\n" for n in range(length // 11)]
        lines.insert(number, f"The colour of wheel {number + 100} is vermilion{number}.\n")
        yield Sample(
            id=f"{task}-{length}-{number}",
            task=task,
            question=f"What is the colour of wheel {number + 100}? {EVIL}",
            golds=(f"vermilion{number}" if task == "wheels" else "azure",),
            document=SampleDocument(f"{task}-{number}", lines),
            metric="contains",
            length=length,
            tokens=length,
        )
        number += 1


async def _trained(folder: Path) -> None:
    settings = {"train": {"steps": 6, "samples": 2, "group_size": 2, "seed": 5}, "plan": {"chunk_tokens": 120}}
    newest = folder / "checkpoints" / "step-000004"
    newest.mkdir(parents=True)
    (newest / "progress.json").write_text(json.dumps({"progress": {"step": 4}, "settings": settings}))
    _written(folder / "metrics.jsonl", _records())
    model, lines = ScriptedModel(keyword_reader, plan=Plan(**PLAN)), []
    with Journal(folder / "rollouts.sqlite") as journal:
        for number, advantage in enumerate((0.5, -0.5)):
            sample = next(_samples("wheels", 600))
            document = journal.keep(sample.document)
            reading = runner.new_reading(document.info, sample.question, model, model.plan)
            journal.begin(reading)
            ended = await runner.run_reading(reading, document, model, way=load_way("sequential"), journal=journal)
            told = {"reward": number + 0.25, "parts": {"answer": 0.25}, "advantage": advantage, "outcome": "scored"}
            lines.append({"step": 2, "reading": ended.id, "rollout": f"r{number}", "sample": sample.id, **told})
    _written(folder / "rollouts.jsonl", lines)


def _records() -> Iterator[dict]:
    clock = {"clock": {"seconds": 1.5, "at": 0.0}}
    for step in (1, 2):
        yield {
            "kind": "warm",
            "step": step,
            "loss": 4.0 / step,
            "entropy": 3.0,
            "gradient": 9.0,
            "tokens": 9.0,
            **clock,
        }
    yield {"kind": "evaluation", "step": 2, "accuracy": 0.25, "n": 64, "failed": 1, **clock}
    for step in (3, 4):
        told = {"reward": 0.1 * step, "accuracy": 0.1 * step, "rollouts": 4, "failed": 0, "groups": 2, "dropped": 0}
        spent = {"prompt_tokens": 100, "reply_tokens": 10, "loss": 0.1, "entropy": 0.5, "gradient": 1.0, "kl": 0.0}
        yield {"kind": "step", "step": step, **told, **spent, "clipped": 0.01 * step, **clock}
    yield {"kind": "evaluation", "step": 4, "accuracy": 0.5, "n": 64, "failed": 0, **clock}


def _written(path: Path, lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
