"""Lasting memories as JSON: the shapes that the command line, HTTP, MCP and Python share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NotRequired, cast

from typing_extensions import TypedDict

from bookwheel.claims import Claim, choose_sign
from bookwheel.flags import GAPS
from bookwheel.journal.memories import MemoryTables
from bookwheel.journal.memory_rows import (
    BY_HAND,
    ChangedLine,
    MemoryLimits,
    MemoryRecord,
    MemoryText,
    MemoryVersion,
    Tombstone,
    blank_version,
)
from bookwheel.memory.opened import find_version
from bookwheel.memory.passages import DatedQuote
from bookwheel.memory.pieces import MemoryUpdate
from bookwheel.picture import Picture
from bookwheel.schema import to_plain
from bookwheel.types import Usage
from bookwheel.views.diff import find_changes

if TYPE_CHECKING:
    from bookwheel.memory.answers import MemoryAnswer
    from bookwheel.memory.forgetting import ForgetPreview


class LineChangeJson(TypedDict):
    """A line that differs."""

    kind: str
    text: str
    old: NotRequired[str]
    """The line before, where it was reworded."""


class MemoryPictureJson(TypedDict):
    """A picture that a line of a memory points at."""

    label: str
    source: str
    page: int | None
    sha256: str
    width: int
    height: int
    words: str
    """What was recognised in it."""


class MemoryGapJson(TypedDict):
    """A piece of a text that the memory did not take in whole."""

    version: int
    start: int
    end: int
    flags: list[str]


class MemoryJson(TypedDict, total=False):
    """A version of a lasting memory, and how it came to be."""

    memory: str
    version: int
    tokens: int
    text: str
    changes: list[LineChangeJson]
    """The lines that differ from before."""
    steps: int
    """Pieces of text that were read."""
    source: str
    at: str
    known: bool
    """The source has said the same before; it was not read again."""
    late: bool
    """A text of a later time had been read before."""
    notes: list[str]
    """What of its files was not read, or not as it stands."""
    gaps: list[MemoryGapJson]
    usage: Usage
    limit: int
    """The tokens that it may have."""
    waiting: int
    """Texts that are not read to their end."""
    pictures: list[MemoryPictureJson]
    """Those that its lines point at."""


MemoryDiffJson = TypedDict("MemoryDiffJson", {"memory": str, "from": int, "to": int, "changes": list[LineChangeJson]})


MemoryAnswerJson = TypedDict(
    "MemoryAnswerJson",
    {
        "memory": str,
        "version": int,
        "question": str,
        "answer": str,
        "from": str,
        "status": str,
        "error": str,
        "verdict": str | None,
        "answers": str | None,
        "sign": str,
        "claims": list[Claim],
        "evidence": list[DatedQuote],
        "superseded": list[DatedQuote],
        "newer": list[DatedQuote],
        "as_of": str,
        "gaps": list[MemoryGapJson],
        "usage": Usage,
    },
)


class MemorySummaryJson(TypedDict):
    """A memory for a list."""

    memory: str
    about: str
    model: str
    way: str
    version: int
    tokens: int
    limit: int
    texts: int
    created: str
    limits: MemoryLimits


class MemoryTextJson(TypedDict):
    """A text without its words."""

    text: int
    source: str
    at: str
    arrived: str
    characters: int
    read: int
    late: bool


class MemoryVersionJson(TypedDict):
    """A version in the log."""

    version: int
    kind: str
    source: str
    at: str
    late: bool
    start: int
    end: int
    tokens: int
    flags: list[str]
    changes: list[LineChangeJson]
    usage: Usage
    kept: str


class TombstoneJson(TypedDict):
    """What remains of a forgetting: no words."""

    memory: str
    scope: str
    sources: list[str]
    began: str
    ended: str
    replayed: int
    lines: int
    changed: list[ChangedLine]
    purged: bool


class ForgetPreviewJson(TypedDict):
    """What would be forgotten."""

    memory: str
    texts: list[MemoryTextJson]
    versions: int
    later: int
    """The pieces behind that may have to be read again."""
    partial: int
    """Texts of which only some words or days go."""
    answers: int
    """Answers since then, which go too."""
    repeated: list[str]
    """Sources that stay and say a sentence of it again."""


class MemoryLogJson(MemorySummaryJson):
    """All that happened to a memory."""

    versions: list[MemoryVersionJson]
    sources: list[MemoryTextJson]
    answers: list[MemoryAnswerJson]
    forgotten: list[TombstoneJson]


def changes_to_json(before: str, after: str) -> list[LineChangeJson]:
    return [
        LineChangeJson(kind=str(line.kind), text=line.text, old=line.old_text)
        if line.words
        else LineChangeJson(kind=str(line.kind), text=line.text)
        for line in find_changes(before, after)
    ]


def _list_changes(before: MemoryVersion, version: MemoryVersion) -> list[LineChangeJson]:
    """Return what a version changed, with the lines by hand that a full memory had no room for."""
    lines, others = version.memory.text.splitlines(), before.memory.text.splitlines()
    beside = [("new", new) for _, new in version.changes if new and new not in lines]
    beside += [("gone", old) for old, new in version.changes if not new and old not in others]
    listed = (LineChangeJson(kind=kind, text=line) for kind, line in beside)
    return [*changes_to_json(before.memory.text, version.memory.text), *listed]


def version_to_json(name: str, version: MemoryVersion, before: MemoryVersion | None = None) -> MemoryJson:
    """Return a version, with what it changed where the one before is given."""
    return {
        "memory": name,
        "version": version.version,
        "tokens": version.memory.tokens,
        "text": version.memory.text,
        "changes": _list_changes(before, version) if before else [],
        "steps": int(version.text is not None),
    }


def list_gaps(versions: Iterable[MemoryVersion]) -> list[MemoryGapJson]:
    """Return the pieces that a memory did not take in whole."""
    return [
        {"version": one.version, "start": one.start, "end": one.end, "flags": list(one.flags)}
        for one in versions
        if GAPS & set(one.flags)
    ]


def update_to_json(name: str, update: MemoryUpdate) -> MemoryJson:
    values = version_to_json(name, update.after, update.before)
    values["steps"] = update.steps
    values["gaps"] = list_gaps(update.versions)
    values["usage"] = to_plain(update.usage)
    if update.text:
        values |= {
            "source": update.text.source,
            "at": update.text.at,
            "known": update.is_known,
            "late": update.text.is_late,
            "notes": list(update.notes),
        }
    return values


def answer_to_json(name: str, answer: MemoryAnswer) -> MemoryAnswerJson:
    values = to_plain(replace(answer, gaps=()))
    values |= {"sign": choose_sign(answer.verdict, answer.answers), "gaps": list_gaps(answer.gaps)}
    return cast("MemoryAnswerJson", {"memory": name, "from": values.pop("origin"), **values})


def tombstone_to_json(name: str, tombstone: Tombstone) -> TombstoneJson:
    values = to_plain(tombstone)
    # The numbers are those of rows; of the texts none is left.
    del values["number"], values["texts"]
    return cast("TombstoneJson", {"memory": name, "purged": values.pop("is_purged"), **values})


def preview_to_json(name: str, found: ForgetPreview) -> ForgetPreviewJson:
    texts = [text_to_json(one) for one in found.texts]
    partial = sum(found.masks[one.number] is not None for one in found.texts)
    return {
        "memory": name,
        "texts": texts,
        "versions": found.versions,
        "later": found.later,
        "partial": partial,
        "answers": found.answers,
        "repeated": list(found.repeated),
    }


def show_version(tables: MemoryTables, record: MemoryRecord, number: int | None = None) -> MemoryJson:
    """Return what a memory says, what its newest step changed, and how many texts wait to be read."""
    found = find_version(tables, record, number)
    before = find_version(tables, record, found.version - 1)
    waiting = len(tables.list_waiting(record.number))
    shown = version_to_json(record.name, found, before)
    shown |= {"limit": record.plan.memory_tokens, "waiting": waiting, "gaps": list_gaps([found])}
    shown["pictures"] = [_picture_to_json(one) for one in tables.pictures(record.number).pointed_at(shown["text"])]
    return shown


def _picture_to_json(picture: Picture) -> MemoryPictureJson:
    names = ("label", "source", "page", "sha256", "width", "height")
    return cast("MemoryPictureJson", {**{name: getattr(picture, name) for name in names}, "words": picture.text})


def compare_versions(tables: MemoryTables, record: MemoryRecord, old: int, new: int) -> MemoryDiffJson:
    texts = [find_version(tables, record, number).memory.text for number in (old, new)]
    return {"memory": record.name, "from": old, "to": new, "changes": changes_to_json(*texts)}


def summary_of(tables: MemoryTables, record: MemoryRecord) -> MemorySummaryJson:
    """Return a memory for a list, as it stands now."""
    version = find_version(tables, record)
    return {
        "memory": record.name,
        "about": record.about,
        "model": record.model,
        "way": record.way,
        "version": version.version,
        "tokens": version.memory.tokens,
        "limit": record.plan.memory_tokens,
        "texts": tables.count_texts(record.number),
        "created": record.created,
        "limits": to_plain(record.limits),
    }


def text_to_json(text: MemoryText) -> MemoryTextJson:
    """Return a text without its words."""
    return {
        "text": text.number,
        "source": text.source,
        "at": text.at,
        "arrived": text.arrived,
        "characters": text.characters,
        "read": text.position,
        "late": text.is_late,
    }


def log_to_json(tables: MemoryTables, record: MemoryRecord) -> MemoryLogJson:
    limit = record.plan.memory_tokens
    texts = tables.list_texts(record.number)
    known = {text.number: text for text in texts}
    rows, before = list[MemoryVersionJson](), blank_version(limit)
    for version in tables.list_versions(record.number, limit):
        text = known.get(version.text or 0)
        rows.append(
            {
                "version": version.version,
                "kind": str(version.kind),
                "source": text.source if text else BY_HAND,
                "at": text.at if text else version.kept,
                "late": bool(text and text.is_late),
                "start": version.start,
                "end": version.end,
                "tokens": version.memory.tokens,
                "flags": list(version.flags),
                "changes": _list_changes(before, version),
                "usage": to_plain(version.usage),
                "kept": version.kept,
            }
        )
        before = version
    return {
        **summary_of(tables, record),
        "versions": rows,
        "sources": [text_to_json(text) for text in texts],
        "answers": [cast("MemoryAnswerJson", {"gaps": [], **one}) for one in tables.list_answers(record.number)],
        "forgotten": [tombstone_to_json(record.name, stone) for stone in tables.list_tombstones(record.number)],
    }
