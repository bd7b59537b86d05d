"""What the reader's adapter is worth by itself: its choices, short answers, yes and no, and claims on held-out lessons.

    python benchmarks/training/reader_lessons.py LESSONS.jsonl --part dev --squad 20
    python benchmarks/quality/reader_parts.py LESSONS.jsonl --out RESULTS.jsonl [--adapter FILE] [--groups 60]

The short answers are those that the reader would copy out of the right passage, however sure it is; `told at` says what
share would be shown where the least log-probability is that, and how good those are. Intervals are of 95 %, by group.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bookwheel.environment import Environment
from bookwheel.lab.evaluation.calibration import measure_auc
from bookwheel.lab.scoring import load_metric
from bookwheel.lab.training.warmstart import LessonFile
from bookwheel.models.base import copy_spans
from bookwheel.models.local import LocalModel
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.passages import GAP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.training.warmstart import Lesson

EXACT, F1 = load_metric("exact"), load_metric("f1")


async def measure(lesson: Lesson, model: LocalModel) -> dict[str, Any]:
    """Return what the adapter says to one lesson."""
    prompts = prompts_for(model.plan, lesson.question)

    async def judge(turn: str, section: str, question: str, memory: str = "") -> float:
        asked = prompts.turn(turn, question=question, memory=memory, section=section)
        yes, no = (await model.judge(asked, prompts.options)).logprobs
        return yes - no

    told: dict[str, Any] = {"question": lesson.question, "answer": lesson.answer}
    if lesson.answer in ("Yes.", "No."):
        told["polar"] = await judge("short", lesson.source, lesson.question)
    elif lesson.answer:
        asked = prompts.turn("short", question=lesson.question, section=lesson.source)
        spans = (await copy_spans(model, asked, lesson.source, GAP)).spans
        told["copied"] = lesson.source[spans[0].start : spans[0].end] if spans else ""
        told["logprob"] = spans[0].logprob if spans else -99.0
        told["exact"] = EXACT(told["copied"], [lesson.answer]).score
        told["f1"] = F1(told["copied"], [lesson.answer]).score
    if lesson.passages:
        told["is_right"] = [one.is_right for one in lesson.passages]
        told["log_odds"] = [await judge("answers", one.text, lesson.question) for one in lesson.passages]
    if lesson.claims:
        told["claims"] = [
            [one.is_right, bool(one.question), await judge("supports", one.passage, one.question, one.text)]
            for one in lesson.claims
        ]
    return told


def show(name: str, groups: Sequence[Sequence[dict[str, Any]]], key: str) -> None:
    """Print a mean with its interval."""
    kept = [[float(one[key]) for one in some if key in one] for some in groups]
    kept = [some for some in kept if some]
    if not kept:
        return
    draw = Random(1)
    means = sorted(fmean([one for some in draw.choices(kept, k=len(kept)) for one in some]) for _ in range(1000))
    values = [one for some in kept for one in some]
    print(f"{name:28} {fmean(values):.3f} ({means[25]:.3f} to {means[974]:.3f}), n {len(values)}")


def report(groups: Sequence[Sequence[dict[str, Any]]]) -> None:
    """Print what came out."""
    lessons = [one for some in groups for one in some]
    for one in lessons:
        if "log_odds" in one:
            best = max(range(len(one["log_odds"])), key=one["log_odds"].__getitem__)
            if any(one["is_right"]):
                one["chosen"] = one["is_right"][best]
        if "polar" in one:
            one["told"] = (one["polar"] > 0) == (one["answer"] == "Yes.")
    show("right passage chosen", groups, "chosen")
    judged = [one for one in lessons if "log_odds" in one]
    pairs = [(odds, right) for one in judged for odds, right in zip(one["log_odds"], one["is_right"], strict=True)]
    print(f"{'a passage answers, AUC':28} {measure_auc(*map(list, zip(*pairs, strict=True))):.3f}, n {len(pairs)}")
    best = [(max(one["log_odds"]), any(one["is_right"])) for one in judged]
    print(f"{'answered or absent, AUC':28} {measure_auc(*map(list, zip(*best, strict=True))):.3f}, n {len(best)}")
    show("short answer exact", groups, "exact")
    show("short answer F1", groups, "f1")
    copied = [one for one in lessons if "copied" in one]
    for least in (-0.3, -0.7, -1.2, -2.0, -3.0, -5.0):
        sure = [one for one in copied if one["logprob"] >= least]
        if sure:
            share = len(sure) / len(copied)
            print(
                f"told at {least:5}: {share:.2f}, exact {fmean(x['exact'] for x in sure):.2f}, F1 "
                f"{fmean(x['f1'] for x in sure):.2f}"
            )
    show("yes or no", groups, "told")
    for name, has_question in (("answers borne out, AUC", True), ("sentences borne out, AUC", False)):
        claims = [
            (odds, right) for one in lessons for right, asked, odds in one.get("claims", ()) if asked is has_question
        ]
        if len({right for _, right in claims}) > 1:
            auc = measure_auc(*map(list, zip(*claims, strict=True)))
            right = fmean((odds > 0) == label for odds, label in claims)
            print(f"{name:28} {auc:.3f}, right at 0: {right:.3f}, n {len(claims)}")


async def main() -> None:
    """Measure what is not measured yet, then report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--adapter", type=Path)
    parser.add_argument("--groups", type=int, default=60)
    options = parser.parse_args()
    done = [json.loads(line) for line in options.out.open()] if options.out.exists() else []
    model = await LocalModel.open(options.adapter, threads=1, environment=Environment.load())
    drawn = LessonFile(options.lessons, 0).draw(options.groups, 0)
    with options.out.open("a", encoding="utf-8") as out:
        for group in drawn[len(done) :]:
            done.append([await measure(lesson, model) for lesson in group])
            out.write(json.dumps(done[-1], ensure_ascii=False) + "\n")
            out.flush()
    await model.aclose()
    report(done[: options.groups])


if __name__ == "__main__":
    asyncio.run(main())
