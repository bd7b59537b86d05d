"""Detect a file's format by its first bytes, then by its name, and reject what holds no text.

No parser is needed, so any process may look. What is packed is looked into by `dispatch`, in a child. A small table of
signatures is enough: it only names what users give by mistake.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from bookwheel.documents.decoding import SAMPLE, detect_wide_encoding, guess_encoding, is_mostly_utf8
from bookwheel.documents.sources import SourceFile
from bookwheel.documents.transcripts import find_transcript
from bookwheel.errors import SourceError
from bookwheel.picture import SIGNS
from bookwheel.text.lexicon import words


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
    JSON = "JSON"
    """A list of flat objects."""
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
    MESSAGES = "messages"
    """A chat as text, with time and name above each message."""
    CAPTIONS = "captions"
    PICTURE = "picture"
    GZIP = "gzip"
    BZIP2 = "bzip2"
    XZ = "xz"
    ZIP = "ZIP"
    """An archive: what it holds decides."""


_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
_LOCKED_OFFICE: Final = "EncryptedPackage".encode("utf-16-le")
_FORMAT_SIGNATURES: Final = (
    (0, b"\x1f\x8b", Format.GZIP),
    (0, b"BZh", Format.BZIP2),
    (0, b"\xfd7zXZ", Format.XZ),
    (0, b"PK\x03\x04", Format.ZIP),
    (0, b"{\\rtf", Format.RTF),
    *((at, sign, Format.PICTURE) for at, sign in SIGNS),
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
    (0, b"PK\x05\x06", "an empty archive"),
    (0, b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    (0, b"Rar!", "a RAR archive; unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard file; unpack it first"),
    (257, b"ustar", "a tar archive; unpack it first and give the folder"),
    (0, _OLD_OFFICE, "an old Office file; save it as .docx, .xlsx or .pptx, or as text"),
)
_PDF: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*%PDF-")
# The standard lets lines stand before it, as a proxy leaves them.
_LATE_PDF: Final = re.compile(rb"^%PDF-\d", re.MULTILINE)
_MOST_BEFORE_PDF: Final = 1024
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
# A list whose first object has no list or object in it.
_RECORDS: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*\[\s*\{[^{}\[\]]*\}\s*[,\]]")
_OLD_SHEETS: Final = frozenset({".xls", ".xlt"})
_CONTROL_BYTES: Final = bytes(c for c in (*range(32), 127) if c not in b"\t\n\v\f\r\b\x1b")
# A drawing in SVG is read as on a page: by its labels, without its scripts.
_HTML_MEDIA: Final = frozenset({"text/html", "application/xhtml+xml", "image/svg+xml"})
_HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml", ".svg"})
BINARY_SUFFIXES: Final = words(".pdf .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .epub .zip .gz .png .jpg .jpeg")
"""Ends of names whose files are no text; a page that asks to sign in is often kept under one."""
# Suffixes that HTML files may have; a .txt or .py file is read as text even if it begins like HTML.
_AMBIGUOUS_SUFFIXES: Final = frozenset({"", ".php", ".asp", ".aspx", ".jsp"}) | BINARY_SUFFIXES


def look_at(source: SourceFile) -> Format:
    """Return the format that a file's first bytes show. Raise SourceError if it cannot be read."""
    with source.open() as file:
        head = file.read(SAMPLE)
    if _PDF.search(head) or (source.suffix == ".pdf" and _LATE_PDF.search(head[:_MOST_BEFORE_PDF])):
        return Format.PDF
    for offset, signature, format_ in _FORMAT_SIGNATURES:
        if head.startswith(signature, offset):
            return format_
    if head.startswith(_OLD_OFFICE) and source.suffix in _OLD_SHEETS:
        return Format.SHEETS
    if head.startswith(_OLD_OFFICE) and _LOCKED_OFFICE in head:
        raise SourceError(f"{source.name} needs a password: save it without one")
    if kind := describe_binary(head):
        raise SourceError(f"{source.name} is not a text: it looks like {kind}")
    return _look_at_text(source, head)


def _look_at_text(source: SourceFile, head: bytes) -> Format:
    if source.media in _HTML_MEDIA or (source.suffix in _HTML_SUFFIXES and not source.media):
        return Format.HTML
    found = _TEXT_MEDIA.get(source.media) if source.media else _TEXT_SUFFIXES.get(source.suffix)
    if not (found or source.media) and (transcript := find_transcript(source.suffix, head)):
        found = Format(transcript)
    if (source.media == "application/json" or source.suffix == ".json") and _RECORDS.match(head):
        found = found or Format.JSON
    if found:
        return found
    if source.media or source.suffix not in _AMBIGUOUS_SUFFIXES:
        return Format.TEXT
    if _HTML.search(head):
        return Format.HTML
    if source.suffix or not _EMAIL.search(head):
        return Format.TEXT
    return Format.MAILBOX if head.startswith(b"From ") else Format.EMAIL


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
