"""PDF, page by page, so that every quote can name its page."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from bookwheel.text.sources import SourceFile, SourceWarnings

_BROKEN: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
)
"""What the parser stumbles into on damaged files besides its own errors."""


def read_pdf(volume: SourceFile, notes: SourceWarnings) -> Iterator[Part]:
    """A part for every page that has text; pages are counted from 1."""
    try:
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtra("reading PDF", "documents") from error
    broken = (PyPdfError, *_BROKEN)
    empty = True
    with volume.open() as file:
        reader = _open_reader(file, volume.name, broken)
        for number in range(_count_pages(reader, volume.name, broken)):
            try:
                text = reader.pages[number].extract_text()
            except broken as error:
                notes.add(f"pages of {volume.name} that are damaged and left out", f"{number + 1} ({error})")
                continue
            if text.strip():
                empty = False
                yield Part(text=f"{text.rstrip()}\n", source=volume.name, page=number + 1)
            else:
                notes.add(f"pages of {volume.name} without a text layer", str(number + 1))
    if empty:
        raise SourceError(
            f"{volume.name} has no text layer, only pictures of pages: "
            f"run OCR over it first, for example `ocrmypdf {volume.name} readable.pdf`"
        )


def _open_reader(file: BinaryIO, name: str, broken: tuple[type[Exception], ...]) -> Any:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    logger = logging.getLogger("pypdf")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    try:
        reader = PdfReader(file)
        opened = not reader.is_encrypted or reader.decrypt("")
    except DependencyError as error:
        raise SourceError(
            f"{name} is encrypted with AES: pip install cryptography, or save it without encryption "
            f"(`qpdf --decrypt {name} readable.pdf`)"
        ) from error
    except broken as error:
        raise _damage_error(name, error) from error
    if not opened:
        raise SourceError(
            f"{name} needs a password: save it without one, for example "
            f"`qpdf --password=... --decrypt {name} readable.pdf`"
        )
    return reader


def _count_pages(reader: Any, name: str, broken: tuple[type[Exception], ...]) -> int:
    try:
        return len(reader.pages)
    except broken as error:
        raise _damage_error(name, error) from error


def _damage_error(name: str, error: Exception) -> SourceError:
    return SourceError(f"{name} is a damaged PDF: {error}. Fetch it again, or mend it with `qpdf {name} mended.pdf`.")
