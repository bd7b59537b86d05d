"""Readings as MCP clients get them: without control and invisible characters, each with the call to make next.

The MCP SDK reads the annotations of these types at run time and publishes them as schemas.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, TypeVar

from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.journal.search import SearchHit
from bookwheel.models.patience import format_duration
from bookwheel.serve.engine.running_reading import RunningReading, Waiting
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Claim, Evidence, Flag, Reading, Status, Step, Verdict
from bookwheel.verdict.provenance import LineOrigin
from bookwheel.views.diff import ChangeKind, diff_memories, mark_words
from bookwheel.views.verdicts import advise_room, describe_claim, describe_share

_T = TypeVar("_T")
_MARKS: Final = {ChangeKind.NEW: "+", ChangeKind.GONE: "-", ChangeKind.REWORDED: "~"}
_NEXT: Final = {
    Status.READING: "not finished: call wait with this id again; if it makes no progress at all, call resume",
    Status.ANSWERED: "finished: timeline shows where the answer comes from, ask_again asks the document something else",
    Status.STOPPED: "a budget was reached: call resume to go on, with a larger one",
    Status.FAILED: "see the error; call resume to go on from the last step",
    Status.CANCELLED: "call resume to go on from the last step",
}
StateName: TypeAlias = Status | Literal["opening"]


class Quote(TypedDict):
    """A passage of the document that supports the answer or a line of the memory."""

    quote: str
    start: int
    end: int
    pages: list[int]


class ClaimInfo(TypedDict):
    """One sentence of the answer, and how far the document bears it out."""

    text: str
    verdict: Verdict
    """`by-hand`: it rests on an edited memory; `absent`: the model says that the document does not have it."""
    explanation: str
    quotes: list[Quote]
    step: int | None
    missing: list[str]
    """Its numbers and names that stand nowhere in the document."""


class GapInfo(TypedDict):
    """A section of the document that was not taken in."""

    start: int
    end: int
    pages: list[int]
    flags: list[Flag]
    """The reason."""


class ReadingState(TypedDict):
    """The state of a reading."""

    reading: str
    status: StateName
    question: str
    document: str
    answer: str | None
    verdict: Verdict | None
    """How far the document bears out the whole answer."""
    claims: list[ClaimInfo]
    evidence: list[Quote]
    memory: str
    steps: int
    read_to: int
    """Characters read so far."""
    length: int | None
    """Characters of the document."""
    tokens: int
    """Used so far, prompt and reply together."""
    error: str
    waiting: str
    """The model fails at the moment and is tried again: since when, and why. Empty otherwise."""
    gaps: list[GapInfo]
    """Sections that were not taken in: the answer may lack what they say."""
    notes: list[str]
    """What was left out of the document or guessed."""
    resource: str
    next: str
    """The call to make next."""


class ReadingStates(TypedDict):
    """The states of several readings of one document, in the order of their questions."""

    readings: list[ReadingState]


class ReadingSummary(TypedDict):
    """One reading of the journal."""

    reading: str
    status: Status
    question: str
    document: str
    answer: str | None
    verdict: Verdict | None
    created: str
    resource: str


class ReadingList(TypedDict):
    """Readings, newest first."""

    readings: list[ReadingSummary]


class SearchHitInfo(TypedDict):
    """A passage of a document, or a reading, that has all the words."""

    document: str
    """For `read`."""
    name: str
    snippet: str
    reading: str | None
    """The reading whose question, answer or memory has the words; null for a passage."""
    question: str | None
    start: int
    end: int
    pages: list[int]


class SearchResults(TypedDict):
    """What has all the words: readings first, each kind with the best first."""

    hits: list[SearchHitInfo]


class Rewording(TypedDict):
    """A line of the memory before and after it was reworded."""

    before: str
    after: str


class StepChanges(TypedDict):
    """The changes that one step made to the memory."""

    step: int
    start: int
    end: int
    pages: list[int]
    sources: list[str]
    added: list[str]
    reworded: list[Rewording]
    removed: list[str]
    memory_tokens: int
    flags: list[Flag]


class OriginInfo(TypedDict):
    """The place in the document that a line of the final memory comes from."""

    line: str
    step: int
    pages: list[int]
    sources: list[str]
    quote: Quote | None
    found: bool
    missing: list[str]
    by_hand: bool


class Timeline(TypedDict):
    """Some steps of a reading in order, and the origins of the final memory's lines."""

    reading: str
    status: Status
    steps: int
    """Steps of the reading so far."""
    changes: list[StepChanges]
    more_from: int | None
    """The `first` of the next call; null after the last step."""
    origins: list[OriginInfo]


def _clean(values: _T) -> _T:
    """Return JSON values with every text in them sanitized: documents and models have written most of them."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: clean(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [clean(inner) for inner in value]
        return sanitize(value) if isinstance(value, str) else value

    cleaned: _T = clean(values)
    return cleaned


def opening_state(running: RunningReading) -> ReadingState:
    """Return the state of a reading whose document is still being opened, or could not be."""
    state = reading_state(replace(running.reading, question="", steps=()))
    state |= {"status": "opening", "length": None, "next": "call wait with this id again"}
    if running.done.is_set():
        state |= {"status": Status.CANCELLED, "next": "its document was not opened: call read again"}
    return state


def reading_state(reading: Reading, waiting: Waiting | None = None) -> ReadingState:
    """Return the state of a reading, and what it waits for."""
    state: ReadingState = {
        "reading": reading.id,
        "status": reading.status,
        "question": reading.question,
        "document": reading.document.name,
        "answer": reading.answer.text if reading.answer else None,
        "verdict": reading.verdict,
        "claims": [_claim_info(claim, reading) for claim in reading.claims],
        "evidence": [_quote(passage) for passage in reading.evidence],
        "memory": reading.memory.text,
        "steps": len(reading.steps),
        "read_to": max((step.chunk.end for step in reading.steps), default=0),
        "length": reading.document.length,
        "tokens": reading.usage.tokens,
        "error": reading.error,
        "waiting": "",
        "gaps": [
            {
                "start": step.chunk.start,
                "end": step.chunk.end,
                "pages": list(step.chunk.pages),
                "flags": list(step.flags),
            }
            for step in reading.gaps
        ],
        "notes": _list_notes(reading),
        "resource": resource_uri(reading.id),
        "next": _NEXT[reading.status],
    }
    if waiting:
        since = format_duration(waiting.seconds)
        state["waiting"] = f"for the model, {since} so far, {waiting.tries} tries: {waiting.error}"
    return _clean(state)


def resource_uri(id_: str) -> str:
    """Return the URI of a reading's resource."""
    return f"reading://{id_}"


