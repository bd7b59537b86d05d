"""Measure how far a verdict can be trusted: labelled answers, and how many of those called found are right.

    python benchmarks/quality/verdicts.py [--pairs 200] [--seed 7] [--natural FOLDER [--apart]] [--show]

Every pair is an answer and a document. verdict_pairs.py makes our own; with --natural, a folder of question sets and
encyclopedia paragraphs gives further ones (verdict_natural.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from math import sqrt
from pathlib import Path

from verdict_natural import read_chinese_sentences, read_natural, read_sentences
from verdict_pairs import Pair, make_pairs

from bookwheel.documents.opening import TextDocument
from bookwheel.types import BORNE_OUT, Claim, Evidence, Verdict
from bookwheel.verdict.judge import judge_answer


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    if not count:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return middle - half, middle + half


def judge(pair: Pair) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the verdict on a pair."""
    return judge_answer(pair.answer, pair.question, (), TextDocument(pair.document))


def report(title: str, pairs: list[Pair], *, show: bool) -> None:
    """Judge the pairs and print precision and recall of "found", whole and by kind."""
    table: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    found_right = found = right = 0
    began = time.perf_counter()
    for pair in pairs:
        evidence, claims = judge(pair)
        verdicts = {claim.verdict for claim in claims}
        is_found = verdicts <= BORNE_OUT
        worst = "found" if is_found else "partly" if verdicts & {*BORNE_OUT, Verdict.PARTLY} else "not-found"
        table[pair.kind, pair.language][worst] += 1
        found += is_found
        right += pair.is_right
        found_right += is_found and pair.is_right
        if show and is_found != pair.is_right:
            print(f"  {pair.kind} {pair.language} {worst}: {pair.answer!r} to {pair.question!r}")
            for piece in evidence:
                print(f"      {piece.quote!r}")
    took = time.perf_counter() - began
    print(f"{title}: {len(pairs)} pairs, {1000 * took / max(1, len(pairs)):.2f} ms each")
    low, high = wilson(found_right, found)
    share = found_right / max(1, found)
    print(f"  precision of found {found_right}/{found} = {share:.3f} (95 % {low:.3f} to {high:.3f})")
    low, high = wilson(found_right, right)
    print(f"  recall of found {found_right}/{right} = {found_right / max(1, right):.3f} (95 % {low:.3f} to {high:.3f})")
    for (kind, language), counts in table.items():
        print(f"    {language} {kind:14} " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))


def main() -> None:
    """Make the pairs, judge them and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--natural", type=Path, help="a folder with question sets in SQuAD's JSON, compressed by gzip")
    parser.add_argument("--texts", type=int, default=100, help="texts of each natural set")
    parser.add_argument("--apart", action="store_true", help="read the half of the texts whose failures nobody reads")
    parser.add_argument("--language", choices=("en", "zh"), help="only short answers in this language")
    parser.add_argument("--show", action="store_true", help="print the pairs whose verdict is not what they deserve")
    options = parser.parse_args()
    report(f"own pairs, seed {options.seed}", make_pairs(options.pairs, options.seed), show=options.show)
    if options.natural:
        sets: dict[str, list[Pair]] = defaultdict(list)
        for pair in read_natural(options.natural, options.texts, options.seed, apart=options.apart):
            if options.language in {None, pair.language}:
                sets[pair.kind].append(pair)
        for name, pairs in sets.items():
            report(f"{name}, seed {options.seed}", pairs, show=options.show)
        for name, read in (("English", read_sentences), ("Chinese", read_chinese_sentences)):
            pairs = list(read(options.natural, options.pairs, options.seed))
            report(f"{name} sentences, seed {options.seed}", pairs, show=options.show)


if __name__ == "__main__":
    sys.exit(main())
