"""The verdict on a statement that names its sources: rows of a table, each with its words in the document.

    row         [1] who: Ada Quill; amount: 12 crowns: "Ada Quill pays 12 crowns by June"
    kept        Ada Quill must pay 12 crowns [1].       the row's own words in the row's own order
                By June Ada Quill pays 12 crowns [1].   or with their end first
                Ada Quill: 12 crowns [1].               or its cells
    marked      12 crowns are due from Ada Quill [1].   other words, with every number and name of the row
    left out    Ada Quill pays 13 crowns [1].           a number or a name that the row does not have
                Ada Quill never pays 12 crowns [1].     a small word that turns it round
                Ada Quill pays, out of greed [1].       a clause of which the row has nothing
                Ada Quill pays gladly.                  no row

No measure of words can tell a true rewording from a skilled invention. So other words than the row's are never without
a mark, and a mark comes with the passage to compare.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

from bookwheel.claims import BORNE_OUT, Claim, Verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.text.comparatives import spell_bounds
from bookwheel.text.lexicon import stem
from bookwheel.text.matching import Passage, find_missing_words, parse_words
from bookwheel.text.normalization import ARTICLES
from bookwheel.verdict.judge import Finding, examine, weigh, write_claims
from bookwheel.verdict.measure import contradicts
from bookwheel.verdict.parsing import CAUSE, HEDGE, NOT, SAID, Sentence, parse
from bookwheel.verdict.sources import PlacedParts

_JOINTS: Final = re.compile(r"\s+(?:and|while|whereas|but)\s+|[;；]\s*|，而|[,，](?!\d)\s*(?:and\s+)?")
_LEAST_WORDS: Final = 4
# Of its terms, the share that the row has of a sentence that is marked.
_LEAST_SHARED: Final = 0.4
_DEGREES: Final = (Verdict.QUOTED, Verdict.SUPPORTED, Verdict.PARTLY, Verdict.NOT_FOUND)
# What a document cites is no word of it.
_REFERENCE: Final = re.compile(r"\s*\[\d+(?:\s*[,–-]\s*\d+)*\]")
_DUTY: Final = frozenset({"must", "shall"})
_GLUE: Final = frozenset({"by", "on", "until", "in", "at", "for", "of", "due"})
# What a source says under one of these is not said of itself.
_UNDER: Final = (NOT, HEDGE, SAID, "if", "unless", "only", "some")


class Source(Protocol):
    """A row that a statement can rest on."""

    @property
    def said(self) -> str:
        """The row in words: "who: Ada Quill; amount: 12 crowns"."""

    @property
    def words(self) -> str:
        """What a statement must say: the row's words in the document; the row itself where its values count."""

    @property
    def named(self) -> str:
        """The first value of the row: whom or what it is about, where its words have another name."""

    @property
    def others(self) -> tuple[int, ...]:
        """The rows that say otherwise of the same."""


class _Joined:
    """Rows that say otherwise of the same, as one."""

    others = ()

    def __init__(self, sources: Sequence[Source]) -> None:
        self.said = "; ".join(one.said for one in sources)
        self.words = " ".join(one.words for one in sources)
        self.named = sources[0].named


def judge_statement(sentence: str, sources: Sequence[Source]) -> Verdict:
    """Return what the sources say to a sentence: to the whole, or to each of the statements that it joins.

    What it says of rows that say otherwise of the same, it may say of all of them; it is then marked.
    """
    verdict = _judge_whole(sentence, sources)
    pairs = [one for one in sources if one.others]
    if verdict is Verdict.NOT_FOUND and len(pairs) > 1:
        verdict = max(_judge_whole(sentence, [_Joined(pairs)]), Verdict.PARTLY, key=_DEGREES.index)
    parts = _JOINTS.split(sentence)
    if len(sources) > 1 and len(parts) > 1 and all(len(parse_words(part)) >= _LEAST_WORDS for part in parts):
        worst = max((_judge_whole(part, sources) for part in parts), key=_DEGREES.index)
        joined = Verdict.SUPPORTED if worst in BORNE_OUT else worst
        verdict = min(verdict, joined, key=_DEGREES.index)
    return verdict


def _judge_whole(sentence: str, sources: Sequence[Source]) -> Verdict:
    """Return the best that one source says to a sentence: its numbers and names must all stand in the same one."""
    said, verdicts = spell_bounds(sentence), [Verdict.NOT_FOUND]
    for one in sources:
        words = spell_bounds(f"{one.words}.\n{one.said}.\n{one.named}: {one.words}.")
        if _has_exact_words(said, words):
            parts = PlacedParts(TextDocument(words))
            findings = examine(said, "", parts)
            _, claims = write_claims([(finding, weigh(finding)) for finding in findings], (), parts)
            degrees = [_judge_claim(*pair, one) for pair in zip(findings, claims, strict=True)]
            verdicts.append(max(degrees, key=_DEGREES.index, default=Verdict.NOT_FOUND))
    return min(verdicts, key=_DEGREES.index)


