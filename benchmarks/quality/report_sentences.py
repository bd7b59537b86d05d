"""Which sentences of a writer of reports are kept, marked or left out: true ones, and inventions of many kinds.

python benchmarks/quality/report_sentences.py [--rows 200] [--seeds 5] [--claims]

First payments as `collect` proves them; a sentence is true if its row says all of it. Inventions: another amount, date
or name, a denial by "not" and by "never", an addition, no number, a number that is not there, an opinion, a fact of
nowhere, what belongs to another row. True sentences: the row's own words, five paraphrases, and two rows in one
sentence, or in a list. Then `report_sentences.jsonl`: true rewordings and twisted sentences by hand on rows of
contracts, logs, minutes, chats and invoices. With `--claims`, the true and false statements of
benchmarks/training/written too: each of one passage, the true ones as far from its words and the false ones as near to
them as their writers could.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.reports.checking import SourceLine, check_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
NAMES = ("Ada Quill", "Odo Farr", "Mabel Grange", "Petronella Vint", "Jory Glimwood", "Silas Oakhurst")
INVENTIONS = {
    "amount": "{who} pays {more} crowns by {due} [{n}].",
    "date": "{who} pays {amount} crowns by 29 July 2031 [{n}].",
    "name": "Agent Mallory pays {amount} crowns by {due} [{n}].",
    "not": "{who} does not pay {amount} crowns by {due} [{n}].",
    "never": "{who} never pays {amount} crowns by {due} [{n}].",
    "addition": "{who} pays {amount} crowns by {due}, out of sheer greed [{n}].",
    "no number": "{who} pays {amount} crowns by {due}.",
    "no such row": "{who} pays {amount} crowns by {due} [99999].",
    "opinion": "The payments are outrageous [{n}].",
    "nowhere": "{who} was imprisoned in Este for fraud [{n}].",
    "other's": "{who} pays {other} crowns by {due} [{n}][{m}].",
    "exchanged": "{who} pays {other} crowns and {who2} pays {amount} crowns [{n}][{m}].",
    "half": "{who} pays {amount} crowns and {who2} pays {more} crowns [{n}][{m}].",
    "receiver": "{who} receives {amount} crowns by {due} [{n}].",
    "is paid": "{who} is paid {amount} crowns by {due} [{n}].",
    "after": "{who} pays {amount} crowns after {due} [{n}].",
}
TRUE = {
    "own words": "{who} pays {amount} crowns by {due} [{n}].",
    "short": "{who} pays {amount} crowns [{n}].",
    "must": "{who} must pay {amount} crowns by {due} [{n}].",
    "turned": "By {due} {who} pays {amount} crowns [{n}].",
    "colon": "{who}: {amount} crowns, due {due} [{n}].",
    "two": "{who} pays {amount} crowns and {who2} pays {other} crowns [{n}][{m}].",
    "reworded": "{amount} crowns are due from {who} by {due} [{n}].",
    "list": "{who} pays {amount} crowns, {who2} {other} crowns by {due2} [{n}][{m}].",
}
STATES = ("kept", "marked", "left out")


def list_payments(rows: int, seeds: int) -> Iterator[tuple[str, str, dict[int, SourceLine]]]:
    """Yield the kind of each sentence, the sentence and its sources."""
    for seed in range(seeds):
        rng = random.Random(seed)
        made = [(rng.choice(NAMES), rng.randrange(10, 9999), f"{rng.randrange(1, 29)} June 2027") for _ in range(rows)]
        sources = {
            n: SourceLine(
                number=n,
                said=f"who: {who}; amount: {amount} crowns; due date: {due}",
                quote=f"{who} pays {amount} crowns by {due}",
                document="d",
            )
            for n, (who, amount, due) in enumerate(made, start=1)
        }
        for n, (who, amount, due) in enumerate(made, start=1):
            m = rng.choice([other for other in range(1, len(made) + 1) if made[other - 1][0] != who])
            values = {"n": n, "m": m, "who": who, "amount": amount, "more": amount + 1, "due": due}
            values |= {"other": made[m - 1][1], "who2": made[m - 1][0], "due2": made[m - 1][2]}
            for title, kinds in (("invented", INVENTIONS), ("true", TRUE)):
                for kind, template in kinds.items():
                    yield f"{title}: {kind}", template.format(**values), sources


def list_by_hand() -> Iterator[tuple[str, str, dict[int, SourceLine]]]:
    with (HERE / "collect_replies.jsonl").open(encoding="utf-8") as file:
        rows = {one["name"]: one["rows"] for one in map(json.loads, file)}
    with (HERE / "report_sentences.jsonl").open(encoding="utf-8") as file:
        for one in map(json.loads, file):
            cells, quote = rows[one["name"]][one["row"]]
            said = "; ".join(f"{name}: {value}" for name, value in cells.items() if value is not None)
            source = SourceLine(number=1, said=said, quote=quote, document="d")
            language = "zh" if one["name"].endswith("zh") else "en"
            for title, sentences in (("reworded by hand", one["true"]), ("twisted by hand", one["false"])):
                yield from ((f"{title}, {language}", _cite(sentence), {1: source}) for sentence in sentences)


def list_claims() -> Iterator[tuple[str, str, dict[int, SourceLine]]]:
    for path in sorted((HERE.parent / "training" / "written").glob("*.txt")):
        passage, language = "", "zh" if path.name.startswith("zh") else "en"
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, _, text = line.partition(": ")
            passage = text if kind == "P" else passage
            if kind in {"T", "F"} and passage:
                title = {"T": "true claim", "F": "false claim"}[kind]
                yield (
                    f"{title}, {language}",
                    _cite(text),
                    {1: SourceLine(number=1, said="", quote=passage, document="d")},
                )


def _cite(sentence: str) -> str:
    return f"{sentence.rstrip('.。')} [1]{'。' if sentence.endswith('。') else '.'}"


def judge(sentence: str, sources: dict[int, SourceLine]) -> str:
    """Return the worst of what becomes of the sentences of a text."""
    checked = list(check_sentences(sentence, sources))
    if not all(one.is_kept for one in checked):
        return "left out"
    return "marked" if any(one.is_marked for one in checked) else "kept"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=200)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--claims", action="store_true")
    options.add_argument("--show", metavar="KIND", help="print the sentences of this kind, each with what became of it")
    given = options.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for cases in (list_payments(given.rows, given.seeds), list_by_hand(), list_claims() if given.claims else ()):
        for kind, sentence, sources in cases:
            counts[kind][state := judge(sentence, sources)] += 1
            if given.show and kind.startswith(given.show):
                print(f"{state}: {sentence}")
    for kind, found in counts.items():
        print(f"{kind}: n {found.total()}, " + ", ".join(f"{state} {found[state]}" for state in STATES))


if __name__ == "__main__":
    main()
