"""Follow a file or stream that grows: read what is new into a memory, tell when a standing question's answer changes.

    lines    whole lines as they come             a line that is still being written waits for its end
    block    what has come since the last one     a chunk of it, or all that there is once it has waited long enough
    append   the block and the place behind it    in one transaction: after a kill it goes on there
    tell     the standing question again          an event only where the answer is another one

A file that was put in the place of another (rotation) is read from its beginning, after the rest of that one; so is one
that was cut shorter.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import select
import time
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from bookwheel.background import let_leave
from bookwheel.errors import BudgetReached, SourceError
from bookwheel.memory.append import read_waiting
from bookwheel.memory.asking import ask, keep_answer
from bookwheel.memory.opened import OpenMemory
from bookwheel.memory.pieces import read_time
from bookwheel.memory.record import answer_to_json, changes_to_json, update_to_json
from bookwheel.types import Status

# Bytes that are taken at once: a log of gigabytes is caught up with in blocks.
_BLOCK: Final = 1 << 18
# Bytes at the beginning of a file by which another one in its place is known.
_HEAD: Final = 256
# Seconds between two looks at a file.
_POLL: Final = 0.25
# Seconds between two looks at a memory that has used up its day.
_REST: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """How far a file was read: bytes from its beginning, and the hash of its first ones."""

    position: int = 0
    head: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBlock:
    """New lines, and the place behind them."""

    text: str
    place: FilePlace | None = None
    note: str = ""
    """What happened to the file, in words; empty if nothing."""
    is_last: bool = False
    """The stream has ended."""


class FollowedFile:
    """The lines of a file that grows, is rotated, or is cut shorter."""

    def __init__(self, path: Path, place: FilePlace | None = None) -> None:
        self.name = str(path)
        self._path = path
        self._place = place or FilePlace()
        self._file: IO[bytes] | None = None
        self._rest = b""

    def take(self) -> LineBlock:
        """Return the whole lines that are new. Called in a thread."""
        note = ""
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return LineBlock(text="")
            except OSError as error:
                raise SourceError(f"cannot follow {self.name}: {error.strerror or error}") from error
            if self._place.position and self._place.head != self._read_head(self._place.position):
                note, self._place = "another file stands there now: it is read from its beginning", FilePlace()
            self._file.seek(self._place.position)
        content = self._file.read(_BLOCK)
        if content:
            whole, newline, self._rest = (self._rest + content).rpartition(b"\n")
            if len(self._rest) > _BLOCK and not whole:  # a line without an end
                whole, self._rest = self._rest, b""
            position = self._place.position + len(whole + newline)
            self._place = FilePlace(position=position, head=self._read_head(position))
            return LineBlock(text=(whole + newline).decode("utf-8", "replace"), place=self._place, note=note)
        state = os.fstat(self._file.fileno())
        if state.st_size < self._place.position + len(self._rest):
            return self._start_again("the file was cut shorter: it is read from its beginning", note)
        try:
            now = self._path.stat()
        except OSError:
            return LineBlock(text="", note=note)  # between two files
        if (now.st_dev, now.st_ino) != (state.st_dev, state.st_ino):
            return self._start_again("a new file stands in its place", note)
        return LineBlock(text="", note=note)

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _start_again(self, why: str, note: str) -> LineBlock:
        """Take the line that was never ended, and turn to the file that is there now."""
        rest, self._rest = self._rest, b""
        self.close()
        self._place = FilePlace()
        return LineBlock(text=rest.decode("utf-8", "replace"), place=self._place, note=note or why)

    def _read_head(self, position: int) -> str:
        """Return the hash of the first bytes up to a place, read past the file's own position."""
        assert self._file is not None
        return hashlib.sha256(os.pread(self._file.fileno(), min(position, _HEAD), 0)).hexdigest()[:16]


class FollowedStream:
    """The lines of a stream, such as standard input, until it ends."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.name = name
        self._stream = stream
        self._rest = b""
        self._position = 0

    def take(self) -> LineBlock:
        """Return the whole lines that are new, and look for them only so long that whoever waits can be stopped."""
        if not select.select([self._stream], [], [], _POLL)[0]:
            return LineBlock(text="")
        content = os.read(self._stream.fileno(), _BLOCK)
        whole, newline, self._rest = (self._rest + content).rpartition(b"\n")
        if not content:
            whole, self._rest = self._rest, b""
        self._position += len(whole + newline)
        text = (whole + newline).decode("utf-8", "replace")
        return LineBlock(text=text, place=FilePlace(position=self._position), is_last=not content)

    def close(self) -> None:
        """Leave the stream open: it is its owner's."""


