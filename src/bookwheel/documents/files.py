"""Read the text of one file, whatever its format: the register of readers.

To add a format, write a reader in `documents.readers`, name it here, and teach `documents.formats` its signs.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bookwheel.documents.decoding import decode
from bookwheel.documents.formats import Format, detect_format
from bookwheel.documents.sources import limit_read, max_unpacked_size, spool
from bookwheel.errors import SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

    Reader = Callable[[SourceFile, SourceWarnings], Iterator[Part]]

_READERS: Final = {
    Format.PDF: "pdf:read_pdf",
    Format.HTML: "html:read_html",
    Format.DOCX: "docx:read_docx",
    Format.EPUB: "epub:read_epub",
    Format.PPTX: "pptx:read_pptx",
    Format.SHEETS: "sheets:read_sheets",
    Format.CSV: "csv:read_csv",
    Format.OPENDOCUMENT: "opendocument:read_opendocument",
    Format.RTF: "rtf:read_rtf",
    Format.EMAIL: "email:read_email",
    Format.NOTEBOOK: "notebook:read_notebook",
    Format.PICTURE: "ocr:read_image",
}
STREAMED: Final = frozenset({Format.TEXT, Format.CSV})
"""Formats that are read line by line; the others are converted whole."""
_BLOCK: Final = 1 << 20


def read_parts(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the file's text. Raise SourceError, at the latest at its end, if it has none."""
    format_ = detect_format(source)
    if format_ is Format.GZIP:
        source = unpack(source)
        format_ = detect_format(source)
        if format_ is Format.GZIP:
            raise SourceError(f"{source.name} is packed twice: unpack it first")
    yield from load_reader(format_)(source, warnings)


def load_reader(format_: Format) -> Reader:
    """Return the function that reads a format."""
    if format_ is Format.TEXT:
        return _read_text
    module, _, name = _READERS[format_].partition(":")
    reader: Reader = getattr(import_module(f"bookwheel.documents.readers.{module}"), name)
    return reader


def unpack(source: SourceFile) -> SourceFile:
    """Return what a gzip file holds, in a temporary file. Raise SourceError if it unpacks to far too much."""
    suffix = PurePath(source.name.removesuffix(".gz")).suffix.lower() if source.suffix == ".gz" else ""
    inside = spool(_iterate_unpacked(source), source.name, charset=source.charset, suffix=suffix)
    return replace(inside, everything=source.everything)


def _iterate_unpacked(source: SourceFile) -> Iterator[bytes]:
    try:
        with source.open() as file, gzip.open(file) as packed:
            read = limit_read(packed.read, max_unpacked_size(source.fingerprint.size), source.name)
            yield from iter(partial(read, _BLOCK), b"")
    # Here, because whoever stores the blocks takes an OSError for a full disk.
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"{source.name} is a damaged gzip file: {error}. Download or compress it again.") from error


def _read_text(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    with source.open() as file:
        for text in decode(file.read, source.name, warnings, source.charset):
            yield Part(text=text, source=source.name)
