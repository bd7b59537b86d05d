"""What a reading does inside the event loop that runs it: processor time of each callback, and calls of the tokenizer.

    python benchmarks/speed/loop_work.py TOKENIZER.json [--tokens 100000] [--ways sequential edits ranked quotes]

One reading of made-up prose for each way, in chunks of 5,000 tokens, with a model that replies at once. A callback's
processor time is what it holds up everything else in the loop at least; a call of the tokenizer in the loop's thread
costs a round trip more where the tokenizer is a server's. Neither depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import threading
import time
from asyncio import events
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.documents.opening import TextDocument
from bookwheel.journal import Journal
from bookwheel.lab.tasks.material import write_prose
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, GatePlan, Plan
from bookwheel.reading import runner
from bookwheel.reading.ways.registry import load_way
from bookwheel.text.tokens import FileTokenizer
from bookwheel.types import Reply, Usage

if TYPE_CHECKING:
    from bookwheel.text.tokens import ScannedText

# With a limit, as a server's keys have one: every call is then counted before it is made.
PLAN = Plan(
    chunk_tokens=5000,
    memory_tokens=1024,
    answer_tokens=256,
    language="en",
    gate=GatePlan(threshold=0.5),
    budget=Budget(tokens=10**9),
)


class CountedTokenizer:
    """A tokenizer that notes in which thread it is called."""

    exact = True

    def __init__(self, path: Path) -> None:
        self._inner = FileTokenizer(path)
        self.name = self._inner.name
        self.calls: Counter[int] = Counter()

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        self.calls[threading.get_ident()] += 1
        return self._inner.count(text)

    def fit(self, text: str, limit: int) -> int:
        """Find the end of a prefix."""
        self.calls[threading.get_ident()] += 1
        return self._inner.fit(text, limit)

    def scan(self, text: str) -> ScannedText:
        """Tokenize a text."""
        self.calls[threading.get_ident()] += 1
        return self._inner.scan(text)


async def read(way: str, text: str, tokenizer: CountedTokenizer) -> int:
    """Read the text and return the number of steps."""
    sentences = write_prose("en", random.Random(1))
    usage = Usage(calls=1, prompt_tokens=6000, completion_tokens=900)
    model = ScriptedModel(
        lambda _messages: Reply(text=" ".join(islice(sentences, 50)), usage=usage),
        tokenizer=tokenizer,
        window=16_384,
        plan=PLAN,
        judge=lambda _messages, _options: [-3.0, -0.05],
        likelihood=lambda _messages, _text: [-2.0] * 8,
    )
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
        document = journal.keep(TextDocument(text))
        reading = runner.new_reading(document.info, "What did the keeper write?", model, PLAN, way)
        journal.begin(reading)
        tokenizer.calls.clear()
        ended = await runner.run_reading(reading, document, model, way=load_way(way), journal=journal)
    return len(ended.steps)


def measure(way: str, text: str, tokenizer: CountedTokenizer) -> tuple[int, list[float], int, int]:
    """Return the steps, the milliseconds of each callback, and the tokenizer's calls in the loop and in threads."""
    spent: list[float] = []
    run = events.Handle._run

    def timed(handle: events.Handle) -> None:
        began = time.thread_time()
        run(handle)
        spent.append(1000 * (time.thread_time() - began))

    events.Handle._run = timed
    try:
        steps = asyncio.run(read(way, text, tokenizer))
    finally:
        events.Handle._run = run
    inside = tokenizer.calls[threading.get_ident()]
    return steps, spent, inside, tokenizer.calls.total() - inside


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--ways", nargs="+", default=["sequential", "edits", "gated", "ranked", "look-back", "quotes"])
    options = parser.parse_args()
    sentences, parts, length = write_prose("en", random.Random(7)), list[str](), 0
    # An English token has about four characters.
    while length < options.tokens * 4.2:
        parts.append(" ".join(islice(sentences, 8)))
        length += len(parts[-1])
    text, tokenizer = "\n\n".join(parts), CountedTokenizer(options.tokenizer)
    print(
        "| way | steps | longest callback, ms | over 10 ms | all callbacks, ms | tokenizer in the loop | in threads |"
    )
    print("|---|---|---|---|---|---|---|")
    for way in options.ways:
        steps, spent, inside, outside = measure(way, text, tokenizer)
        long = sum(one > 10 for one in spent)
        print(
            f"| {way} | {steps} | {max(spent):.1f} | {long} | {sum(spent):.0f} | {inside} | {outside} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
