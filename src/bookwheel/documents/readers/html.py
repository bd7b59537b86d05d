"""Read a web page whole: every visible word in its structure, without menus, cookie notices and footers of links.

What is left out is counted in a note, and `SourceFile.everything` keeps it. Other readers parse and render their markup
here too.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.entities import html5
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from bookwheel.documents.damage import LateModule, import_extra
from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.readers.markup import count_guesses, tag_of, to_markdown
from bookwheel.documents.readers.pictures import Figures
from bookwheel.documents.readers.unseen import drop_unseen
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.errors import SourceError
from bookwheel.types import Part

etree: Final[Any] = LateModule("lxml.etree")

# Bytes at most: the parsed tree takes about nine times that in memory.
_MOST_HTML: Final = 64 << 20
_CHARSET: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,80}encoding=[\"']([\w.-]+)", re.IGNORECASE
)
_XML_DECLARATION: Final = re.compile(r"\A\s*<\?xml[^>]*\?>")
_ENTITY: Final = re.compile(r"&(\w+;)")
_XML_ENTITIES: Final = frozenset(("amp;", "lt;", "gt;", "quot;", "apos;"))
_DATA_ADDRESS: Final = re.compile(r"data:image/(?!svg)[\w.+-]+(?:;[\w=-]+)*;base64,", re.IGNORECASE)
_UNREAD: Final = {
    "fields of forms that are not read": ("input", "select"),
    "pages in frames that are not read": ("frame", "iframe"),
}
_BUTTONS: Final = frozenset(("hidden", "submit", "button", "image", "reset", "checkbox", "radio", "search"))
_IN_HEAD: Final = frozenset(("title", "meta", "link", "base", "style", "script", "noscript", "template"))
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt"))


def read_html(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    data = source.read(_MOST_HTML, "convert it to text first")
    page = decode_bytes(data, source.name, warnings, source.charset or find_charset(data))
    root = parse_html(page, source.name)
    if root is None:
        return
    if not source.everything:
        drop_unseen(root, source.name, warnings)
        _drop_boilerplate(root, source.name, warnings)
    for what, tags in _UNREAD.items():
        if any(element.get("type") not in _BUTTONS and element.attrib for element in root.iter(*tags)):
            warnings.add(what, source.name)
    figures = Figures(source, warnings)
    embed_pictures(root, figures, read_data_address)
    text = render_tree(root, source.name, warnings)
    title = " ".join((root.findtext(".//title") or "").split())
    if text and title and title not in text:
        text = f"# {title}\n\n{text}"
    if text:
        yield Part(text=f"{text}\n", source=source.name, pictures=figures.take())


def embed_pictures(root: Any, figures: Figures, load: Callable[[str], bytes | None]) -> None:
    """Put the words of the pictures of a page in their places. `load` gives those whose bytes are at hand."""
    if not figures.is_read:
        return
    for element in [one for one in root.iter() if tag_of(one) in {"img", "image"}]:
        address = element.get("src") or element.get("href") or element.get("{http://www.w3.org/1999/xlink}href") or ""
        if data := load(address):
            figures.embed(element, data, "data" if address.startswith("data:") else address.rpartition("/")[2])


def read_data_address(address: str) -> bytes | None:
    """Return the bytes of a picture that its address holds; nothing is fetched."""
    found = _DATA_ADDRESS.match(address)
    if not found:
        return None
    try:
        return base64.b64decode(unquote_to_bytes(address[found.end() :]), validate=False)
    except ValueError:
        return None


def find_charset(data: bytes) -> str:
    found = _CHARSET.search(data[:4096])
    return (found[1] or found[2]).decode("ascii", "replace") if found else ""


def parse_html(page: str, name: str) -> Any:
    """Return the root of a page, or None if it is empty."""
    import_extra("lxml", "reading HTML")
    from lxml import html

    # A declared encoding would be an error in text that is decoded already.
    page = _XML_DECLARATION.sub("", page).replace("\0", "\N{REPLACEMENT CHARACTER}")
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(page, parser=parser) if page.strip() else None
    except etree.ParserError:  # nothing but comments
        return None
    # The parser drops what is nested deeper than its limit, so that must not pass for the whole page.
    if any("depth" in entry.message for entry in parser.error_log):
        raise _depth_error(name)
    if root is not None:
        _fill_body(root)
    return root


def _fill_body(root: Any) -> None:
    """Move to the body what the parser left in the head of a page without the tag: all from an HTML5 element on."""
    head, body = root.find("head"), root.find("body")
    begin = next((at for at, one in enumerate(head) if tag_of(one) not in _IN_HEAD), None) if head is not None else None
    if head is None or begin is None:
        return
    body = etree.SubElement(root, "body") if body is None else body
    moved = head[begin:]
    for at, element in enumerate(moved):
        body.insert(at, element)
    moved[-1].tail, body.text = f"{moved[-1].tail or ''}{body.text or ''}", None


def parse_xhtml(page: str, name: str) -> Any:
    """Return the root of a page that should be XML, or read it as HTML if it is not well formed."""
    # Only HTML's parser knows the names of characters such as &nbsp;
    text = _ENTITY.sub(lambda found: found[0] if found[1] in _XML_ENTITIES else html5.get(found[1], found[0]), page)
    text = _XML_DECLARATION.sub("", text).lstrip("\N{BYTE ORDER MARK}\r\n\t ")
    try:
        return parse_xml(text.encode(), huge_tree=False)
    except (etree.XMLSyntaxError, UnicodeError):
        return parse_html(page, name)


def parse_xml(data: bytes, *, recover: bool = False, huge_tree: bool = True) -> Any:
    """Return the root of XML, without comments, and without what it wants from elsewhere."""
    options = {"resolve_entities": False, "no_network": True, "remove_comments": True, "remove_pis": True}
    return etree.fromstring(data, etree.XMLParser(recover=recover, huge_tree=huge_tree, **options))


def render_tree(root: Any, name: str, warnings: SourceWarnings) -> str:
    """Return the visible text of a parsed page as Markdown; notes count the tables of which something is a guess."""
    try:
        text = to_markdown(root)
    except RecursionError as error:
        raise _depth_error(name) from error
    for what, count in count_guesses(root).items():
        warnings.add(what, name, count)
    return text


def _depth_error(name: str) -> SourceError:
    return SourceError(f"the markup of {name} is nested too deeply: convert it to text first")


def _drop_boilerplate(root: Any, name: str, warnings: SourceWarnings) -> None:
    """Take each outermost element that is boilerplate out of the tree, and count its words in a note."""
    for button in root.iter("button"):
        # A title that folds its section is text.
        if button.get("aria-expanded") is not None or any(tag_of(e) in _HEADINGS for e in button.iterancestors()):
            button.tag = "span"
    found: list[tuple[str, Any]] = []
    pending = [root]
    while pending:
        element = pending.pop()
        if kind := _classify(element):
            found.append((kind, element))
        else:
            pending.extend(child for child in reversed(element) if isinstance(child.tag, str))
    words: Counter[str] = Counter()
    for kind, element in found:
        words[kind] += len("".join(element.itertext()).split())
        element.drop_tree()
    if counts := ", ".join(f"{count} words of {kind}" for kind, count in sorted(words.items()) if count):
        warnings.add("left out as boilerplate (--everything keeps it)", f"{name} ({counts})")


_ROLES: Final = {"navigation": "menus", "search": "menus", "contentinfo": "footers"}
_TAGS: Final = {"nav": "menus", "footer": "footers"}
_MENU: Final = re.compile(r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|breadcrumbs?|pagination|pager)(?:$|[\s_-])")
_SKIP_LINK: Final = re.compile(r"(?:^|[\s_-])(?:skip|skiplink|skip-link|skip-to-content)(?:$|[\s_-])")
_CONSENT: Final = re.compile(r"cookie|consent|gdpr|onetrust|didomi|usercentrics")
_IMPRINT: Final = re.compile(
    r"©|\(c\)|copyright|all rights reserved|cookies?\b|imprint|impressum|datenschutz|privacy|terms of (?:use|service)|"
    r"powered by|mentions légales|版权|备案",
    re.IGNORECASE,
)
# Inside these, a footer belongs to the text: the source of a quote, the notes of an article.
_CONTENT: Final = frozenset(("article", "main", "section", "blockquote", "figure", "td", "li", "aside", "dialog"))
_SENTENCE: Final = re.compile(r"[.!?。！？](?:\s|$)")
# Words: more than this is a text of its own.
_MOST_FOOTER: Final = 120
_MOST_CONSENT: Final = 300
# The least share of an element's words that are links, for it to be a menu.
_LINKS: Final = 0.8


def _classify(element: Any) -> str:
    """Return the kind of boilerplate that an element is, or an empty string."""
    tag, role = tag_of(element), (element.get("role") or "").strip().lower()
    names = f"{element.get('class') or ''} {element.get('id') or ''}".lower()
    kind = _ROLES.get(role) or _TAGS.get(tag, "")
    if kind == "footers":
        return kind if _is_page_footer(element) else ""
    if names.strip():
        if tag == "a" and _SKIP_LINK.search(names) and (element.get("href") or "").startswith("#"):
            return "menus"
        if _CONSENT.search(names) and tag not in {"html", "body", "main", "article", "a"}:
            text = "".join(element.itertext())
            is_notice = len(text.split()) <= _MOST_CONSENT and re.search(r"cookie|consent", text, re.IGNORECASE)
            return "cookie notices" if is_notice else ""
        kind = kind or ("menus" if tag in {"div", "ul", "ol", "p", "header"} and _MENU.search(names) else "")
    return kind if kind and _is_menu(element) else ""


def _is_menu(element: Any) -> bool:
    """Return True for links without sentences or, on a page of its own, headings."""
    words = " ".join("".join(element.itertext()).split())
    links = sum(len("".join(link.itertext()).split()) for link in element.iter() if tag_of(link) in {"a", "button"})
    return not _SENTENCE.search(words) and links >= _LINKS * len(words.split())


def _is_page_footer(element: Any) -> bool:
    if any(tag_of(around) in _CONTENT for around in element.iterancestors()):
        return False
    if any(tag_of(inner) in {"table", "pre", "dl", "blockquote"} for inner in element.iter()):
        return False
    text = "".join(element.itertext())
    words = len(text.split())
    return words <= _MOST_FOOTER and (bool(_IMPRINT.search(text)) or _is_menu(element))
