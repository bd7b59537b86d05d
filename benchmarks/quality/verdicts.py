"""Measure how far a verdict by words can be trusted, on labelled answers to questions about snippets of documents.

    python benchmarks/quality/verdicts.py [FILE.jsonl ...] [--show] [--ablate]

Without files, on the three parts of the task `verdict`. Each line of a file, a set of its own, is one JSON object with
lang, snippet, question, answer, label and answers, as in that task. `--ablate` switches off each feature, each kind of
small words and each rule of the room alone, and prints what that changes on all sets together.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bookwheel.claims import BORNE_OUT, Fit, Verdict, sum_up_fits, sum_up_verdicts
from bookwheel.documents.opening import TextDocument
from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.tasks.verdicts import PARTS, LabelledAnswer, load_answers
from bookwheel.verdict import asking, judge, measure, parsing, search
from bookwheel.verdict.judge import judge_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Rules that can be taken out, each with what it returns then.
RULES: dict[str, tuple[Any, str, Any]] = {
    "copies": (judge, "find_copies", lambda *_: {}),
    "yes or no with its reason": (judge, "_join_choices", list),
    "other language": (judge, "is_foreign", lambda *_: False),
    "statements behind semicolons": (judge, "_split_listed", lambda sentence: [sentence]),
    "heads of tables": (judge, "_drop_headers", list),
    "misfit": (judge, "is_misfit", lambda _: False),
    "what is counted": (asking, "_lacks_counted", lambda *_: False),
    "contradictions": (judge, "contradicts", lambda *_, **__: False),
    "vetoes": (judge, "is_vetoed", lambda _: False),
    "equal quantities": (measure, "same_quantity", lambda *_: False),
    "date is no count": (measure, "_is_dated", lambda *_: False),
    "prose that was cut to a width": (search, "is_wrapped", lambda _: False),
}


def list_sets(files: Sequence[Path]) -> dict[str, list[LabelledAnswer]]:
    """Return the labelled answers of the files, or of the parts that ship, by their name."""
    if not files:
        return {part: [one for one in load_answers() if one.part == part] for part in PARTS}
    texts = {file.stem: file.read_text(encoding="utf-8") for file in files}
    return {name: [LabelledAnswer(**json.loads(line)) for line in text.splitlines()] for name, text in texts.items()}


def judge_one(one: LabelledAnswer) -> tuple[Verdict | None, Fit | None]:
    """Return the verdict on an answer, and whether it answers."""
    _, claims = judge_answer(one.answer, one.question, (), TextDocument(one.snippet))
    return sum_up_verdicts(claims), sum_up_fits(claims)


def count(rows: Sequence[LabelledAnswer], judged: Sequence[tuple[Verdict | None, Fit | None]]) -> Counter[str]:
    """Return how many answers of each kind there are, and how many of them were called what."""
    counts: Counter[str] = Counter()
    for row, (verdict, fit) in zip(rows, judged, strict=True):
        is_right, is_borne = row.label == "supported", verdict in BORNE_OUT
        is_green, is_denied = is_borne and fit is Fit.YES, verdict is Verdict.CONTRADICTED
        counts.update(
            name
            for name, holds in {
                "right": is_right,
                "right, borne out": is_right and is_borne,
                "wrong": not is_right,
                "wrong, borne out": not is_right and is_borne,
                "contradicted": row.label == "contradicted",
                "contradicted, found": row.label == "contradicted" and is_denied,
                "right, called contradicted": is_right and is_denied,
                "right and answering": is_right and row.answers == "yes",
                "right and answering, green": is_green and is_right and row.answers == "yes",
                "wrong or not answering, green": is_green and (not is_right or row.answers == "no"),
                "not answering": row.answers == "no",
                "not answering, green": is_green and row.answers == "no",
            }.items()
            if holds
        )
    return counts


def share(part: int, whole: int) -> str:
    """Return a share with its 95 % interval."""
    if not whole:
        return "none of none"
    bounds = wilson_interval(part, whole)
    return f"{part} of {whole} = {part / whole:.2f} ({bounds.low:.2f} to {bounds.high:.2f})"


def report(counts: Counter[str]) -> None:
    """Print the table of the lab note."""
    borne = counts["right, borne out"] + counts["wrong, borne out"]
    for title, part, whole in (
        ("recall of quoted or supported", counts["right, borne out"], counts["right"]),
        ("precision", counts["right, borne out"], borne),
        ("wrong, called borne out", counts["wrong, borne out"], counts["wrong"]),
        ("contradictions found and quoted", counts["contradicted, found"], counts["contradicted"]),
        ("right, called contradicted", counts["right, called contradicted"], counts["right"]),
        ("green of right and answering", counts["right and answering, green"], counts["right and answering"]),
        ("not answering, green", counts["not answering, green"], counts["not answering"]),
    ):
        print(f"  {title:32}", share(part, whole))
    print(f"  {'wrong or not answering, green':32}", counts["wrong or not answering, green"])


def list_pieces() -> Iterator[tuple[str, tuple[Any, str, Any]]]:
    """Yield what can be switched off: its name, and what is put in whose place."""
    for module, name in ((judge, "measure"), (judge, "measure_fit")):
        of = getattr(module, name)
        empty = parsing.parse("")
        names = of(empty, empty, [], measure.Surroundings([])) if name == "measure" else of(empty, empty, [])
        for feature in names:
            off = lambda *values, of=of, feature=feature: {**of(*values), feature: 0.0}  # noqa: E731
            yield f"feature: {feature}", (module, name, off)
    phrases = parsing._list_phrases()
    for mark in dict.fromkeys(mark for pairs in phrases.values() for mark, _ in pairs):
        left = {word: [pair for pair in pairs if pair[0] != mark] for word, pairs in phrases.items()}
        yield f"words: {mark}", (parsing, "_list_phrases", lambda left=left: left)
    yield from ((f"rule: {name}", change) for name, change in RULES.items())


def ablate(rows: Sequence[LabelledAnswer]) -> None:
    """Print what changes where a piece is switched off alone; what changes nothing stands last, by name."""
    before, idle = [judge_one(row) for row in rows], list[str]()
    base = count(rows, before)
    print("| without | verdicts changed | " + " | ".join(title for title in base if "," in title) + " |")
    for name, change in list_pieces():
        with ExitStack() as stack:
            stack.callback(parsing.parse.cache_clear)
            parsing.parse.cache_clear()
            stack.enter_context(patch.object(*change))
            after = [judge_one(row) for row in rows]
        counts, changed = count(rows, after), sum(one != two for one, two in zip(before, after, strict=True))
        cells = [f"{counts[title] - base[title]:+d}".replace("+0", "") for title in base if "," in title]
        if changed:
            print(f"| {name} | {changed} | " + " | ".join(cells) + " |", flush=True)
        else:
            idle.append(name)
    print("nothing:", "; ".join(idle))


def main() -> None:
    """Judge the answers and print the table, set by set, both languages apart."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--show", action="store_true", help="print each answer whose verdict is not its label")
    parser.add_argument("--ablate", action="store_true", help="switch each piece off alone")
    given = parser.parse_args()
    sets = list_sets(given.files)
    if given.ablate:
        ablate([row for rows in sets.values() for row in rows])
        return
    for name, rows in sets.items():
        began = time.process_time()
        judged = [judge_one(row) for row in rows]
        print(f"{name}: n {len(rows)}, {time.process_time() - began:.2f} s")
        for lang in (*dict.fromkeys(row.lang for row in rows), ""):
            pairs = [pair for pair in zip(rows, judged, strict=True) if lang in {"", pair[0].lang}]
            print("", lang or "all")
            report(count([row for row, _ in pairs], [one for _, one in pairs]))
        for row, (verdict, fit) in zip(rows, judged, strict=True) if given.show else ():
            if str(verdict) != row.label:
                print(f"{verdict} for {row.label}, {fit} for {row.answers}: {row.question} {row.answer}")


if __name__ == "__main__":
    main()
