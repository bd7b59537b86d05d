"""Read what holds several texts: a message and its attachments, the cells of a notebook.

Of a message the headers come first, then its text (the HTML only where there is no plain text). A notebook shows its
text, its code in fences, and the text of its outputs.
"""

from __future__ import annotations

import json
from email import policy
from email.parser import BytesParser
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.formats import explain_damage, read_parts
from bookwheel.documents.readers.html import find_charset, parse_html, render_tree
from bookwheel.documents.sources import spool, to_printable
from bookwheel.errors import SourceError
from bookwheel.text.sanitize import sanitize
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
    data = source.read(_MOST_EMAIL, "save its attachments and give them as files")
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


_MOST_NOTEBOOK: Final = 128 << 20


def read_notebook(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every cell with text."""
    data = source.read(_MOST_NOTEBOOK, "clear its outputs, or give it as text")
    with explain_damage(source.name, "notebook"):
        notebook = json.loads(decode_bytes(data, source.name, warnings))
        sheets = notebook.get("worksheets") or [notebook]  # notebooks before version 4 have sheets of cells
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        language = str(((notebook.get("metadata") or {}).get("language_info") or {}).get("name") or "python")
        texts = ["\n\n".join(_read_cell(cell, language, source.name)) for cell in cells]
    yield from (Part(text=f"{text}\n\n", source=source.name) for text in texts if text)


def _read_cell(cell: dict[str, Any], language: str, name: str) -> Iterator[str]:
    text = _join_lines(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if text and kind == "heading":
        text = f"{'#' * int(cell.get('level', 1))} {text}"
    if text:
        yield f"```{language}\n{text}\n```" if kind == "code" else text
    for output in cell.get("outputs") or ():
        if shown := _read_output(output, name):
            yield shown


def _read_output(output: dict[str, Any], name: str) -> str:
    """Return what an output shows: of several formats the plainest that has words."""
    if output.get("output_type") in {"error", "pyerr"}:
        return f"{output.get('ename', '')}: {output.get('evalue', '')}".strip(": ")
    formats = output.get("data") or output
    if markup := _join_lines(formats.get("text/html", formats.get("html", ""))):
        root = parse_html(markup, name)
        if root is not None and (text := render_tree(root, name)):
            return text
    found = (_join_lines(formats.get(key, "")) for key in ("text/markdown", "text/latex", "text/plain", "text"))
    text = next((piece for piece in found if piece), "")
    return f"```\n{sanitize(text)}\n```" if text else ""


def _join_lines(lines: Any) -> str:
    return ("".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")).strip("\n")
