"""What `collect` gives without a writer: items and rows found of the list questions of `documents-qa`, by words alone.

python benchmarks/quality/collect_local.py [--part dev] [--small]

`items`: share of a question's items that stand in a row or in the leads of one's place; `rows`: share of the rows that
hold an item or a piece of the evidence. Intervals are of 95 %, drawn by document. The questions name no columns, so
each row is one part of the document. No call is made, so the model's weights are not needed.

`--small`: instead, twenty small price lists, receipts, invoices, contracts and lists of names, with columns and rows by
hand (`collect_local.jsonl`). By ten of them the lists without a frame were written; ten were written after it.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from bookwheel import TextDocument, collect
from bookwheel.lab.scoring.commitment import mentions
from bookwheel.lab.tasks.documents_qa import load_documents, load_questions
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

SEED = 20261124
PLAN = Plan(chunk_tokens=400, memory_tokens=256, prompts="small")


def measure(part: str, journal: Path) -> list[dict[str, object]]:
    documents, found = load_documents(), []
    for one in load_questions(part):
        if one.kind not in {"list", "rows"}:
            continue
        model = ScriptedModel(lambda _: "", plan=PLAN)
        table = collect(TextDocument(documents[one.doc].text), one.question, model=model, journal=journal)
        rows = [row.places[0].quote for row in table.rows]
        evidence = [" ".join(quote.split()) for quote in one.evidence if quote.strip()]
        held = [any(any(mentions(row, wording) for row in rows) for wording in item) for item in one.items]
        right = [
            any(any(mentions(row, wording) for wording in item) for item in one.items)
            or any(flat in quote or quote in flat for quote in evidence)
            for row in rows
            for flat in [" ".join(row.split())]
        ]
        found.append(
            {
                "doc": one.doc,
                "kind": one.kind,
                "items": fmean(held) if held else 0.0,
                "rows": fmean(right) if right else 0.0,
                "count": len(rows),
                "all": all(held),
            }
        )
    return found


def measure_small(journal: Path) -> None:
    """Print the rows found of each set, and the share of the rows that are ones; a row holds all values of the gold."""
    counts = defaultdict(lambda: [0, 0, 0, 0])
    with Path(__file__).with_suffix(".jsonl").open(encoding="utf-8") as file:
        for one in map(json.loads, file):
            model = ScriptedModel(lambda _: "", plan=PLAN)
            table = collect(TextDocument(one["text"]), one["ask"], model=model, journal=journal)
            cells = [" ".join(cell or "" for cell in row.cells) for row in table.rows]
            quotes = [row.places[0].quote for row in table.rows]
            found = sum(any(all(value in row for value in gold) for row in cells) for gold in one["rows"])
            right = sum(any(all(value in row for value in gold) for gold in one["rows"]) for row in quotes)
            print(f"{one['name']}: {found} of {len(one['rows'])} rows, {right} of {len(quotes)} right")
            counts[one["set"]] = [
                sum(both)
                for both in zip(counts[one["set"]], (found, len(one["rows"]), right, len(quotes)), strict=True)
            ]
    for name, (found, gold, right, rows) in counts.items():
        print(f"{name}: {found} of {gold} rows, {right} of {rows} right")


def describe(found: list[dict[str, object]], name: str) -> str:
    """Return the mean of a measure with its interval, drawn by document."""
    groups, rng = defaultdict(list), random.Random(SEED)
    for one in found:
        groups[one["doc"]].append(float(one[name]))
    documents = [*groups.values()]
    means = sorted(
        fmean(value for group in rng.choices(documents, k=len(documents)) for value in group) for _ in range(2000)
    )
    return f"{fmean(float(one[name]) for one in found):.3f} ({means[50]:.3f} to {means[1949]:.3f})"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", default="dev", choices=("train", "dev"))
    options.add_argument("--small", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.small:
            measure_small(Path(folder) / "journal.sqlite")
            return
        found = measure(given.part, Path(folder) / "journal.sqlite")
    for kind in ("list", "rows", None):
        chosen = [one for one in found if kind in (None, one["kind"])]
        figures = ", ".join(f"{name} {describe(chosen, name)}" for name in ("items", "rows", "all"))
        print(
            f"{kind or 'all'}: n {len(chosen)}, {figures}, {fmean(one['count'] for one in chosen):.1f} rows a question"
        )


if __name__ == "__main__":
    main()
