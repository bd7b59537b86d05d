"""The text of one file, whatever its format: the place where formats meet."""

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


def read_parts(volume: SourceFile, notes: SourceWarnings) -> Iterator[Part]:
    """The volume's text; SourceError, at the latest when it has been read through, when it gives none."""
    found = detect_format(volume)
    if found is Format.PDF:
        from bookwheel.text.pdf import read_pdf

        yield from read_pdf(volume, notes)
    elif found is Format.EPUB:
        from bookwheel.text.epub import read_epub

        yield from read_epub(volume, notes)
    else:
        texts = {Format.TEXT: _read_text, Format.GZIP: _read_gzip, Format.HTML: _read_html, Format.DOCX: _read_docx}[
            found
        ]
        for text in texts(volume, notes):
            yield Part(text=text, source=volume.name)


def _read_text(volume: SourceFile, notes: SourceWarnings) -> Iterator[str]:
    with volume.open() as file:
        yield from decode(file.read, volume.name, notes, volume.charset)


def _read_gzip(volume: SourceFile, notes: SourceWarnings) -> Iterator[str]:
    try:
        with volume.open() as file, gzip.open(file) as packed:
            reject_binary(packed.read(SAMPLE), volume.name)
            packed.seek(0)
            read = limit_read(packed.read, max_unpacked_size(volume.stamp.size), volume.name)
            yield from decode(read, volume.name, notes, volume.charset)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"{volume.name} is a damaged gzip file: {error}. Fetch or pack it again.") from error


def _read_html(volume: SourceFile, notes: SourceWarnings) -> Iterator[str]:
    from bookwheel.text.html import read_html

    yield read_html(volume, notes)


def _read_docx(volume: SourceFile, notes: SourceWarnings) -> Iterator[str]:
    from bookwheel.text.html import read_docx

    yield read_docx(volume, notes)
