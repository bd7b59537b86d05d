"""Documents on their way into the journal: texts that came with a request, and addresses on the public web."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bookwheel.errors import SourceError
from bookwheel.text.documents import TextDocument, open_document
from bookwheel.text.sources import to_printable

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.serve.engine.running_reading import OpenedDocument
    from bookwheel.types import Document

_LONGEST_STEM: Final = 120
_LONGEST_SUFFIX: Final = 16
_LONGEST_NAME_BYTES: Final = 240  # file systems end at 255 bytes
_WEB: Final = ("http://", "https://")


def safe_name(name: str) -> str:
    """Return the last part of a stranger's file name, made safe: it leads to no other folder."""
    last = name.replace("\\", "/").rpartition("/")[2]
    printable = to_printable(last).encode("utf-8", "replace").decode().strip()
    if not printable.strip("."):
        return "document"
    stem, dot, suffix = printable.rpartition(".")
    suffix = suffix[:_LONGEST_SUFFIX]
    short = f"{stem[:_LONGEST_STEM]}{dot}{suffix}" if dot else printable[:_LONGEST_STEM]
    if len(short.encode()) <= _LONGEST_NAME_BYTES:
        return short
    return f"document{dot}{suffix if suffix.isascii() else ''}"


def store_document(document: Document, journal: Journal) -> OpenedDocument:
    """Store a document in the journal; return it as stored, and notes on what was left out."""
    return journal.keep(document), tuple(getattr(document, "notes", ()))


async def store_text(text: str, name: str | None, journal: Journal) -> OpenedDocument:
    """Store a text that came with the request."""
    if not text.strip():
        raise SourceError("the text is empty: give a document with text in it")
    return await asyncio.to_thread(store_document, TextDocument(text, safe_name(name) if name else "text"), journal)


async def store_url(url: str, journal: Journal, *, allow_private: bool) -> OpenedDocument:
    """Fetch the document at an address and store it."""
    # open_document would read a path as well, so anything but an address is declined first.
    if not url.lower().startswith(_WEB):
        raise SourceError("url must begin with http:// or https://; upload files instead")
    return await asyncio.to_thread(lambda: store_document(open_document([url], allow_private=allow_private), journal))
