"""How well the built-in model answers from tables: cells, comparisons, superlatives, lists, counts; and beside them.

    python benchmarks/quality/tables_qa.py [first second third] [--out RESULTS.jsonl]

The documents stand in `tables/`, written by hands that have not seen the program: price lists, timetables, sheets with
titles above their header, columns that blanks part, offers with a column for each supplier; English and Chinese.
`first` was read while the rules were made; `second` and `third` were each asked once before they were read.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import bookwheel
from bookwheel.flags import Flag
from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.scoring import score_answer

FOLDER = Path(__file__).with_name("tables")
PARTS = ("first", "second", "third")
KINDS = ("cell", "compare", "superlative", "list", "count", "prose", "absent")
NOT_FOUND = ("The document does not say", "文档中没有说明")


def score(row: dict, answer: str) -> float:
    """Return whether an answer is right; of a list the share of its items."""
    if row["kind"] == "absent":
        return float(answer.startswith(NOT_FOUND))
    if row["kind"] == "list":
        items = [item.strip() for item in row["answers"][0].split(";")]
        return score_answer("share_of", answer, items, row["question"]).score
    metrics = ("contains",) if row["kind"] in ("cell", "prose") else ("contains", "choice")
    return max(score_answer(metric, answer, row["answers"], row["question"]).score for metric in metrics)


def main() -> None:
    """Ask and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=PARTS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    results: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for row in (row for row in rows if row["part"] in options.parts):
        answer = bookwheel.read(FOLDER / row["doc"], row["question"], model="local").answer
        assert answer is not None
        right, is_sure = score(row, answer.text), Flag.UNSURE not in answer.flags
        is_sure = is_sure and not answer.text.startswith(NOT_FOUND)
        results[row["kind"]].append((right, is_sure))
        if options.out:
            line = row | {"answer": answer.text, "right": right, "sure": is_sure}
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print("| kind | n | right | sure | right of these |\n|---|---|---|---|---|")
    for kind in filter(results.get, KINDS):
        show(kind, results[kind])
    show("all but absent", [one for kind, found in results.items() if kind != "absent" for one in found])


def show(name: str, found: list[tuple[float, bool]]) -> None:
    """Print a row of the report."""
    right, sure = sum(one for one, _ in found), [one for one, is_sure in found if is_sure]
    bounds = wilson_interval(round(right), len(found))
    share = f"{right:.1f} ({bounds.low:.2f} to {bounds.high:.2f})"
    print(f"| {name} | {len(found)} | {share} | {len(sure)} | {sum(sure):.1f} |")


if __name__ == "__main__":
    main()
