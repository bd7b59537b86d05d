"""The words for verdicts and flags, the same in the terminal, on pages of HTML, over MCP and for agents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from bookwheel.claims import BORNE_OUT, WORDS, Claim, Evidence, Fit, Verdict
from bookwheel.flags import Flag
from bookwheel.types import Reading, Status


class CautionKind(StrEnum):
    """Why an answer may lack something that the document has."""

    LIST = "list"
    """It is a list, or a count, from one memory; a table has every item."""
    FULL = "full"
    """The memory was full at some step, and something was cut off."""
    UNSEEN = "unseen"
    """A model that can see was not shown pictures."""
    UNJUDGED = "unjudged"
    """A limit, or a call that failed, ended the judging."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """What is to be known of an answer before it is relied on."""

    kind: CautionKind
    text: str
    """In a sentence. What to do about it at a command line stands behind the last semicolon."""

    @property
    def fact(self) -> str:
        """The sentence without what to do, for those who have no command line."""
        return OPTION.sub("", self.text.rpartition("; ")[0] or self.text)


VERDICT_WORDS: Final[Mapping[Verdict, str]] = {
    Verdict.QUOTED: "word for word in the document",
    Verdict.SUPPORTED: "borne out by the document",
    Verdict.PARTLY: "borne out in part",
    Verdict.CONTRADICTED: "the document seems to say otherwise",
    Verdict.BY_HAND: "written by hand",
    Verdict.SEEN: "seen in a picture, not checked by words",
    Verdict.NOT_FOUND: "not found in the document",
    Verdict.ABSENT: "not in the document, the model says",
    Verdict.UNCHECKED: "not checked",
}
FIT_WORDS: Final[Mapping[Fit, str]] = {
    Fit.YES: "answers the question",
    Fit.DOUBTFUL: "see whether it answers the question",
    Fit.NO: "may not answer the question",
}


OPTION: Final = re.compile(r" \(--[^)]*\)")
"""An option of the command line, as errors and notes name it."""
_NEARLY_FULL: Final = 0.9


def describe_claim(claim: Claim) -> str:
    """Return the verdict on one sentence of an answer in words, with its number and what is missing."""
    words = VERDICT_WORDS[claim.verdict]
    if claim.step is not None:
        words += f" at step {claim.step}"
    if claim.score is not None and claim.verdict is Verdict.SUPPORTED:
        words += f" ({claim.score:.0%} sure)"
    missing = "" if claim.verdict is Verdict.BY_HAND else ", ".join(claim.missing)
    more = (
        f"not borne out: {' … '.join(claim.unsaid)}" if claim.unsaid else "",
        f"nowhere in it: {missing}" if missing else "",
        _describe_fit(claim.verdict, claim.answers),
    )
    return "; ".join(filter(None, (words, *more)))


def describe_judge(claim: Claim) -> str:
    """Return in words who judged one sentence of an answer; empty where nobody did, or it is not known."""
    return f"judged by {'words alone' if claim.judge == WORDS else claim.judge}" if claim.judge else ""


def describe_verdict(verdict: Verdict, answers: Fit | None) -> str:
    """Return the verdict on a whole answer in words, and whether it answers the question where it may not."""
    return "; ".join(filter(None, (VERDICT_WORDS[verdict], _describe_fit(verdict, answers))))


def _describe_fit(verdict: Verdict, answers: Fit | None) -> str:
    """Return the doubt that a sentence answers; a slight one counts where nothing else keeps it from being green."""
    is_told = answers is Fit.NO or (answers is Fit.DOUBTFUL and verdict in BORNE_OUT)
    return FIT_WORDS[answers] if answers and is_told and verdict is not Verdict.ABSENT else ""


def describe_place(piece: Evidence) -> str:
    """Return where a passage stands: its file, pages, characters and step."""
    step = "" if piece.step is None else f"step {piece.step}"
    return " · ".join(filter(None, (describe_span(piece, piece.source), step)))


class SupportsPlace(Protocol):
    """A span of a document that knows its pages and lines."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def pages(self) -> tuple[int, ...]: ...
    @property
    def lines(self) -> tuple[int, ...]: ...


