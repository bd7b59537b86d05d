"""Readings as MCP clients get them: short, without control and invisible characters, each with the call to make next.

A client's model reads every result, so no result has more than 2,000 characters by itself: long lists and texts come in
pages, each with the cursor of the next one.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from inspect import getdoc
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from bookwheel.claims import Evidence
from bookwheel.errors import BookwheelError, InputError
from bookwheel.journal import StoredDocument
from bookwheel.journal.search import SearchHit
from bookwheel.models.patience import format_duration
from bookwheel.serve.engine.errors import ServerLimitReached, hide_place, name_settings
from bookwheel.serve.engine.running_reading import RunningReading, Waiting
from bookwheel.serve.http.requests import read_digits
from bookwheel.tables.build import ShownTable
from bookwheel.tables.way import makes_table
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Reading, Status
from bookwheel.verdict.provenance import find_origins
from bookwheel.views.diff import ChangeKind, find_changes, format_line
from bookwheel.views.verdicts import (
    describe_claim,
    describe_flags,
    describe_judge,
    describe_place,
    describe_share,
    list_cautions,
)

Json: TypeAlias = dict[str, Any]
Part: TypeAlias = Literal["changes", "origins", "claims", "evidence", "memory", "answer", "gaps", "notes"]
ROOM: Final = 2000
"""Characters of a result, as far as nobody asks for more."""
SHORT_ID: Final = 12
"""Characters of a document's id that clients get and may send."""
_LONGEST_TEXT: Final = 300
_T = TypeVar("_T")
_CHANGES: Final = {ChangeKind.NEW: "added", ChangeKind.GONE: "removed", ChangeKind.REWORDED: "reworded"}
_NEXT: Final = {
    Status.READING: "not finished: call wait with this id again; if it makes no progress at all, call resume",
    Status.ANSWERED: "finished: timeline shows where the answer comes from, ask_again asks the document something else",
    Status.STOPPED: "a budget was reached: call resume to go on, with a larger one",
    Status.FAILED: "see the error; call resume to go on from the last step",
    Status.CANCELLED: "call resume to go on from the last step",
}
_SHOW_ROWS: Final = "finished: rows shows the table, and answers SQL over it"
# Passages, notes and gaps of a state, and the characters of its texts: the first that fits is sent.
_SIZES: Final = ((3, 1000), (2, 600), (1, 300), (0, 150), (0, 40))


def measure(values: Any) -> int:
    return len(json.dumps(values, ensure_ascii=False))


def clean(values: _T) -> _T:
    """Return JSON values with every text in them sanitized: documents and models have written most of them."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: walk(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        return sanitize(value) if isinstance(value, str) else value

    cleaned: _T = walk(values)
    return cleaned


def cut(text: str, most: int = _LONGEST_TEXT) -> str:
    """Return the beginning of a text; an ellipsis says that more follows."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def make_page(name: str, entries: Sequence[Json], cursor: str, room: int = ROOM) -> Json:
    """Return the entries from the cursor on that have room, at least one, and the cursor of the next page."""
    start, used, page = parse_cursor(cursor), measure({name: [], "cursor": "00000"}), list[Json]()
    for entry in entries[start:]:
        used += measure(entry) + 2
        if page and used > room:
            break
        page.append(entry)
    end = start + len(page)
    return {name: page, **({"cursor": str(end)} if end < len(entries) else {})}


def parse_cursor(cursor: str) -> int:
    number = read_digits(cursor or "0")
    if number is None:
        raise InputError("a cursor comes from the result before; leave it out to begin")
    return number


def reading_state(reading: Reading, waiting: Waiting | None = None, room: int = ROOM) -> Json:
    """Return the state of a reading, and what it waits for, with as much of its answer and proof as has room."""
    since = waiting and f"for the model, {format_duration(waiting.seconds)} so far, {waiting.tries} tries"
    values = clean(
        {
            "question": reading.question,
            "document": reading.document.name,
            "answer": reading.answer.text if reading.answer else "",
            "error": name_settings(reading.error),
            "waiting": f"{since}: {waiting.error}" if waiting else "",
        }
    )
    evidence, notes = clean([_quote(one) for one in reading.evidence]), clean(list_notes(reading))
    gaps = [_gap(number, reading) for number in range(len(reading.gaps))]
    state: Json = {"reading": reading.id, "status": str(reading.status)}
    if reading.verdict:
        state |= {"verdict": str(reading.verdict), "sign": str(reading.sign)}
    if reading.answers:
        state["answers"] = str(reading.answers)
    for most, length in _SIZES:
        more = {
            **{name: cut(text, length) for name, text in values.items() if text},
            "evidence": [{**one, "quote": cut(one["quote"], min(length, _LONGEST_TEXT))} for one in evidence[:most]],
            "steps": len(reading.steps),
            "read_to": max((step.chunk.end for step in reading.steps), default=0),
            "length": reading.document.length,
            "tokens": reading.usage.tokens,
            "gaps": gaps[:most],
            "notes": [cut(note, min(length, _LONGEST_TEXT)) for note in notes[:most]],
            "next": _find_next(reading),
        }
        left_out = [
            *(["answer"] if len(values["answer"]) > length else []),
            *(name for name, all_ in (("evidence", evidence), ("gaps", gaps), ("notes", notes)) if len(all_) > most),
        ]
        if left_out:
            more["more"] = f"timeline with part={' or '.join(left_out)} has the rest"
        found = state | {name: value for name, value in more.items() if value not in (None, "", [])}
        if measure(found) <= room:
            return found
    return state | {"next": "call wait with this id"}


