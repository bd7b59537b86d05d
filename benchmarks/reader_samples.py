"""The samples that the local model's reader is measured on: questions about whole articles, answered there or not.

    python benchmarks/reader_samples.py OUT [--count 200] [--tokens 4000]
    bookwheel eval --samples OUT/answered.jsonl --samples OUT/absent.jsonl --way quotes --way bm25 --model ADAPTER.gguf

`answered` holds SQuAD's development questions, each in a document of paragraphs of its own article. `absent` holds the
same questions, each in the same paragraphs without those that hold one of its answers.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from pathlib import Path

from bookwheel.models.local import LocalModel
from bookwheel.tasks import Sample, SampleDocument, make_samples, write_samples
from bookwheel.tasks.bridges import ABSENT


def remove_answers(sample: Sample) -> Sample:
    """Return the sample without the paragraphs that hold an answer, and with the answer that it has none."""
    golds = [gold.casefold() for gold in sample.golds]
    paragraphs = sample.text.split("\n\n")
    left = [one for one in paragraphs if not any(gold in one.casefold() for gold in golds)]
    return replace(
        sample,
        id=f"{sample.id}-absent",
        task="qa_1-absent",
        golds=(ABSENT["en"],),
        metric="unanswerable",
        document=SampleDocument(f"{sample.id}-absent", ["\n\n".join(left)]),
        evidence=(),
    )


async def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    model = await LocalModel.open(threads=1)
    samples = list(
        make_samples(
            "qa_1",
            tokens=options.tokens,
            count=options.count,
            seed=0,
            tokenizer=model.tokenizer,
            data=options.data,
            split="dev",
            article=True,
        )
    )
    await model.aclose()
    write_samples(samples, options.out / "answered.jsonl", force=True)
    write_samples(map(remove_answers, samples), options.out / "absent.jsonl", force=True)


if __name__ == "__main__":
    asyncio.run(main())