def describe_span(place: SupportsPlace, source: str) -> str:
    """Return where a span stands: file:line where the file has lines, else its pages and characters."""
    if place.lines:
        return f"{source}:{'-'.join(map(str, dict.fromkeys(place.lines)))}"
    return " · ".join(filter(None, (source, describe_pages(place.pages), f"characters {place.start:,}–{place.end:,}")))


def describe_pages(pages: Sequence[int]) -> str:
    """Return the numbers of pages in words, such as "p. 4" or "p. 4–6, 9"; empty where there are none."""
    runs = list[list[int]]()
    for page in sorted(set(pages)):
        if runs and page == runs[-1][1] + 1:
            runs[-1][1] = page
        else:
            runs.append([page, page])
    told = (str(first) if first == last else f"{first}–{last}" for first, last in runs)
    return f"p. {', '.join(told)}" if runs else ""


def _is_looked_up(reading: Reading) -> bool:
    """Return whether the whole document was looked at for an answer, and not the memory alone."""
    return reading.answer is not None and Flag.LOOKED_UP in reading.answer.flags


def describe_share(reading: Reading) -> str:
    """Return in words how much of the document was read, and in which order; empty where it was read to its end."""
    if _is_looked_up(reading):
        return "looked up in the whole document by its structure"
    if reading.share_read == 1:
        return ""
    share = max(reading.share_read, 0.01)
    read = [s.chunk for s in reading.steps if s.chunk.end > s.chunk.start and Flag.UNREAD not in s.flags]
    is_beginning = all(chunk.start == end for chunk, end in zip(read, (0, *(one.end for one in read)), strict=False))
    order = "from its beginning" if is_beginning else "the likeliest parts first"
    unread = next(step for step in reading.steps if Flag.UNREAD in step.flags)
    # A search that ended in vain has no score.
    ending = "until the memory was enough" if unread.score else "and the rest has less of what the question names"
    return f"read {share:.0%} of the document, {order}, {ending}"


def advise_room(tokens: int) -> str:
    """Return what to do about a memory of so many tokens that was full."""
    return f"it has {tokens} tokens; give it more (--memory-tokens), or ask for less at once"


def list_cautions(reading: Reading) -> tuple[Caution, ...]:
    """Return what is to be known of an answer before it is relied on: what its one memory may not have held."""
    if not reading.answer:
        return ()
    full = f"the memory was full: {advise_room(reading.plan.memory_tokens)}"
    found = (
        (CautionKind.LIST, _advise_table(reading)),
        (CautionKind.FULL, full if reading.is_overfull else ""),
        (CautionKind.UNSEEN, describe_unseen(reading)),
        (CautionKind.UNJUDGED, _describe_unjudged(reading)),
    )
    return tuple(Caution(kind=kind, text=text) for kind, text in found if text)


def _describe_unjudged(reading: Reading) -> str:
    if reading.status is not Status.ANSWERED or not reading.error:
        return ""
    count = sum(claim.verdict is Verdict.UNCHECKED for claim in reading.claims)
    again = f"bookwheel show {reading.id[:8]} --judge checks the answer again"
    return f"{count} of {len(reading.claims)} sentences were not checked: {reading.error.rstrip('.')}; {again}"


def describe_unseen(reading: Reading) -> str:
    """Return how often a model that can see was not shown pictures; empty where it always was."""
    turns = [*(step.flags for step in reading.steps), reading.answer.flags if reading.answer else ()]
    count = sum(Flag.UNSEEN in flags for flags in turns)
    why = "the server refused them, or they could not be opened, and their words were read instead"
    return f"pictures were not shown to the model in {count} of {len(turns)} calls: {why}" if count else ""