def open_followed(opened: OpenMemory, path: Path, source: str) -> FollowedFile:
    """Return a file to follow from where the memory has read it to."""
    kept = opened.tables.find_place(opened.record.number, source)
    return FollowedFile(path, FilePlace(**json.loads(kept)) if kept else None)


async def follow(
    opened: OpenMemory,
    growing: FollowedFile | FollowedStream,
    *,
    source: str = "",
    every: float = 5.0,
    question: str = "",
) -> AsyncGenerator[dict[str, Any]]:
    """Read what comes until the stream ends, and yield what happens: `read`, `answer` and `note` events.

    What has come is read when it fills a chunk, or has waited for `every` seconds.
    """
    follower, most = _Follower(opened, source or growing.name, question), opened.record.plan.chunk_tokens
    async for event in follower.begin():
        yield event
    waiting, place, since = "", None, time.monotonic()
    # Whoever stops following misses no error of its last look.
    taking = let_leave(asyncio.ensure_future(asyncio.to_thread(growing.take)))
    try:
        while True:
            patience = max(0.0, since + every - time.monotonic()) if waiting else None
            await asyncio.wait({taking}, timeout=patience)
            block = taking.result() if taking.done() else LineBlock(text="")
            if block.note:
                yield {"event": "note", "memory": opened.record.name, "note": block.note}
            since = since if waiting else time.monotonic()
            waiting, place = waiting + block.text, block.place or place
            is_due = block.is_last or (waiting and time.monotonic() - since >= every)
            if is_due or (len(waiting) >= most and opened.session.model.tokenizer.count(waiting) >= most):
                async for event in follower.read(waiting, place):
                    yield event
                waiting = ""
            if block.is_last:
                return
            if taking.done():
                if not block.text:
                    await asyncio.sleep(_POLL)
                taking = let_leave(asyncio.ensure_future(asyncio.to_thread(growing.take)))
    finally:
        try:
            await asyncio.wait({taking})  # its thread cannot be cancelled, and is done in a moment
        finally:
            growing.close()


class _Follower:
    """Appends blocks to a memory, and asks its standing question."""

    def __init__(self, opened: OpenMemory, source: str, question: str) -> None:
        self._opened, self._source, self._question = opened, source, question
        self._answer: str | None = None

    async def begin(self) -> AsyncGenerator[dict[str, Any]]:
        """Read what a killed follower had taken, and learn today's answer."""
        async for event in self._catch_up():
            yield event
        if self._question and self._answer is None and self._opened.newest().version:
            async for event in self._tell(self._opened.newest().memory.text):
                yield event

    async def read(self, text: str, place: FilePlace | None) -> AsyncGenerator[dict[str, Any]]:
        """Append a block; what was taken before is never taken again."""
        tables, record = self._opened.tables, self._opened.record
        kept = json.dumps(asdict(place)) if place else ""
        if text.strip():
            await asyncio.to_thread(tables.add_text, record, text, self._source, read_time(None), kept)
            async for event in self._catch_up():
                yield event
        elif kept:
            await asyncio.to_thread(tables.keep_place, record.number, self._source, kept)

    async def _catch_up(self) -> AsyncGenerator[dict[str, Any]]:
        """Read all that waits; where the day is used up, wait for the next one."""
        before = self._opened.newest()
        is_told = False
        while True:
            try:
                update = await read_waiting(self._opened)
            except BudgetReached as reached:
                if self._opened.record.limits.max_tokens_per_day is None or not self._opened.is_day_used():
                    raise
                if not is_told:
                    yield {"event": "note", "memory": self._opened.record.name, "note": str(reached)}
                is_told = True
                await asyncio.sleep(_REST)
            else:
                break
        if update.after.version > before.version:
            yield {"event": "read", **update_to_json(self._opened.record.name, update)}
            async for event in self._tell(before.memory.text):
                yield event

    async def _tell(self, before: str) -> AsyncGenerator[dict[str, Any]]:
        """Ask the standing question, and yield its answer if it is another one than the last."""
        # On a day that is used up the question waits too: it is asked after the next text that is read.
        if not self._question or self._opened.is_day_used():
            return
        found = await ask(self._opened, self._question, is_kept=False)
        if found.status is not Status.ANSWERED:
            note = f"the standing question was not answered: {found.error or found.status}"
            yield {"event": "note", "memory": self._opened.record.name, "note": note}
            return
        if self._answer is not None and found.answer.casefold().split() == self._answer.casefold().split():
            return
        await keep_answer(self._opened, found)
        now = self._opened.newest().memory.text
        told = answer_to_json(self._opened.record.name, found)
        yield {"event": "answer", **told, "before": self._answer, "changes": changes_to_json(before, now)}
        self._answer = found.answer
