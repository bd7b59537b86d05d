"""Open a stranger's document in a child process, whatever opening it takes: detection, decoding and conversion.

The child reads the file as `open_document` does and sends its parts, so this process has neither a parser nor a loop
over every line of it. Read the parts of an `IsolatedDocument` once, without a pause: its child waits meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.child import run_in_child
from bookwheel.documents.opening import open_document, open_file
from bookwheel.documents.sources import SourceFile
from bookwheel.errors import SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    return IsolatedDocument(name, run_in_child(_read, str(path), None, name=name))


def open_fetched(source: SourceFile) -> IsolatedDocument:
    """Open a file that was fetched."""
    return IsolatedDocument(source.name, run_in_child(_read, None, source.to_values(), name=source.name))


def _read(path: str | None, values: dict[str, Any] | None) -> Iterator[list[Any]]:
    """Yield parts and notes as values of JSON. Small parts of one place go together, as each message has its price."""
    document = open_file(SourceFile.from_values(values)) if values else open_document([path or ""])
    texts: list[str] = []
    length = 0
    place: tuple[str, int | None] = ("", None)
    for part in document.parts():
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
    yield ["notes", *document.notes]
