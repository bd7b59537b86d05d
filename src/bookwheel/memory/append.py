"""Read what is new into a lasting memory, and never the old again.

    add          the text is durable, behind those that wait        acknowledged from here on
    turn         wait until no other process writes
    for each text that waits, in order of arrival, and each piece of it that fits a chunk:
        step     = way(header + piece), from the newest memory on   one call, as in any reading
        version  = step's memory                                    durable before the next call

The calls of an append depend on the length of its text alone. A header line tells the model the source and the date of
each piece.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import InputError
from bookwheel.journal.memories import write_time
from bookwheel.journal.memory_rows import MemoryText, MemoryVersion, VersionKind
from bookwheel.text.chunks import split
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import GAPS, Answer, Chunk, Conversation, Flag, Reply, Step, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.memory.opened import OpenMemory
    from bookwheel.types import Memory

# Characters of one text at most: it is held in memory while it is read.
_MOST_CHARACTERS: Final = 16 << 20
# Tokens that a header and the text behind it can have more together than apart.
_SEAM_TOKENS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdate:
    """What a change of a lasting memory came to."""

    before: MemoryVersion
    after: MemoryVersion
    versions: tuple[MemoryVersion, ...] = ()
    """Those that it made, of other waiting texts too."""
    text: MemoryText | None = None
    is_known: bool = False
    """The source has said the same before; it was not read again."""
    usage: Usage = field(default_factory=Usage)

    @property
    def gaps(self) -> tuple[MemoryVersion, ...]:
        """The pieces that the memory did not take in whole."""
        return tuple(version for version in self.versions if GAPS & set(version.flags))


def ignore_version(_version: MemoryVersion) -> None:
    """Do nothing: the default where nobody watches."""


def format_header(text: MemoryText) -> str:
    """Return the line that stands before each piece of a text."""
    return f"[{text.source} · {text.at}]\n"


def read_time(at: datetime | str | None) -> str:
    """Return a time with its zone, by default now; InputError for what is no time. Without a zone, it is local."""
    try:
        when = datetime.fromisoformat(at) if isinstance(at, str) else at or datetime.now().astimezone()
    except ValueError as error:
        raise InputError(f"{at!r} is no time: write it as 2026-11-24 or 2026-11-24T09:30+01:00") from error
    return (when if when.tzinfo else when.astimezone()).isoformat(timespec="seconds")


async def append(
    opened: OpenMemory,
    content: str,
    *,
    source: str = "",
    at: datetime | str | None = None,
    watch: Callable[[MemoryVersion], None] = ignore_version,
) -> MemoryUpdate:
    """Add a text and read all that waits, in its turn; return how the memory changed."""
    text, is_new = await store_text(opened, content, source=source, at=at)
    if not is_new and text.position >= text.characters:
        newest = opened.newest()
        return MemoryUpdate(before=newest, after=newest, text=text, is_known=True)
    return replace(await read_waiting(opened, watch), text=text, is_known=not is_new)


async def store_text(
    opened: OpenMemory, content: str, *, source: str = "", at: datetime | str | None = None
) -> tuple[MemoryText, bool]:
    """Queue a text, which cannot be lost from here on; return it, and False if its source has said the same before."""
    if not content.strip():
        raise InputError("the text is empty; there is nothing to read")
    if len(content) > _MOST_CHARACTERS:
        raise InputError(
            f"one text may have {_MOST_CHARACTERS:,} characters; this one has {len(content):,}: add it in parts"
        )
    when = read_time(at)
    named = source.strip() or f"text of {when}"
    return await asyncio.to_thread(opened.tables.add_text, opened.record, content, named, when)


async def read_waiting(opened: OpenMemory, watch: Callable[[MemoryVersion], None] = ignore_version) -> MemoryUpdate:
    """Read all texts that wait, in order of arrival, from where the last reader stopped."""
    from bookwheel.memory.forgetting import go_on_forgetting  # which reads again with this module

    async with opened.hold():
        await go_on_forgetting(opened)
        before = newest = opened.newest()
        spent, versions = opened.model.spent, list[MemoryVersion]()
        for text in opened.tables.list_waiting(opened.record.number):
            content = opened.tables.load_text(opened.record.number, text.number)
            start = text.position
            while start < len(content):
                opened.check_day()
                piece = await asyncio.to_thread(cut_piece, opened, text, content, start)
                newest = await read_piece(opened, newest, text, piece)
                await asyncio.to_thread(opened.tables.add_version, opened.record.number, newest)
                versions.append(newest)
                watch(newest)
                start = newest.end
        return MemoryUpdate(
            before=before, after=newest, versions=tuple(versions), usage=subtract_usage(opened.model.spent, spent)
        )


def cut_piece(opened: OpenMemory, text: MemoryText, content: str, start: int) -> Chunk:
    """Return the next piece of a text that fits a chunk together with its header."""
    tokenizer, plan = opened.session.model.tokenizer, opened.record.plan
    room = plan.chunk_tokens - tokenizer.count(escape_markup(format_header(text))) - _SEAM_TOKENS
    if room < _SEAM_TOKENS:
        raise InputError(f"the source's name {text.source!r} leaves no room in a chunk of {plan.chunk_tokens} tokens")
    return next(split(TextDocument(content), tokenizer, room, start=start))


async def read_piece(opened: OpenMemory, before: MemoryVersion, text: MemoryText, piece: Chunk) -> MemoryVersion:
    """Read one piece from a version on, by the memory's way; return the next version."""
    document = TextDocument(format_header(text) + piece.text, name=text.source)
    done = _carry(before)
    steps, length = list[Step](), 0
    events = opened.way(document, opened.brief, opened.reader, opened.record.plan, done)
    async with aclosing(events):
        async for event in events:
            # The way asks the model for an answer only when it is asked for the next event.
            if isinstance(event, Answer):
                break
            steps.append(event)
            length += event.chunk.end - event.chunk.start
            if length >= document.length:
                break
    lost = opened.model.take_unanswered()
    return _join(before, text, piece, steps, lost)


