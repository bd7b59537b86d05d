"""Measure how far passages of a document bear out a sentence: features, the same for English and Chinese.

Nothing here decides. A table of weights that were fitted on labelled answers does (`weights.json`, read by `judge.py`).
Shares are from 0 to 1; a feature that is named after a fault ("foreign", "not lost") is 1 where the sentence has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import combinations, pairwise
from math import log
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text import lexicon
from bookwheel.text.quantities import same_quantity
from bookwheel.text.questions import COUNTS
from bookwheel.verdict.parsing import (
    BOUNDS,
    CAUSE,
    HEDGE,
    NOT,
    OPPOSITES,
    SAID,
    Sentence,
    Term,
    find_marks,
    parse,
    share_terms,
)

_NUMBER: Final = compile_late(r"-?\d+(?:\.\d+)?")
# Terms of a short answer, and counts from which on more changes nothing.
_SHORT: Final = 3
_MOST_LOST: Final = 6
_LONG: Final = 30
# Tokens beside a number in which its bound stands.
_BOUND_WITHIN: Final = 4
# Of a clause's terms, those that no passage has, from which on the clause is an addition.
_FOREIGN: Final = 0.6
# Of two wordings of one sentence.
_ALIKE: Final = 0.6
_EMBEDDING: Final = frozenset({"of", "by", "with", "for", "from", "to", "的"})
# How much more of the question another sentence must have to be the better place for a short answer.
_LED: Final = -0.5
# What no weight makes up for: other names and numbers, words out of a larger phrase, a better place for a short answer.
_MONTHS: Final = frozenset(lexicon.MONTH_NAMES)
_VETOES: Final = ("foreign number", "foreign names", "other counted", "embedded", "short led")
# What makes a sentence that is otherwise well matched say something else than the passage.
_MISMATCHES: Final = ("opposite", "not lost", "only lost", "other bound", "other unit", "unless", "must can", "yes")


class Surroundings:
    """The sentences that were looked at, in which a rare term says more; those in `headed` follow their heading."""

    def __init__(self, sentences: Sequence[Sentence], headed: Container[int] = ()) -> None:
        self.sentences = sentences
        self._headed = headed
        self.counts = Counter(key for sentence in sentences for key in sentence.keys)

    def weigh(self, key: str) -> float:
        """Return how much a term says."""
        count = self.counts[key]
        return log(1 + (len(self.sentences) + 1) / (count + 0.5)) if count else 0.3

    def list_keys(self, at: int) -> set[str]:
        """Return the terms of a sentence, with those of the heading that it stands under."""
        return {*self.sentences[at].keys, *(self.sentences[at - 1].keys if at in self._headed else ())}

    def share(self, wanted: frozenset[str] | set[str], held: Counter[str] | set[str]) -> float:
        """Return the share of terms that are held, by what they say."""
        # Summed in a fixed order: a set's own differs from run to run, and so would the last digits.
        total = sum(self.weigh(key) for key in sorted(wanted))
        return sum(self.weigh(key) for key in sorted(wanted) if key in held) / total if total else 0.0

    def choose(self, claim: Sentence, question: Sentence, most: int = 3) -> list[int]:
        """Return the places of the few sentences that have most of a claim together, the best first."""
        left = {key: self.weigh(key) for key in claim.keys}
        left |= {key: 0.4 * self.weigh(key) for key in question.keys if key not in claim.keys}
        chosen: list[int] = []
        while len(chosen) < most and len(chosen) < len(self.sentences):
            gains = [sum(left[key] for key in sentence.keys if key in left) for sentence in self.sentences]
            near = chosen[0] if chosen else 0
            at = max(
                (at for at in range(len(gains)) if at not in chosen),
                key=lambda at: gains[at] - 0.01 * abs(at - near) * bool(chosen),
            )
            if chosen and not gains[at]:
                break
            chosen.append(at)
            # What the question has counts little beside what the claim lacks still.
            left = {
                key: weight if key in claim.keys or len(chosen) > 1 else weight / 4
                for key, weight in left.items()
                if key not in self.sentences[at].keys
            }
        return chosen


def measure(
    claim: Sentence, question: Sentence, passages: Sequence[Sentence], around: Surroundings
) -> dict[str, float]:
    """Return the features of a sentence beside its passages, the best of them first."""
    best = passages[0] if passages else parse("")
    whole = set().union(*(passage.keys for passage in passages))
    mine = [term.key for term in claim.terms] or [""]
    own = frozenset(claim.keys) - frozenset(question.keys) or frozenset(claim.keys) or frozenset({""})
    lost = own - whole
    words = [term.key for term in claim.terms if not term.is_number]
    known = whole | set(around.counts) | set(question.keys)
    is_verbatim = any(claim.is_in(passage) for passage in passages)
    is_short = len(mine) <= _SHORT
    # A currency stands beside every price; where a sentence has a figure, its place is where the figure is.
    figures = own & {term.key for term in claim.numbers} or own
    with_own = [
        around.share(question.asked, around.list_keys(at))
        for at, sentence in enumerate(around.sentences)
        if figures & sentence.keys.keys()
    ]
    without = [around.share(question.asked, one.keys) for one in around.sentences if not figures & one.keys.keys()]
    lead = max(with_own, default=0.0) - max(without, default=0.0)
    runs = [_match_longest(claim.tokens, one.tokens, has_gaps=False) for one in passages if claim.tokens and one.tokens]
    return {
        "in all": share_terms(mine, whole),
        "own in all": 1 - len(lost) / len(own),
        "verbatim": float(is_verbatim),
        "order": _share_in_order(claim, best),
        "pairs": _share_pairs(claim, passages),
        "run": max(runs, default=0) / max(1, len(claim.tokens)),
        "one clause": _share_one_clause(claim, passages),
        "one clause asked": _share_asked_clause(own, question, around),
        "lead": lead,
        "led": float(lead < 0),
        "own lost": min(len(lost), _MOST_LOST) / _MOST_LOST,
        "foreign": sum(key not in known for key in words) / len(mine),
        "foreign run": min(_longest_lost(claim, whole, question), _MOST_LOST) / _MOST_LOST,
        "foreign clause": float(bool(list_foreign_clauses(claim, whole, question))),
        "foreign names": float(bool(claim.names - question.names - known)),
        "embedded": float(not is_short and any(_is_embedded(claim, passage) for passage in passages[:1])),
        "short led": float(
            is_short
            and len(best.tokens) > len(claim.tokens)
            and (lead < _LED or _has_rival(figures, claim, question, around))
        ),
        "verbatim short": float(is_verbatim and is_short),
        "complete short": float(not lost and len(own) <= _SHORT),
        "short": float(is_short),
        "length": min(len(mine), _LONG) / _LONG,
        "signs": float(claim.has_signs),
        **_compare_numbers(claim, question, passages),
        **_compare_marks(claim, best, passages),
    }


def _has_rival(figures: frozenset[str] | set[str], claim: Sentence, question: Sentence, around: Surroundings) -> bool:
    """Tell if the figure of another sentence is meant: it has more of the question, without its heading's words."""
    asked = [
        (around.share(question.asked, one.keys), not figures & one.keys.keys() and bool(one.numbers))
        for one in around.sentences
    ]
    best = max((share for share, is_other in asked if not is_other), default=0.0)
    return bool(claim.numbers) and any(share > best for share, is_other in asked if is_other)


