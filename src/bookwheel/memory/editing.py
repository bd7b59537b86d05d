"""Correct a lasting memory by hand. The versions before stay: erasing is `forget`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.flags import Flag
from bookwheel.journal.memories import write_time
from bookwheel.journal.memory_rows import MemoryVersion, VersionKind
from bookwheel.memory.pieces import MemoryUpdate
from bookwheel.memory.seeing import see
from bookwheel.types import Memory
from bookwheel.views.diff import ChangeKind, diff_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bookwheel.memory.opened import OpenMemory


async def edit(opened: OpenMemory, old: str, new: str) -> MemoryUpdate:
    """Put some words of the newest memory right; without `old`, `new` is the whole memory."""

    def put_right(text: str) -> str:
        if old and old not in text:
            advice = "change words that it has; what stands in a text alone is put right by a newer text"
            raise InputError(f"the memory does not say {old!r}: {advice}")
        corrected = (text.replace(old, new) if old else new).strip()
        if not corrected and not old:
            raise InputError("the new memory is empty, so nothing was changed")
        return corrected

    return await rewrite(opened, put_right)


async def rewrite(opened: OpenMemory, change: Callable[[str], str]) -> MemoryUpdate:
    """Put what a function makes of the newest memory's text in its place, as a new version, in its turn."""
    async with opened.hold():
        before = opened.newest()
        text = change(before.memory.text)
        if text == before.memory.text:
            return MemoryUpdate(before=before, after=before)
        after = make_edit(opened, before, before.version + 1, text, list_changes(before.memory.text, text))
        await asyncio.to_thread(opened.tables.add_version, opened.record.number, after)
        return MemoryUpdate(before=before, after=after, versions=(after,))


def make_edit(
    opened: OpenMemory, before: MemoryVersion, number: int, text: str, changes: Sequence[tuple[str, str]]
) -> MemoryVersion:
    """Return the version with this text; InputError where it is over the memory's limit."""
    tokens, limit = see(opened, opened.session.model, text).tokenizer.count(text), opened.record.plan.memory_tokens
    if tokens > limit:
        raise InputError(
            f"the new memory has {tokens} tokens and may have {limit}: shorten it, or begin one with more tokens"
        )
    return MemoryVersion(
        version=number,
        kind=VersionKind.EDIT,
        memory=Memory(text=text, tokens=tokens, limit=limit),
        flags=(Flag.EDITED,),
        scores={line: score for line, score in before.scores.items() if line in text.splitlines()},
        changes=tuple(changes),
        kept=write_time(),
    )


def list_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines that differ, old and new; an empty one is none."""
    lines = [line for line in diff_memories(before, after) if line.kind is not ChangeKind.KEPT]
    return [
        ("" if line.kind is ChangeKind.NEW else line.old_text, "" if line.kind is ChangeKind.GONE else line.text)
        for line in lines
    ]


def apply_changes(text: str, changes: Iterable[tuple[str, str]]) -> tuple[str, list[tuple[str, str]]]:
    """Make a correction in another memory; return it with the changes made: a line that is not there has none.

    >>> apply_changes("Ada: room 12", [("Ada: room 12", "Ada: room 31"), ("Bo: room 3", "Bo: room 4")])
    ('Ada: room 31', [('Ada: room 12', 'Ada: room 31')])
    """
    lines, made = text.splitlines(), list[tuple[str, str]]()
    for old, new in changes:
        if old in lines:
            at = lines.index(old)
            lines[at : at + 1] = [new] if new else []
        elif not old and new not in lines:
            lines.append(new)
        else:
            continue
        made.append((old, new))
    return "\n".join(lines), made
