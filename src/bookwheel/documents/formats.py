"""Detect a file's format by its first bytes, then by its name, reject what holds no text, and read the rest.

`look_at` needs no parser, so any process may call it. What it finds to be packed is opened by `unpack`, in a child. A
small table of signatures is enough: it only names what users give by mistake. To add a format, write a reader in
`documents.readers`, name it in `_READERS`, and teach `look_at` its signs.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from importlib import import_module
from pathlib import PurePath
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.decoding import SAMPLE, decode, detect_wide_encoding, guess_encoding, is_mostly_utf8
from bookwheel.documents.sources import max_unpacked_size, spool, to_printable
from bookwheel.documents.transcripts import find_packed_transcript, find_transcript
from bookwheel.errors import BookwheelError, MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

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
    MAILBOX = "mailbox"
    NOTEBOOK = "notebook"
    SESSION = "session"
    """Of Claude Code or Codex."""
    CHATS = "chats"
    """An export of ChatGPT or Claude."""
    SLACK = "Slack"
    WHATSAPP = "WhatsApp"
    CAPTIONS = "captions"
    PICTURE = "picture"
    GZIP = "gzip"
    ZIP = "ZIP"
    """An archive: what it holds decides."""


_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
_FORMAT_SIGNATURES: Final = (
    (0, b"\x1f\x8b", Format.GZIP),
    (0, b"PK\x03\x04", Format.ZIP),
    (0, b"{\\rtf", Format.RTF),
    (0, b"\x89PNG", Format.PICTURE),
    (0, b"\xff\xd8\xff", Format.PICTURE),
    (0, b"II*\0", Format.PICTURE),
    (0, b"MM\0*", Format.PICTURE),
    (8, b"WEBP", Format.PICTURE),
    (0, b"GIF8", Format.PICTURE),
    *((4, b"ftyp" + brand, Format.PICTURE) for brand in (b"heic", b"heix", b"mif1", b"avif")),
)
_SIGNATURES: Final = (
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
    ".mbox": Format.MAILBOX,
    ".mht": Format.EMAIL,
    ".mhtml": Format.EMAIL,
}
_TEXT_MEDIA: Final = {
    "text/csv": Format.CSV,
    "message/rfc822": Format.EMAIL,
    "application/mbox": Format.MAILBOX,
    "application/x-ipynb+json": Format.NOTEBOOK,
}
_OLD_SHEETS: Final = frozenset({".xls", ".xlt"})
_CONTROL_BYTES: Final = bytes(c for c in (*range(32), 127) if c not in b"\t\n\v\f\r\b\x1b")
# A drawing in SVG is read as on a page: by its labels, without its scripts.
_HTML_MEDIA: Final = frozenset({"text/html", "application/xhtml+xml", "image/svg+xml"})
_HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml", ".svg"})
# Suffixes that HTML files may have; a .txt or .py file is read as text even if it begins like HTML.
_AMBIGUOUS_SUFFIXES: Final = frozenset({"", ".php", ".asp", ".aspx", ".jsp"})


def look_at(source: SourceFile) -> Format:
    """Return the format that a file's first bytes show. Raise SourceError if it cannot be read."""
    with source.open() as file:
        head = file.read(SAMPLE)
    if _PDF.search(head):
        return Format.PDF
    for offset, signature, format_ in _FORMAT_SIGNATURES:
        if head.startswith(signature, offset):
            return format_
    if head.startswith(_OLD_OFFICE) and source.suffix in _OLD_SHEETS:
        return Format.SHEETS
    if kind := describe_binary(head):
        raise SourceError(f"{source.name} is not a text: it looks like {kind}")
    return _look_at_text(source, head)


def _look_at_text(source: SourceFile, head: bytes) -> Format:
    if source.media in _HTML_MEDIA or (source.suffix in _HTML_SUFFIXES and not source.media):
        return Format.HTML
    found = _TEXT_MEDIA.get(source.media) if source.media else _TEXT_SUFFIXES.get(source.suffix)
    if not (found or source.media) and (transcript := find_transcript(source.suffix, head)):
        found = Format(transcript)
    if found:
        return found
    if source.media or source.suffix not in _AMBIGUOUS_SUFFIXES:
        return Format.TEXT
    if _HTML.search(head):
        return Format.HTML
    if source.suffix or not _EMAIL.search(head):
        return Format.TEXT
    return Format.MAILBOX if head.startswith(b"From ") else Format.EMAIL


def detect_format(source: SourceFile) -> Format:
    """Return the file's format, of an archive that of the document that it is. Raise SourceError if it has no text."""
    format_ = look_at(source)
    if format_ is not Format.ZIP:
        return format_
    with open_package(source, "archive") as archive:
        names = set(archive.namelist())
        if found := next((found for inside, found in _ZIP_FORMATS.items() if inside in names), None):
            return found
        if "content.xml" in names:
            kind = archive.read("mimetype") if "mimetype" in names else b""
            return Format.SHEETS if b"spreadsheet" in kind else Format.OPENDOCUMENT
        if transcript := find_packed_transcript(names):
            return Format(transcript)
    raise SourceError(f"{source.name} is not a text: it looks like a ZIP archive; unpack it first and give the folder")


def is_picture(head: bytes) -> bool:
    """Return True for the first bytes of a picture of a known format."""
    return any(kind is Format.PICTURE and head.startswith(mark, at) for at, mark, kind in _FORMAT_SIGNATURES)


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
# What a parser's exceptions mean, in words for who gave the file.
_DAMAGES: Final = (
    ((zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError), "its packed data is broken or ends too soon"),
    ((KeyError, IndexError), "a part of it is missing"),
    (NotImplementedError, "it is packed in a way that cannot be read"),
    (RecursionError, "it is nested too deeply"),
)
_MARKUP_SUFFIXES: Final = (".xml", ".rels", "html", ".htm", ".opf", ".ncx")
# Bytes of markup in one archive at most: it is parsed in memory.
_MOST_MARKUP: Final = 256 << 20