def _advise_table(reading: Reading) -> str:
    """Return how to get every item where a question asks for a list; empty where one memory holds the answer well."""
    # Its patterns take longer to import than the reading takes to be shown.
    from bookwheel.text.questions import asks_for_list

    # Who quotes shows a few passages, even of one section.
    is_one_call = reading.way == "whole" or (len(reading.steps) <= 1 and reading.way != "quotes")
    if "collect" in reading.way or is_one_call or _is_looked_up(reading) or not asks_for_list(reading.question):
        return ""
    # A model that keeps within a memory which is nearly full has left something out of it; who quotes fills it anyway.
    filled = max((step.after.tokens / step.after.limit for step in reading.steps), default=0.0)
    is_full = reading.is_overfull or (filled >= _NEARLY_FULL and reading.way != "quotes")
    if not is_full and (reading.verdict is Verdict.ABSENT or _tells_count(reading)):
        return ""
    # How full it was tells how much it may lack.
    is_told = not reading.is_overfull and reading.way != "quotes"
    how = f"was filled to {filled:.0%}" if is_told else "was full" if is_full else "holds only so much"
    return (
        f"this asks for a list, and the memory of {reading.plan.memory_tokens} tokens {how}; every item, with its "
        'place, comes with: bookwheel collect SOURCE "every KIND OF ITEM: COLUMN, COLUMN"'
    )


def _tells_count(reading: Reading) -> bool:
    """Return whether a passage has the number that a question wants, with what it counts: then nothing is counted."""
    from bookwheel.text.questions import find_counted
    from bookwheel.verdict.parsing import parse

    counted = find_counted(reading.question)
    return bool(counted) and any(
        claim.verdict in (Verdict.QUOTED, Verdict.SUPPORTED)
        and bool(parse(claim.text).numbers)
        and any(counted in parse(reading.evidence[at].quote).keys for at in claim.evidence)
        for claim in reading.claims
    )


def describe_choice(reading: Reading) -> str:
    """Return the way that `auto` chose, and why; empty for a reading whose way was named."""
    # The reply of its first step is the choice: "way: reason".
    return f"auto chose {reading.steps[0].conversation.reply.text}" if reading.way == "auto" and reading.steps else ""


# The page has the same words, and Chinese ones: serve/page/words-en.js.
FLAG_WORDS: Final[Mapping[str, str]] = {
    Flag.TRUNCATED: "reply cut at its limit",
    Flag.SKIPPED: "judged not to matter, and left out",
    Flag.UNREAD: "not read into the memory, which was enough before it",
    Flag.REFUSED: "some changes could not be made",
    Flag.REWRITTEN: "written anew, as the changes could not be used",
    Flag.GAVE_UP: "lines given up, as the memory was full",
    Flag.UNFOUNDED: "what stands nowhere in the text was left out",
    Flag.TRIMMED: "memory cut to its limit",
    Flag.CLEANED: "reply tidied",
    Flag.UNCHANGED: "nothing new",
    Flag.REREAD: "read again after the end",
    Flag.JOINED: "a passage that answers together with the best one",
    Flag.CARRIED: "the memory of an earlier reading, where this one begins",
    Flag.KEPT_EMPTY: "empty reply, memory kept",
    Flag.KEPT_REFUSAL: "refusal, memory kept",
    Flag.KEPT_COMMENT: "only a remark, memory kept",
    Flag.ADDED: "added below the memory, which it would have replaced",
    Flag.FILTERED: "content filter, memory kept",
    Flag.EDITED: "edited by hand",
    Flag.CUT: "a part was left out",
    Flag.NO_ANSWER: "no answer given",
    Flag.UNSEEN: "pictures not shown, words read",
    Flag.DROPPED: "more pictures than may stay",
    Flag.UNSURE: "not sure of these words",
    Flag.LOOKED_UP: "looked up in the whole document",
}


def describe_flags(flags: Iterable[str]) -> list[str]:
    """Return flags in words; one of another version of the program as it is."""
    return [FLAG_WORDS.get(one, one) for one in flags]


def describe_version_flags(version: Mapping[str, Any]) -> list[str]:
    """Return the flags of a version of a memory in words; who wrote it by hand, its kind and source say."""
    return describe_flags(() if version["kind"] == "edit" else version["flags"])
