"""Read one piece of a text into a memory: the call that every append and every forgetting makes."""

from __future__ import annotations

import re
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import InputError
from bookwheel.flags import GAPS, Flag
from bookwheel.journal.memories import write_time
from bookwheel.journal.memory_rows import MemoryText, MemoryVersion, VersionKind
from bookwheel.memory.passages import format_header
from bookwheel.memory.pictures import see
from bookwheel.models.base import find_wrapper
from bookwheel.reading.pictures import SeeingModel
from bookwheel.text.chunks import split
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Answer, Chunk, Conversation, Memory, Reply, Step, Usage
from bookwheel.views.diff import LineChange, find_changes

if TYPE_CHECKING:
    from bookwheel.memory.opened import OpenMemory

# Tokens that a header and the text behind it can have more together than apart.
_SEAM_TOKENS: Final = 8
_DAY: Final = re.compile(r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d-?\d")


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
    notes: tuple[str, ...] = ()
    """What of its files was not read, or not as it stands."""
    usage: Usage = field(default_factory=Usage)

    @property
    def steps(self) -> int:
        """How many pieces of text were read."""
        return sum(version.text is not None for version in self.versions)

    @property
    def changes(self) -> tuple[LineChange, ...]:
        return find_changes(self.before.memory.text, self.after.memory.text)

    @property
    def gaps(self) -> tuple[MemoryVersion, ...]:
        """The pieces that the memory did not take in whole."""
        return tuple(version for version in self.versions if GAPS & set(version.flags))


def read_time(at: datetime | str | None, *, is_until: bool = False) -> str:
    """Return a time with its zone, by default now; InputError for what is no time. Without a zone, it is local.

    A day alone is its beginning; with `is_until`, its end.
    """
    try:
        when = datetime.fromisoformat(at) if isinstance(at, str) else at or datetime.now().astimezone()
    except ValueError as error:
        raise InputError(f"{at!r} is no time: write it as 2026-11-24 or 2026-11-24T09:30+01:00") from error
    if is_until and isinstance(at, str) and _DAY.fullmatch(at):
        when = when.replace(hour=23, minute=59, second=59)
    return (when if when.tzinfo else when.astimezone()).isoformat(timespec="seconds")


def cut_piece(opened: OpenMemory, text: MemoryText, content: str, start: int) -> Chunk:
    """Return the next piece of a text that fits a chunk together with its header."""
    tokenizer, plan = see(opened, opened.session.model, text=text.number).tokenizer, opened.record.plan
    room = plan.chunk_tokens - tokenizer.count(escape_markup(format_header(text))) - _SEAM_TOKENS
    if room < _SEAM_TOKENS:
        raise InputError(f"the source's name {text.source!r} leaves no room in a chunk of {plan.chunk_tokens} tokens")
    return next(split(TextDocument(content), tokenizer, room, start=start))


async def read_piece(opened: OpenMemory, before: MemoryVersion, text: MemoryText, piece: Chunk) -> MemoryVersion:
    """Read one piece from a version on, by the memory's way; return the next version."""
    document = TextDocument(format_header(text) + piece.text, name=text.source)
    done = _carry(before)
    steps, length = list[Step](), 0
    reader = see(opened, opened.reader, f"{before.memory.text}\n{document.text}")
    events = opened.way(document, opened.brief, reader, opened.record.plan, done)
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
    version = _join(before, text, piece, steps, lost)
    if seeing := find_wrapper(reader, SeeingModel):
        version = replace(version, flags=tuple(dict.fromkeys((*version.flags, *seeing.take_flags()))))
    return version


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
