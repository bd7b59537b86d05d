"""Readings as MCP clients get them: without control and invisible characters, each with the call to make next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from bookwheel.models.patience import format_duration
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Status
from bookwheel.views.diff import ChangeKind, diff_memories, mark_words
from bookwheel.views.verdicts import describe_claim, describe_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.journal.search import SearchHit
    from bookwheel.serve.engine.running_reading import RunningReading, Waiting
    from bookwheel.serve.mcp.schemas import (
        ClaimInfo,
        GapInfo,
        OriginInfo,
        Quote,
        ReadingState,
        ReadingSummary,
        SearchHitInfo,
        StepChanges,
    )
    from bookwheel.types import Claim, Evidence, Reading, Step, Verdict
    from bookwheel.verdict.provenance import LineOrigin

_MARKS: Final = {ChangeKind.NEW: "+", ChangeKind.GONE: "-", ChangeKind.REWORDED: "~"}
_NEXT: Final = {
    Status.READING: "not finished: call wait with this id again; if it makes no progress at all, call resume",
    Status.ANSWERED: "finished: timeline shows where the answer comes from, ask_again asks the document something else",
    Status.STOPPED: "a budget was reached: call resume to go on, with a larger one",
    Status.FAILED: "see the error; call resume to go on from the last step",
    Status.CANCELLED: "call resume to go on from the last step",
}


def _waiting_text(waiting: Waiting) -> str:
    since = format_duration(waiting.seconds)
    return sanitize(f"for the model, {since} so far, {waiting.tries} tries: {waiting.error}")


def _gap_info(step: Step) -> GapInfo:
    chunk = step.chunk
    flags = [str(flag) for flag in step.flags]
    return {"start": chunk.start, "end": chunk.end, "pages": list(chunk.pages), "flags": flags}


def _gap_note(step: Step) -> str:
    return f"characters {step.chunk.start}-{step.chunk.end} were not taken in: {', '.join(step.flags)}"


def _list_notes(reading: Reading) -> list[str]:
    """Return what a client should know of the reading: how its document was opened, and what was not read."""
    share = [describe_share(reading)] if reading.share_read < 1 else []
    return [*(sanitize(note) for note in reading.document.notes), *share, *map(_gap_note, reading.gaps)]


def resource_uri(id_: str) -> str:
    """Return the URI of a reading's resource."""
    return f"reading://{id_}"


def opening_state(running: RunningReading) -> ReadingState:
    """Return the state of a reading whose document is still being opened, or could not be."""
    is_cancelled, id_ = running.done.is_set(), running.reading.id
    return {
        "reading": id_,
        "status": "cancelled" if is_cancelled else "opening",
        "question": "",
        "document": "",
        "answer": None,
        "verdict": None,
        "claims": [],
        "evidence": [],
        "memory": "",
        "steps": 0,
        "read_to": 0,
        "length": None,
        "tokens": 0,
        "error": "",
        "waiting": "",
        "gaps": [],
        "notes": [],
        "resource": resource_uri(id_),
        "next": "its document was not opened: call read again" if is_cancelled else "call wait with this id again",
    }


def reading_state(reading: Reading, waiting: Waiting | None = None) -> ReadingState:
    """Return the state of a reading, and what it waits for."""
    return {
        "reading": reading.id,
        "status": cast("ReadingState", {"status": str(reading.status)})["status"],
        "question": sanitize(reading.question),
        "document": sanitize(reading.document.name),
        "answer": _answer(reading),
        "verdict": _verdict(reading.verdict),
        "claims": [_claim_info(claim, reading) for claim in reading.claims],
        "evidence": [_quote(passage) for passage in reading.evidence],
        "memory": sanitize(reading.memory.text),
        "steps": len(reading.steps),
        "read_to": max((step.chunk.end for step in reading.steps), default=0),
        "length": reading.document.length,
        "tokens": reading.usage.tokens,
        "error": sanitize(reading.error),
        "waiting": _waiting_text(waiting) if waiting else "",
        "gaps": [_gap_info(step) for step in reading.gaps],
        "notes": _list_notes(reading),
        "resource": resource_uri(reading.id),
        "next": _NEXT[reading.status],
    }


def reading_summary(reading: Reading) -> ReadingSummary:
    """Return one entry of a list of readings."""
    return {
        "reading": reading.id,
        "status": str(reading.status),
        "question": sanitize(reading.question),
        "document": sanitize(reading.document.name),
        "answer": _answer(reading),
        "verdict": _verdict(reading.verdict),
        "created": reading.created,
        "resource": resource_uri(reading.id),
    }


def search_hit(hit: SearchHit) -> SearchHitInfo:
    """Return one hit of a search."""
    return {
        "document": hit.document,
        "name": sanitize(hit.name),
        "snippet": sanitize(hit.snippet),
        "reading": hit.reading or None,
        "question": sanitize(hit.question) if hit.reading else None,
        "start": hit.start,
        "end": hit.end,
        "pages": list(hit.pages),
    }


def step_changes(step: Step) -> StepChanges:
    """Return the changes that a step made to the memory."""
    changes = diff_memories(step.before.text, step.after.text)
    return {
        "step": step.chunk.index,
        "start": step.chunk.start,
        "end": step.chunk.end,
        "pages": list(step.chunk.pages),
        "sources": [sanitize(source) for source in step.chunk.sources],
        "added": [sanitize(change.text) for change in changes if change.kind is ChangeKind.NEW],
        "reworded": [
            {"before": sanitize(change.old_text), "after": sanitize(change.text)}
            for change in changes
            if change.kind is ChangeKind.REWORDED
        ],
        "removed": [sanitize(change.text) for change in changes if change.kind is ChangeKind.GONE],
        "memory_tokens": step.after.tokens,
        "flags": [str(flag) for flag in step.flags],
    }


def origin_info(line: LineOrigin) -> OriginInfo:
    """Return the place in the document that a line of the memory comes from."""
    return {
        "line": sanitize(line.line),
        "step": line.step,
        "pages": list(line.pages),
        "sources": [sanitize(source) for source in line.sources],
        "quote": _quote(line.quote) if line.quote else None,
        "found": line.found,
        "missing": [sanitize(word) for word in line.missing],
        "by_hand": line.by_hand,
    }


def reading_text(reading: Reading) -> str:
    """Return a reading as plain text: question, answer, evidence and the changes of each step."""
    lines = [
        f"question: {sanitize(reading.question)}",
        f"document: {sanitize(reading.document.name)} ({reading.document.length:,} characters)",
        f"model: {sanitize(reading.model)}, way: {reading.way}, status: {reading.status}",
        *([f"error: {sanitize(reading.error)}"] if reading.error else []),
        *([f"answer: {_answer(reading)}"] if reading.answer else []),
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


def _verdict(verdict: Verdict | None) -> Literal["found", "partly", "by-hand", "not-found", "absent"] | None:
    return verdict.value if verdict else None


def _claim_info(claim: Claim, reading: Reading) -> ClaimInfo:
    return {
        "text": sanitize(claim.text),
        "verdict": claim.verdict.value,
        "explanation": sanitize(describe_claim(claim)),
        "quotes": [_quote(reading.evidence[number]) for number in claim.evidence],
        "step": claim.step,
        "missing": [sanitize(word) for word in claim.missing],
    }


def _answer(reading: Reading) -> str | None:
    return sanitize(reading.answer.text) if reading.answer else None


def _quote(passage: Evidence) -> Quote:
    return {
        "quote": sanitize(passage.quote),
        "start": passage.start,
        "end": passage.end,
        "pages": list(passage.pages),
    }
