"""The verdict on an answer: for each of its sentences, what the document says to it, and whether it answers.

    "The plan was signed by Agostino Ramelli."   quoted        it stands in the document word for word
    "Ramelli put his name to the plan."          supported     the document says it in other words; with its number
    "Ramelli, born in Este, signed the plan."    partly        "born in Este" is not borne out
    "The plan was never signed."                 contradicted  the passage that says otherwise is quoted
    "The miller was called Odo."                 by-hand       that was written into the memory after step 3
    "It was burnt in 1601."                      not-found     the document has no such sentence
    "The document does not say who paid."        absent        the model says that it is not there

Two questions, never mixed: whether the words bear a sentence out (`measure.py`), and whether it answers (`asking.py`).
Both are judged by a model, or weighed by tables of logistic regression, fitted on labelled answers:

    P = 1 / (1 + exp(-(bias + sum of weight * feature)))

`benchmarks/quality/verdict_weights.py` fits them and writes `weights.json`; docs/reading.md says what they are worth.
The document is searched once for all sentences together, in blocks, so that the cost grows with its length and the
memory does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import exp
from typing import Final

from bookwheel.claims import WORDS, Claim, Evidence, Fit, Verdict
from bookwheel.packaged import PACKAGE
from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import language_of
from bookwheel.text.remarks import says_absent
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Step
from bookwheel.verdict.asking import is_misfit, measure_fit
from bookwheel.verdict.citations import drop_places, find_cited, is_citation, split_citations
from bookwheel.verdict.copies import find_copies, says_something
from bookwheel.verdict.fields import list_fields
from bookwheel.verdict.measure import Surroundings, contradicts, is_vetoed, measure
from bookwheel.verdict.parsing import Sentence, parse
from bookwheel.verdict.put_off import find_put_off
from bookwheel.verdict.search import LocatedSentence, Query, drop_written, list_blocks, make_query, search
from bookwheel.verdict.sources import EvidenceList, PlacedParts, SupportsParts

# Not in brackets, and not behind "&amp;".
_SEMICOLONS: Final = compile_late(r"(?<=;)(?<!&amp;)\s+(?![^(（]*\w\w[)）])")
_BULLETS: Final = compile_late(r"(?:\s*(?:[-*•·>]+|#+|\(?\d{1,2}[.)、])\s+(?=\S))+")
_TABLE_RULE: Final = compile_late(r"\s*\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?\s*)?")
_SAYS_VALUE: Final = compile_late(r"\d|[A-ZÀ-Þ]\w+ [A-ZÀ-Þ]\w+|[一二三四五六七八九十百千万]+[元年月日个人]")
_CHOICE: Final = compile_late(r"\s*(?:(?:yes|no)\b|是的?|不是|否|对|不)", re.IGNORECASE)
_EMPTY_REPLIES: Final = {"yes", "no", "not", "不是"}
_NO: Final = compile_late(r"\s*(?:no|不|否)", re.IGNORECASE)
_LEAST_LISTED: Final = 3
# A passage that has less of a sentence than this is not quoted for it.
_LEAST_MATCH: Final = 0.5
_LEAST_CONTRADICTED: Final = 0.4
# From this probability on, a weak sign that a passage says otherwise is none.
_LEAST_SURE: Final = 0.5
# Below this probability a sentence does not answer.
_LEAST_FIT: Final = 0.5
# Of a clause's terms, those that no passage has, from which on nobody says it.
_LEAST_UNSAID: Final = 0.6
_CLAUSES: Final = compile_late(r"[;:()，；：（）—–]|,(?!\d)")
_MARKS: Final = " ,;:，；：。.!！?？"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTable:
    """The weights of one question about a sentence."""

    bias: float
    weights: dict[str, float]
    threshold: float
    """The probability from which on the answer is yes."""

    def weigh(self, features: Mapping[str, float]) -> float:
        """Return the probability; features without a weight count nothing."""
        total = self.bias + sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + exp(-max(-50.0, min(50.0, total))))


@cache
def load_weights(name: str) -> WeightTable:
    """Return a table by its name: `supported` or `answers`."""
    file = PACKAGE / "verdict" / "weights.json"
    return WeightTable(**json.loads(file.read_text(encoding="utf-8"))[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One sentence of an answer, and what the document has of it."""

    text: str
    copy: LocatedSentence | None
    """The sentence that it is copied from."""
    is_absent: bool
    """It says that the document does not have the answer."""
    passages: tuple[LocatedSentence, ...]
    """The few passages that have most of it and of the question together, the best first."""
    bearing: tuple[LocatedSentence, ...]
    """Those of them that have something of the sentence itself which the ones before have not."""
    near: tuple[LocatedSentence, ...]
    """What else has words of it, the best first: a later one may say otherwise."""
    features: Mapping[str, float]
    """How far they bear it out."""
    fit: Mapping[str, float]
    """How far it answers the question."""
    missing: tuple[str, ...]
    unsaid: tuple[str, ...]
    """Its clauses that have next to nothing of the passages."""
    value: str = ""
    """What is measured of a field of JSON, of which `text` has the name too."""
    put_off: LocatedSentence | None = None
    """What says that a value of it holds no longer."""
    is_misplaced: bool = False
    """Its words stand on other lines of the file than it says."""
    choice: Finding | None = None
    """The bare "Yes." or "No." before it, whose reason it is."""
    before: str = ""
    """The sentence of the answer before it, which may say who "she" is."""

    @property
    def words(self) -> str:
        """What is measured."""
        return self.value or self.text

    @property
    def is_whole(self) -> bool:
        """Its words are those of a sentence of the document, from the first to the last."""
        return bool(self.passages) and parse(self.passages[0].text).tokens == parse(self.words).tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What is decided on one sentence; a model's judgement stands in the place of a measure."""

    score: float | None
    """The probability that the document says it; None where a model said so in a word."""
    is_supported: bool
    is_denied: bool
    answers: Fit
    judge: str = WORDS
    """A model's name, where one was asked."""
    against: tuple[LocatedSentence, ...] = ()
    """What says otherwise."""
    bearing: tuple[LocatedSentence, ...] = ()
    """Where the lines stand that a model copied as saying the sentence."""
    is_misread: bool = False
    """It copied what the document does not have."""


