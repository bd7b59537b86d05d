"""Read a message: its headers, its text (the HTML only where there is no plain text), then its attachments."""

from __future__ import annotations

from email import policy
from email.parser import BytesParser
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.readers.html import find_charset, parse_html, render_tree
from bookwheel.documents.sources import spool, to_printable
from bookwheel.errors import SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import MIMEPart

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_MOST_EMAIL: Final = 128 << 20
_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")
_MOST_LEVELS: Final = 5


def read_email(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the message, then each attachment under its own name: `offer.eml#prices.xlsx`."""
    with source.open() as file:
        data = file.read(_MOST_EMAIL + 1)
    if len(data) > _MOST_EMAIL:
        raise SourceError(f"{source.name} is over {_MOST_EMAIL >> 20} MiB: save its attachments and give them as files")
    yield from _read_message(BytesParser(policy=policy.default).parse(BytesIO(data)), source.name, warnings, 0)


def _read_message(message: MIMEPart, name: str, warnings: SourceWarnings, level: int) -> Iterator[Part]:
    lines = [f"{header}: {' '.join(str(message[header]).split())}" for header in _HEADERS if message[header]]
    body = message.get_body(("plain", "html"))
    text = _read_body(body, name, warnings) if body is not None else ""
    if whole := "\n\n".join(piece for piece in ("\n".join(lines), text) if piece):
        yield Part(text=f"{whole}\n\n", source=name)
    for number, attachment in enumerate(message.iter_attachments(), 1):
        inside = to_printable(attachment.get_filename() or f"attachment {number}")
        yield from _read_attachment(attachment, f"{name}#{inside}", warnings, level + 1)


def _read_body(body: MIMEPart, name: str, warnings: SourceWarnings) -> str:
    content = body.get_payload(decode=True)
    data = content if isinstance(content, bytes) else str(content or "").encode("utf-8", "surrogateescape")
    charset = body.get_content_charset() or ""
    if body.get_content_type() != "text/html":
        return decode_bytes(data, name, warnings, charset).replace("\r\n", "\n").strip()
    root = parse_html(decode_bytes(data, name, warnings, charset or find_charset(data)), name)
    return render_tree(root, name) if root is not None else ""


def _read_attachment(part: MIMEPart, name: str, warnings: SourceWarnings, level: int) -> Iterator[Part]:
    from bookwheel.documents.files import read_parts

    if part.get_content_type() == "message/rfc822" and level < _MOST_LEVELS:
        for inner in part.iter_parts() if part.is_multipart() else ():
            yield from _read_message(inner, name, warnings, level)
        return
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes) or not content:
        return
    if level >= _MOST_LEVELS:
        warnings.add("attachments left out, nested too deeply", name)
        return
    file = spool([content], name, charset=part.get_content_charset() or "", suffix=PurePath(name).suffix.lower())
    try:
        found = list(read_parts(file, warnings))
    except SourceError as error:
        warnings.add(f"attachments left out, {str(error).removeprefix(name).strip()}", name)
        return
    if found:
        yield Part(text=f"===== {name.rpartition('#')[2]} =====\n", source=name)
        # An attachment's pages would look like the message's own.
        yield from (Part(text=piece.text, source=piece.source) for piece in found)
        yield Part(text="\n", source=name)