def is_vetoed(features: Mapping[str, float]) -> bool:
    """Tell if a sentence has a fault that no weight makes up for."""
    return any(features[name] for name in _VETOES)


def contradicts(features: Mapping[str, float]) -> bool:
    """Tell if a passage that has most of a sentence says something else than it.

    None does where the sentence tells what became of a value: the older and the newer one stand in two passages.
    """
    return not features["two values"] and any(features[name] for name in _MISMATCHES)


def _is_embedded(claim: Sentence, passage: Sentence) -> bool:
    """Tell if a passage has the words inside a larger phrase: "the son of Ada signed" does not say that Ada signed."""
    text = f" {' '.join(claim.tokens)} "
    for clause in passage.clauses:
        before, found, _ = f" {' '.join(clause)} ".partition(text)
        if found and (lead := before.split()):
            return lead[-1] in _EMBEDDING or bool(find_marks(lead).keys() & {NOT, HEDGE, SAID})
    return False


def list_foreign_clauses(claim: Sentence, whole: set[str], question: Sentence) -> list[int]:
    """Return the clauses of a sentence that have next to nothing of the passages."""
    found = []
    for number in range(len(claim.clauses)):
        keys = claim.clause_keys(number)
        lost = keys - whole - set(question.keys)
        if len(keys) > 1 and len(lost) > _FOREIGN * len(keys):
            found.append(number)
    return found