def _list_notes(reading: Reading) -> list[str]:
    """Return what a client should know of the reading: how its document was opened, and what was not read."""
    share = [describe_share(reading)] if reading.share_read < 1 else []
    gaps = [
        f"characters {step.chunk.start}-{step.chunk.end} were not taken in whole: {', '.join(step.flags)}"
        for step in reading.gaps
    ]
    full = [f"the memory was full: {advise_room(reading.plan.memory_tokens)}"] if reading.is_overfull else []
    return [*reading.document.notes, *share, *gaps, *full]


def _claim_info(claim: Claim, reading: Reading) -> ClaimInfo:
    return {
        "text": claim.text,
        "verdict": claim.verdict,
        "explanation": describe_claim(claim),
        "quotes": [_quote(reading.evidence[number]) for number in claim.evidence],
        "step": claim.step,
        "missing": list(claim.missing),
    }


def _quote(passage: Evidence) -> Quote:
    return {"quote": passage.quote, "start": passage.start, "end": passage.end, "pages": list(passage.pages)}


def reading_summary(reading: Reading) -> ReadingSummary:
    """Return one entry of a list of readings."""
    summary: ReadingSummary = {
        "reading": reading.id,
        "status": reading.status,
        "question": reading.question,
        "document": reading.document.name,
        "answer": reading.answer.text if reading.answer else None,
        "verdict": reading.verdict,
        "created": reading.created,
        "resource": resource_uri(reading.id),
    }
    return _clean(summary)


def search_hit(hit: SearchHit) -> SearchHitInfo:
    """Return one hit of a search."""
    found: SearchHitInfo = {
        "document": hit.document,
        "name": hit.name,
        "snippet": hit.snippet,
        "reading": hit.reading or None,
        "question": hit.question if hit.reading else None,
        "start": hit.start,
        "end": hit.end,
        "pages": list(hit.pages),
    }
    return _clean(found)


def step_changes(step: Step) -> StepChanges:
    """Return the changes that a step made to the memory."""
    changes = diff_memories(step.before.text, step.after.text)
    reworded = [change for change in changes if change.kind is ChangeKind.REWORDED]
    values: StepChanges = {
        "step": step.chunk.index,
        "start": step.chunk.start,
        "end": step.chunk.end,
        "pages": list(step.chunk.pages),
        "sources": list(step.chunk.sources),
        "added": [change.text for change in changes if change.kind is ChangeKind.NEW],
        "reworded": [{"before": change.old_text, "after": change.text} for change in reworded],
        "removed": [change.text for change in changes if change.kind is ChangeKind.GONE],
        "memory_tokens": step.after.tokens,
        "flags": list(step.flags),
    }
    return _clean(values)


def origin_info(line: LineOrigin) -> OriginInfo:
    """Return the place in the document that a line of the memory comes from."""
    origin: OriginInfo = {
        "line": line.line,
        "step": line.step,
        "pages": list(line.pages),
        "sources": list(line.sources),
        "quote": _quote(line.quote) if line.quote else None,
        "found": line.found,
        "missing": list(line.missing),
        "by_hand": line.by_hand,
    }
    return _clean(origin)


def reading_text(reading: Reading) -> str:
    """Return a reading as plain text: question, answer, evidence and the changes of each step."""
    lines = [
        f"question: {sanitize(reading.question)}",
        f"document: {sanitize(reading.document.name)} ({reading.document.length:,} characters)",
        f"model: {sanitize(reading.model)}, way: {reading.way}, status: {reading.status}",
        *([f"error: {sanitize(reading.error)}"] if reading.error else []),
        *([f"answer: {sanitize(reading.answer.text)}"] if reading.answer else []),
        *_verdict_lines(reading),
        *(f"note: {sanitize(note)}" for note in reading.document.notes),
    ]
    for step in reading.steps:
        changes = diff_memories(step.before.text, step.after.text)
        if changed := [change for change in changes if change.kind is not ChangeKind.KEPT]:
            lines.append(f"\nsection {step.chunk.index} (characters {step.chunk.start:,}–{step.chunk.end:,})")
            lines += [f"{_MARKS[change.kind]} {sanitize(mark_words(change))}" for change in changed]
    return "\n".join((*lines, "", "memory:", sanitize(reading.memory.text) or "(empty)"))


def _verdict_lines(reading: Reading) -> Iterator[str]:
    """Yield the sentences of the answer with their verdicts and passages."""
    for claim in reading.claims:
        yield f"  {sanitize(claim.text)}: {sanitize(describe_claim(claim))}"
        yield from (_quote_line(reading.evidence[number]) for number in claim.evidence)
    if not reading.claims:  # an older reading
        yield from map(_quote_line, reading.evidence)


def _quote_line(passage: Evidence) -> str:
    return f"    “{sanitize(passage.quote)}” (characters {passage.start:,}–{passage.end:,})"
