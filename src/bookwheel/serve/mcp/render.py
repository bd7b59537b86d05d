"""Readings in the words that MCP clients get: cleaned of control and invisible characters, and told what to do next."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, cast

from bookwheel.text.shield import plain
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.reading.provenance import LineOrigin
    from bookwheel.serve.engine.running import RunningReading
    from bookwheel.serve.mcp.schemas import Change, OriginInfo, Quote, ReadingState, ReadingSummary
    from bookwheel.types import Evidence, Reading, Step

_NEXT: Final = {
    Status.READING: "not finished: call wait with this id again; if it makes no progress at all, call resume",
    Status.ANSWERED: "finished: timeline tells where it is from, ask_again puts another question to the document",
    Status.STOPPED: "a budget was reached: call resume to go on, with a larger one",
    Status.FAILED: "see the error; call resume to go on from the last step",
    Status.CANCELLED: "call resume to go on from the last step",
}


def resource_uri(id_: str) -> str:
    """The address of a reading as a resource."""
    return f"reading://{id_}"


def opening_state(running: RunningReading) -> ReadingState:
    """A reading whose document is still being fetched or converted, or never was."""
    given_up, id_ = running.done.is_set(), running.reading.id
    return {
        "reading": id_,
        "status": "cancelled" if given_up else "opening",
        "question": "",
        "document": "",
        "answer": None,
        "evidence": [],
        "memory": "",
        "steps": 0,
        "read_to": 0,
        "length": None,
        "tokens": 0,
        "error": "",
        "notes": [],
        "resource": resource_uri(id_),
        "next": "its document was not opened: start it anew" if given_up else "call wait with this id again",
    }


def reading_state(reading: Reading, notes: Sequence[str]) -> ReadingState:
    """How far a reading has come, and what was left out of its document."""
    return {
        "reading": reading.id,
        "status": cast("ReadingState", {"status": str(reading.status)})["status"],
        "question": plain(reading.question),
        "document": plain(reading.document.name),
        "answer": _answer(reading),
        "evidence": [_quote(found) for found in reading.evidence],
        "memory": plain(reading.memory.text),
        "steps": len(reading.steps),
        "read_to": reading.steps[-1].chunk.end if reading.steps else 0,
        "length": reading.document.length,
        "tokens": reading.usage.tokens,
        "error": plain(reading.error),
        "notes": [plain(note) for note in notes],
        "resource": resource_uri(reading.id),
        "next": _NEXT[reading.status],
    }


def reading_summary(reading: Reading) -> ReadingSummary:
    """One line of a list."""
    return {
        "reading": reading.id,
        "status": str(reading.status),
        "question": plain(reading.question),
        "document": plain(reading.document.name),
        "answer": _answer(reading),
        "created": reading.created,
        "resource": resource_uri(reading.id),
    }


def change_info(step: Step) -> Change:
    """What a step did to the memory."""
    added, removed = changed_lines(step)
    return {
        "step": step.chunk.index,
        "start": step.chunk.start,
        "end": step.chunk.end,
        "pages": list(step.chunk.pages),
        "sources": [plain(source) for source in step.chunk.sources],
        "added": added,
        "removed": removed,
        "memory_tokens": step.after.tokens,
        "flags": [str(flag) for flag in step.flags],
    }


def changed_lines(step: Step) -> tuple[list[str], list[str]]:
    """The lines that a step added to the memory, and those that it took out."""
    old, new = plain(step.before.text).splitlines(), plain(step.after.text).splitlines()
    lines = list(difflib.ndiff(old, new))
    return [line[2:] for line in lines if line[0] == "+"], [line[2:] for line in lines if line[0] == "-"]


def origin_info(line: LineOrigin) -> OriginInfo:
    """Where a line of the memory is from."""
    return {
        "line": plain(line.line),
        "step": line.step,
        "pages": list(line.pages),
        "sources": [plain(source) for source in line.sources],
        "quote": _quote(line.quote) if line.quote else None,
        "found": line.found,
        "missing": [plain(word) for word in line.missing],
        "by_hand": line.by_hand,
    }


def reading_text(reading: Reading) -> str:
    """A reading from question to answer, with what each step changed, as plain text."""
    lines = [
        f"question: {plain(reading.question)}",
        f"document: {plain(reading.document.name)} ({reading.document.length:,} characters)",
        f"model: {plain(reading.model)}, way: {reading.way}, status: {reading.status}",
        *([f"error: {plain(reading.error)}"] if reading.error else []),
        *([f"answer: {_answer(reading)}"] if reading.answer else []),
        *(f"  “{plain(found.quote)}” (characters {found.start:,}–{found.end:,})" for found in reading.evidence),
    ]
    for step in reading.steps:
        added, removed = changed_lines(step)
        if added or removed:
            lines.append(f"\nsection {step.chunk.index} (characters {step.chunk.start:,}–{step.chunk.end:,})")
            lines += [*(f"- {line}" for line in removed), *(f"+ {line}" for line in added)]
    return "\n".join((*lines, "", "memory:", plain(reading.memory.text) or "(empty)"))


def _answer(reading: Reading) -> str | None:
    return plain(reading.answer.text) if reading.answer else None


def _quote(found: Evidence) -> Quote:
    return {"quote": plain(found.quote), "start": found.start, "end": found.end, "pages": list(found.pages)}
