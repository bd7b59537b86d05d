"""Whether the built-in reader learns from text alone: which passage makes what follows likelier, without one label.

    python benchmarks/training/recovered_on_text.py make runs/recovered/train.jsonl --count 120 --seed 0
    python benchmarks/training/recovered_on_text.py make runs/recovered/held.jsonl --count 50 --seed 0 --held-out
    python benchmarks/training/recovered_on_text.py train runs/recovered --steps 30 --rate 1e-4

A sample is a cloze, a sentence of an article or a book without its last words, which the text before has said; and the
six passages of that text which share the most words with it. Questions and answers of the data are not looked at. R of
a passage as the memory is told by the plain weights (`worth.py`, in probabilities), once. The policy is the shipped
adapter: it takes passage i with the probability softmax(z), of the log-odds of its judgements, or none with that of a z
of 0. All choices can be listed, so the gradient of what is expected needs no rollout:

    J = sum p_i R_i      dJ/dz_i = p_i (R_i - J)

Before and after, on articles and a book that nothing was trained on: the mean R of the passage that is chosen, and how
often the right passage is chosen for questions of SQuAD's development set, whose labels are looked at for that alone.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import time
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Final

import torch

from bookwheel.environment import Environment
from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.formats import load_items
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_policy, build_samples, export_adapter
from bookwheel.lab.training.likelihood import find_clozes
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.warmstart import (
    Lesson,
    PassageOption,
    build_lesson,
    build_rows,
    compute_log_odds,
    is_chosen_right,
)
from bookwheel.models.local import LocalModel
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.passages import overlaps, split_windows
from bookwheel.reading.worth import MemoryScorer, Target
from bookwheel.text.ranking import QuestionWords, list_words
from bookwheel.text.sentences import list_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

PASSAGES: Final = 6
LEAST_CHARACTERS: Final = 6000
BOOKS: Final = {False: "en_sherlock_holmes_adventures_doyle", True: "en_middlemarch_eliot"}
ARTICLES: Final = {False: "qa_en/squad_v1.1_train_subset.json", True: "qa_en/squad_v1.1_dev.json"}
SECTION: Final = 12_000


def list_texts(*, held_out: bool) -> list[str]:
    """Return sections of a book and whole articles."""
    data = DataDir.locate(None)
    with gzip.open(data.require(f"books/{BOOKS[held_out]}.txt", "this benchmark"), "rt", encoding="utf-8") as file:
        book = file.read()
    articles: dict[str, dict[str, None]] = {}
    for item in load_items(data.require(ARTICLES[held_out], "this benchmark")):
        for paragraph in item.paragraphs:
            articles.setdefault(paragraph.title, {})[paragraph.text] = None
    sections = [book[at : at + SECTION] for at in range(0, len(book), SECTION)]
    return [text for text in (*sections, *map("\n\n".join, articles.values())) if len(text) >= LEAST_CHARACTERS]


def draw_clozes(texts: list[str], random: Random) -> Iterator[tuple[Target, str]]:
    """Yield clozes of the second half of a text whose last words the text before has, and that text."""
    for text in cycle(random.sample(texts, len(texts))):
        before, after = text[: len(text) // 2], text[len(text) // 2 :]
        said = set(list_words(before))
        for one in find_clozes(after, random, 12):
            asked, cue = set(list_words(one.text)), set(list_words(one.cue))
            if any(len(word) > 4 or word.isdigit() for word in asked - cue) and asked - cue <= said:
                yield one, before
                break


async def make(options: argparse.Namespace) -> None:
    """Write samples with the R of their passages."""
    model = await LocalModel.open(threads=1, environment=Environment.load())
    plan, random = TrainConfig.load("reader").plan, Random(f"{options.seed}/{options.held_out}")
    texts = list_texts(held_out=options.held_out)
    with options.out.open("w", encoding="utf-8") as file:
        for number, (cloze, before) in enumerate(draw_clozes(texts, random)):
            if number == options.count:
                break
            prompts = prompts_for(plan, before)
            asked = replace(cloze, cue=prompts.turn("cloze", question=cloze.cue)[-1].content.strip())
            windows = list(split_windows(before, model.tokenizer, plan.memory_tokens // 2))
            near = QuestionWords(cloze.cue).choose(windows, 3 * PASSAGES)
            passages = [text for at, text in enumerate(near) if not any(overlaps(text, one) for one in near[:at])]
            passages = passages[:PASSAGES]
            control = random.choice(list_sentences(random.choice(texts)))
            scorer = MemoryScorer(model, prompts, control)
            worths = [await scorer.score_chances(passage, [asked]) or 0.0 for passage in passages]
            line = {"question": asked.cue, "said": cloze.text, "passages": passages, "worths": worths}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()


def load(path: Path) -> list[tuple[Lesson, list[float]]]:
    """Return samples as lessons without a right passage, and what each passage is worth."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        (
            Lesson(
                question=row["question"],
                passages=tuple(PassageOption(text=text, is_right=False) for text in row["passages"]),
            ),
            row["worths"],
        )
        for row in rows
    ]


