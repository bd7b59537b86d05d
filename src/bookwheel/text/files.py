"""Read the text of one file, whatever its format."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

from bookwheel.errors import SourceError
from bookwheel.text.decoding import SAMPLE, decode
from bookwheel.text.formats import Format, detect_format, reject_binary
from bookwheel.text.sources import limit_read, max_unpacked_size
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.text.sources import SourceFile, SourceWarnings


def read_parts(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the file's text. Raise SourceError, at the latest at its end, if it has none."""
    format_ = detect_format(source)
    if format_ is Format.PDF:
        from bookwheel.text.pdf import read_pdf

        yield from read_pdf(source, warnings)
    elif format_ is Format.EPUB:
        from bookwheel.text.epub import read_epub

        yield from read_epub(source, warnings)
    else:
        readers = {Format.TEXT: _read_text, Format.GZIP: _read_gzip, Format.HTML: _read_html, Format.DOCX: _read_docx}
        for text in readers[format_](source, warnings):
            yield Part(text=text, source=source.name)


def _read_text(source: SourceFile, warnings: SourceWarnings) -> Iterator[str]:
    with source.open() as file:
        yield from decode(file.read, source.name, warnings, source.charset)


def _read_gzip(source: SourceFile, warnings: SourceWarnings) -> Iterator[str]:
    try:
        with source.open() as file, gzip.open(file) as packed:
            reject_binary(packed.read(SAMPLE), source.name)
            packed.seek(0)
            read = limit_read(packed.read, max_unpacked_size(source.fingerprint.size), source.name)
            yield from decode(read, source.name, warnings, source.charset)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"{source.name} is a damaged gzip file: {error}. Download or compress it again.") from error


def _read_html(source: SourceFile, warnings: SourceWarnings) -> Iterator[str]:
    from bookwheel.text.html import read_html

    yield read_html(source, warnings)


def _read_docx(source: SourceFile, warnings: SourceWarnings) -> Iterator[str]:
    from bookwheel.text.html import read_docx

    yield read_docx(source, warnings)
