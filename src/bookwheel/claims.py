"""What is said of an answer: its sentences, each with a verdict, and the passages of the document behind them.

    Claim("Ada Quill signed.", QUOTED,       evidence=(0,), answers=YES)
    Claim("Nobody objected.",  CONTRADICTED, against=(1,),  answers=NO)

The verdict says whether it is true, by the document's words; `answers` whether it is what was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """The degree to which the document's words bear out an answer, or one sentence of it."""

    QUOTED = "quoted"
    """It stands in the document word for word."""
    SUPPORTED = "supported"
    """The document says it in other words, as measured or as a model judges; the claim has the number."""
    PARTLY = "partly"
    """The document says a part of it; the claim names the rest."""
    CONTRADICTED = "contradicted"
    """The document says otherwise; the claim names the passage."""
    BY_HAND = "by-hand"
    """It rests on a memory that was edited by hand, and the document does not say it."""
    SEEN = "seen"
    """The model was shown a picture when it answered, and no words bear the answer out; the claim names the picture."""
    NOT_FOUND = "not-found"
    """The document does not say it, as far as its words tell."""
    ABSENT = "absent"
    """The model says that the document does not have the answer."""
    UNCHECKED = "unchecked"
    """Nobody looked, or the judge failed."""


BORNE_OUT: Final = frozenset({Verdict.QUOTED, Verdict.SUPPORTED})
"""The verdicts of a sentence that the document says."""


WORDS: Final = "words"
"""The judge of a claim that no model was asked about."""


class Fit(StrEnum):
    """Whether a sentence answers the question: another matter than whether it is true."""

    YES = "yes"
    DOUBTFUL = "doubtful"
    NO = "no"


class Sign(StrEnum):
    """The colour of an answer at every door."""

    GREEN = "green"
    """The document's words bear it out, and it answers the question."""
    AMBER = "amber"
    """It is true in part, rests on a memory edited by hand, or may answer another question."""
    RED = "red"
    """The document says otherwise, or does not say it."""
    GREY = "grey"
    """Nothing was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A verbatim span of the document behind an answer or a memory line."""

    quote: str
    start: int
    end: int
    step: int | None
    """The step that read it; None where no step did."""
    pages: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    """The files, paths or addresses that it stands in; nearly always one."""
    lines: tuple[int, ...] = ()
    """The first and the last line of its file that it stands in, counted from 1; empty where a format has none."""

    @property
    def source(self) -> str:
        """The sources as one text."""
        return ", ".join(self.sources)

    @property
    def page(self) -> int | None:
        """The first page; None where the format has none."""
        return next(iter(self.pages), None)

    @property
    def line(self) -> int | None:
        """The first line; None where the format has none."""
        return next(iter(self.lines), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of an answer, with its verdict."""

    text: str
    """The sentence as it stands in the answer."""
    verdict: Verdict
    evidence: tuple[int, ...] = ()
    """The passages that bear it out: positions in `Reading.evidence`. The one that the memory is from is first."""
    against: tuple[int, ...] = ()
    """The passages that say otherwise: positions in `Reading.evidence`."""
    step: int | None = None
    """The step whose memory was edited, where the verdict is `by-hand`."""
    missing: tuple[str, ...] = ()
    """Its numbers and names that stand nowhere in the document."""
    unsaid: tuple[str, ...] = ()
    """Its parts that the document does not say, where the verdict is `partly`."""
    score: float | None = None
    """The probability that the document says it, as measured or judged; None where it is quoted or judged in a word."""
    answers: Fit | None = None
    """Whether it answers the question; None where nothing was judged."""
    judge: str | None = None
    """Who judged it: `words`, where its words were compared with the document's and no model was asked, or the model's
    name; None where nobody did."""


def sum_up_verdicts(claims: Sequence[Claim]) -> Verdict | None:
    """Return the verdict of a whole answer: no better than its sentences; None where there is none to judge."""
    verdicts = {claim.verdict for claim in claims}
    if len(verdicts) <= 1:
        return next(iter(verdicts), None)
    if verdicts <= BORNE_OUT:
        return Verdict.SUPPORTED
    # "It does not say. It names a dishwasher, but no washing machine."
    if claims[0].verdict is Verdict.ABSENT and verdicts.isdisjoint((*BORNE_OUT, Verdict.CONTRADICTED)):
        return Verdict.ABSENT
    for whole in (Verdict.CONTRADICTED, Verdict.UNCHECKED):
        if whole in verdicts:
            return whole
    if verdicts & {*BORNE_OUT, Verdict.PARTLY}:
        return Verdict.PARTLY
    return next((one for one in (Verdict.BY_HAND, Verdict.SEEN) if one in verdicts), Verdict.NOT_FOUND)


def sum_up_fits(claims: Sequence[Claim]) -> Fit | None:
    """Return whether an answer answers the question: as well as the best of its sentences."""
    fits = {claim.answers for claim in claims}
    return next((fit for fit in Fit if fit in fits), None)


def doubt(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims of an answer of which its reader is not sure: none of them answers beyond doubt."""
    return tuple(replace(claim, answers=Fit.DOUBTFUL) if claim.answers is Fit.YES else claim for claim in claims)


def mark_seen(claims: Sequence[Claim], evidence: tuple[int, ...]) -> tuple[Claim, ...]:
    """Return claims of which those that no words bear out are seen in pictures, whose marks are this evidence."""
    return tuple(
        replace(one, verdict=Verdict.SEEN, evidence=evidence, missing=()) if one.verdict is Verdict.NOT_FOUND else one
        for one in claims
    )


def choose_sign(verdict: Verdict | None, answers: Fit | None) -> Sign:
    """Return the colour of an answer with these verdicts."""
    if verdict is None or verdict in {Verdict.UNCHECKED, Verdict.ABSENT}:
        return Sign.GREY
    if verdict in {Verdict.CONTRADICTED, Verdict.NOT_FOUND}:
        return Sign.RED
    return Sign.GREEN if verdict in BORNE_OUT and answers is Fit.YES else Sign.AMBER
