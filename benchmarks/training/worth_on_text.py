"""Whether the worth of a memory (R) tells good memories from bad ones on real text, scored by the built-in weights.

    python benchmarks/training/worth_on_text.py --count 60 --seed 0

Each sample is a question of SQuAD's development set, the sentence with its gold answer, and their paragraph, in
`$BOOKWHEEL_DATA`. R is asked of the gold answer, after the question; what could be known is the paragraph. The AUC is
how often the whole sentence has the higher R than another memory, over all pairs of samples.
"""

from __future__ import annotations

import argparse
import asyncio
from random import Random
from statistics import fmean
from typing import Final

from bookwheel.environment import Environment
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.formats import load_items
from bookwheel.models.local import LocalModel
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.worth import MemoryScorer, Target
from bookwheel.text.sentences import list_sentences

KINDS: Final = ("whole", "first half", "without the answer", "another answer", "shuffled", "unrelated", "empty")
LEAST_WORDS: Final = 8


def draw_samples(count: int, seed: int) -> list[tuple[str, str, str, str]]:
    """Return questions with the sentence that has the gold answer, that answer, and the paragraph."""
    items = load_items(DataDir.locate(None).require("qa_en/squad_v1.1_dev.json", "this benchmark"))
    samples = []
    for item in Random(seed).sample(items, len(items)):
        held = [one for one in list_sentences(item.paragraphs[0].text) if item.golds and item.golds[0] in one]
        if held and len(held[0].split()) >= LEAST_WORDS:
            samples.append((item.question, held[0], item.golds[0], item.paragraphs[0].text))
        if len(samples) == count:
            break
    return samples


def spoil(sentence: str, answer: str, other: tuple[str, ...], random: Random) -> dict[str, str]:
    """Return the memories that are compared."""
    words = sentence.split()
    return {
        "whole": sentence,
        "first half": " ".join(words[: len(words) // 2]),
        "without the answer": sentence.replace(answer, "…"),
        "another answer": sentence.replace(answer, other[2]),
        "shuffled": " ".join(random.sample(words, len(words))),
        "unrelated": other[1],
        "empty": "",
    }


async def measure(count: int, seed: int) -> None:
    """Print the mean R of each kind of memory, and how well R tells it from the whole sentence."""
    model = await LocalModel.open(threads=1, environment=Environment.load())
    samples, random = draw_samples(count, seed), Random(seed)
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for at, (question, sentence, answer, paragraph) in enumerate(samples):
        # Two samples on, so that the control is another one than the unrelated memory.
        other, control = samples[(at + count // 2) % count], samples[(at + count // 3) % count]
        scorer = MemoryScorer(model, prompts_for(Plan(language="en"), question), control[1])
        target = Target(text=answer, cue=question, past=paragraph)
        for kind, memory in spoil(sentence, answer, other, random).items():
            found[kind].append((await scorer.score(memory, [target])).recovered or 0.0)
    whole = found["whole"]
    print(f"{len(samples)} sentences, seed {seed}")
    for kind, scores in found.items():
        pairs = [(a > b) + (a == b) / 2 for a in whole for b in scores]
        above = sum(a > b for a, b in zip(whole, scores, strict=True))
        print(f"{kind:20} mean R {fmean(scores):6.3f}  AUC {fmean(pairs):.3f}  whole is above in {above}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    asyncio.run(measure(given.count, given.seed))
