r"""Documents: text of any length from files, folders, web addresses and streams, always in the same order.

Text is streamed and exact: what a file holds is what is read, but for its byte order mark. PDF, HTML, DOCX and EPUB are
converted. Where a document has several files, a header line names each of them; what a chunk came from is told by
`Part.source`, never by such a line, which any file could contain.

>>> "".join(part.text for part in TextDocument("Ramelli drew it.").parts(8))
'drew it.'
"""

from __future__ import annotations

import re
import stat
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError, SourceError
from bookwheel.text.files import read_parts
from bookwheel.text.folders import list_files
from bookwheel.text.sources import SourceFile, SourceWarnings, spool, take_fingerprint, to_printable
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

_PIECE: Final = 1 << 13
"""Characters in a part at most: whoever cuts chunks holds no more than a chunk and a piece."""
_ADDRESS: Final = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_BLOCK: Final = 1 << 20
_NAMED: Final = 3
"""As many sources are called by their names in a document's name."""


class TextDocument:
    """A text that is in memory already."""

    notes: tuple[str, ...] = ()

    def __init__(self, text: str, name: str = "text", source: str = "") -> None:
        self.text = text
        self.name = name
        self._source = source or name

    @property
    def length(self) -> int:
        """Characters in all."""
        return len(self.text)

    def parts(self, start: int = 0) -> Iterator[Part]:
        """The text from character `start` on."""
        return _split_part(Part(text=self.text, source=self._source), start)

    def slice(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`."""
        return self.text[start:end]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceItem:
    volume: SourceFile
    asked: bool
    """Named by the user, so that a fault is an error; in a folder it is a note."""


class SourceDocument:
    """Files, folders, addresses and streams as one text; made by `open_document`."""

    def __init__(self, name: str, items: Sequence[_SourceItem], notes: SourceWarnings, *, headed: bool) -> None:
        self.name = name
        self.length: int | None = None
        self._items = items
        self._notes = notes
        self._headed = headed

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out or guessed so far, in sentences; complete when the parts have been read to their end."""
        return self._notes.lines()

    def parts(self, start: int = 0) -> Iterator[Part]:
        """The text from character `start` on; what lies before it is read over."""
        read = 0
        for part in self._whole():
            yield from _split_part(part, start - read)
            read += len(part.text)
        self.length = read

    def slice(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`; what lies before them is read over."""
        found, have = [], 0
        for part in self.parts(start):
            if have >= end - start:
                break
            found.append(part.text)
            have += len(part.text)
        return "".join(found)[: end - start]

    def check(self) -> None:
        """Raise SourceError, before a reading starts, when a source is at fault or there is nothing to read."""
        empty = True
        for item in self._items:
            if item.asked or empty:
                empty = not any(part.text.strip() for part in self._parts(item)) and empty
        if empty:
            reasons = "".join(f"\n  {note}" for note in self.notes)
            raise SourceError(f"{self.name} holds no text to read: give a document with text in it{reasons}")

    def _whole(self) -> Iterator[Part]:
        start = ""
        for item in self._items:
            name = item.volume.name
            header = f"{start}===== {name} =====\n" if self._headed else ""
            empty = True
            for part in self._parts(item):
                if empty and header:
                    yield Part(text=header, source=name)
                empty = False
                yield part
            if empty:
                self._notes.add("no text in", name)
            else:
                start = "\n"

    def _parts(self, item: _SourceItem) -> Iterator[Part]:
        name = item.volume.name
        happened = "left out"
        try:
            for part in read_parts(item.volume, self._notes):
                if part.text:
                    happened = "read in part"
                    yield part
        except (InputError, OSError) as error:
            fault = error if isinstance(error, InputError) else _read_error(name, error)
            if item.asked:
                raise fault from error
            self._notes.add(f"{happened}, {str(fault).removeprefix(name).strip()}", name)


def open_document(
    sources: Sequence[str | Path], *, stdin: BinaryIO | None = None, allow_private: bool = True
) -> SourceDocument:
    """The document that the sources make together: files, folders, http(s) addresses, "-" for standard input.

    `allow_private=False` keeps addresses to the public internet, through every redirect; a server that takes addresses
    from strangers needs it, and must not take paths from them. Raises SourceError, with advice, for what has no text.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    if not given:
        raise SourceError('nothing to read: give a file, a folder, an address or "-" for standard input')
    if given.count("-") > 1:
        raise SourceError('standard input can be read once only: give "-" once')
    notes = SourceWarnings()
    items: list[_SourceItem] = []
    titles: list[str] = []
    headed = len(given) > 1
    for source in given:
        opened, is_folder = _open_source(source, notes, stdin=stdin, allow_private=allow_private, alone=len(given) == 1)
        items.extend(_SourceItem(volume=volume, asked=not is_folder) for volume in opened)
        titles.append(_title(source, opened, is_folder=is_folder))
        headed = headed or is_folder
    name = ", ".join(titles) if len(titles) <= _NAMED else f"{titles[0]} and {len(titles) - 1} more"
    document = SourceDocument(name, _rename_duplicates(items), notes, headed=headed)
    document.check()
    return document


def _open_source(
    source: str | Path, notes: SourceWarnings, *, stdin: BinaryIO | None, allow_private: bool, alone: bool
) -> tuple[list[SourceFile], bool]:
    """The volumes behind one source, and whether it is a folder."""
    if source == "-":
        stream = stdin or sys.stdin.buffer
        return [spool(iter(partial(stream.read, _BLOCK), b""), "-")], False
    scheme = _ADDRESS.match(source) if isinstance(source, str) else None
    if scheme and scheme[1].lower() in {"http", "https"}:
        from bookwheel.text.web import fetch

        return [fetch(str(source), allow_private=allow_private)], False
    if scheme:
        raise SourceError(f"{source} cannot be fetched: only http and https can. Download it and give the file.")
    try:
        return _open_path(Path(source), notes, alone=alone)
    except (OSError, ValueError) as error:
        raise _read_error(to_printable(str(source)), error) from error


def _open_path(path: Path, notes: SourceWarnings, *, alone: bool) -> tuple[list[SourceFile], bool]:
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        return list(list_files(path, notes, "" if alone else path.resolve().name)), True
    name, suffix = to_printable(path.name), path.suffix.lower()
    if stat.S_ISREG(found.st_mode):
        return [SourceFile(name=name, path=path.absolute(), stamp=take_fingerprint(found), suffix=suffix)], False
    with path.open("rb") as stream:
        return [spool(iter(partial(stream.read, _BLOCK), b""), name, suffix=suffix)], False


def _read_error(name: str, error: Exception) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(f"{name} is not there: check the path, or quote it if it has spaces")
    if isinstance(error, PermissionError):
        return SourceError(f"{name} may not be read by you: change its permissions, or copy it")
    return SourceError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}")


def _rename_duplicates(items: list[_SourceItem]) -> list[_SourceItem]:
    """Files that would be called the same are called by their whole paths."""
    names = Counter(item.volume.name for item in items)
    return [
        replace(item, volume=replace(item.volume, name=to_printable(item.volume.path.as_posix())))
        if names[item.volume.name] > 1 and not item.volume.kept
        else item
        for item in items
    ]


def _title(source: str | Path, opened: list[SourceFile], *, is_folder: bool) -> str:
    if is_folder:
        return to_printable(Path(source).resolve().name)
    return "standard input" if source == "-" else opened[0].name


def _split_part(part: Part, start: int) -> Iterator[Part]:
    """A part cut small, from its character `start` on."""
    for at in range(max(0, start), len(part.text), _PIECE):
        yield Part(text=part.text[at : at + _PIECE], source=part.source, page=part.page)
