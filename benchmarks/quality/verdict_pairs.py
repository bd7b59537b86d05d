"""Answers and documents of our own making, each labelled right or wrong, for verdicts.py and the tests.

The document holds facts among some fifty sentences of filler. The answer is right in the document's words, right in
other words, or wrong: another value, another name, a negation, two people's facts merged, two roles exchanged. Half
the pairs are English, half Chinese.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chinese_facts import ChineseMaker
from english_facts import EnglishMaker

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An answer, the document it is about, and whether it is right."""

    kind: str
    language: str
    document: str
    question: str
    answer: str
    is_right: bool


KINDS: Final = (
    "right",
    "short",
    "reworded",
    "wrong value",
    "wrong name",
    "negated",
    "merged",
    "exchanged",
    "short wrong",
)


def make_pair(kind: str, language: str, rng: random.Random) -> Pair | None:
    """Return a pair of this kind; None where the drawn fact has none."""
    maker = EnglishMaker(rng) if language == "en" else ChineseMaker(rng)
    facts = maker.facts()
    sentences = [fact.said for fact in facts] + rng.choices(maker.filler, k=50)
    rng.shuffle(sentences)
    document = (" " if language == "en" else "").join(sentences)
    fact, other = rng.sample(facts, 2)
    text = rng.choice((fact.said, *fact.reworded))
    asks_name = fact.question.startswith("Who") or "谁" in fact.question
    short = fact.who if asks_name else fact.value
    answers: dict[str, Callable[[], str]] = {
        "right": lambda: fact.said,
        "short": lambda: short,
        "reworded": lambda: rng.choice(fact.reworded),
        "wrong value": lambda: maker.replace_value(text, fact),
        "wrong name": lambda: text.replace(fact.who, other.who),
        "negated": lambda: fact.negated,
        "merged": lambda: other.said.replace(other.who, fact.who),
        "exchanged": lambda: fact.swapped,
        "short wrong": lambda: other.who if asks_name else other.value,
    }
    answer = answers[kind]()
    is_right = kind in {"right", "short", "reworded"}
    if not answer or (not is_right and answer in {short, fact.said, *fact.reworded}):
        return None
    return Pair(
        kind=kind, language=language, document=document, question=fact.question, answer=answer, is_right=is_right
    )


def make_pairs(count: int, seed: int) -> list[Pair]:
    """Return so many pairs, all kinds and both languages in turn."""
    rng = random.Random(seed)
    pairs: list[Pair] = []
    while len(pairs) < count:
        kind, language = KINDS[len(pairs) % len(KINDS)], ("en", "zh")[len(pairs) // len(KINDS) % 2]
        pair = make_pair(kind, language, rng)
        if pair:
            pairs.append(pair)
    return pairs
