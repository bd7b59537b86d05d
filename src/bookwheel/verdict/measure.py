"""Measure how far passages of a document bear out a sentence: features, the same for English and Chinese.

Nothing here decides. A table of weights that were fitted on labelled answers does (`weights.json`, read by `judge.py`).
Shares are from 0 to 1; a feature that is named after a fault ("foreign", "not lost") is 1 where the sentence has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import log
from typing import Final

from bookwheel.text import lexicon
from bookwheel.text.quantities import same_quantity
from bookwheel.text.questions import COUNTS
from bookwheel.verdict.parsing import (
    BOUNDS,
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

# What decides between sentences that have as much.
_TIE: Final = 0.001
# Terms of a short answer, and how much of the question, by what it says, the sentences with the answer have of it.
SHORT: Final = 3
_LEAST_ASKED: Final = 0.3
# Tokens beside a number in which its bound stands.
_BOUND_WITHIN: Final = 4
# Of two wordings of one sentence.
_ALIKE: Final = 0.6
_EMBEDDING: Final = frozenset({"of", "by", "with", "for", "from", "to", "的"})
# Of its neighbouring terms, those that stand in a passage's order in a sentence that turns no roles round.
_LEAST_ORDER: Final = 0.7
_MONTHS: Final = frozenset(lexicon.MONTH_NAMES)
# What turns a sentence round; what may be said beside it as well; and what else no weight makes up for: other names and
# numbers, words out of a larger phrase or in another order, a better place for a short answer.
_TURNS: Final = ("opposite", "only lost", "unless", "other unit")
_MISMATCHES: Final = ("not lost", "not added", "hedge added", "said lost", "must can", "other bound")
VETOES: Final = (
    *("foreign number", "foreign names", "other counted", "incomplete", "embedded", "elsewhere", "rival", "turned"),
    *(*_TURNS, *_MISMATCHES),
)


class Surroundings:
    """The sentences that were looked at, in which a rare term says more."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.sentences = sentences
        self.counts = Counter(key for sentence in sentences for key in sentence.keys)

    def weigh(self, key: str) -> float:
        """Return how much a term says."""
        count = self.counts[key]
        return log(1 + (len(self.sentences) + 1) / (count + 0.5)) if count else 0.3

    def share(self, wanted: frozenset[str] | set[str], held: Counter[str] | set[str]) -> float:
        """Return the share of terms that are held, by what they say."""
        # Summed in a fixed order: a set's own differs from run to run, and so would the last digits.
        total = sum(self.weigh(key) for key in sorted(wanted))
        return sum(self.weigh(key) for key in sorted(wanted) if key in held) / total if total else 0.0

    def choose(self, claim: Sentence, question: Sentence, most: int = 3) -> list[int]:
        """Return the places of the few sentences that have most of a claim together, the best first."""
        left = {key: self.weigh(key) * (1 if key in claim.keys else 0.4) for key in claim.keys | question.keys}
        # Of two that have as much of it, that with its numbers; a word of one sign is in pairs of its own: 退了, 退我.
        figures = {number.key for number in claim.numbers}
        alike = [_TIE * (len(claim.signs & one.signs) + 10 * len(figures & one.keys.keys())) for one in self.sentences]
        places, chosen = dict.fromkeys(range(len(self.sentences))), list[int]()
        while places and len(chosen) < most:
            gains = {at: sum(left[key] for key in self.sentences[at].keys if key in left) for at in places}
            at = max(gains, key=lambda place: gains[place] + alike[place])
            if chosen and not gains[at]:
                break
            chosen.append(at)
            del places[at]
            # What the question has counts little beside what the claim lacks still.
            left = {
                key: left[key] * (1 if key in claim.keys else 0.25) for key in left.keys() - self.sentences[at].keys
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
    is_short, is_verbatim = len(mine) <= SHORT, any(claim.is_in(passage) for passage in passages)
    is_span = is_short and len(best.tokens) > len(claim.tokens)
    # A currency stands beside every price; where a sentence has a figure, its place is where the figure is.
    figures = own & {term.key for term in claim.numbers} or own
    places = [one.keys for one in around.sentences if figures & one.keys.keys()]
    asked = max((around.share(question.asked, keys) for keys in places), default=0.0)
    order = _share_in_order(claim, best)
    return {
        "in all": share_terms(mine, whole),
        "verbatim": float(is_verbatim),
        "one clause": _share_one_clause(claim, passages),
        "order": order,
        "turned": float(not is_short and order < _LEAST_ORDER),
        # It says little that the question does not, and not in the document's words.
        "little own": float(own <= whole and len(own) <= SHORT and (is_short or not is_verbatim)),
        "incomplete": float(is_short and not own <= whole),
        "short": float(is_short),
        "foreign names": float(not any(claim.names - question.names <= one.keys.keys() for one in passages)),
        "embedded": float(not is_short and any(_is_embedded(claim, passage) for passage in passages[:1])),
        "elsewhere": float(is_span and asked < _LEAST_ASKED),
        # "What did Norris quote?" is not answered by what Bramble asks.
        "other name": float(
            is_short and any(name in around.counts and name not in best.keys for name in question.names - claim.names)
        ),
        "rival": float(is_span and _has_rival(claim, figures, question, around)),
        "later": float(is_span and _has_later(claim, figures, question, around)),
        **_compare_numbers(claim, question, passages),
        **_compare_marks(claim, best, passages),
    }


def _has_rival(claim: Sentence, own: frozenset[str] | set[str], question: Sentence, around: Surroundings) -> bool:
    """Tell if another number or name is meant: its clause has more of the question than those that the answer is in.

    "Ingrid Solheim won the race, ahead of Marta Kovac." does not say that Marta Kovac won it. Of two names in one
    clause the one nearer to the question's words is meant: "built by Owen and painted by Lucy".
    """
    if not claim.numbers and any(_has_nearer_name(claim, question, one) for one in around.sentences):
        return True
    mine = theirs = 0.0
    for one in around.sentences:
        others = _list_others(claim, question, one) if claim.numbers or claim.names else set()
        for keys in one.clause_keys:
            share = around.share(question.asked, keys)
            if own & keys:
                mine = max(mine, share)
            elif others & keys:
                theirs = max(theirs, share)
    return theirs > mine


def _has_later(claim: Sentence, own: frozenset[str] | set[str], question: Sentence, around: Surroundings) -> bool:
    """Tell if a sentence further on has as much of the question, and another number or name: it may hold by then."""
    shares = [around.share(question.asked, one.keys) for one in around.sentences]
    homes = [at for at, one in enumerate(around.sentences) if own & one.keys.keys()]
    if not homes:
        return False
    home = max(homes, key=lambda at: shares[at])
    return any(
        shares[at] >= shares[home] > 0 and _list_others(claim, question, one) and not own <= one.keys.keys()
        for at, one in enumerate(around.sentences)
        if at > home
    )


def _list_others(claim: Sentence, question: Sentence, sentence: Sentence) -> set[str]:
    """Return the numbers of a sentence that neither an answer with numbers nor its question has; else its names."""
    found = {term.key for term in sentence.numbers} if claim.numbers else sentence.names
    return {*found} - claim.keys.keys() - question.keys.keys()


def _has_nearer_name(claim: Sentence, question: Sentence, sentence: Sentence) -> bool:
    asked = [term for term in sentence.terms if term.key in question.asked]
    # The first word of an answer has a capital in any case.
    own = [term for term in sentence.terms if term.key in claim.keys.keys() & sentence.names]
    others = [term for term in sentence.terms if term.key in _list_others(claim, question, sentence)]

    def reach(terms: Sequence[Term]) -> int:
        return min(abs(one.at - word.at) for one in terms for word in asked if one.clause == word.clause)

    if not own or not asked or not all(any(one.clause == word.clause for word in asked) for one in (*own, *others)):
        return False
    return bool(others) and reach(others) < reach(own)


def is_vetoed(features: Mapping[str, float]) -> bool:
    """Tell if a sentence has a fault that no weight makes up for."""
    return any(features[name] for name in VETOES)


def contradicts(features: Mapping[str, float], *, is_sure: bool = False) -> bool:
    """Tell if a passage that has most of a sentence says something else than it; `is_sure` leaves out weak signs.

    None does where the sentence tells what became of a value: the older and the newer one stand in two passages.
    """
    signs = _TURNS if is_sure else (*_TURNS, *_MISMATCHES)
    return not features["two values"] and any(features[name] for name in signs)


def _is_embedded(claim: Sentence, passage: Sentence) -> bool:
    """Tell if a passage has the words inside a larger phrase: "the son of Ada signed" does not say that Ada signed."""
    text = f" {' '.join(claim.tokens)} "
    for clause in passage.clauses:
        before, found, _ = f" {' '.join(clause)} ".partition(text)
        if found and (lead := before.split()):
            return lead[-1] in _EMBEDDING or bool(find_marks(lead).keys() & {NOT, HEDGE, SAID})
    return False


def _share_in_order(claim: Sentence, best: Sentence) -> float:
    """Return the share of the neighbouring common terms that stand in the same order."""
    places = {term.key: term.at for term in reversed(best.terms)}
    pairs = [one < two for one, two in pairwise(places[term.key] for term in claim.terms if term.key in places)]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _share_one_clause(claim: Sentence, passages: Sequence[Sentence]) -> float:
    """Return how much of each clause stands in a single clause of a passage, on average: merged facts share little."""
    theirs = [other for passage in passages for other in passage.clause_keys]
    shares = [max((len(keys & other) for other in theirs), default=0) / len(keys) for keys in claim.clause_keys if keys]
    return sum(shares) / len(shares) if shares else 0.0


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
                faults["foreign"] += 1
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


def _compare_marks(claim: Sentence, best: Sentence, passages: Sequence[Sentence]) -> dict[str, float]:
    """Compare the small words of a sentence with those of the clauses that share terms with it, and of all passages."""
    mine = claim.marks
    shared = {term.clause for term in best.terms if term.key in claim.keys}
    beside = find_marks([token for number in sorted(shared) for token in best.clauses[number]])
    anywhere = set().union(*(passage.marks for passage in passages))
    pairs = [pair for one, two in OPPOSITES for pair in ((one, two), (two, one))]
    faults = {
        "opposite": any(mine[one] and not mine[two] and beside[two] and not beside[one] for one, two in pairs),
        **{f"{mark} lost": beside[mark] and not mine[mark] for mark in (NOT, SAID, "only")},
        **{f"{mark} added": mine[mark] and mark not in anywhere for mark in (NOT, HEDGE)},
        "unless": mine["if"] and not mine["unless"] and "unless" in anywhere,
        "must can": mine["can"] and "can" not in anywhere and "must" in anywhere,
    }
    return {name: float(bool(fault)) for name, fault in faults.items()}
