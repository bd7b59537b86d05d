"""EPUB, chapter by chapter, in the order of the book's spine and under the names of its table of contents."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from bookwheel.errors import MissingExtra, SourceError
from bookwheel.text.decoding import whole
from bookwheel.text.formats import gunzip
from bookwheel.text.markup import declared, page_text
from bookwheel.text.volumes import to_printable
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.text.volumes import Notes, Volume

_NAME: Final = "local-name()='{}'"
_DAMAGES: Final = (KeyError, IndexError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
_FONT_LOCKS: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""These lock fonts only; any other encryption locks the text."""


def epub_parts(volume: Volume, notes: Notes) -> Iterator[Part]:
    """A part for every chapter that has text; its source is the book and the chapter: `book.epub#The Mill`."""
    try:
        from lxml.etree import LxmlError
    except ImportError as error:
        raise MissingExtra("reading EPUB", "documents") from error
    with volume.open() as file, gunzip(file, volume.name) as archive:
        try:
            _refuse_locked(archive, volume.name)
            package = _package(archive)
            root = _markup(archive, package)
            titles = _titles(archive, root, package)
            for number, path in enumerate(_spine(root, package), 1):
                if path not in archive.NameToInfo:
                    notes.add(f"chapters that {volume.name} names but does not hold", path)
                    continue
                data = archive.read(path)
                text, _ = page_text(whole(data, volume.name, notes, declared(data)), volume.name)
                if text:
                    title = titles.get(path) or _heading(text) or f"Chapter {number}"
                    yield Part(text=f"{text}\n\n", source=f"{volume.name}#{title}")
        except (LxmlError, *_DAMAGES) as error:
            raise SourceError(f"{volume.name} is a damaged EPUB: {error}. Fetch or save it again.") from error


def _markup(archive: zipfile.ZipFile, path: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    return etree.fromstring(archive.read(path), parser)


def _found(root: Any, *path: str) -> list[Any]:
    """Elements by their names, whatever namespace a book puts them in."""
    steps = "/".join(f"*[{_NAME.format(name)}]" for name in path)
    return list(root.xpath(f".//{steps}")) if root is not None else []


def _package(archive: zipfile.ZipFile) -> str:
    root = _markup(archive, "META-INF/container.xml")
    return str(_found(root, "rootfile")[0].attrib["full-path"])


def _refuse_locked(archive: zipfile.ZipFile, name: str) -> None:
    if "META-INF/encryption.xml" not in archive.NameToInfo:
        return
    methods = _found(_markup(archive, "META-INF/encryption.xml"), "EncryptionMethod")
    if any(m.get("Algorithm") not in _FONT_LOCKS for m in methods):
        raise SourceError(f"{name} is locked by its seller (DRM) and cannot be read: use a copy without a lock")


def _spine(root: Any, package: str) -> list[str]:
    hrefs = {item.get("id"): item.get("href", "") for item in _found(root, "manifest", "item")}
    order = [hrefs[ref.get("idref")] for ref in _found(root, "spine", "itemref") if ref.get("idref") in hrefs]
    return list(dict.fromkeys(_path(href, package) for href in order))


def _path(href: str, beside: str) -> str:
    """Where a link leads that stands in the file `beside`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(beside), unquote(href.partition("#")[0])))


def _titles(archive: zipfile.ZipFile, root: Any, package: str) -> dict[str, str]:
    """Chapter files and their names, by the navigation document or by the older NCX."""
    titles: dict[str, str] = {}
    for item in _found(root, "manifest", "item"):
        path = _path(item.get("href", ""), package)
        navigates = "nav" in item.get("properties", "").split()
        if path not in archive.NameToInfo or not (navigates or item.get("media-type") == "application/x-dtbncx+xml"):
            continue
        for href, title in _links(_markup(archive, path)):
            titles.setdefault(_path(href, path), title)
    return titles


def _links(toc: Any) -> list[tuple[str, str]]:
    anchors = [(a.get("href", ""), _words(a)) for a in _found(toc, "a")]
    points = [
        (_found(point, "content")[0].get("src", ""), _words(_found(point, "navLabel")[0]))
        for point in _found(toc, "navPoint")
    ]
    return [(href, title) for href, title in (*anchors, *points) if href and title]


def _words(element: Any) -> str:
    return to_printable(" ".join("".join(element.itertext()).split()))


def _heading(text: str) -> str:
    first = text.partition("\n")[0]
    return to_printable(first.lstrip("#").strip()) if first.startswith("#") else ""
