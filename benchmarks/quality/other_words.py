"""How well does the built-in model answer questions in other words than the document's? By a hand that knew no code.

    python benchmarks/quality/other_words.py first [--out RESULTS.jsonl]

Thirty documents of one to three pages, ten of them Chinese: contracts, terms, minutes, mails, chats, manuals, programs,
logs, invoices, news, rules, papers; six questions each, one of them about what the document does not say. `first` was
read after it was asked; `second` was never read: who asks it once learns what changes since are worth to a stranger.
A run that was ended goes on where RESULTS ends.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import bookwheel
from bookwheel.claims import Sign
from bookwheel.lab.evaluation.statistics import wilson_interval

FILE = Path(__file__).with_suffix(".jsonl.gz")
YES, NO = ("yes", "是", "有", "可以", "能"), ("no", "不", "没", "否")
# Letters that a gold answer has at least to be looked for in a passage.
LEAST = 4


def fold(text: str) -> str:
    return re.sub(r"[\s,.，。、*`]+", "", text.casefold())


def judge(question: dict[str, Any], answer: str, passage: str) -> dict[str, bool]:
    """Return whether the short answer has a gold one, and whether it or the passage has the evidence."""
    golds, said, shown = [fold(gold) for gold in question["gold"]], fold(answer), fold(passage + answer)
    if golds and golds[0] in {"yes", "no"}:
        short = said.startswith(YES if golds[0] == "yes" else NO)
    else:
        short = any(gold in said for gold in golds)
    has_passage = fold(question["evidence"]) in shown or any(len(one) >= LEAST and one in shown for one in golds)
    return {"short": short, "passage": bool(golds) and (short or has_passage)}


def ask(case: dict[str, Any], folder: Path, question: dict[str, Any]) -> dict[str, Any]:
    """Return what the built-in model says to one question, judged."""
    for name, text in case["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    names = [question["file"]] if question.get("file") else list(case["files"])
    source = [folder / name for name in names]
    reading = bookwheel.read(source, question["question"], model="local", journal=folder / "j.sqlite")
    assert reading.answer is not None
    answer, passage = reading.answer.text, reading.answer.passage or ""
    told = {"id": question["id"], "question": question["question"], "gold": question["gold"]}
    return told | {"answer": answer, "sign": str(reading.sign)} | judge(question, answer, passage)


def report(rows: list[dict[str, Any]]) -> None:
    """Print the shares with their 95 % intervals."""
    answerable, absent = [one for one in rows if one["gold"]], [one for one in rows if not one["gold"]]
    green = [one for one in rows if one["sign"] == Sign.GREEN]
    counts = {
        "right in the short answer": ([one["short"] for one in answerable]),
        "right in the passage or the answer": ([one["passage"] for one in answerable]),
        "answerable, refused": ([one["sign"] == Sign.GREY for one in answerable]),
        "absent, refused": ([one["sign"] == Sign.GREY for one in absent]),
        "green, right": ([one["short"] for one in green]),
    }
    for name, found in counts.items():
        bounds = wilson_interval(sum(found), len(found)) if found else None
        print(f"{name}: {sum(found)} of {len(found)}", f"({bounds.low:.2f} to {bounds.high:.2f})" if bounds else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("first", "second"))
    parser.add_argument("--out", type=Path, default=Path("other-words.jsonl"))
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text("utf-8").splitlines()] if given.out.exists() else []
    done = {row["id"] for row in rows}
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        cases = [case for line in file if (case := json.loads(line))["part"] == given.part]
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            for question in (one for one in case["questions"] if one["id"] not in done):
                rows.append(ask(case, Path(folder), question))
                with given.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    report(rows)


if __name__ == "__main__":
    main()
