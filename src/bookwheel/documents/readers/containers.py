"""Read what holds several texts: messages with their attachments, mailboxes, the cells of a notebook.

Of a message the headers come first, then its texts in order, then each attachment under its own name. Every part of it
is read or named in a note: of two wordings of one text the second is left out only where the first has its words. A
notebook shows its text, its code in fences, and the text of its outputs; its pictures are named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from email import errors
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesFeedParser, BytesParser
from email.policy import compat32
from email.utils import parseaddr
from functools import partial
from itertools import chain, pairwise
from pathlib import PurePath
from typing import Any, BinaryIO, Final

from bookwheel.documents.damage import explain_damage, skip_damage
from bookwheel.documents.decoding import decode_bytes, decode_word
from bookwheel.documents.dispatch import read_parts
from bookwheel.documents.readers.html import find_charset, parse_html, render_tree
from bookwheel.documents.readers.unseen import drop_unseen
from bookwheel.documents.sources import SourceFile, SourceWarnings, spool, to_printable
from bookwheel.documents.transcripts import get_object, name_turn, parse_sent
from bookwheel.errors import InputError, NotStored
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Part

_MOST_EMAIL: Final = 128 << 20
_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")
# Messages in messages, and parts in parts.
_MOST_LEVELS: Final = 40
_MOST_PARTS: Final = 10_000
_BOUNDARY_LINE: Final = re.compile(rb"^(?=--)", re.MULTILINE)
# A message without one can be a dump of a database, each line of which begins so.
_HAS_PARTS: Final = re.compile(rb"boundary", re.IGNORECASE)
_BREAKS: Final = (
    errors.CloseBoundaryNotFoundDefect,
    errors.InvalidBase64CharactersDefect,
    errors.InvalidBase64LengthDefect,
    errors.InvalidBase64PaddingDefect,
)
_SIGNATURES: Final = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
# The line that tells old programs that there are parts.
_PREAMBLE: Final = re.compile(r"[^.]{0,80}\b(?:MIME|multi-?part|several parts)\b[^.]{0,80}\.?", re.IGNORECASE)
# Characters of a header that are decoded and looked through: both take time by the square.
_MOST_HEADER: Final = 10_000
# As programs write it above a message; above a header, a line behind an empty one will do without a time.
_STAMPED: Final = re.compile(rb"From .*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b.*\d:\d\d.*\b\d{4}\s*\Z")
_HEADER_LINE: Final = re.compile(rb"[!-9;-~]+:")
_LINE: Final = 1 << 20
# The line above a signature.
_SIGNATURE: Final = "-- "


def read_email(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the message, then each attachment under its own name: `offer.eml#prices.xlsx`."""
    data = source.read(_MOST_EMAIL, "save its attachments and give them as files")
    at = _find_sender(data)[1]
    yield from (replace(part, at=at, entry=source.name) for part in _read_bytes(data, source.name, source, warnings, 0))


