"""What keeping costs: readings at once with the journal on, against a bare loop that makes the same calls.

    python benchmarks/speed/overhead.py [READINGS] [ROUNDS]

Both sides use the official SDK, sixteen calls at once (the default), against one loopback server that replies at once,
from one process, in turn: bare, kept, bare, kept, … The figure is the ratio of request rates in each pair.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from openai import AsyncOpenAI

from bookwheel.documents.opening import TextDocument
from bookwheel.journal import Journal
from bookwheel.models.openai import OpenAIModel
from bookwheel.plan import Plan
from bookwheel.reading import runner
from bookwheel.reading.loop import read
from bookwheel.text.tokens import EstimatingTokenizer
from bookwheel.types import Answer, Message

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER, free_port, wait_for

CHUNKS = 20
AT_ONCE = 16
PARAGRAPH = "The keeper wrote the wind and the ships that passed, then slept until the dawn came. "
QUESTION = "What did the keeper write?"
# With a scale, so that both sides make the same calls.
PLAN = Plan(chunk_tokens=1000, memory_tokens=200, answer_tokens=100, language="en", token_scale=1.0)


async def prompts_of_one(text: str, base: str) -> list[tuple[tuple[Message, ...], int]]:
    """Return the conversations of one reading, so that the bare loop sends the very same ones."""
    model = reader(base)
    sent = []
    async for event in read(TextDocument(text), QUESTION, model, PLAN):
        limit = PLAN.answer_tokens if isinstance(event, Answer) else PLAN.memory_tokens
        sent.append((event.conversation.messages, limit))
    await model.aclose()
    return sent


def reader(base: str) -> OpenAIModel:
    """Open the model of the journalled side."""
    return OpenAIModel(name="bare", base_url=base, api_key="-", concurrency=AT_ONCE)


async def bare(base: str, readings: int, prompts: list[tuple[tuple[Message, ...], int]]) -> float:
    """Measure requests a second of loops that keep nothing."""
    client = AsyncOpenAI(base_url=base, api_key="-", timeout=600, max_retries=4)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        for messages, limit in prompts:
            async with gate:
                await client.chat.completions.create(
                    model="bare",
                    messages=[{"role": message.role, "content": message.content} for message in messages],
                    max_tokens=limit,
                    temperature=0.7,
                    top_p=0.95,
                )

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(readings)))
    took = time.perf_counter() - began
    await client.close()
    return readings * len(prompts) / took


async def kept(base: str, readings: int, text: str, calls: int) -> float:
    """Measure requests a second of readings with everything on: chunks, guards, journal, evidence."""
    model = reader(base)
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
        document = journal.keep(TextDocument(text))
        opened = [runner.new_reading(document.info, QUESTION, model, PLAN) for _ in range(readings)]
        for reading in opened:
            journal.begin(reading)
        began = time.perf_counter()
        ended = await asyncio.gather(
            *(runner.run_reading(reading, document, model, journal=journal) for reading in opened)
        )
        took = time.perf_counter() - began
        assert all(reading.usage.calls == calls for reading in ended)
    await model.aclose()
    return readings * calls / took


async def main() -> None:
    """Pairs of both sides, in turn."""
    readings = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    text = PARAGRAPH * (CHUNKS * PLAN.chunk_tokens // EstimatingTokenizer().count(PARAGRAPH))
    port = free_port()
    server = subprocess.Popen([*SERVER, str(port)])
    base = f"http://127.0.0.1:{port}/v1"
    try:
        await asyncio.to_thread(wait_for, port)
        prompts = await prompts_of_one(text, base)
        print(f"{readings} readings, {len(prompts)} calls each, at most {AT_ONCE} at once")
        ratios = []
        for number in range(rounds):
            plain = await bare(base, readings, prompts)
            full = await kept(base, readings, text, len(prompts))
            ratios.append(full / plain)
            print(f"round {number}: bare {plain:.0f}/s, kept {full:.0f}/s, ratio {ratios[-1]:.3f}")
        print(f"median ratio {statistics.median(ratios):.3f} (min {min(ratios):.3f}, max {max(ratios):.3f})")
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    asyncio.run(main())
