"""Detect a file's format by its first bytes, then by its name, and reject what is not text.

A small table of signatures is enough: it only names what users give by mistake.
"""

from __future__ import annotations

import re
import zipfile
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bookwheel.errors import SourceError
from bookwheel.text.decoding import SAMPLE, detect_wide_encoding, guess_encoding, is_mostly_utf8
from bookwheel.text.sources import max_unpacked_size

if TYPE_CHECKING:
    from typing import BinaryIO

    from bookwheel.text.sources import SourceFile


class Format(StrEnum):
    """The formats that can be read."""

    TEXT = "text"
    HTML = "HTML"
    PDF = "PDF"
    DOCX = "DOCX"
    EPUB = "EPUB"
    GZIP = "gzip"


_SIGNATURES: Final = (
    (0, b"\x89PNG", "a PNG picture"),
    (0, b"\xff\xd8\xff", "a JPEG picture"),
    (0, b"GIF8", "a GIF picture"),
    (0, b"II*\0", "a TIFF picture"),
    (0, b"MM\0*", "a TIFF picture"),
    (8, b"WEBP", "a WebP picture"),
    (8, b"WAVE", "a sound"),
    (0, b"ID3", "a sound"),
    (0, b"OggS", "a sound or film"),
    (0, b"fLaC", "a sound"),
    (4, b"ftyp", "a film"),
    (0, b"\x1aE\xdf\xa3", "a film"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ\x90", "a program"),
    (0, b"\xca\xfe\xba\xbe", "a program"),
    (0, b"\0asm", "a program"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"GGUF", "a language model's weights"),
    (0, b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    (0, b"Rar!", "a RAR archive; unpack it first"),
    (0, b"BZh", "a bzip2 file; unpack it first"),
    (0, b"\xfd7zXZ", "an xz file; unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard file; unpack it first"),
    (257, b"ustar", "a tar archive; unpack it first and give the folder"),
    (0, b"\xd0\xcf\x11\xe0", "an old Office file; save it as .docx or as text"),
    (0, b"{\\rtf", "an RTF file; save it as .docx or as text"),
)
_PDF: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*%PDF-")
_HTML: Final = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?>.*?-->)\s*)*)<(?:!doctype\s+html|html\b)",
    re.IGNORECASE | re.DOTALL,
)
_CONTROL_BYTES: Final = bytes(c for c in (*range(32), 127) if c not in b"\t\n\v\f\r\b\x1b")
_HTML_MEDIA: Final = frozenset({"text/html", "application/xhtml+xml"})
_HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
# Suffixes that HTML files may have; a .txt or .py file is read as text even if it begins like HTML.
_AMBIGUOUS_SUFFIXES: Final = frozenset({"", ".php", ".asp", ".aspx", ".jsp"})


def detect_format(source: SourceFile) -> Format:
    """Return the file's format. Raise SourceError if it cannot be read."""
    with source.open() as file:
        head = file.read(SAMPLE)
        if _PDF.search(head):
            return Format.PDF
        if head.startswith(b"PK\x03\x04"):
            return _detect_zip_format(file, source.name)
    if head.startswith(b"\x1f\x8b"):
        return Format.GZIP
    reject_binary(head, source.name)
    if source.media in _HTML_MEDIA or (source.suffix in _HTML_SUFFIXES and not source.media):
        return Format.HTML
    return (
        Format.HTML if not source.media and source.suffix in _AMBIGUOUS_SUFFIXES and _HTML.search(head) else Format.TEXT
    )


def reject_binary(head: bytes, name: str) -> None:
    """Raise SourceError, naming the format, if these first bytes are not text."""
    if kind := describe_binary(head):
        raise SourceError(f"{name} is not a text: it looks like {kind}")


def describe_binary(head: bytes) -> str:
    """Return a binary file's likely format, or an empty string for text."""
    for offset, signature, kind in _SIGNATURES:
        if head.startswith(signature, offset):
            return kind
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if not controls or head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) or detect_wide_encoding(head):
        return ""
    share = controls / len(head)
    if is_mostly_utf8(head):
        return "binary data" if share > 0.3 else ""  # noqa: PLR2004
    return "binary data" if share > 0.02 and guess_encoding(head) not in {"utf_16_le", "utf_16_be"} else ""  # noqa: PLR2004


def _detect_zip_format(file: BinaryIO, name: str) -> Format:
    with open_zip(file, name) as archive:
        names = set(archive.namelist())
    if "word/document.xml" in names:
        return Format.DOCX
    if "META-INF/container.xml" in names:
        return Format.EPUB
    for inside, kind in (
        ("xl/workbook.xml", "an Excel workbook; save its sheets as CSV"),
        ("ppt/presentation.xml", "a PowerPoint file; save it as PDF"),
        ("content.xml", "an OpenDocument file; save it as .docx or as text"),
    ):
        if inside in names:
            raise SourceError(f"{name} is not a text: it looks like {kind}")
    raise SourceError(f"{name} is not a text: it looks like a ZIP archive; unpack it first and give the folder")


# Bytes of markup in one archive at most: it is parsed in memory.
_MOST_MARKUP: Final = 256 << 20


def open_zip(file: BinaryIO, name: str) -> zipfile.ZipFile:
    """Open a zip archive. Raise SourceError for one that is damaged, encrypted or a zip bomb."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise SourceError(f"{name} is damaged: {error}. Download or save it again.") from error
    entries = archive.infolist()
    markup = sum(e.file_size for e in entries if e.filename.endswith((".xml", ".rels", "html", ".htm", ".opf", ".ncx")))
    packed = sum(e.compress_size for e in entries)
    if markup > _MOST_MARKUP or sum(e.file_size for e in entries) > max_unpacked_size(packed):
        archive.close()
        raise SourceError(f"{name} unpacks to far more than a document holds: it is rejected as a zip bomb")
    if any(e.flag_bits & 1 for e in entries):
        archive.close()
        raise SourceError(f"{name} needs a password: save it without one")
    return archive
