"""Read what is new into a lasting memory, and never the old again.

    add          the text is durable, behind those that wait        acknowledged from here on
    turn         wait until no other process writes
    for each text that waits, in order of arrival, and each piece of it that fits a chunk:
        step     = way(header + piece), from the newest memory on   one call, as in any reading
        version  = step's memory                                    durable before the next call

The calls of an append depend on the length of its text alone. Of a file that was read before and has grown, only the
rest is new: how far it was read is kept with its hash. A header line tells the model the source and the date of
each piece.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError
from bookwheel.journal.forgotten import ADDED
from bookwheel.journal.memory_rows import MemoryText, MemoryVersion
from bookwheel.journal.tables import digest
from bookwheel.memory import text_index
from bookwheel.memory.entries import (
    DatedText,
    NewFile,
    is_inside,
    join_words,
    leave_out_known,
    mark_lines,
    order_texts,
    skip_parts,
    split_file,
)
from bookwheel.memory.forgetting import go_on_forgetting
from bookwheel.memory.pieces import MemoryUpdate, cut_piece, read_piece, read_time
from bookwheel.memory.text_index import keep_index
from bookwheel.types import Part

if TYPE_CHECKING:
    from bookwheel.memory.opened import OpenMemory

# Characters of one text at most: it is held in memory while it is read.
_MOST_CHARACTERS: Final = 16 << 20
# Lines of a file that are told from each other when it has changed.
_MOST_LINES: Final = 20_000
_UNDATED: Final = "no day of its own was found, so it is taken as of now; --at gives one: {sources}"
_MOST_NAMED: Final = 5
_BLOTTED: Final = "words of {source} were forgotten on {day}; what is added of it is read again, with such words in it"
_FORGOTTEN: Final = "{source} was forgotten on {day} and is not read again; to read it, add it as another source"


async def append(
    opened: OpenMemory, content: str | Sequence[Part], *, source: str = "", at: datetime | str | None = None
) -> MemoryUpdate:
    """Add a text and read all that waits, in its turn; return how the memory changed.

    The parts of a document come with their pages and pictures.
    """
    return await append_all(opened, [DatedText(content=content, source=source, at=at)])


async def append_all(opened: OpenMemory, texts: Sequence[DatedText]) -> MemoryUpdate:
    """Add some texts in their order and read all that waits; return how the memory changed, with the last text."""
    return await _read_stored(opened, await store_all(opened, texts))


async def store_all(opened: OpenMemory, texts: Sequence[DatedText]) -> list[tuple[MemoryText, bool]]:
    """Queue some texts, all or none of them; return each, and False if its source has said the same before."""
    for one in texts:
        check_text(one.content)
    return [await _store(opened, one) for one in texts]


async def _read_stored(opened: OpenMemory, stored: Sequence[tuple[MemoryText, bool]]) -> MemoryUpdate:
    is_known = not any(is_new for _, is_new in stored)
    text = replace(stored[-1][0], is_late=any(one.is_late for one, _ in stored))
    if is_known and all(one.position >= one.characters for one, _ in stored):
        newest = opened.newest()
        return MemoryUpdate(before=newest, after=newest, text=text, is_known=True)
    return replace(await read_waiting(opened), text=text, is_known=is_known)


async def append_files(opened: OpenMemory, files: Sequence[NewFile], at: datetime | str | None = None) -> MemoryUpdate:
    """Read what is new in some files, each text of the time that it tells, in the order of these times."""
    stored, notes = await store_files(opened, files, at)
    return replace(await _read_stored(opened, stored), notes=notes)


async def store_files(
    opened: OpenMemory, files: Sequence[NewFile], at: datetime | str | None = None
) -> tuple[list[tuple[MemoryText, bool]], tuple[str, ...]]:
    """Queue what is new in some files, of one that was read before the rest; return the texts, and what is to be said.

    What was forgotten out of a mailbox or folder, of which the rest stayed, does not come back with it.
    """
    memory, texts, places = opened.record.number, list[DatedText](), dict[str, str]()
    known, notes, undated = list[tuple[MemoryText, bool]](), list[str](), list[str]()
    stones = opened.tables.list_tombstones(memory)
    forgotten = {source: one.began[:10] for one in stones if one.scope != "text" for source in one.sources}
    blotted = {source: one.began[:10] for one in stones if one.scope == "text" for source in one.sources}
    for file in files:
        words, source = join_words(file.parts), ADDED + file.named
        # Words do not tell two pictures apart.
        is_kept = bool(file.named) and not any(part.pictures for part in file.parts)
        kept = await asyncio.to_thread(opened.tables.find_place, memory, source) if is_kept else ""
        start = _count_read(words, kept)
        last = await asyncio.to_thread(_find_last, opened, file.named) if words[:start] else None
        if last and not words[start:].strip():
            known.append((last, False))
            continue
        rest = replace(file, parts=skip_parts(file.parts, start)) if last else file
        new, gone = await asyncio.to_thread(split_file, rest, at), list[DatedText]()
        if not last and (had := json.loads(kept or "{}").get("lines")):
            # It was changed: what it had before is not said again.
            left = [one for text in new if (one := await asyncio.to_thread(leave_out_known, text, had))]
            # Several files of one id have not changed into each other.
            is_alone = sum(other.named == file.named for other in files) == 1
            new = [replace(one, is_changed=is_alone) for one in left]
            last = None if new else await asyncio.to_thread(_find_last, opened, file.named)
            known += [(last, False)] if last else []
        if new and (home := await asyncio.to_thread(_find_last, opened, file.named)):
            gone = [one for one in new if one.source in forgotten and is_inside(one.source, file.named)]
            notes += (_FORGOTTEN.format(source=one.source, day=forgotten[one.source]) for one in gone)
            held = [one for one in new if await asyncio.to_thread(_is_held, opened, one)]
            new = [one for one in new if one not in gone and one not in held]
            known += [] if new else [(home, False)]
        texts += new
        torn = dict.fromkeys(one.source for one in new if not last and one.source in blotted)
        notes += (_BLOTTED.format(source=source, day=blotted[source]) for source in torn)
        # What is piped in is of now.
        undated += [one.source for one in new if file.parts[0].source != "-" and not one.at]
        if is_kept:
            # Of what was forgotten no line is told from others.
            lost = {one for text in gone for one in mark_lines(text.words)}
            lines = [one for one in await asyncio.to_thread(mark_lines, words) if one not in lost]
            had = {"lines": lines} if len(lines) <= _MOST_LINES else {}
            places[source] = json.dumps({"read": len(words), "sha256": digest(words), **had})
    stored = await store_all(opened, order_texts(texts))
    for source, place in places.items():
        await asyncio.to_thread(opened.tables.keep_place, memory, source, place)
    if not (known or stored):
        check_text("")
    if undated:
        more = f" and {len(undated) - _MOST_NAMED} more" if len(undated) > _MOST_NAMED else ""
        notes.append(_UNDATED.format(sources=", ".join(undated[:_MOST_NAMED]) + more))
    return [*known, *stored], tuple(notes)


def _is_held(opened: OpenMemory, text: DatedText) -> bool:
    """Return whether its source has said the same, by itself or with its folder."""
    if text.is_changed:
        return False
    if not isinstance(text.content, str) and any(part.pictures for part in text.content):
        return False
    tables, memory, lines = opened.tables, opened.record.number, mark_lines(text.words)
    same = [one.number for one in tables.list_texts(memory) if one.source == text.source]
    return any(lines == mark_lines(words) for _, words in tables.load_texts(memory, same))


def _count_read(words: str, kept: str) -> int:
    """Return how many characters of a file were read before: all that it had, where it has only grown by lines."""
    place: dict[str, Any] = json.loads(kept) if kept else {}
    read = place.get("read", 0)
    is_whole = words[read - 1 : read] == "\n" or words[read : read + 1] in {"\n", ""}
    return read if is_whole and digest(words[:read]) == place.get("sha256") else 0


def _find_last(opened: OpenMemory, named: str) -> MemoryText | None:
    """Return the newest text of a source, or of what is inside it."""
    texts = opened.tables.list_texts(opened.record.number)
    mine = (one for one in reversed(texts) if one.source == named or is_inside(one.source, named))
    return next(mine, None)


async def store_text(
    opened: OpenMemory, content: str | Sequence[Part], *, source: str = "", at: datetime | str | None = None
) -> tuple[MemoryText, bool]:
    """Queue a text, which cannot be lost from here on; return it, and False if its source has said the same before."""
    check_text(content)
    return await _store(opened, DatedText(content=content, source=source, at=at))


async def _store(opened: OpenMemory, text: DatedText) -> tuple[MemoryText, bool]:
    when = read_time(text.at)
    add = partial(opened.tables.add_text, is_dated=text.at is not None, is_changed=text.is_changed)
    return await asyncio.to_thread(add, opened.record, text.content, text.source.strip() or f"text of {when}", when)


def check_text(content: str | Sequence[Part]) -> None:
    """Raise InputError for a text that is empty, or too long to be held in memory while it is read."""
    words = join_words(content)
    if not words.strip():
        raise InputError("the text is empty; there is nothing to read")
    if len(words) > _MOST_CHARACTERS:
        raise InputError(
            f"one text may have {_MOST_CHARACTERS:,} characters; this one has {len(words):,}: add it in parts"
        )


async def read_waiting(opened: OpenMemory) -> MemoryUpdate:
    """Read all texts that wait, in order of arrival, from where the last reader stopped."""
    async with opened.hold():
        await go_on_forgetting(opened)
        before = newest = opened.newest()
        spent, versions = opened.model.spent, list[MemoryVersion]()
        waiting = opened.tables.list_waiting(opened.record.number)
        for text in waiting:
            content = opened.tables.load_text(opened.record.number, text.number)
            start = text.position
            while start < len(content):
                opened.check_day()
                piece = await asyncio.to_thread(cut_piece, opened, text, content, start)
                newest = await read_piece(opened, newest, text, piece)
                await asyncio.to_thread(opened.tables.add_version, opened.record.number, newest)
                versions.append(newest)
                start = newest.end
        if any(text.number % text_index.TEXTS == 0 for text in waiting):
            await asyncio.to_thread(keep_index, opened)
        cost = opened.model.spent - spent
        return MemoryUpdate(before=before, after=newest, versions=tuple(versions), usage=cost)
