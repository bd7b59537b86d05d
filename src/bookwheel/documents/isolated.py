"""Open a stranger's document in a child process, whatever opening it takes: detection, decoding and conversion.

The child reads the file as `open_document` does and sends its parts, so this process has neither a parser nor a loop
over every line of it. Read the parts of an `IsolatedDocument` once, without a pause: its child waits meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.child import run_in_child
from bookwheel.documents.opening import open_document, open_file
from bookwheel.documents.sources import Fingerprint, SourceFile
from bookwheel.errors import SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

# Characters of one message of the child at most.
_PIECE: Final = 1 << 20


class IsolatedDocument:
    """A document whose text comes from a child process. `notes` is complete after the last part."""

    def __init__(self, name: str, items: Iterator[Any]) -> None:
        self.name = name
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
            text, source, page = values
            length += len(text)
            empty = empty and not text.strip()
            yield Part(text=text, source=source, page=page)
        self.length = length
        if empty:
            raise SourceError(f"{self.name} holds no text to read: give a document with text in it")

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Raise SourceError: the text is not kept."""
        raise SourceError(f"{self.name} can only be read from its beginning, not from {start} to {end}: store it first")

    def slice(self, start: int, end: int) -> str:
        """Raise SourceError: the text is not kept."""
        raise SourceError(f"{self.name} can only be read from its beginning, not from {start} to {end}: store it first")


def open_isolated(path: Path, name: str) -> IsolatedDocument:
    """Open a file."""
    return IsolatedDocument(name, run_in_child(_read_path, str(path), name=name))


def open_fetched(source: SourceFile) -> IsolatedDocument:
    """Open a file that was fetched."""
    values = {
        "name": source.name,
        "path": str(source.path),
        "fingerprint": [source.fingerprint.size, source.fingerprint.modified],
        "media": source.media,
        "charset": source.charset,
        "suffix": source.suffix,
    }
    return IsolatedDocument(source.name, run_in_child(_read_file, values, name=source.name))


def _read_path(path: str) -> Iterator[list[Any]]:
    document = open_document([Path(path)])
    yield from _send(document.parts())
    yield ["notes", *document.notes]


def _read_file(values: dict[str, Any]) -> Iterator[list[Any]]:
    size, modified = values["fingerprint"]
    fingerprint = Fingerprint(size=size, modified=modified)
    source = SourceFile(**{**values, "path": Path(values["path"]), "fingerprint": fingerprint})
    document = open_file(source)
    yield from _send(document.parts())
    yield ["notes", *document.notes]


def _send(parts: Iterator[Part]) -> Iterator[list[Any]]:
    """Yield parts as values of JSON. Small ones of one place go together, as each message has its price."""
    texts: list[str] = []
    length = 0
    place: tuple[str, int | None] = ("", None)
    for part in parts:
        for at in range(0, len(part.text), _PIECE):
            text = part.text[at : at + _PIECE]
            if texts and ((part.source, part.page) != place or length + len(text) > _PIECE):
                yield ["part", "".join(texts), *place]
                texts, length = [], 0
            place = (part.source, part.page)
            texts.append(text)
            length += len(text)
    if texts:
        yield ["part", "".join(texts), *place]