def _longest_lost(claim: Sentence, whole: set[str], question: Sentence) -> int:
    longest = run = 0
    for term in claim.terms:
        run = 0 if term.key in whole or term.key in question.keys else run + 1
        longest = max(longest, run)
    return longest


def _share_in_order(claim: Sentence, best: Sentence) -> float:
    """Return the share of the common terms that stand in the same order."""
    mine = [term.key for term in claim.terms if term.key in best.keys]
    theirs = [term.key for term in best.terms if term.key in claim.keys]
    return _match_longest(mine, theirs, has_gaps=True) / len(mine) if len(mine) > 1 else 1.0


def _match_longest(mine: Sequence[str], theirs: Sequence[str], *, has_gaps: bool) -> int:
    """Return the length of the longest common row: with gaps a subsequence, without them a run."""
    longest, row = 0, [0] * (len(theirs) + 1)
    for key in mine:
        diagonal = 0
        for at, other in enumerate(theirs, 1):
            stays = max(row[at], row[at - 1]) if has_gaps else 0
            diagonal, row[at] = row[at], diagonal + 1 if key == other else stays
        longest = max(longest, *row)
    return longest


def _share_pairs(claim: Sentence, passages: Sequence[Sentence]) -> float:
    """Return the share of neighbouring terms that stand near each other in a passage too."""
    pairs = [(one.key, two.key) for one, two in pairwise(claim.terms)]
    near = {
        (one.key, two.key)
        for passage in passages
        for at, one in enumerate(passage.terms)
        for two in passage.terms[at + 1 : at + 4]
    }
    return sum(pair in near for pair in pairs) / len(pairs) if pairs else 1.0


def _share_one_clause(claim: Sentence, passages: Sequence[Sentence]) -> float:
    """Return how much of each clause stands in a single clause of a passage, on average: merged facts share little."""
    theirs = [passage.clause_keys(number) for passage in passages for number in range(len(passage.clauses))]
    clauses = [keys for number in range(len(claim.clauses)) if (keys := claim.clause_keys(number))]
    shares = [max((len(keys & other) for other in theirs), default=0) / len(keys) for keys in clauses]
    return sum(shares) / len(shares) if shares else 0.0


def _share_asked_clause(own: frozenset[str], question: Sentence, around: Surroundings) -> float:
    """Return the most of the question that stands in one clause with something new of the sentence."""
    clauses = (one.clause_keys(number) for one in around.sentences for number in range(len(one.clauses)))
    return max((around.share(question.asked, keys) for keys in clauses if keys & own), default=0.0)