class Reader:
    """The policy: the shipped adapter over the built-in weights."""

    def __init__(self) -> None:
        config = TrainConfig.load("reader")
        self.config = replace(config, policy=replace(config.policy, adapter="reader"))
        self.policy = build_policy(self.config)
        self.model = PolicyModel(self.policy, plan=self.config.plan, budget=config.policy.rollout_tokens)

    def judge(self, lesson: Lesson) -> Tensor:
        """Return the log-odds of each passage."""
        return compute_log_odds(
            self.policy.score(build_rows([lesson], self.model, self.config.plan, "text").rows).logprobs
        )

    @torch.no_grad()
    def measure(self, held: list[tuple[Lesson, list[float]]], questions: list[Lesson]) -> dict[str, float | str]:
        """Return the mean R of what is chosen, and how many right passages."""
        chosen, expected, best = [], [], []
        for lesson, worths in held:
            odds = self.judge(lesson)
            chosen.append(worths[int(odds.argmax())] if (odds > 0).any() else 0.0)
            expected.append(expect(odds, odds.new_tensor(worths)).item())
            best.append(max(0.0, *worths))
        rights = 0
        for one in questions:
            rights += is_chosen_right(self.judge(one), torch.tensor([passage.is_right for passage in one.passages]))
        interval = wilson_interval(rights, len(questions))
        return {
            "chosen R": round(fmean(chosen), 4),
            "expected R": round(fmean(expected), 4),
            "first R": round(fmean(worths[0] for _, worths in held), 4),
            "best R": round(fmean(best), 4),
            "questions": f"{rights} of {len(questions)} ({interval.low:.2f} to {interval.high:.2f})",
        }


def expect(log_odds: Tensor, worths: Tensor) -> Tensor:
    """Return J of one sample."""
    chances = torch.softmax(torch.cat((log_odds.new_zeros(1), log_odds)), 0)
    return (chances[1:] * worths).sum()


def train(options: argparse.Namespace) -> None:
    """Train, and print what was before and after."""
    torch.set_num_threads(1)
    reader, samples = Reader(), load(options.folder / "train.jsonl")
    held = load(options.folder / "held.jsonl")
    dev = build_samples(reader.config, reader.policy, options.questions, held_out=True)
    questions = [build_lesson(sample, reader.model.tokenizer, reader.config.plan) for sample in dev]
    print("before", reader.measure(held, questions), flush=True)
    weights = [one for one in reader.policy.model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=options.rate, weight_decay=0.0)
    order, began = Random(options.seed).sample(range(len(samples)), len(samples)), time.perf_counter()
    for step in range(options.steps):
        gained = []
        for place in range(options.batch):
            lesson, worths = samples[order[(step * options.batch + place) % len(order)]]
            odds = reader.judge(lesson)
            value = expect(odds, odds.new_tensor(worths))
            (-value / options.batch).backward()
            gained.append(value.item())
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step + 1}  J {fmean(gained):.3f}  {time.perf_counter() - began:.0f} s", flush=True)
    print("after", reader.measure(held, questions), flush=True)
    export_adapter(
        reader.policy, options.folder / "adapter.gguf", reader.config.plan, reader.config.way, turns="short supports"
    )


def main() -> None:
    """Make samples, or train on them."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("make")
    making.add_argument("out", type=Path)
    making.add_argument("--count", type=int, default=120)
    making.add_argument("--held-out", action="store_true")
    making.set_defaults(run=lambda given: asyncio.run(make(given)))
    training = commands.add_parser("train")
    training.add_argument("folder", type=Path)
    training.add_argument("--steps", type=int, default=30)
    training.add_argument("--batch", type=int, default=4)
    training.add_argument("--rate", type=float, default=1e-4)
    training.add_argument("--questions", type=int, default=100)
    training.set_defaults(run=train)
    for one in (making, training):
        one.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
