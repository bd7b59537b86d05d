"""The local model's speed: what a reading gets, against what llama.cpp itself clocks on the same file and threads.

    python benchmarks/speed/local_speed.py [THREADS] [ROUNDS]

In turn, on fresh prompts of the same length: a reply of the local model, timed from outside with everything around it
(template, tokens, HTTP, parsing), and a bare completion whose time llama.cpp measures inside. Cold start is a new
process: import, weights, first token.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys

from bookwheel.environment import Environment
from bookwheel.models.local import LocalModel
from bookwheel.plan import Sampling
from bookwheel.types import Message

PROMPT_WORDS = 500
FEW_WORDS = 12
REPLY = 128
GREEDY = Sampling(temperature=0.0, top_p=None)
COLD = """
import time
began = time.perf_counter()
import asyncio
from bookwheel.environment import Environment
from bookwheel.models.local import LocalModel
from bookwheel.plan import Sampling
from bookwheel.types import Message
async def main():
    model = await LocalModel.open(threads={threads}, environment=Environment.load())
    loaded = time.perf_counter()
    await model.reply([Message(role="user", content="Hello")], limit=1, sampling=Sampling(temperature=0.0))
    print(loaded - began, time.perf_counter() - began)
    await model.aclose()
asyncio.run(main())
"""


def prompt(draw: random.Random, count: int) -> str:
    """Words in an order of their own, so that no prompt is served from a cache."""
    words = ["harbour", "keeper", "storm", "lamp", "clock", "goat", "letter", "wind", "boat", "tide", "bread", "stone"]
    return "Tell a long story with these words: " + " ".join(draw.choices(words, k=count))


async def main() -> None:
    """Run rounds of both sides in turn."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    model = await LocalModel.open(threads=threads, environment=Environment.load())
    draw = random.Random(1)
    figures: dict[str, list[float]] = {"prompt": [], "reply": []}
    ours: dict[str, list[float]] = {"prompt": [], "reply": []}
    theirs: dict[str, list[float]] = {"prompt": [], "reply": []}
    for _ in range(rounds):
        read, wrote = await measured(model, draw)
        own = await clocked(model, draw)
        for name, mine, its in (("prompt", read, own[0]), ("reply", wrote, own[1])):
            ours[name].append(mine)
            theirs[name].append(its)
            figures[name].append(mine / its)
    await model.aclose()
    print(f"{threads} threads, {rounds} rounds, prompts of {PROMPT_WORDS} words, replies of {REPLY} tokens")
    print("| | local model, tokens/s | llama.cpp's own clock | median ratio (min, max) |\n|---|---|---|---|")
    for name, ratios in figures.items():
        mine, its = statistics.median(ours[name]), statistics.median(theirs[name])
        spread = f"{statistics.median(ratios):.3f} ({min(ratios):.3f}, {max(ratios):.3f})"
        print(f"| {name} | {mine:.0f} | {its:.0f} | {spread} |")
    code = COLD.format(threads=threads)
    cold = [
        [
            float(value)
            for value in subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.split()
        ]
        for _ in range(5)
    ]
    loaded, first = (statistics.median(column) for column in zip(*cold, strict=True))
    print(f"cold start (median of 5): weights loaded after {loaded:.2f} s, first token after {first:.2f} s")


async def measured(model: LocalModel, draw: random.Random) -> tuple[float, float]:
    """Tokens a second of reading a long prompt and of writing after a short one, from outside."""
    long = [Message(role="user", content=prompt(draw, PROMPT_WORDS))]
    short = [Message(role="user", content=prompt(draw, FEW_WORDS))]
    read = (await model.reply(long, limit=1, sampling=GREEDY)).usage
    wrote = (await model.reply(short, limit=REPLY, sampling=GREEDY)).usage
    return read.prompt_tokens / read.seconds, wrote.completion_tokens / wrote.seconds


async def clocked(model: LocalModel, draw: random.Random) -> tuple[float, float]:
    """Measure the same by llama.cpp's own clock, for bare completions."""
    long, short = (model._engine.tokenize(prompt(draw, count)) for count in (PROMPT_WORDS, FEW_WORDS))
    read = (await model._engine.complete(long, limit=1, sampling=GREEDY)).timings
    wrote = (await model._engine.complete(short, limit=REPLY, sampling=GREEDY)).timings
    return read["prompt_per_second"], 1000 * wrote["predicted_n"] / (wrote["prompt_ms"] + wrote["predicted_ms"])


if __name__ == "__main__":
    asyncio.run(main())