def _compare_numbers(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> dict[str, float]:
    theirs = [(passage, number) for passage in passages for number in passage.numbers]
    faults, is_count = Counter[str](), COUNTS.search(question.text) is not None
    for number in claim.numbers:
        mine = claim.find_unit(number)
        found = [
            (passage, other)
            for passage, other in theirs
            if (other.key == number.key or same_quantity(number.key, mine, other.key, passage.find_unit(other)))
            and not (is_count and _is_dated(passage, other) and not _is_dated(claim, number))
        ]
        if not found:
            if number.key not in question.keys:
                faults["derived" if _is_derived(number.key, [other.key for _, other in theirs]) else "foreign"] += 1
            continue
        faults["unit"] += all(
            mine
            and passage.find_unit(other)
            and not same_quantity(number.key, mine, other.key, passage.find_unit(other))
            for passage, other in found
        )
        bounds = _find_bounds(claim, number)
        faults["bound"] += all(bounds != _find_bounds(passage, other) for passage, other in found)
        counted = claim.find_counted(number)[:1]
        faults["counted"] += bool(counted) and all(
            (others := passage.find_counted(one)) and counted[0] not in others for passage, one in found
        )
    return {
        "numbers": float(bool(claim.numbers)),
        "derived number": float(faults["derived"] > 0),
        "two values": float(not faults["foreign"] and _is_told_of_two(claim, passages)),
        "foreign number": float(faults["foreign"] > 0),
        "other unit": float(faults["unit"] > 0),
        "other bound": float(faults["bound"] > 0),
        "other counted": float(faults["counted"] > 0),
    }


def _is_told_of_two(claim: Sentence, passages: Sequence[Sentence]) -> bool:
    """Tell if two passages that are alike but for a number have one each of a sentence."""
    keys = {number.key for number in claim.numbers}
    mine = [frozenset(keys & one.keys.keys()) for one in passages]
    return any(
        bool(mine[at] - mine[other]) and bool(mine[other] - mine[at])
        for at, other in combinations(range(len(passages)), 2)
        if share_terms(frozenset(passages[at].keys), passages[other].keys) >= _ALIKE
    )


def _is_dated(sentence: Sentence, number: Term) -> bool:
    """Tell if a number is of a date: nobody counts eleven orders with 11 May."""
    return not _MONTHS.isdisjoint(sentence.tokens[max(0, number.at - 1) : number.at + 2])


def _find_bounds(sentence: Sentence, number: Term) -> set[str]:
    marks = find_marks(sentence.tokens[max(0, number.at - _BOUND_WITHIN) : number.at + _BOUND_WITHIN])
    return {mark for mark in BOUNDS if marks[mark]}


def _is_derived(value: str, others: Sequence[str]) -> bool:
    """Tell if a number is the sum, difference, product, double or half of others."""
    if not _NUMBER.fullmatch(value):
        return False
    numbers = [float(other) for other in dict.fromkeys(others) if _NUMBER.fullmatch(other)]
    results = [result for one, two in combinations(numbers, 2) for result in (one + two, abs(one - two), one * two)]
    results += [result for one in numbers for result in (2 * one, one / 2)]
    wanted = float(value)
    return any(abs(result - wanted) < 1e-6 * max(1.0, abs(wanted)) for result in results)


def _compare_marks(claim: Sentence, best: Sentence, passages: Sequence[Sentence]) -> dict[str, float]:
    """Compare the small words of a sentence with those of the clauses that share terms with it, and of all passages."""
    mine = claim.marks
    shared = {term.clause for term in best.terms if term.key in claim.keys}
    beside = find_marks([token for number in sorted(shared) for token in best.clauses[number]])
    anywhere = set().union(*(passage.marks for passage in passages))
    opposites = sum(
        bool(mine[one] and not mine[two] and not beside[one] and beside[two])
        or bool(mine[two] and not mine[one] and not beside[two] and beside[one])
        for one, two in OPPOSITES
    )
    lost = {mark: float(bool(beside[mark]) and not mine[mark]) for mark in (NOT, SAID, "only")}
    added = {mark: float(bool(mine[mark]) and mark not in anywhere) for mark in (NOT, HEDGE, CAUSE, "all")}
    return {
        **{f"{mark} lost": value for mark, value in lost.items()},
        **{f"{mark} added": value for mark, value in added.items()},
        "unless": float("unless" in anywhere and not mine["unless"] and bool(mine["if"])),
        "opposite": min(opposites, 2) / 2,
        "must can": float(bool(mine["can"]) and "can" not in anywhere and "must" in anywhere),
        "yes": float(bool(mine["yes"])),
        "plain yes": float(bool(mine["yes"]) and bool(beside[HEDGE] or beside[NOT])),
        "best added": float(bool(mine["high"] or mine["low"]) and not anywhere & {"high", "low"}),
    }