def read_mailbox(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the messages in order, each under its sender, time and number, its attachments under `team.mbox#12`."""
    with source.open() as file, source.open() as contents:
        for number, (above, start, end) in enumerate(_find_messages(file), 1):
            if number == 1 and contents.read(min(above, _LINE)).strip():
                warnings.add("lines before the first message that are not read", source.name)
            name = f"{source.name}#{number}"
            contents.seek(start)
            data = contents.read(min(end - start, _MOST_EMAIL + 1))
            if len(data) > _MOST_EMAIL:
                warnings.add(f"messages left out, over {_MOST_EMAIL >> 20} MiB", name)
                continue
            sender, at = _find_sender(data)
            label = name_turn(source.name, f"message {number}", sender, at.replace("T", " "))
            yield Part(text=f"===== message {number} =====\n", source=label, at=at, entry=name)
            with skip_damage(warnings, "messages", name):
                for part in _read_bytes(data, name, source, warnings, 0):
                    yield replace(part, source=label if part.source == name else part.source, at=at, entry=name)
    source.open().close()  # it has not got mail meanwhile


def _find_messages(file: BinaryIO) -> Iterator[tuple[int, int, int]]:
    """Yield for each message where the line above it begins, where it begins and where it ends."""
    # A line of a text may begin with "From ", too: it parts no messages.
    above, start, at, is_blank = 0, 0, 0, True
    maybe: tuple[int, int] | None = None
    # A mail of an old Macintosh ends its lines with CR alone.
    for line in chain.from_iterable(
        block.splitlines(keepends=True) for block in iter(partial(file.readline, _LINE), b"")
    ):
        if maybe and _HEADER_LINE.match(line):
            if start:
                yield above, start, maybe[0]
            above, start = maybe
        maybe = None
        if line.startswith(b"From ") and _STAMPED.match(line):
            if start:
                yield above, start, at
            above, start = at, at + len(line)
        elif line.startswith(b"From ") and is_blank:
            maybe = at, at + len(line)
        is_blank = not line.strip()
        at += len(line)
    yield above, start, at


def _find_sender(data: bytes) -> tuple[str, str]:
    """Return who sent a message, and when; empty where it does not say so."""
    message = BytesParser(policy=compat32).parsebytes(re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0], headersonly=True)
    named = next((value for key, value in message.raw_items() if key.lower() == "from"), "")
    sender = _decode_words(named)[:_MOST_HEADER]
    with suppress(RecursionError):  # brackets in brackets
        sender = next(filter(None, parseaddr(sender)), "")
    return sender, parse_sent(str(message.get("Date") or "")[:_MOST_HEADER])


def _read_bytes(data: bytes, name: str, source: SourceFile, warnings: SourceWarnings, level: int) -> Iterator[Part]:
    parts = 0

    def make_part(**settings: Any) -> Message:
        nonlocal parts
        parts += 1
        return Message(**settings)

    with explain_damage(name, "message"):
        # Not the newer policy, whose parser of headers fails on some that are malformed.
        parser = BytesFeedParser(make_part, policy=compat32)
        # A part begins where a line does, whatever its boundary is called.
        starts = [line.start() for line in _BOUNDARY_LINE.finditer(data)] if _HAS_PARTS.search(data) else []
        for start, end in pairwise((0, *starts, len(data))):
            if parts > _MOST_PARTS + 1:  # the whole is one too
                warnings.add(f"parts of messages left out, after the first {_MOST_PARTS:,}", name)
                break
            parser.feed(data[start:end])
        message = parser.close()
        if parts > _MOST_PARTS + 1:  # it was us who broke off
            message.defects.clear()
        yield from _read_message(message, name, source, warnings, level)


def _read_message(
    message: Message, name: str, source: SourceFile, warnings: SourceWarnings, level: int
) -> Iterator[Part]:
    leaves = _Leaves(name, source, warnings)
    leaves.add(message, level)
    headers = "\n".join(
        f"{wanted}: {_decode_words(value)}"
        for wanted in _HEADERS
        for key, value in message.raw_items()
        if key.lower() == wanted.lower()
    )
    if whole := "\n\n".join(piece for piece in (headers, *leaves.texts) if piece):
        yield Part(text=f"{whole}\n\n", source=name)
    for number, attachment in enumerate(leaves.attachments, 1):
        inside = _decode_words(attachment.get_filename() or "") or f"attachment {number}"
        yield from _read_attachment(attachment, f"{name}#{to_printable(inside)}", source, warnings, level + 1)


def _decode_words(value: Any) -> str:
    """Return a header's text on one line."""
    data = str(value).encode("utf-8", "surrogateescape")
    try:
        text = data.decode()
    except UnicodeDecodeError:  # of a program that encodes no headers
        text = data.decode("cp1252", "replace")
    head, rest = text[:_MOST_HEADER], text[_MOST_HEADER:]
    with suppress(ValueError):  # it is broken
        pieces = decode_header(head)
        try:
            text = str(make_header(pieces)) + rest
        except (LookupError, ValueError):  # it declares what it is not
            text = "".join(decode_word(piece, charset or "") for piece, charset in pieces) + rest
    return to_printable(" ".join(text.split()))


def _name_breaks(part: Message, name: str, warnings: SourceWarnings) -> None:
    """Add a note where a part, once it is decoded, lacks its end."""
    if any(isinstance(defect, _BREAKS) for defect in part.defects):
        warnings.add("parts of messages that break off, or are not in the code that they name", name)


class _Leaves:
    """The parts of one message that are not made of parts: its texts, read, and its attachments."""

    def __init__(self, name: str, source: SourceFile, warnings: SourceWarnings) -> None:
        self.texts: list[str] = []
        self.attachments: list[Message] = []
        self._name = name
        self._source = source
        self._warnings = warnings

    def add(self, part: Message, level: int, twins: set[str] | None = None) -> None:
        """Add the leaves of a part. `twins` has the words of its other wordings so far."""
        payload: Any = part.get_payload()
        kind = part.get_content_type()
        if level > _MOST_LEVELS:
            self._warnings.add("parts of messages left out, nested too deeply", self._name)
        elif isinstance(payload, list) and part.get_content_maintype() == "multipart":
            if (preamble := (part.preamble or "").strip()) and not _PREAMBLE.fullmatch(preamble):
                self.texts.append(preamble)
            if kind == "multipart/alternative" and twins is None:
                twins = set()
            for inner in payload:
                self.add(inner, level + 1, twins)
            if part.epilogue and part.epilogue.strip():
                self.texts.append(part.epilogue.strip())
            _name_breaks(part, self._name, self._warnings)
        elif isinstance(payload, list) and kind not in {"message/rfc822", "message/global"}:
            self._add_headers(kind, payload)
        elif kind in _SIGNATURES:
            self._warnings.add("signatures of messages, which are not checked", self._name)
        elif kind.startswith("multipart/") or (
            kind in {"text/plain", "text/html"}
            and part.get_content_disposition() != "attachment"
            and not part.get_filename()
        ):
            with skip_damage(self._warnings, "texts of messages", self._name):
                self._add_text(part, twins)
        else:
            self.attachments.append(part)

    def _add_headers(self, kind: str, payload: list[Message]) -> None:
        """Add a report of a delivery, or a message that is elsewhere: headers, which say so."""
        if kind in {"message/external-body", "message/partial"}:
            self._warnings.add("parts that are in other messages or elsewhere", self._name)
        data = b"\n\n".join(inner.as_bytes() for inner in payload)
        self.texts.append(decode_bytes(data, self._name, self._warnings).strip())

    def _add_text(self, part: Message, twins: set[str] | None) -> None:
        content = part.get_payload(decode=True)
        data = content if isinstance(content, bytes) else b""
        _name_breaks(part, self._name, self._warnings)
        charset = part.get_content_charset() or ""
        is_html = part.get_content_type() == "text/html"
        text = decode_bytes(data, self._name, self._warnings, charset or (find_charset(data) if is_html else ""))
        text = text.replace("\r\n", "\n")
        if not is_html and str(part.get_param("format")).lower() == "flowed":
            text = _join_flowed(text, str(part.get_param("delsp")).lower() == "yes")
        text = text.strip()
        if is_html:
            root = parse_html(text, self._name)
            if root is not None and not self._source.everything:
                drop_unseen(root, self._source.name, self._warnings)
            text = render_tree(root, self._name, self._warnings) if root is not None else ""
        words = _find_words(text)
        if twins:
            # Of another wording the lines that have words of their own; all if most have.
            new, lines = words - twins, [line for line in text.split("\n") if line.strip()]
            kept = [line for line in lines if not new.isdisjoint(_find_words(line))]
            text = text if len(kept) > len(lines) / 2 else "\n".join(kept)
        if twins is not None:
            twins |= words
        if text:
            self.texts.append(text)


def _join_flowed(text: str, drops_blanks: bool) -> str:
    """Return a text whose paragraphs are lines again: a program broke them behind blanks (RFC 3676)."""
    paragraphs: list[list[str]] = []
    is_open, before = False, 0
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        words = line[depth:].removeprefix(" ")
        if is_open and depth == before and words != _SIGNATURE:
            if drops_blanks:
                paragraphs[-1][-1] = paragraphs[-1][-1][:-1]
            paragraphs[-1].append(words)
        else:
            paragraphs.append([line])
        is_open, before = words.endswith(" ") and words != _SIGNATURE, depth
    return "\n".join(map("".join, paragraphs))


def _find_words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _read_attachment(
    part: Message, name: str, source: SourceFile, warnings: SourceWarnings, level: int
) -> Iterator[Part]:
    payload: Any = part.get_payload()
    if isinstance(payload, list):
        encoding = str(part.get("Content-Transfer-Encoding") or "").strip().lower()
        for inner in payload:
            yield Part(text=f"===== {name.rpartition('#')[2]} =====\n", source=name)
            if encoding in {"base64", "quoted-printable"}:  # which a message must not have, but some do
                inner["Content-Transfer-Encoding"] = encoding
                yield from _read_bytes(bytes(inner.get_payload(decode=True)), name, source, warnings, level)
            else:
                yield from _read_message(inner, name, source, warnings, level)
        return
    content = part.get_payload(decode=True)
    _name_breaks(part, name, warnings)
    if not isinstance(content, bytes) or not content.strip():
        warnings.add("attachments that are empty", name)
        return
    suffix = PurePath(name).suffix.lower()
    media = "" if suffix else part.get_content_type().replace("application/octet-stream", "")
    charset = part.get_content_charset() or ""

    def unpack() -> SourceFile:
        file = spool([content], name, charset=charset, suffix=suffix, media=media)
        return replace(file, everything=source.everything, ocr=source.ocr)

    yield from read_inside(unpack, name, "attachments", warnings)


def read_inside(unpack: Callable[[], SourceFile], name: str, what: str, warnings: SourceWarnings) -> Iterator[Part]:
    """Read a file within another below a line with its name, or name it in a note."""
    found: list[Part] = []
    try:
        found.extend(read_parts(unpack(), warnings))
    except NotStored:
        raise
    except InputError as error:
        fault = "read in part" if found else "left out"
        warnings.add(f"{what} {fault}, {str(error).replace(name, 'as the file', 1)}", name)
        if not found:
            return
    if any(piece.text.strip() for piece in found):
        yield Part(text=f"===== {name.rpartition('#')[2]} =====\n", source=name)
        # Its pages would look like those of the whole.
        yield from (Part(text=piece.text, source=piece.source) for piece in found)
        yield Part(text="\n", source=name)
    elif not found:
        warnings.add(f"{what} without text", name)


_MOST_NOTEBOOK: Final = 128 << 20
# What Python shows of an object, and what colours a trace in a terminal.
_REPR: Final = re.compile(r"<[^<>]*>")
_TERMINAL: Final = re.compile(r"\x1b\[[0-9;]*m")


def read_notebook(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    data = source.read(_MOST_NOTEBOOK, "clear its outputs, or give it as text")
    with explain_damage(source.name, "notebook"):
        notebook = json.loads(decode_bytes(data, source.name, warnings))
        sheets = notebook.get("worksheets") or [notebook]  # notebooks before version 4 have sheets of cells
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
    language = str(get_object(get_object(notebook, "metadata"), "language_info").get("name") or "python")
    for number, cell in enumerate(cells, 1):
        with skip_damage(warnings, "cells", f"{source.name}#cell {number}"):
            texts = _read_cell(cell, language, f"{source.name}#cell {number}", warnings)
            if text := "\n\n".join(texts):
                yield Part(text=f"{text}\n\n", source=source.name)


def _read_cell(cell: dict[str, Any], language: str, name: str, warnings: SourceWarnings) -> Iterator[str]:
    text = _join_lines(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if text and kind == "heading":
        text = f"{'#' * int(cell.get('level', 1))} {text}"
    if text:
        yield f"```{language}\n{text}\n```" if kind == "code" else text
    if cell.get("attachments"):
        warnings.add("pictures that are not read", name)
    for output in cell.get("outputs") or ():
        with skip_damage(warnings, "outputs", name):
            formats = output.get("data") or output
            shown = _read_output(output, formats, name, warnings)
            if shown:
                yield shown
            if any(key.startswith("image/") or key in {"png", "jpeg", "svg"} for key in formats):
                warnings.add("pictures that are not read", name)
            elif not shown and formats and output.get("output_type") != "stream":
                warnings.add("outputs of a notebook without text", name)
            for kind in sorted(key for key in formats if shown and key.startswith("application/")):
                warnings.add("other formats of outputs that are not read", f"{name} ({to_printable(kind)[:80]})")


def _read_output(output: dict[str, Any], formats: dict[str, Any], name: str, warnings: SourceWarnings) -> str:
    """Return what an output shows: of several formats the plainest that has words."""
    if output.get("output_type") in {"error", "pyerr"}:
        trace = _TERMINAL.sub("", "\n".join(map(str, output.get("traceback") or ())))
        return f"{output.get('ename', '')}: {output.get('evalue', '')}\n{sanitize(trace)}".strip(": \n")
    found = (_join_lines(formats.get(key, "")) for key in ("text/markdown", "text/latex", "text/plain", "text"))
    text = next((piece for piece in found if piece), "")
    if markup := _join_lines(formats.get("text/html", formats.get("html", ""))):
        root = parse_html(markup, name)
        shown = render_tree(root, name, warnings) if root is not None else ""
        # A page that a script would fill says less than the plain words.
        if shown and (_REPR.fullmatch(text) or not _find_words(text) - _find_words(shown)):
            return shown
        text = f"{shown}\n\n{text}".strip()
    return f"```\n{sanitize(text)}\n```" if text else ""


def _join_lines(lines: Any) -> str:
    return ("".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")).strip("\n")
