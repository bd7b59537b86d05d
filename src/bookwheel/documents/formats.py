"""Detect a file's format by its first bytes, then by its name, reject what holds no text, and read the rest.

A small table of signatures is enough: it only names what users give by mistake. To add a format, write a reader in
`documents.readers`, name it in `_READERS`, and teach `detect_format` its signs.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from dataclasses import replace
from enum import StrEnum
from functools import partial
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bookwheel.documents.decoding import SAMPLE, decode, detect_wide_encoding, guess_encoding, is_mostly_utf8
from bookwheel.documents.sources import limit_read, max_unpacked_size, spool
from bookwheel.errors import SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from bookwheel.documents.sources import SourceFile, SourceWarnings

    Reader = Callable[[SourceFile, SourceWarnings], Iterator[Part]]


class Format(StrEnum):
    """The formats that can be read."""

    TEXT = "text"
    HTML = "HTML"
    PDF = "PDF"
    DOCX = "DOCX"
    EPUB = "EPUB"
    PPTX = "PPTX"
    SHEETS = "XLSX"
    """Any workbook: XLSX, XLSB, XLS, ODS."""
    CSV = "CSV"
    OPENDOCUMENT = "ODT"
    """A text, presentation or drawing of OpenDocument."""
    RTF = "RTF"
    EMAIL = "email"
    NOTEBOOK = "notebook"
    PICTURE = "picture"
    GZIP = "gzip"


_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
_FORMAT_SIGNATURES: Final = (
    (0, b"\x1f\x8b", Format.GZIP),
    (0, b"{\\rtf", Format.RTF),
    (0, b"\x89PNG", Format.PICTURE),
    (0, b"\xff\xd8\xff", Format.PICTURE),
    (0, b"II*\0", Format.PICTURE),
    (0, b"MM\0*", Format.PICTURE),
    (8, b"WEBP", Format.PICTURE),
)
_SIGNATURES: Final = (
    (0, b"GIF8", "a GIF picture"),
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
    (0, _OLD_OFFICE, "an old Office file; save it as .docx or as text"),
)
_PDF: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*%PDF-")
_HTML: Final = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?>.*?-->)\s*)*)<(?:!doctype\s+html|html\b)",
    re.IGNORECASE | re.DOTALL,
)
_HEADER: Final = rb"(?:Return-Path|Received|Delivered-To|Message-ID|Date|From|To|Subject|MIME-Version|X-[\w-]+)"
_EMAIL: Final = re.compile(rb"\A(?:From [^\n]*\n)?(?:" + _HEADER + rb":[^\n]*\n(?:[ \t][^\n]*\n)*){3}", re.IGNORECASE)
# A name says enough where the content could be plain text as well.
_TEXT_SUFFIXES: Final = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".ipynb": Format.NOTEBOOK,
    ".eml": Format.EMAIL,
    ".mht": Format.EMAIL,
    ".mhtml": Format.EMAIL,
}
_TEXT_MEDIA: Final = {
    "text/csv": Format.CSV,
    "message/rfc822": Format.EMAIL,
    "application/x-ipynb+json": Format.NOTEBOOK,
}
_OLD_SHEETS: Final = frozenset({".xls", ".xlt"})
_CONTROL_BYTES: Final = bytes(c for c in (*range(32), 127) if c not in b"\t\n\v\f\r\b\x1b")
_HTML_MEDIA: Final = frozenset({"text/html", "application/xhtml+xml"})
_HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
# Suffixes that HTML files may have; a .txt or .py file is read as text even if it begins like HTML.
_AMBIGUOUS_SUFFIXES: Final = frozenset({"", ".php", ".asp", ".aspx", ".jsp"})


def detect_format(source: SourceFile) -> Format:
    """Return the file's format. Raise SourceError if it cannot be read."""
    with source.open() as file:
        head = file.read(SAMPLE)
        if head.startswith(b"PK\x03\x04"):
            return _detect_zip_format(file, source.name)
    if _PDF.search(head):
        return Format.PDF
    for offset, signature, format_ in _FORMAT_SIGNATURES:
        if head.startswith(signature, offset):
            return format_
    if head.startswith(_OLD_OFFICE) and source.suffix in _OLD_SHEETS:
        return Format.SHEETS
    reject_binary(head, source.name)
    return _detect_text_format(source, head)


