"""Text out of HTML and DOCX, as Markdown: headings, lists and tables survive, menus and scripts do not.

`trafilatura` finds a page's main text. Where that is little of what the page shows, a table or a short page, all of it
is taken. DOCX goes through `mammoth`, which says what it cannot show; that is passed on.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bookwheel.errors import MissingExtra, SourceError
from bookwheel.text.decoding import decode_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bookwheel.text.sources import Fingerprint, SourceFile, SourceWarnings

_MOST_HTML: Final = 32 << 20
"""Bytes; its tree in memory takes a multiple of that."""
_LITTLE: Final = 0.5
"""A main text of less than this share of the visible words is not trusted to be all of it."""
_DECLARED: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,80}encoding=[\"']([\w.-]+)", re.IGNORECASE
)
_UNREAD: Final = ("script", "style", "noscript", "template", "svg", "iframe", "select", "button", "head")
_AROUND: Final = ("nav", "footer", "aside")
"""Not the content of a web page; in a book an aside is a footnote."""
_BLANKS: Final = re.compile(r"\n{3,}")
_UNKNOWN_ELEMENT: Final = re.compile(r"unrecognised element was ignored: (?:\{[^}]*\}|[\w-]+:)?(\w+)")


def read_html(volume: SourceFile, notes: SourceWarnings) -> str:
    """The main text of a page, or all of it when that is surer."""
    with volume.open() as file:
        data = file.read(_MOST_HTML + 1)
    if len(data) > _MOST_HTML:
        raise SourceError(f"{volume.name} is over {_MOST_HTML >> 20} MiB of HTML: convert it to text first")
    page = decode_bytes(data, volume.name, notes, volume.charset or find_charset(data))
    everything, title = convert_page(page, volume.name, (*_UNREAD, *_AROUND))
    main = _extract_main_text(page)
    if len(main.split()) < _LITTLE * len(everything.split()):
        if main:
            notes.add("the main text could not be told from the rest, so all of the page is read", volume.name)
        main = everything
    return f"# {title}\n\n{main}\n" if main and title and title not in main else f"{main}\n"


def find_charset(data: bytes) -> str:
    """The encoding that a page names in its own head."""
    found = _DECLARED.search(data[:4096])
    return (found[1] or found[2]).decode("ascii", "replace") if found else ""


def _extract_main_text(page: str) -> str:
    try:
        import trafilatura
    except ImportError as error:
        raise MissingExtra("reading HTML", "documents") from error
    _silence("trafilatura")
    found = trafilatura.extract(page, output_format="markdown", include_formatting=False, favor_recall=True)
    return found or ""


def convert_page(page: str, name: str, unread: Sequence[str] = _UNREAD) -> tuple[str, str]:
    """All that a page shows outside the `unread` elements, and its title."""
    try:
        from bs4 import BeautifulSoup
        from markdownify import ATX, MarkdownConverter
    except ImportError as error:
        raise MissingExtra("reading HTML", "documents") from error
    try:
        soup = BeautifulSoup(page, "lxml")
        title = " ".join(soup.title.get_text().split()) if soup.title else ""
        for element in soup.find_all(list(unread)):
            element.decompose()
        converter = MarkdownConverter(
            heading_style=ATX, strip=["a", "img"], escape_asterisks=False, escape_underscores=False, bullets="-"
        )
        text = converter.convert_soup(soup)
    except RecursionError as error:
        raise SourceError(f"{name} nests its markup too deeply to be read: convert it to text first") from error
    return _BLANKS.sub("\n\n", text).strip(), title


def read_docx(volume: SourceFile, notes: SourceWarnings) -> str:
    """The text of a DOCX; what mammoth could not show goes to the notes."""
    volume.open().close()
    text, unseen = _convert_docx(volume.path, volume.stamp, volume.name)
    for element in unseen:
        notes.add(f"Word elements of the kind {element} are not shown", volume.name)
    return text


@lru_cache(maxsize=2)
def _convert_docx(path: Path, _stamp: Fingerprint, name: str) -> tuple[str, tuple[str, ...]]:
    """Kept, since opening a document and then reading it would otherwise convert it twice."""
    try:
        import mammoth
    except ImportError as error:
        raise MissingExtra("reading DOCX", "documents") from error
    from xml.parsers.expat import ExpatError

    with path.open("rb") as file:
        try:
            result = mammoth.convert_to_html(file, convert_image=mammoth.images.img_element(lambda _: {"src": ""}))
        except (ExpatError, KeyError, ValueError, OSError, AttributeError, RecursionError) as error:
            raise SourceError(f"{name} is damaged: {error or type(error).__name__}. Save it again as .docx.") from error
    unseen = (_UNKNOWN_ELEMENT.search(message.message) for message in result.messages)
    text, _ = convert_page(result.value, name)
    return f"{text}\n" if text else "", tuple(dict.fromkeys(found[1] for found in unseen if found))


def _silence(name: str) -> None:
    """A library's log lines have no place in a terminal that shows progress, unless the program asks for them."""
    logger = logging.getLogger(name)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
