"""Measure what the verdict costs: its share of a short reading's CPU time, and its time on documents that grow.

    python benchmarks/speed/verdict_cost.py [READINGS]

The reading is the one of overhead.py: twenty chunks, an answer, the journal on, a loopback server that replies at once.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overhead import CHUNKS, PARAGRAPH, PLAN, kept, prompts_of_one

from bookwheel.reading import runner
from bookwheel.text.tokens import EstimatingTokenizer
from bookwheel.types import Part
from bookwheel.verdict.judge import judge_answer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER, free_port, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = "The harbour master of Skarholm is Ada Quill, who counted 4,821 barrels. Nobody had counted 4,900."
QUESTION = "Who is the harbour master of Skarholm?"
SIZES = (1, 4, 16, 64)


class Stream:
    """A document of so many million characters that is never in memory as a whole."""

    name = "stream"
    length = None

    def __init__(self, millions: int) -> None:
        self._times = millions * 16

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Yield its parts from the beginning."""
        del start
        part = Part(text=PARAGRAPH * (1_000_000 // 16 // len(PARAGRAPH)), source="stream")
        for _ in range(self._times):
            yield part
        yield Part(text="The harbour master of Skarholm is Ada Quill.", source="stream")

    def slice(self, start: int, end: int) -> str:
        """Return nothing: it is not asked for."""
        del start, end
        return ""


async def measure_share(readings: int) -> None:
    """Print the verdict's share of the CPU time of readings."""
    text = PARAGRAPH * (CHUNKS * PLAN.chunk_tokens // EstimatingTokenizer().count(PARAGRAPH))
    spent = 0.0

    def timed(*values: Any) -> Any:
        nonlocal spent
        began = time.thread_time()
        try:
            return judge_answer(*values)
        finally:
            spent += time.thread_time() - began

    runner.judge_answer = timed  # type: ignore[assignment]
    port = free_port()
    server = subprocess.Popen([*SERVER, str(port)])
    base = f"http://127.0.0.1:{port}/v1"
    try:
        await asyncio.to_thread(wait_for, port)
        prompts = await prompts_of_one(text, base)
        began = time.process_time()
        await kept(base, readings, text, len(prompts))
        whole = time.process_time() - began
    finally:
        server.kill()
        server.wait()
    print(f"{readings} readings of {len(prompts)} calls: {1000 * whole / readings:.1f} ms of CPU time each")
    print(f"  the verdict: {1000 * spent / readings:.2f} ms each, {100 * spent / whole:.1f} %")


def measure_growth() -> None:
    """Print time and peak memory of the verdict on documents that grow."""
    for size in SIZES:
        began = time.process_time()
        judge_answer(ANSWER, QUESTION, (), Stream(size))
        took = time.process_time() - began
        tracemalloc.start()
        judge_answer(ANSWER, QUESTION, (), Stream(min(size, SIZES[1])))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{size:3} million characters: {took:.3f} s of CPU time, {1000 * took / size:.0f} ms a million")
        print(f"     peak memory {peak / 1e6:.1f} MB (at most {SIZES[1]} million)")


if __name__ == "__main__":
    asyncio.run(measure_share(int(sys.argv[1]) if len(sys.argv) > 1 else 32))
    measure_growth()
