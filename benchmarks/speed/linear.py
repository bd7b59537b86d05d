"""Cost and memory against length: the scripted model reads documents of 8K to 3.5M tokens, with the journal on.

    python benchmarks/speed/linear.py

Each length is read by a process of its own, after a short document that warms it up.
Expected: calls = ceil(n / 5000) + 1, time a chunk flat, peak memory flat.
"""

from __future__ import annotations

import asyncio
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading import runner
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

LENGTHS = (8_000, 32_000, 128_000, 512_000, 3_500_000)
PARAGRAPH = "The keeper wrote the wind and ships that passed. " * 2 + "All was calm again.\n\n"
PER_PARAGRAPH = 25
REPEATS = 3
LEAST_TIMED = 700
"""Short documents are read again and again until so many chunks were timed."""


class Generated:
    """A document of so many tokens that is never held whole."""

    name = "generated"
    length = None

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Paragraph by paragraph."""
        assert start == 0
        for n in range(self.tokens // PER_PARAGRAPH):
            yield Part(text=PARAGRAPH, source="generated", page=n // 40 + 1)


def measure(tokens: int) -> None:
    """Read one document and print what it took."""
    notes = "a note of some length that stays about the same\n" * 20
    model = ScriptedModel(lambda _messages: notes, plan=Plan())
    assert model.tokenizer.count(PARAGRAPH) == PER_PARAGRAPH
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
        warm = journal.keep(Generated(20_000))
        first = runner.new_reading(warm.info, "What did the keeper write?", model, Plan())
        journal.begin(first)
        asyncio.run(runner.run_reading(first, warm, model, journal=journal))
        kept = journal.keep(Generated(tokens))
        times: list[float] = []
        cpu = time.process_time()
        while len(times) < LEAST_TIMED:
            reading = runner.new_reading(kept.info, "What did the keeper write?", model, Plan())
            journal.begin(reading)
            stamps = [time.perf_counter()]
            watch = lambda _event, stamps=stamps: stamps.append(time.perf_counter())  # noqa: E731
            ended = asyncio.run(runner.run_reading(reading, kept, model, journal=journal, watch=watch))
            times += [after - before for before, after in pairwise(stamps)][: len(ended.steps)]
        cpu = time.process_time() - cpu
    cpu_ms = cpu / len(times) * 1000
    times.sort()
    print(
        json.dumps(
            {
                "tokens": tokens,
                "calls": ended.usage.calls,
                "cpu_ms": cpu_ms,
                "median_chunk_ms": times[len(times) // 2] * 1000,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def main() -> None:
    """All lengths, several times, interleaved; medians."""
    found: dict[int, list[dict[str, float]]] = {tokens: [] for tokens in LENGTHS}
    for _ in range(REPEATS):
        for tokens in LENGTHS:
            done = subprocess.run([sys.executable, __file__, str(tokens)], capture_output=True, text=True, check=True)
            found[tokens].append(json.loads(done.stdout))
    print("| tokens | calls | ceil(n/5000)+1 | CPU ms a chunk | wall ms a chunk (median) | peak MB |")
    print("|---|---|---|---|---|---|")
    for tokens, rows in found.items():
        calls = {int(row["calls"]) for row in rows}
        times = sorted(row["median_chunk_ms"] for row in rows)
        cpu = sorted(row["cpu_ms"] for row in rows)[len(rows) // 2]
        peak = max(row["peak_mb"] for row in rows)
        expected = math.ceil(tokens // PER_PARAGRAPH * PER_PARAGRAPH / 5000) + 1
        print(f"| {tokens:,} | {calls} | {expected} | {cpu:.2f} | {times[len(times) // 2]:.2f} | {peak:.1f} |")


if __name__ == "__main__":
    measure(int(sys.argv[1])) if len(sys.argv) > 1 else main()