def _carry(version: MemoryVersion) -> tuple[Step, ...]:
    """Return a version as the steps that a way goes on from: first its scored passages, then the whole memory."""
    scored = [
        _make_step(replace(version.memory, text=line), version.scores[line])
        for line in version.memory.text.splitlines()
        if line in version.scores
    ]
    return (*scored, _make_step(version.memory, None)) if version.memory.text else ()


def _make_step(memory: Memory, score: float | None) -> Step:
    return Step(
        chunk=Chunk(index=0, start=0, end=0, text="", tokens=0),
        before=memory,
        after=memory,
        conversation=Conversation(messages=(), reply=Reply(text="")),
        flags=(Flag.CARRIED,),
        score=score,
    )


def _join(before: MemoryVersion, text: MemoryText, piece: Chunk, steps: list[Step], lost: Usage) -> MemoryVersion:
    """Return the version that the steps over one piece, mostly one, came to."""
    last = steps[-1]
    usage = sum((step.conversation.reply.usage for step in steps), lost)
    old = before.memory.text.splitlines()
    new = {line: step.score for step in steps if step.score is not None for line in step.after.text.splitlines()}
    # A line that was there without a score was written by hand.
    scores = {
        line: before.scores.get(line, new.get(line, 0.0))
        for line in last.after.text.splitlines()
        if line in before.scores or (line in new and line not in old)
    }
    return MemoryVersion(
        version=before.version + 1,
        kind=VersionKind.READ,
        memory=last.after,
        text=text.number,
        start=piece.start,
        end=piece.end,
        flags=tuple(dict.fromkeys(flag for step in steps for flag in step.flags)),
        reply="\n".join(step.conversation.reply.text for step in steps),
        finish=last.conversation.reply.finish,
        usage=usage,
        scores=scores,
        kept=write_time(),
    )


def subtract_usage(whole: Usage, part: Usage) -> Usage:
    """Return what a usage has grown by."""
    return Usage(
        calls=whole.calls - part.calls,
        prompt_tokens=whole.prompt_tokens - part.prompt_tokens,
        completion_tokens=whole.completion_tokens - part.completion_tokens,
        seconds=whole.seconds - part.seconds,
    )
