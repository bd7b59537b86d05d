"""EPUB, chapter by chapter, in the order of the book's spine and under the names of its table of contents."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.formats import open_zip
from bookwheel.documents.readers.html import find_charset, parse_xhtml, render_tree
from bookwheel.documents.sources import to_printable
from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

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
