"""What measuring costs: an evaluation with all its keeping and judging, against the same readings alone.

    python benchmarks/speed/eval_overhead.py [SAMPLES] [ROUNDS]

All sides read the same samples with the same scripted model, 64 at once, in one process and in turn: the desk alone,
the desk with a journal, the evaluation (which keeps every step in a journal, hands out the work, judges the answers
and writes the results file). The figures are ratios of samples a second within a round. One series has a model of
20 ms a call, one a model that takes no time at all.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.journal import Journal
from bookwheel.lab.evaluation.run import RunOptions, evaluate
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec
from bookwheel.lab.tasks import make_samples
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.reading import runner
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import DocumentInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.lab.tasks import Sample

AT_ONCE = 64
TASK, TOKENS, SEED = "niah_single_2", 4000, 0
PLAN = {"question_tokens": 200, "chunk_tokens": 400, "memory_tokens": 100, "answer_tokens": 60}


async def alone(samples: list[Sample], seconds: float, folder: Path, *, keep: bool) -> float:
    """Measure samples a second of readings with nothing around them but, where wanted, the journal."""
    model = ScriptedModel(keyword_reader, seconds_per_call=seconds)
    plan = model.plan.with_values(PLAN)
    waiting = iter(samples)
    with Journal(folder / "alone.sqlite") as journal:

        async def work() -> None:
            for sample in waiting:
                info = DocumentInfo(id="", name="", length=sample.document.length or 0)
                if keep:
                    info = (await asyncio.to_thread(journal.keep, sample.document)).info
                reading = runner.new_reading(info, sample.question, model, plan)
                if keep:
                    await asyncio.to_thread(journal.begin, reading)
                await runner.run_reading(reading, sample.document, model, journal=journal if keep else None)

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return len(samples) / (time.perf_counter() - began)


async def evaluated(samples: list[Sample], seconds: float, folder: Path) -> float:
    """Measure samples a second of an evaluation of them."""
    model = ScriptedModel(keyword_reader, seconds_per_call=seconds)
    settings = Evaluation(
        tasks=(TASK,),
        lengths=(TOKENS,),
        count=len(samples),
        models=(ModelSpec(name="scripted"),),
        plan=PLAN,
        concurrency=AT_ONCE,
    )

    async def opened(_reader: ModelSpec) -> ScriptedModel:
        return model

    def source(_task: str, _length: int) -> Iterator[Sample]:
        return iter(samples)

    with Journal(folder / "evaluated.sqlite") as journal:
        began = time.perf_counter()
        options = RunOptions(journal=journal)
        results = await evaluate(settings, folder / "results.jsonl", opened, source=source, options=options)
        took = time.perf_counter() - began
    assert all(record.score == 1 for record in results.records)
    return len(samples) / took


async def main() -> None:
    """Pairs of both sides, in turn."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    samples = list(make_samples(TASK, tokens=TOKENS, count=count, seed=SEED, tokenizer=WordTokenizer()))
    print(f"{count} samples of {TASK} at {TOKENS} tokens, {AT_ONCE} at once, seed {SEED}")
    for seconds in (0.02, 0.0):
        kept_ratios, bare_ratios = [], []
        for number in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                bare = await alone(samples, seconds, Path(folder), keep=False)
                kept = await alone(samples, seconds, Path(folder), keep=True)
                full = await evaluated(samples, seconds, Path(folder))
            kept_ratios.append(full / kept)
            bare_ratios.append(full / bare)
            rates = f"alone {bare:.0f}/s, kept {kept:.0f}/s, evaluated {full:.0f}/s"
            print(f"{seconds * 1000:g} ms a call, round {number}: {rates}")
        for name, ratios in (("readings kept in a journal", kept_ratios), ("readings not kept", bare_ratios)):
            print(
                f"{seconds * 1000:g} ms a call: evaluated / {name}: median {statistics.median(ratios):.3f} "
                f"(min {min(ratios):.3f}, max {max(ratios):.3f})"
            )


if __name__ == "__main__":
    asyncio.run(main())