@contextmanager
def open_package(source: SourceFile, kind: str, advice: str = "Save it again.") -> Iterator[zipfile.ZipFile]:
    """Open a document that is a zip archive. Raise SourceError for one that is damaged, encrypted or a zip bomb."""
    with source.open() as file, explain_damage(source.name, kind, advice), zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        markup = sum(e.file_size for e in entries if e.filename.endswith(_MARKUP_SUFFIXES))
        packed = sum(e.compress_size for e in entries)
        if markup > _MOST_MARKUP or sum(e.file_size for e in entries) > max_unpacked_size(packed):
            raise SourceError(f"{source.name} unpacks to far more than a document holds: it is rejected as a zip bomb")
        if any(e.flag_bits & 1 for e in entries):
            raise SourceError(f"{source.name} needs a password: save it without one")
        yield archive


PICTURE_SUFFIXES: Final = frozenset(
    [
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".bmp",
        ".tif",
        ".tiff",
        ".svg",
        ".emf",
        ".wmf",
        ".webp",
        ".jp2",
        ".heic",
        ".pict",
        ".wdp",
        ".eps",
        ".avif",
    ]
)
"""The ends of the names of pictures."""


def name_unread(
    archive: zipfile.ZipFile, name: str, warnings: SourceWarnings, known: re.Pattern[str], read: Collection[str] = ()
) -> None:
    """Name what an archive holds beside what was read and what has no text by its place (`known`)."""
    for path in archive.namelist():
        if path.endswith("/") or path in read or known.match(path):
            continue
        what = "pictures" if PurePath(path).suffix.lower() in PICTURE_SUFFIXES else "embedded files"
        warnings.add(f"{what} that are not read", f"{name}#{to_printable(PurePath(path).name)}")


@contextmanager
def explain_damage(name: str, kind: str, advice: str = "Save it again.") -> Iterator[None]:
    """Turn what a parser raises on damaged input, which can be anything, into a SourceError with advice."""
    try:
        yield
    except (BookwheelError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno:  # the disk's fault; without a number it is a parser's
            raise
        reason = next((words for types, words in _DAMAGES if isinstance(error, types)), "")
        if not reason and (line := getattr(error, "lineno", None)):
            reason = f"its markup is broken in line {line}"
        reason = reason or "it is not built as it should be"
        raise SourceError(f"{name} is a damaged {kind}: {reason}. {advice}") from error


@contextmanager
def skip_damage(warnings: SourceWarnings, what: str, place: str) -> Iterator[None]:
    """Name a leaf that cannot be read, so that one bad leaf does not cost the others of its container."""
    try:
        with explain_damage(place, "part"):
            yield
    except SourceError:
        warnings.add(f"{what} left out, damaged or too deep", place)


_READERS: Final = {
    Format.PDF: "pdf:read_pdf",
    Format.HTML: "html:read_html",
    Format.DOCX: "office:read_docx",
    Format.EPUB: "texts:read_epub",
    Format.PPTX: "office:read_pptx",
    Format.SHEETS: "tables:read_sheets",
    Format.CSV: "tables:read_csv",
    Format.OPENDOCUMENT: "texts:read_opendocument",
    Format.RTF: "texts:read_rtf",
    Format.EMAIL: "containers:read_email",
    Format.MAILBOX: "containers:read_mailbox",
    Format.NOTEBOOK: "containers:read_notebook",
    Format.SESSION: "sessions:read_session",
    Format.CHATS: "sessions:read_chats",
    Format.SLACK: "slack:read_slack",
    Format.WHATSAPP: "chats:read_whatsapp",
    Format.CAPTIONS: "chats:read_captions",
    Format.PICTURE: "pictures:read_image",
}
STREAMED: Final = frozenset({Format.TEXT, Format.CSV})
"""Formats that are read line by line; the others are converted whole."""
_BLOCK: Final = 1 << 20


def read_parts(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the file's text. Raise SourceError, at the latest at its end, if it has none."""
    file, format_ = unpack(source)
    yield from read_as(format_, file, warnings)


def read_as(format_: Format, source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the text of a file of this format."""
    if format_ is Format.TEXT:
        with source.open() as file:
            for text in decode(file.read, source.name, warnings, source.charset):
                yield Part(text=text, source=source.name)
    else:
        read: Reader = resolve_name(f"bookwheel.documents.readers.{_READERS[format_]}")
        yield from read(source, warnings)


def import_extra(module: str, purpose: str) -> Any:
    """Import a package that reading needs. Raise MissingExtra if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(purpose, "documents") from error


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
    return replace(inside, everything=source.everything, ocr=source.ocr), format_


def _iterate_unpacked(source: SourceFile) -> Iterator[bytes]:
    # Here, because whoever stores the blocks takes an OSError for a full disk.
    damage = explain_damage(source.name, "gzip file", "Download or compress it again.")
    with damage, source.open() as file, gzip.open(file) as packed:
        most = left = max_unpacked_size(source.fingerprint.size)
        while block := packed.read(_BLOCK):
            left -= len(block)
            if left < 0:
                size = f"{most >> 20} MiB"
                raise SourceError(f"{source.name} unpacks to more than {size}: unpack it yourself if you trust it")
            yield block
