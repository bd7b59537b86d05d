"""The log-probabilities of a given text: our forward pass beside llama.cpp, which has to generate it.

    python benchmarks/speed/forward_speed.py [THREADS] [ROUNDS]

In turn, on fresh texts of three lengths: a question after a chunk, after a passage, and after nothing new (the text was
read before). Times are medians; what differs is told in nats a token.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time

from bookwheel.environment import Environment
from bookwheel.models.local import LocalModel
from bookwheel.types import Message

QUESTION = "How many barrels did the customs men count in January?"
WORDS = ["harbour", "keeper", "storm", "lamp", "clock", "goat", "letter", "wind", "boat", "tide", "bread", "stone"]
LENGTHS = {"a chunk": 330, "a passage": 70}


def prompt(draw: random.Random, count: int) -> list[Message]:
    """Words in an order of their own, so that nothing but the template is known already."""
    return [Message(role="user", content=" ".join(draw.choices(WORDS, k=count)) + "\n\nAsk something about the text.")]


async def main() -> None:
    """Run rounds of both in turn."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    model = await LocalModel.open(threads=threads, environment=Environment.load())
    draw = random.Random(1)
    pieces = model._engine.split_pieces(QUESTION)
    sides = {"llama.cpp": model._engine, "forward pass": model._scorer}
    print(f"{threads} threads, {rounds} rounds, a question of {len(pieces)} tokens")
    print("| after | tokens | llama.cpp, ms | forward pass, ms | median ratio (min, max) | difference, nats a token |")
    print("|---|---|---|---|---|---|")
    await model.likelihood(prompt(draw, 9), QUESTION)
    for name, count in LENGTHS.items():
        for known in (False, True):
            times: dict[str, list[float]] = {side: [] for side in sides}
            gaps = []
            for _ in range(rounds):
                ids = model._prompt(prompt(draw, count))
                means = []
                for side, scorer in sides.items():
                    if known:
                        await scorer.score(ids, pieces)
                    began = time.perf_counter()
                    means.append(statistics.mean(await scorer.score(ids, pieces)))
                    times[side].append(1000 * (time.perf_counter() - began))
                gaps.append(abs(means[0] - means[1]))
            ratios = [theirs / ours for theirs, ours in zip(*times.values(), strict=True)]
            columns = " | ".join(f"{statistics.median(column):.0f}" for column in times.values())
            spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}, {max(ratios):.2f})"
            label = f"{name}, read before" if known else name
            print(f"| {label} | {len(ids)} | {columns} | {spread} | {statistics.mean(gaps):.3f} |")
    await model.aclose()


if __name__ == "__main__":
    asyncio.run(main())
