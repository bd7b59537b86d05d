"""The measures that were published with benchmarks, flaws included; only to compare with published figures.

official                  MemAgent: substrings in both directions, against the first gold only
string_match_all, _part   RULER: the share of the golds that are substrings, for needles, variables and words; any of
them, for its questions
verbatim                  MRCR: how much of a text the answer repeats character by character
qa_f1                     LongBench and others: F1 over words without punctuation and articles, the best gold
rouge_l                   LongBench: ROUGE-L of the package rouge, over sets of words, the best gold
code_similarity           LongBench: the first line that is code against the gold line, by edits
classification            LongBench: the first gold among the class names in the answer; the golds are all classes
number_share              LongBench: the share of the answer's numbers that are the gold's
locomo_f1, locomo_multi   LoCoMo: F1 over stems; for several values each gold value against the best of the answer
locomo_absent             LoCoMo: "no information available" or "not mentioned" in the answer
graphwalks                GraphWalks: F1 of the nodes of the last line, "Final Answer: [a, b]"
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import chain
from string import punctuation
from typing import Final

from bookwheel.errors import MissingExtra
from bookwheel.lab.scoring.score import NOTHING, Score


def verbatim(answer: str, golds: Sequence[str]) -> Score:
    """Score how much of the first gold an answer repeats, character by character: MRCR's published measure.

    A second gold is a string that the answer must begin with; without it the answer scores 0.
    """
    if not answer or not golds:
        return NOTHING
    text, prefix = golds[0], golds[1] if len(golds) > 1 else ""
    if not answer.startswith(prefix):
        return Score(score=0.0, reason=f'does not begin with "{prefix}"')
    ratio = SequenceMatcher(None, answer.removeprefix(prefix), text).ratio()
    return Score(score=ratio, reason=f"repeats {ratio:.0%} of the text")


_MARKS: Final = re.compile(r"[!-/:-@\[-`{-~]")
ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_CONTROLS: Final = re.compile(r"[\x00-\x1f]")


def official(answer: str, golds: Sequence[str]) -> Score:
    """Score as published with MemAgent: substring in both directions, against the first gold alone.

    It accepts "the" and any part of the gold, and ignores every gold but the first. An answer without a character is
    wrong before it is compared.
    """
    if not answer or not golds:
        return NOTHING
    given, gold = (" ".join(ARTICLES.sub(" ", _MARKS.sub("", text.lower())).split()) for text in (answer, golds[0]))
    right = gold in given or given in gold
    return Score(score=float(right), reason="by the published metric, which takes substrings in both directions")


def string_match_all(answer: str, golds: Sequence[str]) -> Score:
    """Score as RULER does for needles, variables and words: the share of the golds that are substrings."""
    found = [float(gold.lower() in _strip(answer)) for gold in golds]
    share = sum(found) / len(found) if found else 0.0
    return Score(score=share, reason=f"by RULER's metric, {sum(found):.0f} of {len(found)} are substrings")


def string_match_part(answer: str, golds: Sequence[str]) -> Score:
    """Score as RULER does for its questions: 1 when any gold is a substring."""
    right = any(gold.lower() in _strip(answer) for gold in golds)
    return Score(score=float(right), reason="by RULER's metric, which takes any gold as a substring")


def _strip(answer: str) -> str:
    return _CONTROLS.sub("\n", answer.strip()).strip().lower()


def best(answer: str, golds: Sequence[str], measure: Callable[[str, str], float], name: str) -> Score:
    score = max((measure(answer, gold) for gold in golds), default=0.0)
    return Score(score=score, reason=f"{name} {score:.2f}")


def harmonic_mean(given: Sequence[str], gold: Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall, each item counted as often as it stands there."""
    shared = sum((Counter(given) & Counter(gold)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(given), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


ALL_MARKS: Final = str.maketrans("", "", punctuation)


def split_words(text: str) -> list[str]:
    """Return the words of a text as SQuAD's script does: without marks and articles."""
    return ARTICLES.sub(" ", text.lower().translate(ALL_MARKS)).split()


def qa_f1(answer: str, golds: Sequence[str]) -> Score:
    """Score F1 over the words of the best gold, as SQuAD's script and LongBench count them."""
    return best(answer, golds, lambda one, gold: harmonic_mean(split_words(one), split_words(gold)), "F1")


def rouge_l(answer: str, golds: Sequence[str]) -> Score:
    """Score ROUGE-L as the package rouge counts it: over the different words of all sentences' subsequences."""
    return best(answer, golds, measure_rouge, "ROUGE-L")


def measure_rouge(answer: str, gold: str) -> float:
    """Return ROUGE-L as the package rouge counts it."""
    given, wanted = ([" ".join(part.split()).split(" ") for part in text.split(".") if part] for text in (answer, gold))
    if not given or not wanted:
        return 0.0
    shared = {word for one in wanted for other in given for word in _common_subsequence(one, other)}
    precision = len(shared) / len(set(chain(*given)))
    recall = len(shared) / len(set(chain(*wanted)))
    return 2 * precision * recall / (precision + recall + 1e-8)


def _common_subsequence(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the longest common subsequence; of equally long ones that which skips the end of `other` first."""
    table = [[0] * (len(other) + 1)]
    for word in one:
        row, above = [0], table[-1]
        for at, against in enumerate(other):
            row.append(above[at] + 1 if word == against else max(above[at + 1], row[at]))
        table.append(row)
    found: list[str] = []
    i, j = len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            found.append(one[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found


def code_similarity(answer: str, golds: Sequence[str]) -> Score:
    """Score the first line without a backtick, a hash or two slashes against the gold line."""
    lines = answer.lstrip("\n").split("\n")
    line = next((one for one in lines if not any(mark in one for mark in ("`", "#", "//"))), "")

    def compare(one: str, gold: str) -> float:
        # Rounded as fuzz.ratio rounds.
        return round(100 * SequenceMatcher(None, one, gold).ratio()) / 100

    return best(line, golds, compare, "similarity")


def classification(answer: str, golds: Sequence[str]) -> Score:
    """Score one over the number of class names in the answer where the first gold, the right class, is among them."""
    right, matches = next(iter(golds), ""), [name for name in dict.fromkeys(golds) if name in answer]
    # The published loop drops from the list that it walks, so the name after a dropped one is not looked at.
    for name in matches:
        if name in right and name != right:
            matches.remove(name)
    score = 1 / len(matches) if right in matches else 0.0
    return Score(score=score, reason=f"names {len(matches)} classes")


def number_share(answer: str, golds: Sequence[str]) -> Score:
    """Score the share of the numbers of the answer that are the number of the gold."""
    numbers = re.findall(r"\d+", answer)

    def count(_: str, gold: str) -> float:
        wanted = re.findall(r"(?:Paragraph |段落)(\d+)", gold)[:1] or [gold]
        return numbers.count(wanted[0]) / len(numbers) if numbers else 0.0

    return best(answer, golds, count, "share of numbers")


_LOCOMO_WORDS: Final = re.compile(r"\b(?:a|an|the|and)\b")


@cache
def _stem(word: str) -> str:
    try:
        from nltk.stem import PorterStemmer
    except ImportError as error:
        raise MissingExtra("comparing stems as LoCoMo does", "published") from error
    return str(PorterStemmer().stem(word))


def _split_locomo(text: str) -> list[str]:
    bare = text.replace(",", "").lower().translate(ALL_MARKS)
    return [_stem(word) for word in _LOCOMO_WORDS.sub(" ", bare).split()]


def locomo_f1(answer: str, golds: Sequence[str]) -> Score:
    return best(answer, golds, lambda one, gold: harmonic_mean(_split_locomo(one), _split_locomo(gold)), "F1")


def locomo_multi(answer: str, golds: Sequence[str]) -> Score:
    """Score the mean over the gold's values, parted by commas, of the best F1 with a value of the answer."""

    def compare(one: str, gold: str) -> float:
        given = [_split_locomo(part) for part in one.split(",")]
        wanted = [_split_locomo(part) for part in gold.split(",")]
        return sum(max(harmonic_mean(part, value) for part in given) for value in wanted) / len(wanted)

    return best(answer, golds, compare, "F1")


def locomo_absent(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 for an answer that says "no information available" or "not mentioned".

    A second gold is the letter, a or b, of the option that says so.
    """
    said = answer.strip().lower()
    if len(golds) > 1 and len(said) in {1, 3}:
        picked = "a" if said == "a" or "(a)" in said else "b"
        return Score(score=float(picked == golds[1]), reason=f"picks {picked}")
    says = any(text in said for text in ("no information available", "not mentioned"))
    return Score(score=float(says), reason="says that it is not there" if says else "gives an answer")


_LISTED: Final = re.compile(r"\[.*\]")
NO_NODES: Final = "[]"
"""The gold of a question of GraphWalks whose answer has no nodes."""


def graphwalks(answer: str, golds: Sequence[str]) -> Score:
    """Score F1 of the set of nodes that the last line lists behind its "Final Answer:"."""
    line = answer.rsplit("\n", maxsplit=1)[-1]
    match = _LISTED.search(line) if "Final Answer:" in line else None
    if match is None:
        return Score(score=0.0, reason="the last line lists no nodes")
    given = {part.strip() for part in match[0].strip("[]").split(",") if part.strip()}
    wanted = {*golds} - {NO_NODES}
    score = harmonic_mean(sorted(given), sorted(wanted)) if given or wanted else 1.0
    return Score(score=score, reason=f"F1 {score:.2f} of {len(wanted)} nodes")


MEASURES: Final = {
    one.__name__: one
    for one in (
        *(verbatim, official, string_match_all, string_match_part, qa_f1, rouge_l, code_similarity, classification),
        *(number_share, locomo_f1, locomo_multi, locomo_absent, graphwalks),
    )
}
"""The published measures by name."""
