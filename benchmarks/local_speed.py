"""The local model's speed: what a reading gets, against what llama.cpp itself clocks on the same file and threads.

    python benchmarks/local_speed.py [THREADS] [ROUNDS]

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

from bookwheel.models.local import LocalModel
from bookwheel.plan import Sampling
from bookwheel.types import Message

PROMPT_WORDS = 900
REPLY = 128
GREEDY = Sampling(temperature=0.0, top_p=None)
COLD = """
began = time.perf_counter()
import asyncio
from bookwheel.models.local import LocalModel
from bookwheel.plan import Sampling
from bookwheel.types import Message
async def main():
    model = await LocalModel.open(threads={threads})
    loaded = time.perf_counter()
    await model.reply([Message(role="user", content="Hello")], limit=1, sampling=Sampling(temperature=0.0))
    print(loaded - began, time.perf_counter() - began)
    await model.aclose()
asyncio.run(main())
"""


def prompt(draw: random.Random) -> str:
    """Words in an order of their own, so that no prompt is served from a cache."""
    words = ["harbour", "keeper", "storm", "lamp", "clock", "goat", "letter", "wind", "boat", "tide", "bread", "stone"]
    return "Tell a long story with these words: " + " ".join(draw.choices(words, k=PROMPT_WORDS))


async def main() -> None:
    """Rounds of both sides in turn."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    model = await LocalModel.open(threads=threads)
    draw = random.Random(1)
    figures: dict[str, list[float]] = {"prompt": [], "reply": []}
    ours: dict[str, list[float]] = {"prompt": [], "reply": []}
    theirs: dict[str, list[float]] = {"prompt": [], "reply": []}
    for _ in range(rounds):
        read, wrote = await measured(model, prompt(draw))
        own = await clocked(model, prompt(draw))
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


async def measured(model: LocalModel, text: str) -> tuple[float, float]:
    """Tokens a second of reading and of writing, from outside."""
    message = [Message(role="user", content=text)]
    short = await model.reply(message, limit=1, sampling=GREEDY)
    long = await model.reply(message, limit=REPLY, sampling=GREEDY)
    written = long.usage.completion_tokens - short.usage.completion_tokens
    return short.usage.prompt_tokens / short.usage.seconds, written / (long.usage.seconds - short.usage.seconds)


async def clocked(model: LocalModel, text: str) -> tuple[float, float]:
    """The same by llama.cpp's own clock, for a bare completion."""
    ids = model._engine.tokens(text)
    timings = (await model._engine.complete(ids, limit=REPLY, sampling=GREEDY)).timings
    return timings["prompt_per_second"], timings["predicted_per_second"]


if __name__ == "__main__":
    asyncio.run(main())
