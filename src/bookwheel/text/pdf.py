"""Read PDF page by page, so that every quote can name its page."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from bookwheel.text.sources import SourceFile, SourceWarnings

# Errors that the parser raises on damaged files, besides its own.
_DAMAGE_ERRORS: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
)


def read_pdf(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every page with text. Pages count from 1."""
    try:
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtra("reading PDF", "documents") from error
    damage_errors = (PyPdfError, *_DAMAGE_ERRORS)
    empty = True
    with source.open() as file:
        reader = _open_reader(file, source.name, damage_errors)
        for number in range(_count_pages(reader, source.name, damage_errors)):
            try:
                text = reader.pages[number].extract_text()
            except damage_errors as error:
                warnings.add(f"pages of {source.name} that are damaged and left out", f"{number + 1} ({error})")
                continue
            if text.strip():
                empty = False
                yield Part(text=f"{text.rstrip()}\n", source=source.name, page=number + 1)
            else:
                warnings.add(f"pages of {source.name} without a text layer", str(number + 1))
    if empty:
        raise SourceError(
            f"{source.name} has no text layer, only pictures of pages: "
            f"run OCR over it first, for example `ocrmypdf {source.name} readable.pdf`"
        )


def _open_reader(file: BinaryIO, name: str, damage_errors: tuple[type[Exception], ...]) -> Any:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    logger = logging.getLogger("pypdf")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    try:
        reader = PdfReader(file)
        is_open = not reader.is_encrypted or reader.decrypt("")
    except DependencyError as error:
        raise SourceError(
            f"{name} is encrypted with AES: pip install cryptography, or save it without encryption "
            f"(`qpdf --decrypt {name} readable.pdf`)"
        ) from error
    except damage_errors as error:
        raise _damage_error(name, error) from error
    if not is_open:
        raise SourceError(
            f"{name} needs a password: save it without one, for example "
            f"`qpdf --password=... --decrypt {name} readable.pdf`"
        )
    return reader


def _count_pages(reader: Any, name: str, damage_errors: tuple[type[Exception], ...]) -> int:
    try:
        return len(reader.pages)
    except damage_errors as error:
        raise _damage_error(name, error) from error


def _damage_error(name: str, error: Exception) -> SourceError:
    return SourceError(
        f"{name} is a damaged PDF: {error}. Download it again, or repair it with `qpdf {name} repaired.pdf`."
    )
