"""One file's bytes, wherever they are kept, and the notes of what could not be read from them.

A named file is read where it lies. What can be read only once, a stream or an answer from the web, is first kept in
a temporary file, so that a reading can begin anew and so that a large one does not fill the memory.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO

_SHOWN: Final = 5
"""How many names a note lists before it only counts."""


class SourceWarnings:
    """What was left out or guessed while reading, each kind once, however often the same text is read."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}

    def add(self, what: str, where: str) -> None:
        """Say that `what` happened at `where`: a file, a page."""
        self._found.setdefault(what, {})[where] = None

    def lines(self) -> tuple[str, ...]:
        """One sentence for each kind of thing, in the order they came up."""
        return tuple(f"{what}: {_join_places(list(places))}" for what, places in self._found.items())


def _join_places(places: list[str]) -> str:
    shown = ", ".join(places[:_SHOWN])
    return f"{shown} and {len(places) - _SHOWN} more" if len(places) > _SHOWN else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """By what a change of a file shows."""

    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file's bytes; every `open` begins anew."""

    name: str
    """As notes, headers and parts call it."""
    path: Path
    stamp: Fingerprint
    media: str = ""
    """The content type that a server gave, without parameters."""
    charset: str = ""
    """The encoding that a server gave."""
    suffix: str = ""
    """The end of its name in small letters, with the dot."""
    kept: TempFile | None = field(default=None, compare=False)
    """Holds a temporary file for as long as it is wanted."""

    def open(self) -> BinaryIO:
        """The bytes from the first on. A file that changed since it was opened first is refused: spans would lie."""
        file = self.path.open("rb")
        if take_fingerprint(os.fstat(file.fileno())) != self.stamp:
            file.close()
            raise SourceError(f"{self.name} has changed since its reading began: ask again to read it as it is now")
        return file


def take_fingerprint(found: os.stat_result) -> Fingerprint:
    """The stamp of a file as it is now."""
    return Fingerprint(size=found.st_size, modified=found.st_mtime_ns)


def to_printable(name: str) -> str:
    """A file name as a header or a terminal may show it; names can hold line ends and bytes that are no text."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


class TempFile:
    """A temporary file that goes when the last reader lets go of it."""

    def __init__(self, blocks: Iterable[bytes], name: str) -> None:
        try:
            handle, path = tempfile.mkstemp(prefix="bookwheel-")
        except OSError as error:
            raise _storage_error(name, error) from error
        self.path = Path(path)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        try:
            with os.fdopen(handle, "wb") as file:
                for block in blocks:
                    file.write(block)
        except OSError as error:
            raise _storage_error(name, error) from error


def _storage_error(name: str, error: OSError) -> SourceError:
    return SourceError(
        f"{name} cannot be kept in {tempfile.gettempdir()} while it is read: {error.strerror or error}. "
        f"Make room there, or name another folder in TMPDIR."
    )


def spool(blocks: Iterable[bytes], name: str, *, media: str = "", charset: str = "", suffix: str = "") -> SourceFile:
    """A volume of bytes that can be had only once."""
    kept = TempFile(blocks, name)
    return SourceFile(
        name=name,
        path=kept.path,
        stamp=take_fingerprint(kept.path.stat()),
        media=media,
        charset=charset,
        suffix=suffix,
        kept=kept,
    )


def limit_read(read: Callable[[int], bytes], limit: int, name: str) -> Callable[[int], bytes]:
    """Reads on until more than `limit` bytes came out: a small file can be packed to unfold without end."""
    so_far = 0

    def read_on(size: int) -> bytes:
        nonlocal so_far
        block = read(size)
        so_far += len(block)
        if so_far > limit:
            raise SourceError(f"{name} unfolds to more than {limit >> 20} MiB: unpack it yourself if you trust it")
        return block

    return read_on


_FREE: Final = 64 << 20
_RATIO: Final = 200


def max_unpacked_size(packed: int) -> int:
    """How many bytes that many packed bytes may unfold to; text packs to a third, logs to a fiftieth."""
    return max(_FREE, _RATIO * packed)
