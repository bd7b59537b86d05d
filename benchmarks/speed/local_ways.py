"""The local model's ways of reading beside each other: same weights, same document, one run.

    python benchmarks/speed/local_ways.py SAMPLES.jsonl [--ways sequential,gated+edits,quotes]
        [--questions 1] [--chunks 100]

The samples are questions on one document. Every way reads the document's first chunks for the first question in an
engine of its own, and where `--questions` is more than one, then again for so many questions at once in a fresh one.
Times are seconds of the processor in this process, which the engine is part of: other work on the machine does not
count.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel.api import aread
from bookwheel.documents.opening import TextDocument
from bookwheel.environment import Environment
from bookwheel.lab.tasks import read_samples
from bookwheel.models.local import LocalModel
from bookwheel.text.chunks import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.types import Reading


async def measure(way: str, samples: Sequence[Sample], options: argparse.Namespace) -> dict[str, Any]:
    """Read once for all the samples' questions, and return what that took."""
    model = await LocalModel.open(
        Path(options.model) if options.model else None, threads=options.threads, environment=Environment.load()
    )
    plan = replace(model.plan, enough_gain=model.plan.enough_gain if options.end else 0.0)
    chunks = list(islice(split(samples[0].document, model.tokenizer, plan.chunk_tokens), options.chunks))
    document = TextDocument(samples[0].document.slice(0, chunks[-1].end), name="first chunks")
    began, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        readings = await aread(
            document,
            [sample.question for sample in samples],
            model=model,
            plan=plan,
            way=way,
            journal=Path(folder) / "journal.db",
        )
    took = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - began}
    await model.aclose()
    return {
        "way": way,
        "questions": len(samples),
        "chunks": len(chunks),
        **took,
        **add_up(readings),
        "answers": [reading.answer.text if reading.answer else reading.status for reading in readings],
        "right": sum(
            sample.score(reading.answer.text if reading.answer else "").score
            for sample, reading in zip(samples, readings, strict=True)
        ),
    }


def add_up(readings: Sequence[Reading]) -> dict[str, Any]:
    """Return the tokens of all calls and the share of the document that was read."""
    usages = [step.conversation.reply.usage for reading in readings for step in reading.steps if step.conversation]
    return {
        "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
        "reply_tokens": sum(usage.completion_tokens for usage in usages),
        "read": sum(reading.share_read for reading in readings) / len(readings),
    }


async def main() -> None:
    """Print a line for each way and number of questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--ways", default="sequential,gated+edits,quotes")
    parser.add_argument("--questions", type=int, default=1)
    parser.add_argument("--chunks", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", help="an adapter or weights; the built-in model by default")
    parser.add_argument(
        "--to-the-end", dest="end", action="store_false", help="quotes: read every chunk, whatever was found"
    )
    options = parser.parse_args()
    samples = list(islice(read_samples(options.samples), options.questions))
    for way in options.ways.split(","):
        for count in sorted({1, options.questions}):
            print(json.dumps(await measure(way, samples[:count], options)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
