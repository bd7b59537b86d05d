"""Measure how far a verdict can be trusted, on labelled answers to questions about snippets of documents.

    python benchmarks/quality/verdicts.py FILE.jsonl ... [--show]

Each line is one JSON object with lang, snippet, question, answer, label and answers, as in the task `verdict`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from bookwheel.claims import BORNE_OUT, Fit, Verdict, sum_up_fits, sum_up_verdicts
from bookwheel.documents.opening import TextDocument
from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.verdict.judge import judge_answer


def judge(row: dict) -> tuple[Verdict | None, Fit | None, int]:
    """Return the verdict on an answer, whether it answers, and how many passages are quoted against it."""
    _, claims = judge_answer(row["answer"], row["question"], (), TextDocument(row["snippet"]))
    return sum_up_verdicts(claims), sum_up_fits(claims), sum(len(claim.against) for claim in claims)


def share(part: int, whole: int) -> str:
    """Return a share with its 95 % interval."""
    if not whole:
        return "none of none"
    bounds = wilson_interval(part, whole)
    return f"{part} of {whole} = {part / whole:.2f} ({bounds.low:.2f} to {bounds.high:.2f})"


def report(rows: list[dict], judged: list[tuple[Verdict | None, Fit | None, int]]) -> None:
    """Print the table of the lab note for these answers."""
    pairs = list(zip(rows, judged, strict=True))
    out = [(row, verdict, fit, against) for row, (verdict, fit, against) in pairs]
    borne = [one for one in out if one[1] in BORNE_OUT]
    supported = [one for one in out if one[0]["label"] == "supported"]
    denied = [one for one in out if one[0]["label"] == "contradicted"]
    off = [one for one in out if one[0]["answers"] == "no"]
    green = [one for one in borne if one[2] is Fit.YES]
    right_green = [one for one in green if one[0]["label"] == "supported" and one[0]["answers"] == "yes"]
    should = [one for one in supported if one[0]["answers"] == "yes"]
    print(f"  n {len(rows)}, supported {len(supported)}, contradicted {len(denied)}, not answering {len(off)}")
    print("  recall of quoted or supported  ", share(sum(one[1] in BORNE_OUT for one in supported), len(supported)))
    print("  precision                      ", share(sum(one[0]["label"] == "supported" for one in borne), len(borne)))
    print("  contradicted, called borne out ", share(sum(one[1] in BORNE_OUT for one in denied), len(denied)))
    print(
        "  contradictions found and quoted", share(sum(one[1] is Verdict.CONTRADICTED for one in denied), len(denied))
    )
    called = [one for one in out if one[1] is Verdict.CONTRADICTED]
    print(
        "  precision of contradicted      ",
        share(sum(one[0]["label"] == "contradicted" for one in called), len(called)),
    )
    print("  green of right and answering   ", share(len(right_green), len(should)))
    print("  green that is right and answers", share(len(right_green), len(green)))
    print("  not answering, green           ", share(sum(one in green for one in off), len(off)))


def main() -> None:
    """Judge the answers and print the table, both languages apart."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="print each answer whose verdict is not its label")
    given = parser.parse_args()
    rows = [json.loads(line) for file in given.files for line in file.read_text(encoding="utf-8").splitlines()]
    judged = [judge(row) for row in rows]
    for lang in (*dict.fromkeys(row["lang"] for row in rows), ""):
        at = [number for number, row in enumerate(rows) if not lang or row["lang"] == lang]
        print(lang or "both")
        report([rows[number] for number in at], [judged[number] for number in at])
    counts = Counter((row["label"], str(verdict)) for row, (verdict, _, _) in zip(rows, judged, strict=True))
    for (label, verdict), count in sorted(counts.items()):
        print(f"  {label:14} {verdict:14} {count}")
    for row, (verdict, fit, _) in zip(rows, judged, strict=True) if given.show else ():
        if str(verdict) != row["label"]:
            print(f"{verdict} for {row['label']}, {fit} for {row['answers']}: {row['question']} {row['answer']}")


if __name__ == "__main__":
    main()
