"""The text of one file, whatever its format: the place where formats meet."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

from bookwheel.errors import SourceError
from bookwheel.text.decoding import SAMPLE, decode
from bookwheel.text.formats import Format, format_of, refuse_binary
from bookwheel.text.volumes import bound_iterator, unfolding
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.text.volumes import Notes, Volume


def read_parts(volume: Volume, notes: Notes) -> Iterator[Part]:
    """The volume's text; SourceError, at the latest when it has been read through, when it gives none."""
    found = format_of(volume)
    if found is Format.PDF:
        from bookwheel.text.pages import pdf_parts

        yield from pdf_parts(volume, notes)
    elif found is Format.EPUB:
        from bookwheel.text.books import epub_parts

        yield from epub_parts(volume, notes)
    else:
        texts = {Format.TEXT: _plain, Format.GZIP: _unpacked, Format.HTML: _page, Format.DOCX: _word}[found]
        for text in texts(volume, notes):
            yield Part(text=text, source=volume.name)


def _plain(volume: Volume, notes: Notes) -> Iterator[str]:
    with volume.open() as file:
        yield from decode(file.read, volume.name, notes, volume.charset)


def _unpacked(volume: Volume, notes: Notes) -> Iterator[str]:
    try:
        with volume.open() as file, gzip.open(file) as packed:
            refuse_binary(packed.read(SAMPLE), volume.name)
            packed.seek(0)
            read = bound_iterator(packed.read, unfolding(volume.stamp.size), volume.name)
            yield from decode(read, volume.name, notes, volume.charset)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"{volume.name} is a damaged gzip file: {error}. Fetch or pack it again.") from error


def _page(volume: Volume, notes: Notes) -> Iterator[str]:
    from bookwheel.text.markup import html_text

    yield html_text(volume, notes)


def _word(volume: Volume, notes: Notes) -> Iterator[str]:
    from bookwheel.text.markup import docx_text

    yield docx_text(volume, notes)
