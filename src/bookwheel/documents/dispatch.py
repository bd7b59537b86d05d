"""Which reader reads which format. An archive is opened to see what it is, so this works in a child process.

To add a format, write a reader in `documents.readers`, name it in `_READERS`, and teach `formats.look_at` its signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from pkgutil import resolve_name
from typing import Final

from bookwheel.documents.damage import explain_damage, open_package
from bookwheel.documents.decoding import decode, resolve_escapes
from bookwheel.documents.formats import BINARY_SUFFIXES, Format, look_at
from bookwheel.documents.latex import SUFFIXES as LATEX_SUFFIXES
from bookwheel.documents.latex import resolve_accents
from bookwheel.documents.sources import SourceFile, SourceWarnings, max_unpacked_size, spool
from bookwheel.documents.transcripts import find_packed_transcript
from bookwheel.errors import SourceError
from bookwheel.types import Part

_ZIP_FORMATS: Final = {
    "word/document.xml": Format.DOCX,
    "META-INF/container.xml": Format.EPUB,
    "xl/workbook.xml": Format.SHEETS,
    "xl/workbook.bin": Format.SHEETS,
    "ppt/presentation.xml": Format.PPTX,
}
_PACKED: Final = {Format.GZIP: "gzip:open", Format.BZIP2: "bz2:open", Format.XZ: "lzma:open"}
_PACKED_SUFFIXES: Final = frozenset((".gz", ".bz2", ".xz"))
_JSON_SUFFIXES: Final = frozenset((".json", ".jsonl", ".ndjson"))
_READERS: Final = {
    Format.PDF: "pdf:read_pdf",
    Format.HTML: "html:read_html",
    Format.DOCX: "office:read_docx",
    Format.EPUB: "texts:read_epub",
    Format.PPTX: "office:read_pptx",
    Format.SHEETS: "workbooks:read_sheets",
    Format.CSV: "tables:read_csv",
    Format.JSON: "tables:read_records",
    Format.OPENDOCUMENT: "texts:read_opendocument",
    Format.RTF: "texts:read_rtf",
    Format.EMAIL: "containers:read_email",
    Format.MAILBOX: "containers:read_mailbox",
    Format.NOTEBOOK: "containers:read_notebook",
    Format.SESSION: "sessions:read_session",
    Format.CHATS: "sessions:read_chats",
    Format.SLACK: "slack:read_slack",
    Format.WHATSAPP: "chats:read_whatsapp",
    Format.MESSAGES: "chats:read_messages",
    Format.CAPTIONS: "chats:read_captions",
    Format.ZIP: "archives:read_archive",
    Format.PICTURE: "pictures:read_image",
}
STREAMED: Final = frozenset({Format.TEXT, Format.CSV})
"""Formats that are read line by line; the others are converted whole."""
_BLOCK: Final = 1 << 20


def detect_format(source: SourceFile) -> Format:
    """Return the file's format, of an archive that of the document that it is. Raise SourceError if it has no text."""
    format_ = look_at(source)
    if format_ is not Format.ZIP:
        return format_
    with open_package(source, "archive", locked=True) as archive:
        names = set(archive.namelist())
        if found := next((found for inside, found in _ZIP_FORMATS.items() if inside in names), None):
            return found
        if "content.xml" in names:
            kind = archive.read("mimetype") if "mimetype" in names else b""
            return Format.SHEETS if b"spreadsheet" in kind else Format.OPENDOCUMENT
        if transcript := find_packed_transcript(names):
            return Format(transcript)
    return format_


def read_parts(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the file's text. Raise SourceError, at the latest at its end, if it has none."""
    file, format_ = unpack(source)
    yield from read_as(format_, file, warnings)


def read_as(format_: Format, source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    if source.suffix in BINARY_SUFFIXES and format_ in {Format.TEXT, Format.HTML}:
        what = "a web page" if format_ is Format.HTML else "plain text"
        warnings.add(f"not what the name says, but {what}, and read as such", source.name)
    if format_ is Format.TEXT:
        with source.open() as file:
            texts = decode(file.read, source.name, warnings, source.charset)
            texts = resolve_escapes(texts) if source.suffix in _JSON_SUFFIXES else texts
            for text in resolve_accents(texts) if source.suffix in LATEX_SUFFIXES else texts:
                yield Part(text=text, source=source.name)
    else:
        yield from resolve_name(f"bookwheel.documents.readers.{_READERS[format_]}")(source, warnings)


def unpack(source: SourceFile) -> tuple[SourceFile, Format]:
    """Return a file and its format; if it is packed, what it holds. Raise SourceError if that is far too much."""
    format_ = detect_format(source)
    if format_ not in _PACKED:
        return source, format_
    path = PurePath(source.name)
    suffix = PurePath(path.stem).suffix.lower() if path.suffix.lower() in _PACKED_SUFFIXES else ""
    inside = spool(_iterate_unpacked(source, format_), source.name, charset=source.charset, suffix=suffix)
    format_ = detect_format(inside)
    if format_ in _PACKED:
        raise SourceError(f"{source.name} is packed twice: unpack it first")
    return replace(inside, everything=source.everything, ocr=source.ocr), format_


def _iterate_unpacked(source: SourceFile, format_: Format) -> Iterator[bytes]:
    # Here, because whoever stores the blocks takes an OSError for a full disk.
    damage = explain_damage(source.name, f"{format_} file", "Download or compress it again.")
    with damage, source.open() as file, resolve_name(_PACKED[format_])(file) as packed:
        most = left = max_unpacked_size(source.fingerprint.size)
        while block := packed.read(_BLOCK):
            left -= len(block)
            if left < 0:
                size = f"{most >> 20} MiB"
                raise SourceError(f"{source.name} unpacks to more than {size}: unpack it yourself if you trust it")
            yield block
