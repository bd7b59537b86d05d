"""Which sentences of a writer of reports are kept: true ones, and inventions of many kinds.

python benchmarks/quality/report_sentences.py [--rows 200] [--seeds 5]

The rows are payments as `collect` proves them. A sentence is true if its row says all of it. Inventions: another
amount, date or name, a denial by "not" and by "never", an addition, no number, a number that is not there, an opinion,
a fact of nowhere, what belongs to another row. True sentences: the row's own words, four paraphrases, and two rows in
one sentence.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter

from bookwheel.reports.writing import SourceLine, check_sentences

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
}
TRUE = {
    "own words": "{who} pays {amount} crowns by {due} [{n}].",
    "short": "{who} pays {amount} crowns [{n}].",
    "must": "{who} must pay {amount} crowns by {due} [{n}].",
    "turned": "By {due} {who} pays {amount} crowns [{n}].",
    "colon": "{who}: {amount} crowns, due {due} [{n}].",
    "two": "{who} pays {amount} crowns and {who2} pays {other} crowns [{n}][{m}].",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=200)
    options.add_argument("--seeds", type=int, default=5)
    given = options.parse_args()
    kept, whole, all_ = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(given.seeds):
        rng = random.Random(seed)
        rows = [
            (rng.choice(NAMES), rng.randrange(10, 9999), f"{rng.randrange(1, 29)} June 2027") for _ in range(given.rows)
        ]
        sources = {
            n: SourceLine(
                number=n,
                said=f"who: {who}; amount: {amount} crowns; due date: {due}",
                quote=f"{who} pays {amount} crowns by {due}",
                document="d",
            )
            for n, (who, amount, due) in enumerate(rows, start=1)
        }
        for n, (who, amount, due) in enumerate(rows, start=1):
            m = rng.choice([other for other in range(1, len(rows) + 1) if rows[other - 1][0] != who])
            values = {"n": n, "m": m, "who": who, "amount": amount, "more": amount + 1, "due": due}
            values |= {"other": rows[m - 1][1], "who2": rows[m - 1][0]}
            for kind, template in (*INVENTIONS.items(), *TRUE.items()):
                checked = list(check_sentences(template.format(**values), sources))
                all_[kind] += 1
                kept[kind] += all(one.is_kept for one in checked)
                whole[kind] += all(one.is_kept and one.verdict != "partly" for one in checked)
    for title, kinds in (("inventions", INVENTIONS), ("true", TRUE)):
        count = sum(all_[kind] for kind in kinds)
        print(f"{title}: n {count}, kept {sum(kept[kind] for kind in kinds) / count:.4f}")
        for kind in kinds:
            print(f"  {kind}: kept {kept[kind] / all_[kind]:.3f}, as said in whole {whole[kind] / all_[kind]:.3f}")


if __name__ == "__main__":
    main()
