r"""Documents: text of any length from files, folders, web addresses and streams, always in the same order.

Text is streamed and exact, except for the byte order mark. Other formats are converted once, when the document is
opened, and CSV becomes a table as it is read. If a document has several files, a header line names each. Only
`Part.source` says where a chunk is from: any file could contain a line that looks like such a header.

>>> "".join(part.text for part in TextDocument("Ramelli drew it.").parts(8))
'drew it.'
"""

from __future__ import annotations

import errno
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from bookwheel.documents.cancellation import check_cancelled
from bookwheel.documents.children import run_in_child
from bookwheel.documents.conversions import (
    ConversionStore,
    OpeningProgress,
    SourceItem,
    drop_doubles,
    part_from_row,
    part_to_row,
    prepare_items,
)
from bookwheel.documents.sources import SourceFile, SourceWarnings, open_path, spool_stream, to_printable
from bookwheel.errors import InputError, SourceError
from bookwheel.patterns import compile_late
from bookwheel.picture import Picture
from bookwheel.text.leads import WithLeads
from bookwheel.text.lines import write_file_header
from bookwheel.text.sanitize import is_blank
from bookwheel.types import Part

# Characters of a part at most, so that cutting chunks holds little more than one chunk in memory.
_PIECE: Final = 1 << 13
_URL: Final = compile_late(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# A document's name lists up to this many sources.
_LISTED_SOURCES: Final = 3
# Of what may be meant for a path, in an error; a longer one is a text.
_LONGEST_PATH: Final = 250
_SHOWN_PATH: Final = 60
_SENTENCE: Final = compile_late(r"\s\S+\s.*[.!?。！？]\s*$")
# A mark ends at its first bracket.
_BRACKETS: Final = str.maketrans("[]", "()")


class TextDocument(WithLeads):
    """A text in memory."""

    notes: tuple[str, ...] = ()

    def __init__(self, text: str, name: str = "text", source: str = "") -> None:
        self.text = text
        self.name = name
        self._source = source or name

    @property
    def length(self) -> int:
        return len(self.text)

    def parts(self, start: int = 0) -> Iterator[Part]:
        return _split_part(Part(text=self.text, source=self._source), start)

    def slice(self, start: int, end: int) -> str:
        return self.text[start:end]

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        del start, end
        return ()


class SourceDocument(WithLeads):
    """Files, folders, addresses and streams as one text; made by `open_document`."""

    def __init__(self, name: str, items: Sequence[SourceItem], notes: SourceWarnings, *, has_headers: bool) -> None:
        self.name = name
        self.length: int | None = None
        self._items = items
        self._warnings = notes
        self._has_headers = has_headers

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was left out or guessed; complete once all parts have been read."""
        return self._warnings.lines()

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Yield the text from character `start` on. Everything before it is read and skipped."""
        read = 0
        for part in self._read_items():
            yield from _split_part(part, start - read)
            read += len(part.text)
        self.length = read

    def slice(self, start: int, end: int) -> str:
        """Return the characters from `start` up to `end`. Everything before them is read and skipped."""
        texts, length = [], 0
        for part in self.parts(start):
            if length >= end - start:
                break
            texts.append(part.text)
            length += len(part.text)
        return "".join(texts)[: end - start]

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Return the pages that hold the characters from `start` up to `end`; everything before them is read."""
        pages: dict[int, None] = {}
        length = end - start  # one character at least is looked at
        for part in self.parts(start):
            if part.page is not None and part.text:
                pages[part.page] = None
            length -= len(part.text)
            if length <= 0 < len(part.text):
                break
        return tuple(pages)

    def list_pictures(self) -> tuple[Picture, ...]:
        """Return what is known of its pictures, without their bytes. Everything is read for it."""
        return tuple(replace(one, content=b"") for part in self.parts() for one in part.pictures)

    def load_picture(self, sha256: str) -> bytes:
        return next((one.content for part in self.parts() for one in part.pictures if one.sha256 == sha256), b"")

    @property
    def files(self) -> tuple[tuple[str, Path], ...]:
        return tuple((item.file.name, item.file.path) for item in self._items if item.conversion)

    def check(self) -> None:
        """Raise SourceError, before a reading starts, if a named source cannot be read or no source has text."""
        empty = True
        for item in self._items:
            if item.is_named or empty:
                empty = all(is_blank(part.text) for part in self._parts(item)) and empty
        if empty:
            reasons = "".join(f"\n  {note}" for note in self.notes)
            raise SourceError(f"{self.name} holds no text to read: give a document with text in it{reasons}")

    def _read_items(self) -> Iterator[Part]:
        start = ""
        for item in self._items:
            name = item.file.name
            header = f"{start}{write_file_header(name)}" if self._has_headers else ""
            empty = True
            for part in self._parts(item):
                if empty and header:
                    yield Part(text=header, source=name)
                empty = False
                yield part
            if not empty:
                start = "\n"

    def _parts(self, item: SourceItem) -> Iterator[Part]:
        name = item.file.name
        fault_kind, blank = "left out", True
        try:
            for part in map(self._label, item.parts(self._warnings)):
                check_cancelled()
                if part.text:
                    fault_kind, blank = "read in part", blank and is_blank(part.text)
                    yield part
            if blank:
                self._warnings.add("no text in", name)
        except (InputError, OSError) as error:
            fault = error if isinstance(error, InputError) else _read_error(name, error)
            if item.is_named:
                raise fault from error
            self._warnings.add(f"{fault_kind}, {str(fault).removeprefix(name).strip()}", name)

    def _label(self, part: Part) -> Part:
        """Return the part; in a document of several files, its pictures are marked by their files' names as well."""
        if not part.pictures or not self._has_headers:
            return part
        text, pictures = part.text, []
        for picture in part.pictures:
            label = f"{picture.source.translate(_BRACKETS)}, {picture.label}"
            text = text.replace(picture.mark, f"[{label}]", 1)
            pictures.append(replace(picture, label=label))
        return replace(part, text=text, pictures=tuple(pictures))


def open_document(
    sources: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    allow_private: bool = True,
    everything: bool = False,
    ocr: str = "",
    is_cached: bool = False,
    progress: OpeningProgress | None = None,
) -> SourceDocument:
    """Open files, folders, http(s) addresses and "-" (standard input) as one document.

    What is not plain text is converted here, several files at a time, in child processes. It can be cancelled:
    `await run_cancellable(open_document, sources)`. `everything` keeps boilerplate, `ocr` names what reads pictures:
    `rapidocr`, `tesseract` or `off`. `is_cached` keeps conversions in
    the user's cache; a server must not, because its documents are not its user's.

    `allow_private=False` restricts addresses and their redirects to the public internet. A server that accepts
    addresses from strangers needs it, and must not accept paths. Raise SourceError, with advice, if there is no text.
    """
    source_list = [sources] if isinstance(sources, str | Path) else list(sources)
    if not source_list:
        raise SourceError('nothing to read: give a file, a folder, an address or "-" for standard input')
    if source_list.count("-") > 1:
        raise SourceError('standard input can be read only once: give "-" once')
    notes = SourceWarnings()
    unique: dict[str, str | Path] = {}
    for source in source_list:
        if (key := _identify(source)) in unique:
            notes.add("named more than once, and read once", to_printable(str(source)))
        else:
            unique[key] = source
    source_list = list(unique.values())
    items: list[SourceItem] = []
    titles: list[str] = []
    has_headers = len(source_list) > 1
    missing: list[SourceError] = []
    for source in source_list:
        alone = len(source_list) == 1
        try:
            files, is_folder = _open_source(source, notes, stdin, alone=alone, allow_private=allow_private)
        except SourceError as error:
            missing.append(error)
            continue
        items.extend(
            SourceItem(file=replace(file, everything=everything, ocr=ocr), is_named=not is_folder) for file in files
        )
        title = "standard input" if source == "-" else "" if is_folder else files[0].name
        titles.append(title or to_printable(Path(source).resolve().name))
        has_headers = has_headers or is_folder
    items = drop_doubles(items, notes)
    # Files with the same name have their whole paths as names.
    names = Counter(item.file.name for item in items)
    for at, item in enumerate(items):
        if names[item.file.name] > 1 and not item.file.temp_file:
            items[at] = replace(item, file=replace(item.file, name=to_printable(item.file.path.as_posix())))
    name = ", ".join(titles) if len(titles) <= _LISTED_SOURCES else f"{titles[0]} and {len(titles) - 1} more"
    store = ConversionStore.in_cache() if is_cached else ConversionStore()
    try:
        ready = prepare_items(items, store, progress, missing)
    except OSError as error:
        raise _read_error(name, error) from error
    document = SourceDocument(name, ready, notes, has_headers=has_headers)
    document.check()
    return document


def _identify(source: str | Path) -> str:
    """Return what is the same for a source that is named in two ways."""
    if source == "-" or (isinstance(source, str) and _URL.match(source)):
        return str(source)
    with suppress(OSError, ValueError):  # what is no path is refused when it is opened
        return str(Path(source).resolve())
    return str(source)


def _open_source(
    source: str | Path, notes: SourceWarnings, stdin: BinaryIO | None, *, alone: bool, allow_private: bool
) -> tuple[list[SourceFile], bool]:
    """Return the files of one source, and True if it is a folder."""
    if source == "-":
        return [spool_stream(stdin or sys.stdin.buffer, "standard input")], False
    scheme = _URL.match(source) if isinstance(source, str) else None
    if scheme and scheme[1].lower() in {"http", "https"}:
        from bookwheel.documents.web import fetch

        return [fetch(str(source), allow_private=allow_private)], False
    if scheme:
        raise SourceError(f"{source} cannot be fetched: only http and https can. Download it and give the file.")
    try:
        return open_path(Path(source), notes, "" if alone else Path(source).resolve().name)
    except (OSError, ValueError) as error:
        name = to_printable(" ".join(str(source).split("\n")))
        if len(name) > _LONGEST_PATH or "\n" in str(source) or _SENTENCE.search(name):
            shown = name if len(name) <= _SHOWN_PATH else f"{name[:_SHOWN_PATH]}…"
            raise SourceError(
                f"“{shown}” is no file's name. To read a text itself, pipe it to the command, or give "
                f"TextDocument(text) in Python."
            ) from error
        raise _read_error(name, error) from error


def _read_error(name: str, error: Exception) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(f"{name} does not exist: check the path, or quote it if it has spaces")
    if isinstance(error, PermissionError):
        return SourceError(f"you may not read {name}: change its permissions, or copy it")
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        advice = "free some space in the folders for temporary and cached files, or name others"
        return SourceError(f"{name} cannot be converted: {error.strerror}; {advice} (TMPDIR, XDG_CACHE_HOME)")
    return SourceError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}")


