"""Find what a web page repeats around its text: menus, cookie bars, footers of links.

Only what is proven is taken out: an element must say that it is furniture, by its name, role or class, and must look
like it too. Everything else stays, whatever its place on the page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.readers.markup import tag_of

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def find_boilerplate(root: Any) -> Iterator[tuple[Any, str]]:
    """Yield each outermost element that is boilerplate, and its kind. Elements inside one are not looked at."""
    stack = [root]
    while stack:
        element = stack.pop()
        if kind := _classify(element):
            yield element, kind
        else:
            stack.extend(child for child in reversed(element) if isinstance(child.tag, str))


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
            return "cookie notices" if _is_consent(element) else ""
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


def _is_consent(element: Any) -> bool:
    text = "".join(element.itertext())
    return len(text.split()) <= _MOST_CONSENT and bool(re.search(r"cookie|consent", text, re.IGNORECASE))