def _detect_text_format(source: SourceFile, head: bytes) -> Format:
    if source.media in _HTML_MEDIA or (source.suffix in _HTML_SUFFIXES and not source.media):
        return Format.HTML
    found = _TEXT_MEDIA.get(source.media) if source.media else _TEXT_SUFFIXES.get(source.suffix)
    if found:
        return found
    if source.media or source.suffix not in _AMBIGUOUS_SUFFIXES:
        return Format.TEXT
    if _HTML.search(head):
        return Format.HTML
    return Format.EMAIL if not source.suffix and _EMAIL.search(head) else Format.TEXT


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


_ZIP_FORMATS: Final = {
    "word/document.xml": Format.DOCX,
    "META-INF/container.xml": Format.EPUB,
    "xl/workbook.xml": Format.SHEETS,
    "xl/workbook.bin": Format.SHEETS,
    "ppt/presentation.xml": Format.PPTX,
}
_MOST_MIMETYPE: Final = 200


def _detect_zip_format(file: BinaryIO, name: str) -> Format:
    with open_zip(file, name) as archive:
        names = set(archive.namelist())
        kind = archive.read("mimetype")[:_MOST_MIMETYPE].decode("ascii", "replace") if "mimetype" in names else ""
    for inside, format_ in _ZIP_FORMATS.items():
        if inside in names:
            return format_
    if "content.xml" in names:
        return Format.SHEETS if "spreadsheet" in kind else Format.OPENDOCUMENT
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


_READERS: Final = {
    Format.PDF: "pdf:read_pdf",
    Format.HTML: "html:read_html",
    Format.DOCX: "docx:read_docx",
    Format.EPUB: "containers:read_epub",
    Format.PPTX: "office:read_pptx",
    Format.SHEETS: "tables:read_sheets",
    Format.CSV: "tables:read_csv",
    Format.OPENDOCUMENT: "office:read_opendocument",
    Format.RTF: "office:read_rtf",
    Format.EMAIL: "containers:read_email",
    Format.NOTEBOOK: "containers:read_notebook",
    Format.PICTURE: "ocr:read_image",
}
STREAMED: Final = frozenset({Format.TEXT, Format.CSV})
"""Formats that are read line by line; the others are converted whole."""
_BLOCK: Final = 1 << 20


def read_parts(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the file's text. Raise SourceError, at the latest at its end, if it has none."""
    source, format_ = unpack(source)
    yield from load_reader(format_)(source, warnings)


def load_reader(format_: Format) -> Reader:
    """Return the function that reads a format."""
    if format_ is Format.TEXT:
        return _read_text
    module, _, name = _READERS[format_].partition(":")
    reader: Reader = getattr(import_module(f"bookwheel.documents.readers.{module}"), name)
    return reader


def unpack(source: SourceFile) -> tuple[SourceFile, Format]:
    """Return a file and its format; if it is a gzip file, what it holds. Raise SourceError if that is far too much."""
    format_ = detect_format(source)
    if format_ is not Format.GZIP:
        return source, format_
    suffix = PurePath(source.name.removesuffix(".gz")).suffix.lower() if source.suffix == ".gz" else ""
    inside = spool(_iterate_unpacked(source), source.name, charset=source.charset, suffix=suffix)
    format_ = detect_format(inside)
    if format_ is Format.GZIP:
        raise SourceError(f"{source.name} is packed twice: unpack it first")
    return replace(inside, everything=source.everything), format_


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