def _split_part(part: Part, start: int) -> Iterator[Part]:
    """Yield small parts of a part, from its character `start` on."""
    pictures = part.pictures  # which go with the first piece, though their marks may stand further on
    for at in range(max(0, start), len(part.text), _PIECE):
        yield replace(part, text=part.text[at : at + _PIECE], pictures=pictures)
        pictures = ()


class IsolatedDocument:
    """A stranger's document, whose text comes from a child process, whatever opening it takes: detection and all.

    So this process has neither a parser nor a loop over every line of it. Read its parts once, without a pause: its
    child waits meanwhile. `notes` is complete after the last part.
    """

    def __init__(self, name: str, items: Iterator[Any], path: Path) -> None:
        self.name = name
        self.files = ((name, path),)
        self.notes: tuple[str, ...] = ()
        self.length: int | None = None
        self._items = items

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Yield the text. Raise SourceError, at the latest at its end, if there is none."""
        if start:
            raise SourceError(f"{self.name} can only be read from its beginning: store it first")
        length, empty = 0, True
        for kind, *values in self._items:
            if kind == "notes":
                self.notes = tuple(values)
                continue
            part = part_from_row(values)
            length += len(part.text)
            empty = empty and is_blank(part.text)
            yield part
        self.length = length
        if empty:
            raise SourceError(f"{self.name} holds no text to read: give a document with text in it")

    def slice(self, start: int, end: int) -> str:
        """Raise SourceError: the text is not kept."""
        raise SourceError(f"{self.name} can only be read from its beginning, not from {start} to {end}: store it first")


def open_isolated(path: Path, name: str) -> IsolatedDocument:
    return IsolatedDocument(name, run_in_child(_read_isolated, str(path), None, name=name), path)


def open_fetched(source: SourceFile) -> IsolatedDocument:
    items = run_in_child(_read_isolated, None, source.to_values(), name=source.name)
    return IsolatedDocument(source.name, items, source.path)


# Characters of one message of the child at most.
_MOST_MESSAGE: Final = 1 << 20


def _read_isolated(path: str | None, values: dict[str, Any] | None) -> Iterator[list[Any]]:
    """Yield parts and notes as values of JSON. Small parts of one place go together, as each message has its price."""
    if values:
        file = SourceFile.from_values(values)
        items = prepare_items([SourceItem(file=file, is_named=True)], ConversionStore())
        document = SourceDocument(file.name, items, SourceWarnings(), has_headers=False)
        document.check()
    else:
        document = open_document([path or ""])
    texts: list[str] = []
    length = 0
    first = Part(text="", source="")
    for part in document.parts():  # pieces of at most _PIECE
        is_elsewhere = replace(part, text="") != replace(first, text="", pictures=())
        if texts and (is_elsewhere or length + len(part.text) > _MOST_MESSAGE):
            yield ["part", *part_to_row(replace(first, text="".join(texts)))]
            texts, length = [], 0
        first = part if not texts else first
        texts.append(part.text)
        length += len(part.text)
    if texts:
        yield ["part", *part_to_row(replace(first, text="".join(texts)))]
    yield ["notes", *document.notes]