def _find_next(reading: Reading) -> str:
    if makes_table(reading.way) and reading.answer:
        return _SHOW_ROWS
    return "" if reading.error_kind == ServerLimitReached.__name__ else _NEXT[reading.status]


def opening_state(running: RunningReading) -> Json:
    """Return the state of a reading whose document is still being opened, or could not be."""
    state = reading_state(replace(running.reading, question="", steps=()))
    state |= {"status": "opening", "next": "call wait with this id again"}
    if running.done.is_set():
        state |= {"status": str(Status.CANCELLED), "next": "its document was not opened: call read again"}
    return {name: value for name, value in state.items() if name != "length"}


def list_notes(reading: Reading) -> list[str]:
    """Return what a client should know of the reading: how its document was opened, and what was not read."""
    share = [describe_share(reading)] if reading.share_read < 1 else []
    whys = ["; ".join(describe_flags(step.flags)) for step in reading.gaps]
    gaps = [
        f"characters {step.chunk.start}-{step.chunk.end} were not taken in whole: {why}"
        for step, why in zip(reading.gaps, whys, strict=True)
    ]
    cautions = [caution.fact for caution in list_cautions(reading)]
    return [*reading.document.notes, *share, *cautions, *gaps]


def reading_summary(reading: Reading) -> Json:
    answer = reading.answer.text if reading.answer else None
    values = {
        "reading": reading.id,
        "status": str(reading.status),
        "question": cut(reading.question, 150),
        "document": cut(reading.document.name, 80),
        "answer": answer and cut(answer, 150),
        "verdict": reading.verdict and str(reading.verdict),
        "sign": reading.verdict and str(reading.sign),
        "answers": reading.answers and str(reading.answers),
        "created": reading.created,
    }
    return clean({name: value for name, value in values.items() if value is not None})


def search_hit(hit: SearchHit) -> Json:
    about = {"reading": hit.reading, "question": cut(hit.question, 150)} if hit.reading else {}
    places = {"start": hit.start, "end": hit.end, **_find_place(hit)}
    return clean(
        {
            "document": hit.document[:SHORT_ID],
            "name": cut(", ".join(hit.sources) or hit.name, 80),
            "snippet": cut(hit.snippet, _LONGEST_TEXT),
            **(about or places),
        }
    )


def list_entries(reading: Reading, document: StoredDocument, part: Part) -> list[Json]:
    """Return one part of a reading as entries of a page; a long text is several."""
    entries: list[Json] = []
    match part:
        case "changes":
            entries = [change for step in range(len(reading.steps)) for change in _list_changes(step, reading)]
        case "origins":
            for line in find_origins(reading.steps, document):
                origin = {"line": cut(line.line), "step": line.step, "found": line.found, "missing": list(line.missing)}
                origin |= {"sources": list(line.sources), "by_hand": line.by_hand}
                entries.append(drop_empty(origin) | ({"quote": _quote(line.quote, short=True)} if line.quote else {}))
        case "claims":
            entries = list(_list_claims(reading))
        case "evidence":
            entries = [_quote(one, short=True) for one in reading.evidence]
        case "gaps":
            entries = [_gap(number, reading) for number in range(len(reading.gaps))]
        case "notes":
            entries = [{"note": cut(note)} for note in list_notes(reading)]
        case "memory" | "answer":
            text = reading.memory.text if part == "memory" else reading.answer.text if reading.answer else ""
            pieces = range(0, len(text), ROOM - 200)
            entries = [{"text": text[start : start + ROOM - 200]} for start in pieces]
    return clean(entries)


def _list_claims(reading: Reading) -> Iterator[Json]:
    """Yield each sentence of the answer, and behind it, with its number, the quotes of it."""
    for number, claim in enumerate(reading.claims):
        words = {"claim": number, "text": cut(claim.text), "verdict": str(claim.verdict)}
        more = {"missing": list(claim.missing), "step": claim.step, "judge": cut(claim.judge or "")}
        yield drop_empty(words | {"explanation": describe_claim(claim)} | more)
        for at in (*claim.evidence, *claim.against):
            against = {"is_against": True} if at in claim.against else {}
            yield {"claim": number, **_quote(reading.evidence[at], short=True), **against}


