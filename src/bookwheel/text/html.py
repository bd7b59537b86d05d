"""Convert HTML and DOCX to Markdown: headings, lists and tables stay, menus and scripts go.

`trafilatura` extracts a page's main text. If that is little of the visible text, as for a table or a short page, the
whole page is read. `mammoth` converts DOCX to HTML and reports what it cannot convert.
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

# Bytes at most: the parsed tree takes a multiple of that in memory.
_MOST_HTML: Final = 32 << 20
# A main text with less than this share of the visible words is probably incomplete.
_LEAST_SHARE: Final = 0.5
_CHARSET: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,80}encoding=[\"']([\w.-]+)", re.IGNORECASE
)
_SKIPPED_ELEMENTS: Final = ("script", "style", "noscript", "template", "svg", "iframe", "select", "button", "head")
# Not content on a web page; but in a book an aside is a footnote.
_PAGE_FURNITURE: Final = ("nav", "footer", "aside")
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_UNKNOWN_ELEMENT: Final = re.compile(r"unrecognised element was ignored: (?:\{[^}]*\}|[\w-]+:)?(\w+)")


def read_html(source: SourceFile, warnings: SourceWarnings) -> str:
    """Return the main text of a page, or the whole page if the main text seems incomplete."""
    with source.open() as file:
        data = file.read(_MOST_HTML + 1)
    if len(data) > _MOST_HTML:
        raise SourceError(f"{source.name} is over {_MOST_HTML >> 20} MiB of HTML: convert it to text first")
    page = decode_bytes(data, source.name, warnings, source.charset or find_charset(data))
    everything, title = convert_page(page, source.name, (*_SKIPPED_ELEMENTS, *_PAGE_FURNITURE))
    main = _extract_main_text(page)
    if len(main.split()) < _LEAST_SHARE * len(everything.split()):
        if main:
            warnings.add("the main text could not be separated, so the whole page is read", source.name)
        main = everything
    return f"# {title}\n\n{main}\n" if main and title and title not in main else f"{main}\n"


def find_charset(data: bytes) -> str:
    """Return the encoding that a page declares, or an empty string."""
    found = _CHARSET.search(data[:4096])
    return (found[1] or found[2]).decode("ascii", "replace") if found else ""


def _extract_main_text(page: str) -> str:
    try:
        import trafilatura
    except ImportError as error:
        raise MissingExtra("reading HTML", "documents") from error
    _silence("trafilatura")
    found = trafilatura.extract(page, output_format="markdown", include_formatting=False, favor_recall=True)
    return found or ""


def convert_page(page: str, name: str, skipped: Sequence[str] = _SKIPPED_ELEMENTS) -> tuple[str, str]:
    """Return the visible text of a page without the `skipped` elements, and its title."""
    try:
        from bs4 import BeautifulSoup
        from markdownify import ATX, MarkdownConverter
    except ImportError as error:
        raise MissingExtra("reading HTML", "documents") from error
    try:
        soup = BeautifulSoup(page, "lxml")
        title = " ".join(soup.title.get_text().split()) if soup.title else ""
        for element in soup.find_all(list(skipped)):
            element.decompose()
        converter = MarkdownConverter(
            heading_style=ATX, strip=["a", "img"], escape_asterisks=False, escape_underscores=False, bullets="-"
        )
        text = converter.convert_soup(soup)
    except RecursionError as error:
        raise SourceError(f"the markup of {name} is nested too deeply: convert it to text first") from error
    return _BLANK_LINES.sub("\n\n", text).strip(), title


def read_docx(source: SourceFile, warnings: SourceWarnings) -> str:
    """Return the text of a DOCX. Add what mammoth cannot convert to the warnings."""
    source.open().close()  # raises if the file has changed
    text, unknown_elements = _convert_docx(source.path, source.fingerprint, source.name)
    for element in unknown_elements:
        warnings.add(f"Word elements of the kind {element} are not shown", source.name)
    return text


@lru_cache(maxsize=2)  # opening a document reads it once to check it, and the reading reads it again
def _convert_docx(path: Path, _fingerprint: Fingerprint, name: str) -> tuple[str, tuple[str, ...]]:
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
    matches = (_UNKNOWN_ELEMENT.search(message.message) for message in result.messages)
    text, _ = convert_page(result.value, name)
    return f"{text}\n" if text else "", tuple(dict.fromkeys(match[1] for match in matches if match))


def _silence(name: str) -> None:
    # A library's log lines would break the terminal's progress display, unless the program wants them.
    logger = logging.getLogger(name)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
