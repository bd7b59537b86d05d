"""What `collect` gives without a writer: items and rows found of the list questions of `documents-qa`, by words alone.

python benchmarks/quality/collect_local.py [--part dev]

`items`: share of a question's items that stand in a row or in the leads of one's place; `rows`: share of the rows that
hold an item or a piece of the evidence. Intervals are of 95 %, drawn by document. The questions name no columns, so
each row is one part of the document. No call is made, so the model's weights are not needed.
"""

from __future__ import annotations

import argparse
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
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given.part, Path(folder) / "journal.sqlite")
    for kind in ("list", "rows", None):
        chosen = [one for one in found if kind in (None, one["kind"])]
        figures = ", ".join(f"{name} {describe(chosen, name)}" for name in ("items", "rows", "all"))
        print(
            f"{kind or 'all'}: n {len(chosen)}, {figures}, {fmean(one['count'] for one in chosen):.1f} rows a question"
        )


if __name__ == "__main__":
    main()
