"""How long the report of a large evaluation takes.

    python benchmarks/speed/report_speed.py [QUESTIONS]

Writes a results file of 7 ways x 3 models x 6 lengths x 3 tasks with 100 questions each (37,800 samples) and measures
the CPU seconds of loading, numbers, Markdown, plots and page.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from bookwheel.lab.evaluation.layout import build_sections, write_report
from bookwheel.lab.evaluation.plots import draw_plots
from bookwheel.lab.evaluation.records import Record, SampleOutcome
from bookwheel.lab.evaluation.report import build_report
from bookwheel.lab.evaluation.results import EvaluationRun, Results

WAYS = ("sequential", "whole", "middle-cut", "bm25", "refine", "map-reduce", "closed-book")
LENGTHS = (1000, 4000, 16000, 64000, 256000, 1024000)
METRICS = {"niah_single_2": "contains", "vt": "share_of", "hqa": "f1"}


def records(questions: int) -> list[Record]:
    """Return made-up records; a third of the metrics is graded."""
    rng = random.Random(7)
    return [
        Record(
            fingerprint="f",
            task=task,
            length=length,
            sample=f"{task}-{length}-{number}",
            content=f"{task}{length}{number}",
            question=f"What about {number}?",
            golds=(str(number),),
            answer="An answer of some words. " * 4,
            way=way,
            model=model,
            outcome=SampleOutcome.SCORED,
            score=float(rng.random() < 0.6) if metric == "contains" else round(rng.random(), 3),
            official=float(rng.random() < 0.6),
            metric=metric,
            depth=rng.random(),
            prompt_tokens=length,
            completion_tokens=100,
            seconds=length / 1000,
        )
        for model in ("small", "middle", "large")
        for way in WAYS
        for task, metric in METRICS.items()
        for length in LENGTHS
        for number in range(questions)
    ]


def main() -> None:
    """Print the seconds of each part."""
    made = records(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    run = EvaluationRun(command="", created="", version="", fixed={}, models={}, settings={})
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "results.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(one.to_line()) + "\n" for one in (run, *made))
        marks = [time.process_time()]
        results = Results.load(path)
        marks.append(time.process_time())
        report = build_report(results)
        marks.append(time.process_time())
        build_sections(report)
        marks.append(time.process_time())
        draw_plots(report)
        marks.append(time.process_time())
        write_report(report, Path(name))
        marks.append(time.process_time())
    names = ("load", "numbers", "layout", "plots", "all files")
    for part, (began, ended) in zip(names, pairwise(marks), strict=True):
        print(f"{part:10} {ended - began:6.2f} s")
    print(f"{'load, numbers, files':10} {marks[2] - marks[0] + marks[5] - marks[4]:6.2f} s for {len(made):,} samples")


if __name__ == "__main__":
    main()
