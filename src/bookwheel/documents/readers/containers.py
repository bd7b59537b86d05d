"""Read what holds several texts: the chapters of an EPUB, a message and its attachments, the cells of a notebook.

A book is read in the order of its spine and under the names of its table of contents. Of a message the headers come
first, then its text (the HTML only where there is no plain text). A notebook shows its text, its code in fences, and
the text of its outputs.
"""

from __future__ import annotations

import json
import posixpath
import zipfile
import zlib
from email import policy
from email.parser import BytesParser
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.formats import open_zip
from bookwheel.documents.readers.html import find_charset, parse_html, parse_xhtml, render_tree
from bookwheel.documents.sources import spool, to_printable
from bookwheel.errors import MissingExtra, SourceError
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import MIMEPart

    from bookwheel.documents.sources import SourceFile, SourceWarnings


_NAME: Final = "local-name()='{}'"
_DAMAGE_ERRORS: Final = (KeyError, IndexError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
# These encrypt fonts only; any other method encrypts the text.
_FONT_ENCRYPTION: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def read_epub(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every chapter with text. Its source is the book and the chapter: `book.epub#The Mill`."""
    try:
        from lxml.etree import LxmlError
    except ImportError as error:
        raise MissingExtra("reading EPUB", "documents") from error
    with source.open() as file, open_zip(file, source.name) as archive:
        try:
            _reject_encrypted(archive, source.name)
            package = _find_package(archive)
            root = _parse_xml(archive, package)
            titles = _read_titles(archive, root, package)
            for number, path in enumerate(_read_spine(root, package), 1):
                if path not in archive.NameToInfo:
                    warnings.add(f"chapters that {source.name} lists but does not contain", path)
                    continue
                data = archive.read(path)
                page = decode_bytes(data, source.name, warnings, find_charset(data))
                root = parse_xhtml(page, source.name)
                text = render_tree(root, source.name) if root is not None else ""
                if text:
                    title = titles.get(path) or _find_heading(text) or f"Chapter {number}"
                    yield Part(text=f"{text}\n\n", source=f"{source.name}#{title}")
        except (LxmlError, *_DAMAGE_ERRORS) as error:
            raise SourceError(f"{source.name} is a damaged EPUB: {error}. Download or save it again.") from error


def _parse_xml(archive: zipfile.ZipFile, path: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    return etree.fromstring(archive.read(path), parser)


def _find_elements(root: Any, *path: str) -> list[Any]:
    """Find elements by their names, in any namespace."""
    steps = "/".join(f"*[{_NAME.format(name)}]" for name in path)
    return list(root.xpath(f".//{steps}")) if root is not None else []


def _find_package(archive: zipfile.ZipFile) -> str:
    root = _parse_xml(archive, "META-INF/container.xml")
    return str(_find_elements(root, "rootfile")[0].attrib["full-path"])


def _reject_encrypted(archive: zipfile.ZipFile, name: str) -> None:
    if "META-INF/encryption.xml" not in archive.NameToInfo:
        return
    methods = _find_elements(_parse_xml(archive, "META-INF/encryption.xml"), "EncryptionMethod")
    if any(m.get("Algorithm") not in _FONT_ENCRYPTION for m in methods):
        raise SourceError(f"{name} is encrypted by its seller (DRM) and cannot be read: use a copy without DRM")


def _read_spine(root: Any, package: str) -> list[str]:
    hrefs = {item.get("id"): item.get("href", "") for item in _find_elements(root, "manifest", "item")}
    order = [hrefs[ref.get("idref")] for ref in _find_elements(root, "spine", "itemref") if ref.get("idref") in hrefs]
    return list(dict.fromkeys(_resolve_link(href, package) for href in order))


def _resolve_link(href: str, base: str) -> str:
    """Resolve a link in the file `base`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href.partition("#")[0])))


def _read_titles(archive: zipfile.ZipFile, root: Any, package: str) -> dict[str, str]:
    """Return the titles of chapter files from the navigation document or the older NCX."""
    titles: dict[str, str] = {}
    for item in _find_elements(root, "manifest", "item"):
        path = _resolve_link(item.get("href", ""), package)
        is_navigation = "nav" in item.get("properties", "").split()
        if path not in archive.NameToInfo or not (
            is_navigation or item.get("media-type") == "application/x-dtbncx+xml"
        ):
            continue
        for href, title in _read_links(_parse_xml(archive, path)):
            titles.setdefault(_resolve_link(href, path), title)
    return titles


def _read_links(toc: Any) -> list[tuple[str, str]]:
    anchors = [(a.get("href", ""), _element_text(a)) for a in _find_elements(toc, "a")]
    points = [
        (_find_elements(point, "content")[0].get("src", ""), _element_text(_find_elements(point, "navLabel")[0]))
        for point in _find_elements(toc, "navPoint")
    ]
    return [(href, title) for href, title in (*anchors, *points) if href and title]


def _element_text(element: Any) -> str:
    return to_printable(" ".join("".join(element.itertext()).split()))


def _find_heading(text: str) -> str:
    first = text.partition("\n")[0]
    return to_printable(first.lstrip("#").strip()) if first.startswith("#") else ""


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
    from bookwheel.documents.formats import read_parts

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
    with source.open() as file:
        data = file.read(_MOST_NOTEBOOK + 1)
    if len(data) > _MOST_NOTEBOOK:
        raise SourceError(f"{source.name} is over {_MOST_NOTEBOOK >> 20} MiB: clear its outputs, or give it as text")
    try:
        notebook = json.loads(decode_bytes(data, source.name, warnings))
        sheets = notebook.get("worksheets") or [notebook]  # notebooks before version 4 have sheets of cells
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        language = str(((notebook.get("metadata") or {}).get("language_info") or {}).get("name") or "python")
        texts = ["\n\n".join(_read_cell(cell, language, source.name)) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{source.name} is a damaged notebook: {error}. Save it again.") from error
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