def show_rows(table: ShownTable, sql: str, cursor: str, room: int) -> Json:
    """Return a page of a table, or of what SQL says of it, with what is to be known of the table."""
    facts, start = table.facts, parse_cursor(cursor)
    if sql:
        names, found = table.query(sql)
        records = [dict(zip(names, row, strict=True)) for row in found]
        start = 0
    else:
        # No more have room; the next one tells whether there is another page.
        records = list(table.list_records(start, room // 10))
    entries = [
        drop_empty(
            {name: cut(one) if isinstance(one, str) else one for name, one in row.items()} | {"proven": row["proven"]}
            if "proven" in row
            else row
        )
        for row in clean(records)
    ]
    about: Json = {"reading": facts["reading"], "status": facts["status"], "count": facts["count"]}
    about |= {"unproven": facts["unproven"], "notes": clean([cut(note, 150) for note in facts["notes"][:3]])}
    page = make_page("rows", entries, cursor if sql else "", room - measure(about))
    return about | page | ({"cursor": str(start + int(page["cursor"]))} if "cursor" in page else {})


def _list_changes(number: int, reading: Reading) -> Iterator[Json]:
    """Yield the changes that one step made to the memory, and its flags."""
    step = reading.steps[number]
    places = {"step": step.chunk.index, "start": step.chunk.start, "end": step.chunk.end, "pages": [*step.chunk.pages]}
    places = drop_empty(places | {"flags": describe_flags(step.flags)})
    changes = find_changes(step.before.text, step.after.text)
    for change in changes:
        before = {"before": cut(change.old_text)} if change.kind is ChangeKind.REWORDED else {}
        yield {**places, _CHANGES[change.kind]: cut(change.text), **before}
    if not changes and step.flags:
        yield places


def drop_empty(values: Json) -> Json:
    # 0 stays: it is a place.
    return {name: value for name, value in values.items() if not (value is None or value is False or value in ("", []))}


def _gap(number: int, reading: Reading) -> Json:
    step = reading.gaps[number]
    return {"start": step.chunk.start, "end": step.chunk.end, "flags": describe_flags(step.flags)}


def _quote(passage: Evidence, *, short: bool = False) -> Json:
    quote = cut(passage.quote) if short else passage.quote
    place = {"start": passage.start, "end": passage.end, "source": passage.source, **_find_place(passage)}
    return {"quote": quote, **place}


def _find_place(passage: Evidence | SearchHit) -> Json:
    return drop_empty({"pages": list(passage.pages), "lines": list(passage.lines)})


def reading_text(reading: Reading) -> str:
    """Return a reading as plain text: question, answer, evidence and the changes of each step."""
    lines = [
        f"question: {reading.question}",
        f"document: {reading.document.name} ({reading.document.length:,} characters)",
        f"model: {reading.model}, way: {reading.way}, status: {reading.status}",
        *([f"error: {reading.error}"] if reading.error else []),
        *([f"answer: {reading.answer.text}"] if reading.answer else []),
    ]
    for claim in reading.claims:
        lines.append(f"  {claim.text}: {', '.join(filter(None, (describe_claim(claim), describe_judge(claim))))}")
        lines += [_quote_line(reading.evidence[number]) for number in claim.evidence]
    lines += [f"note: {note}" for note in reading.document.notes]
    for step in reading.steps:
        if changes := find_changes(step.before.text, step.after.text):
            lines.append(f"\nsection {step.chunk.index} (characters {step.chunk.start:,}–{step.chunk.end:,})")
            lines += map(format_line, changes)
    return "\n".join(map(sanitize, (*lines, "", "memory:", reading.memory.text or "(empty)")))


def _quote_line(passage: Evidence) -> str:
    return f"    “{passage.quote}” ({describe_place(passage)})"


def to_compact_json(result: Any) -> str:
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def offer_tools(
    server: MCPServer,
    tools: Iterable[tuple[Callable[..., Awaitable[Any]], ToolAnnotations]],
    journal: Path,
    to_text: Callable[[Any], str] = to_compact_json,
) -> None:
    """Add the tools to a server, each described by its docstring."""
    for tool, hints in tools:
        wrapped = _wrap_tool(tool, journal, to_text)
        server.add_tool(wrapped, description=getdoc(tool), annotations=hints, structured_output=False)


def _wrap_tool(
    tool: Callable[..., Awaitable[Any]], journal: Path, to_text: Callable[[Any], str]
) -> Callable[..., Awaitable[CallToolResult]]:
    """Return the tool with its results as texts too, and with errors that a client's model can read."""

    @wraps(tool)
    async def call(*positional: Any, **named: Any) -> CallToolResult:
        try:
            result = await tool(*positional, **named)
        except BookwheelError as error:
            raise ToolError(name_settings(str(hide_place(error, journal)))) from error
        return CallToolResult(content=[TextContent(type="text", text=to_text(result))], structured_content=result)

    return call
