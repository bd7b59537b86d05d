"""The bytes of one file, and warnings about what could not be read.

A named file is read in place. A stream or a web response, which can be read only once, is first written to a temporary
file, so that it can be read again and a large one does not fill the memory.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from bookwheel.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

# Names in one warning; the rest is only counted.
_LISTED_PLACES: Final = 5


class SourceWarnings:
    """Notes on text that was left out or guessed while reading; reading the same text again adds nothing."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, None]] = {}

    def add(self, what: str, where: str) -> None:
        """Record that `what` happened at `where`: a file, a page."""
        self._places.setdefault(what, {})[where] = None

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield each warning and its place."""
        yield from ((what, where) for what, places in self._places.items() for where in places)

    def lines(self) -> tuple[str, ...]:
        """Return one sentence for each kind of warning, in the order they came up."""
        return tuple(f"{what}: {_join_places(list(places))}" for what, places in self._places.items())


def _join_places(places: list[str]) -> str:
    names = ", ".join(places[:_LISTED_PLACES])
    return f"{names} and {len(places) - _LISTED_PLACES} more" if len(places) > _LISTED_PLACES else names


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The size and time by which we notice that a file has changed."""

    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file; every `open` starts at its first byte."""

    name: str
    """The name in warnings, headers and parts."""
    path: Path
    fingerprint: Fingerprint
    media: str = ""
    """The content type that a server sent, without parameters."""
    charset: str = ""
    """The encoding that a server declared."""
    suffix: str = ""
    """The end of its name in lower case, with the dot."""
    everything: bool = False
    """Keep what a reader leaves out as boilerplate: menus, running titles."""
    temp_file: TempFile | None = field(default=None, compare=False)
    """Keeps a temporary file alive as long as this object."""

    def open(self) -> BinaryIO:
        """Open the file. Raise SourceError if it has changed since the reading began: spans would be wrong."""
        file = self.path.open("rb")
        if take_fingerprint(os.fstat(file.fileno())) != self.fingerprint:
            file.close()
            raise SourceError(f"{self.name} has changed since its reading began: ask again to read it as it is now")
        return file

    def to_values(self) -> dict[str, Any]:
        """Return the fields as JSON values, for a child process; the temporary file stays with this one."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "temp_file"}
        return {**values, "path": str(self.path), "fingerprint": asdict(self.fingerprint)}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        """Return the file that `to_values` described."""
        return cls(**{**values, "path": Path(values["path"]), "fingerprint": Fingerprint(**values["fingerprint"])})


def take_fingerprint(status: os.stat_result) -> Fingerprint:
    """Return the fingerprint of a file with this status."""
    return Fingerprint(size=status.st_size, modified=status.st_mtime_ns)


def to_printable(name: str) -> str:
    """Make a file name printable: names can contain line ends and invalid bytes."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


class TempFile:
    """A temporary file that is deleted with the last reference to it."""

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
        f"{name} cannot be stored in {tempfile.gettempdir()} while it is read: {error.strerror or error}. "
        f"Free some space there, or name another folder in TMPDIR."
    )


def spool(blocks: Iterable[bytes], name: str, *, media: str = "", charset: str = "", suffix: str = "") -> SourceFile:
    """Write bytes that can be read only once to a temporary file."""
    temp_file = TempFile(blocks, name)
    return SourceFile(
        name=name,
        path=temp_file.path,
        fingerprint=take_fingerprint(temp_file.path.stat()),
        media=media,
        charset=charset,
        suffix=suffix,
        temp_file=temp_file,
    )


def limit_read(read: Callable[[int], bytes], limit: int, name: str) -> Callable[[int], bytes]:
    """Wrap `read` to raise SourceError after `limit` bytes: a small file can unpack without end."""
    total = 0

    def read_limited(size: int) -> bytes:
        nonlocal total
        block = read(size)
        total += len(block)
        if total > limit:
            raise SourceError(f"{name} unpacks to more than {limit >> 20} MiB: unpack it yourself if you trust it")
        return block

    return read_limited


# Bytes that any file may unpack to.
_FREE: Final = 64 << 20
# Text packs to about a third and logs to a fiftieth, so more than this is an attack.
_RATIO: Final = 200


def max_unpacked_size(packed: int) -> int:
    """Return how many bytes this many packed bytes may unpack to."""
    return max(_FREE, _RATIO * packed)