def has_exact_words(sentence: str, sources: Sequence[Source], more: str = "") -> bool:
    """Tell if each number and name of a sentence stands in one of its sources, or in `more`; of none, nothing does."""
    words = "\n".join([more, *(f"{one.words}\n{one.said}" for one in sources)])
    return bool(sources) and _has_exact_words(spell_bounds(sentence), spell_bounds(words))


def _has_exact_words(sentence: str, words: str) -> bool:
    """Tell if all numbers and names of a sentence stand in a source, in whatever spelling."""
    mine, theirs = parse(sentence), parse(words)
    known = {*theirs.tokens, *theirs.keys, *Passage(words).index_keys}
    names = find_missing_words([word for word in parse_words(sentence) if not any(map(str.isdigit, word.text))], known)
    return not names and all(number.key in known for number in mine.numbers)


def _judge_claim(finding: Finding, claim: Claim, source: Source) -> Verdict:
    """Return the verdict on one statement, no better than "partly" for other words than the source's."""
    mine, theirs = parse(finding.text), parse(spell_bounds(source.words))
    is_free = not any(theirs.marks[mark] and not mine.marks[mark] for mark in _UNDER)
    if claim.verdict is Verdict.QUOTED and is_free:
        return Verdict.QUOTED
    if finding.is_absent or _says_otherwise(finding, mine, theirs) or _adds_clause(finding, source):
        return Verdict.NOT_FOUND
    if is_free and (_has_own_words(finding.text, source) or _has_own_cells(mine, source)):
        return Verdict.SUPPORTED
    return Verdict.PARTLY if finding.features["in all"] >= _LEAST_SHARED else Verdict.NOT_FOUND


def _says_otherwise(finding: Finding, mine: Sentence, theirs: Sentence) -> bool:
    """Tell if a small word turns a sentence round or gives a reason, or a number counts something else."""
    counts_other = finding.features["other counted"] and not mine.has_signs
    gives_reason = mine.marks[CAUSE] and not theirs.marks[CAUSE] and "since" not in mine.tokens
    # Who receives 12 crowns does not pay them.
    is_turned = any(
        mine.marks[one] and not mine.marks[other] and theirs.marks[other] and not theirs.marks[one]
        for one, other in (("give", "take"), ("take", "give"))
    )
    is_added = finding.features[f"{NOT} added"]
    return bool(contradicts(finding.features) or is_added or counts_other or gives_reason or is_turned)


def _adds_clause(finding: Finding, source: Source) -> bool:
    """Tell if the source has nothing of a clause, "out of sheer greed", or no more of the whole than its names."""
    mine = parse(finding.text)
    whole = set().union(*(parse(passage.text).keys for passage in finding.passages))
    said = mine.keys.keys() - mine.names - parse(source.named).keys.keys()
    return (bool(said) and not said & whole) or any(len(keys) > 1 and not keys & whole for keys in mine.clause_keys)


def _has_own_words(sentence: str, source: Source) -> bool:
    """Tell if a sentence has the words of a quote side by side, or all of them with their end first.

    Whom or what the row is about may be named around all of them: "At Harlow, boxes were taken."
    """
    mine, named = _list_stems(sentence), {*_list_stems(source.named), *_GLUE}
    for quote in (source.words, f"{source.named}: {source.words}"):
        theirs = _list_stems(quote)
        if _adds_duty(sentence, quote):
            return False
        if _is_run(mine, theirs) or (len(mine) == len(theirs) and _is_run(mine, [*theirs, *theirs])):
            return True
        if theirs and _is_run(theirs, mine) and {*mine} - {*theirs} <= named:
            return True
    return False


def _list_stems(text: str) -> list[str]:
    text = _REFERENCE.sub("", text)
    return [stem(token) for token in parse(spell_bounds(text)).tokens if token not in ARTICLES | _DUTY]


def _is_run(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    return f" {' '.join(mine)} " in f" {' '.join(theirs)} "


def _adds_duty(sentence: str, quote: str) -> bool:
    """Tell if "must" is new: "must pay" says what a "pays" of a contract says, and not what "paid" says."""
    mine, theirs = parse(sentence).tokens, parse(quote).tokens
    verbs = {mine[at + 1] for at, token in enumerate(mine[:-1]) if token in _DUTY}
    return bool(verbs) and not _DUTY & set(theirs) and not {f"{verb}s" for verb in verbs} <= set(theirs)


def _has_own_cells(mine: Sentence, source: Source) -> bool:
    """Tell if a sentence is the values of a row in their order, each with its column's name or without."""
    keys = {term.key for term in mine.terms}
    if set(mine.tokens) - {mine.tokens[term.at] for term in mine.terms} - _GLUE - ARTICLES:
        return False
    cells = [cell.partition(": ") for cell in source.said.split("; ")]
    spelled = [
        [*(term.key for term in parse(name).terms if term.key in keys), *(term.key for term in parse(value).terms)]
        for name, _, value in cells
    ]
    wanted = [term.key for term in mine.terms]
    ends = {sum(map(len, spelled[:count])) for count in range(1, len(spelled) + 1)}
    joined = [key for cell in spelled for key in cell]
    return len(wanted) in ends and joined[: len(wanted)] == wanted