def judge_answer(
    answer: str, question: str, steps: Sequence[Step], document: SupportsParts, *, is_copied: bool = False
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the passages that the answer rests on, and its sentences with their verdicts, by measure.

    Words do not tell what changes a sense. So only what stands word for word in the document answers beyond doubt: a
    sentence, or the few words of an answer `is_copied` by its reader, who knew from where.
    """
    parts = PlacedParts(document)
    findings = examine(answer, question, parts)
    judged = [(finding, _weigh_words(finding, parts, is_copied=is_copied)) for finding in findings]
    return write_claims(judged, steps, parts)


def _weigh_words(finding: Finding, parts: PlacedParts, *, is_copied: bool) -> Judgment | None:
    """Decide on a sentence by its words; None where the document is in another language."""
    judgment = weigh(finding)
    if judgment.answers is Fit.YES and not (is_copied or finding.copy or finding.is_whole):
        judgment = replace(judgment, answers=Fit.DOUBTFUL)
    is_told = judgment.is_supported or finding.put_off
    return None if not is_told and is_foreign(finding, parts) else judgment


def is_foreign(finding: Finding, parts: PlacedParts) -> bool:
    """Tell if a sentence is in another language than the document, where its words can find no passage."""
    claim = parse(finding.words)
    # Names and figures are the same in every language.
    words = {term.key for term in claim.terms if not term.is_number} - claim.names
    if finding.copy or not words:
        return False
    theirs = " ".join(one.text for one in finding.passages) or next(list_blocks(parts), (0, "", True))[1]
    return language_of(finding.words) != language_of(theirs)


def examine(answer: str, question: str, parts: PlacedParts) -> list[Finding]:
    """Look for each sentence of an answer in the document."""
    fields = list_fields(answer)
    pieces = split_answer(answer) if fields is None else [words for _, words in fields]
    cited = find_cited(parts, pieces)
    judged = _list_judged(pieces)
    said = {pieces[at]: _say_whole(pieces[at], question) for at in judged}
    # A sentence that an answer repeats is looked for once.
    queries = {piece: make_query(words, question) for piece, words in said.items()}
    search(parts, list(queries.values()))
    copies = find_copies(pieces, {one for query in queries.values() for one in query.sentences})
    # A lone "It does not say" is the model's own.
    alone = {
        at
        for at in copies
        if not {at - 1, at + 1} & copies.keys() and says_absent(pieces[at]) and not says_something(pieces[at])
    }
    copies = {at: copy for at, copy in copies.items() if at not in alone and at not in cited}
    copies |= {at: place for at, place in cited.items() if place}
    found = [_find(pieces[at], said[pieces[at]], question, queries[pieces[at]], copies.get(at)) for at in judged]
    if fields is not None:
        # Each stands by itself, with the name that it has.
        return [replace(one, text=fields[at][0], value=one.text) for at, one in zip(judged, found, strict=True)]
    found = [replace(one, is_misplaced=cited.get(at, True) is None) for at, one in zip(judged, found, strict=True)]
    joined = _join_choices(found)
    return [*joined[:1], *(replace(one, before=before.text) for before, one in pairwise(joined))]


def _join_choices(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, where a bare "Yes." or "No." stands with the sentence that gives its reason."""
    joined: list[Finding] = []
    for finding in findings:
        last = joined[-1] if joined else None
        if last and _is_choice(last.text) and not finding.is_absent:
            joined[-1] = replace(finding, text=f"{last.text.strip()} {finding.text}", copy=None, choice=last)
        else:
            joined.append(finding)
    return joined


def _find(text: str, words: str, question: str, query: Query, copy: LocatedSentence | None) -> Finding:
    claim, asked = parse(words), parse(question)
    found = query.sentences
    around = Surroundings([parse(sentence.text) for sentence in found])
    chosen = around.choose(claim, asked)
    passages = [around.sentences[at] for at in chosen]
    whole = set().union(*(passage.keys for passage in passages))
    off, told = find_put_off(claim, asked, around), drop_places(words)
    exact = [word for word in query.exact if word in told]
    return Finding(
        text=text,
        copy=copy,
        is_absent=copy is None and says_absent(text),
        passages=tuple(found[at] for at in chosen),
        bearing=tuple(found[at] for at in _list_bearing(claim, around, chosen)),
        near=tuple(one for _, one in query.found),
        features=measure(claim, asked, passages, around),
        fit=measure_fit(claim, asked, passages),
        missing=drop_written([word for word in exact if _is_missing(parse(word), whole, asked)], words, found),
        unsaid=_list_unsaid(text, whole | asked.keys.keys()),
        put_off=None if off is None else found[off],
    )


def _is_missing(word: Sentence, whole: set[str], asked: Sentence) -> bool:
    """Tell if a name or a number stands in no passage; a number that the question brings need not stand there."""
    return whole.isdisjoint(word.keys) and not (word.numbers and word.keys.keys() <= asked.keys.keys())


def _list_bearing(claim: Sentence, around: Surroundings, chosen: Sequence[int]) -> list[int]:
    """Return the passages that add something of the sentence; one that only has words of the question is none."""
    left, bearing = set(claim.keys), list[int]()
    for at in chosen:
        if not bearing or not left.isdisjoint(around.sentences[at].keys):
            bearing.append(at)
            left -= around.sentences[at].keys.keys()
    return bearing


def _list_unsaid(text: str, known: set[str]) -> tuple[str, ...]:
    """Return the clauses of a sentence that have next to nothing of what is known; of one without commas, nothing."""
    clauses = [clause for piece in _CLAUSES.split(text) if (clause := piece.strip(_MARKS))]
    terms = [parse(clause).keys.keys() for clause in clauses]
    is_unsaid = [len(keys) > 1 and len(keys - known) > _LEAST_UNSAID * len(keys) for keys in terms]
    return tuple(clause for clause, unsaid in zip(clauses, is_unsaid, strict=True) if unsaid and len(clauses) > 1)


def weigh(finding: Finding) -> Judgment:
    """Decide on a sentence by the fitted tables."""
    supported, answers = load_weights("supported"), load_weights("answers")
    score = supported.weigh(finding.features)
    fit = 0.0 if is_misfit(finding.fit) else answers.weigh(finding.fit)
    is_sure = fit >= answers.threshold and not (finding.features["other name"] or finding.features["later"])
    is_denied = finding.put_off is not None or (
        finding.features["in all"] >= _LEAST_CONTRADICTED
        and contradicts(finding.features, is_sure=score >= _LEAST_SURE)
    )
    return Judgment(
        score=score,
        is_supported=score >= supported.threshold
        and not (is_vetoed(finding.features) or finding.is_misplaced or finding.put_off)
        and (finding.choice is None or weigh(finding.choice).is_supported),
        is_denied=is_denied,
        against=tuple(filter(None, (finding.put_off, *finding.passages, *finding.near)))[:1],
        answers=Fit.YES if is_sure else Fit.DOUBTFUL if fit >= _LEAST_FIT else Fit.NO,
    )


def write_claims(
    judged: Sequence[tuple[Finding, Judgment | None]], steps: Sequence[Step], parts: PlacedParts
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the evidence and the claims; a sentence without a judgment is unchecked."""
    evidence = EvidenceList(steps, parts)
    claims = tuple(_doubt_computed(_write_claim(finding, judgment, evidence)) for finding, judgment in judged)
    return tuple(evidence.pieces), claims


def _doubt_computed(claim: Claim) -> Claim:
    """Return a claim as doubtful whose figure stands nowhere: who worked it out may have left something out."""
    is_computed = claim.verdict is Verdict.SUPPORTED and any(parse(word).numbers for word in claim.missing)
    return replace(claim, answers=Fit.DOUBTFUL) if is_computed and claim.answers is Fit.YES else claim


def _write_claim(finding: Finding, judgment: Judgment | None, evidence: EvidenceList) -> Claim:
    text, words = finding.text, finding.words
    if finding.is_absent or judgment is None:
        absent = Claim(text=text, verdict=Verdict.ABSENT, judge=WORDS)
        # What the memory took it from can be looked at, judged or not.
        return (
            absent
            if finding.is_absent
            else Claim(text=text, verdict=Verdict.UNCHECKED, evidence=evidence.add(words, ()))
        )
    claim = Claim(
        text=text,
        verdict=Verdict.NOT_FOUND,
        missing=finding.missing,
        answers=judgment.answers,
        judge=judgment.judge,
    )
    score, passages = judgment.score if judgment.score is None else round(judgment.score, 4), finding.passages
    # What stands there word for word may be put right elsewhere.
    is_put_right = judgment.is_denied and (judgment.judge != WORDS or finding.put_off is not None)
    if finding.copy and not is_put_right:
        origin = "" if is_citation(words) else words  # what names its place rests on nothing else
        return replace(claim, verdict=Verdict.QUOTED, evidence=evidence.add(origin, [finding.copy]), missing=())
    if judgment.is_supported and not is_put_right:
        is_quoted = finding.is_whole or (finding.features["verbatim"] and says_something(words))
        borne = Verdict.PARTLY if judgment.is_misread else Verdict.SUPPORTED
        claim = replace(claim, verdict=Verdict.QUOTED) if is_quoted else replace(claim, verdict=borne, score=score)
        if judgment.bearing:
            # The memory's lines may come from what was put right: who copied knows better.
            missing = drop_written(finding.missing, words, judgment.bearing)
            return replace(claim, evidence=evidence.number(judgment.bearing), missing=missing)
        kept = evidence.add(words, passages[:1]) if is_quoted else evidence.add(words, finding.bearing, passages)
        return replace(claim, evidence=kept)
    if (step := evidence.find_step_by_hand(words, finding.missing)) is not None:
        return replace(claim, verdict=Verdict.BY_HAND, step=step)
    if judgment.is_denied:
        claim = replace(claim, verdict=Verdict.CONTRADICTED, against=evidence.number(judgment.against), score=score)
    elif finding.features["in all"] >= _LEAST_MATCH and passages:
        kept = evidence.add(words, finding.bearing, passages)
        claim = replace(claim, verdict=Verdict.PARTLY, evidence=kept, unsaid=finding.unsaid, score=score)
    return claim


def split_answer(answer: str) -> list[str]:
    """Return the sentences of an answer, without bullets, as they stand there, in pieces at semicolons."""
    sentences: list[str] = []
    for piece, is_cited in split_citations(answer):
        for line in [] if is_cited else _drop_headers(piece.splitlines()):
            bullets = _BULLETS.match(line)
            for sentence in list_sentences(line[bullets.end() :] if bullets else line):
                sentences += _split_listed(sentence)
        sentences += [piece] if is_cited else []
    return sentences


def _drop_headers(lines: Sequence[str]) -> list[str]:
    """Return the lines without the names of a table's columns, and without the rule under them."""
    rules = {at for at, line in enumerate(lines) if _TABLE_RULE.fullmatch(line)}
    # A table without names of columns has its first row above the rule.
    heads = {at - 1 for at in rules if at and not _SAYS_VALUE.search(lines[at - 1])}
    return [line for at, line in enumerate(lines) if at not in rules | heads]


def _split_listed(sentence: str) -> list[str]:
    """Return the statements that a sentence lists with semicolons, which no passage says as a whole: three and more."""
    pieces = _SEMICOLONS.split(sentence)
    is_list = len(pieces) >= _LEAST_LISTED and all(map(says_something, pieces))
    return pieces if is_list else [sentence]


def _list_judged(pieces: Sequence[str]) -> list[int]:
    """Return which sentences say something. Headings and "Here is the answer:" do not, beside others that do."""
    told = [is_citation(one) or parse(one).terms or _is_choice(one) or says_absent(one) for one in pieces]
    said = [at for at, has_words in enumerate(told) if has_words]
    return [at for at in said if is_citation(pieces[at]) or not pieces[at].endswith((":", "："))] or said


def _is_choice(sentence: str) -> bool:
    """Tell if a sentence is a bare "Yes.", or a "No, it was not.", which says nothing without its question."""
    return bool(_CHOICE.match(sentence)) and parse(sentence).keys.keys() <= _EMPTY_REPLIES


def _say_whole(sentence: str, question: str) -> str:
    """Return the sentence that is measured: "No" claims the question with a negation that it does not have."""
    if _is_choice(sentence):
        return f"not {question}" if _NO.match(sentence) else question
    return sentence
