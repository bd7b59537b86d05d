"""Judge the constructed answers by our metrics and by both published ones.

    python benchmarks/quality/judges.py [--write]

Prints, for each kind of answer, how many verdicts of each judge are the right ones; `--write` records the verdicts in
tests/fixtures/answers.jsonl, where a test compares them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from bookwheel.lab.scoring import official, score_answer, string_match_all, string_match_part

ANSWERS = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "answers.jsonl"
JUDGES = ("ours", "official", "ruler")
# A list counts as right when it is complete and has nothing else.
WHOLE = 0.999


def judge(row: dict) -> dict:
    """Return the row with the three verdicts."""
    answer, golds = row["answer"], row["golds"]
    ruler = string_match_all if row["metric"] == "set_f1" else string_match_part
    return {
        **row,
        "ours": int(score_answer(row["metric"], answer, golds, row["question"]).score > WHOLE),
        "official": official(answer, golds).score,
        "ruler": ruler(answer, golds).score,
    }


def main() -> None:
    """Print the table, and our misses."""
    rows = [judge(json.loads(line)) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    total, right = Counter(), Counter()
    for row in rows:
        total[row["kind"]] += 1
        for name in JUDGES:
            right[row["kind"], name] += (row[name] > WHOLE) == bool(row["right"])
    print("| answers | n | ours | MemAgent's | RULER's |\n|---|---|---|---|---|")
    for kind, n in total.items():
        print(f"| {kind} | {n} | " + " | ".join(str(right[kind, name]) for name in JUDGES) + " |")
    sums = [str(sum(right[kind, name] for kind in total)) for name in JUDGES]
    print(f"| **all** | {len(rows)} | " + " | ".join(sums) + " |")
    for row in rows:
        if row["ours"] != row["right"]:
            print(
                f"  miss: {row['kind']}: gold {row['golds']} answer {row['answer']!r} is {row['right']}",
                file=sys.stderr,
            )
    if "--write" in sys.argv:
        ANSWERS.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
