"""What the bounded search of `quotes` costs in quality: the built-in reader with and without the bound, in pairs.

    python benchmarks/quality/absent_bound.py SQUAD_V2_DEV.json.gz [--absent 2] [--present 1] [--seed 11]

Each article of the file is one document, and so many questions of it without an answer, and with one, are drawn. Both
readers are asked each; a question without an answer is right where the reader says that the document does not say, one
with an answer where the answer or its passage has a gold answer. Prints a line of JSON for each question, then sums.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

from bookwheel.documents.opening import TextDocument
from bookwheel.environment import Environment
from bookwheel.flags import Flag
from bookwheel.models.local import LocalModel
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways import quotes
from bookwheel.types import Answer


def draw_questions(path: Path, absent: int, present: int, seed: int) -> list[tuple[str, dict[str, Any]]]:
    """Return questions with the text of their articles."""
    random, drawn = Random(seed), []
    for article in json.loads(gzip.decompress(path.read_bytes()))["data"]:
        text = "\n\n".join(one["context"] for one in article["paragraphs"])
        asked = [question for one in article["paragraphs"] for question in one["qas"]]
        for is_absent, count in ((True, absent), (False, present)):
            some = [one for one in asked if one["is_impossible"] is is_absent]
            drawn += [(text, one) for one in random.sample(some, count)]
    return drawn


async def ask(text: str, question: dict[str, Any], model: LocalModel, most: int) -> dict[str, Any]:
    """Ask one question of a reader that reads at most so many chunks in vain."""
    quotes._MOST_CHUNKS = most
    read = 0
    async for event in quotes.quotes(TextDocument(text, name="article"), question["question"], model, model.plan):
        if isinstance(event, Answer):
            refused = event.text == prompts_for(model.plan, question["question"]).not_found
            said = f"{event.text}\n{event.passage}".casefold()
            golds = [gold["text"].casefold() for gold in question["answers"]]
            right = refused if question["is_impossible"] else not refused and any(gold in said for gold in golds)
            return {"right": right, "refused": refused, "chunks": read}
        read += Flag.UNREAD not in event.flags and Flag.JOINED not in event.flags
    raise AssertionError("a way ends with its answer")


async def main() -> None:
    """Ask all and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--absent", type=int, default=2)
    parser.add_argument("--present", type=int, default=1)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    bound = quotes._MOST_CHUNKS
    model = await LocalModel.open(threads=1, environment=Environment.load())
    pairs: list[tuple[bool, dict[str, Any], dict[str, Any]]] = []
    for text, question in draw_questions(options.path, options.absent, options.present, options.seed):
        bounded, whole = [await ask(text, question, model, most) for most in (bound, 10**9)]
        pairs.append((question["is_impossible"], bounded, whole))
        print(json.dumps({"absent": pairs[-1][0], "bounded": bounded, "unbounded": whole}), flush=True)
    await model.aclose()
    for is_absent in (True, False):
        mine = [(bounded, whole) for kind, bounded, whole in pairs if kind is is_absent]
        for name, readings in zip(("bounded", "unbounded"), zip(*mine, strict=True), strict=True):
            sums = {key: sum(one[key] for one in readings) for key in ("right", "refused", "chunks")}
            print(json.dumps({"absent": is_absent, "n": len(mine), "reader": name, **sums}))


if __name__ == "__main__":
    asyncio.run(main())
