r"""Render a tree of HTML elements as plain Markdown: every visible word, in order.

Headings, lists, tables, code, quotes and definitions keep their form, and what is struck out is marked, as it no longer
holds. Emphasis and links are only their words, because marks inside a word would break it. Knows nothing of files,
encodings or boilerplate.

>>> from lxml import html
>>> to_markdown(html.fromstring("<div><h2>Oil</h2><ul><li>nine <b>bar</b>rels</ul></div>"))
'## Oil\n\n- nine barrels'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import dropwhile, islice, takewhile
from typing import Any, Final

from bookwheel.documents.readers.formulas import to_formula
from bookwheel.documents.readers.grid import MOST_NAMES, Span, format_rows
from bookwheel.text.lexicon import words

UNSEEN: Final = words(
    "script style head meta link base noscript iframe select button input datalist audio video canvas "
    "param source track annotation annotation-xml rp"
)
"""Elements that a page does not show as text."""
_BLOCKS: Final = words(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol p "
    "plaintext pre search section summary table tbody td tfoot th thead tr ul xmp"
)
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_LAYOUT_CONTENT: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "table", "pre", "blockquote"))
_BLANKS: Final = re.compile(r"[ \t\r\n\f\xa0]+")
_LINE_ENDS: Final = re.compile(r" *\n *")
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_FENCES: Final = re.compile(r"`{3,}")
# Small and raised: a number, a sum, or one letter; 1st, 2e, No and TM are words.
_POWER: Final = re.compile(r"[-+\u2212\u2013±]?\d|[^\W\d_eo]\Z|\w+[-+\u2212*/]\w")
_PLAIN_POWER: Final = re.compile(r"[-+\u2212\u2013±]?(?:[\d.,\u2013-]+|\w+)[-+\u2212]?")
# Small and lowered, beside one letter: x_i; CO2 and NOx are names.
_INDEX: Final = re.compile(r"[^\W\d_]")
_ONE_LETTER: Final = re.compile(r"(?<![^\W_])[^\W\d_]\Z")
# The mark of a line break inside a line of text, until its blanks are collapsed.
_BREAK: Final = "\v"
_SYMBOL: Final = 3
# A cell over this many characters holds a page's layout, not a value.
_LONG_CELL: Final = 2000
# Cells, of which one may hold what else only a page holds.
_LEAST_VALUES: Final = 5
# Rows and columns that a cell covers at most.
_MOST_COVERED: Final = 1000
_WIDEST: Final = 100
# Of a table in a tree.
_GUESSES: Final = "guesses"


def to_markdown(root: Any) -> str:
    """Return the visible text of an element. RecursionError if it is nested too deeply."""
    return _BLANK_LINES.sub("\n\n", "\n\n".join(_blocks(root))).strip("\n")


def count_guesses(root: Any) -> Counter[str]:
    """Return what is a guess of the tables of a tree that was rendered, and of how many."""
    return Counter(what for table in root.iter("{*}table") for what in table.get(_GUESSES, "").split("\n") if what)


def to_line(element: Any) -> str:
    return " ".join(" ".join(_blocks(element)).split())


def tag_of(element: Any) -> str:
    """Return the element's name without its namespace; comments have none."""
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def _blocks(element: Any) -> list[str]:
    blocks: list[str] = []
    words: list[str] = [element.text or ""]

    def end_paragraph() -> None:
        if text := _collapse("".join(words)):
            blocks.append(text)
        words.clear()

    for child in element:
        tag = tag_of(child)
        if tag in _BLOCKS or (tag and tag not in UNSEEN and _has_blocks(child)):
            end_paragraph()
            blocks += _render_block(child, tag)
        elif tag:
            words.append(_render_inline(child, tag))
        words.append(child.tail or "")
    end_paragraph()
    return blocks


def _has_blocks(element: Any) -> bool:
    return len(element) > 0 and any(tag_of(inner) in _BLOCKS for inner in element.iterdescendants())


def _collapse(text: str) -> str:
    text = _BLANKS.sub(" ", text.replace("\N{SOFT HYPHEN}", "")).replace(_BREAK, "\n")
    return _LINE_ENDS.sub("\n", text).strip()


def _render_block(element: Any, tag: str) -> list[str]:
    if tag in _HEADINGS:
        text = to_line(element)
        return [f"{_HEADINGS[tag]} {text}"] if text else []
    if tag == "blockquote":
        return [_indent(block, "> ", "> ") for block in _blocks(element)]
    return _RENDERERS.get(tag, _blocks)(element)


def _render_inline(element: Any, tag: str) -> str:
    """Return an inline element's text, blanks as they are."""
    if tag in UNSEEN or (element.get("aria-hidden") == "true" and tag != "img" and _stands_beside_formula(element)):
        return ""
    if tag == "br":
        return _BREAK
    if tag == "math":
        return to_formula(element)
    if tag == "img":
        alt = " ".join((element.get("alt") or "").split())
        return f"![{alt}]" if alt else ""
    if tag == "svg":
        labels = [to_line(label) for label in element.iter() if tag_of(label) in {"text", "title", "desc"}]
        return f" {' '.join(labels)} " if labels else ""
    inner = (element.text or "") + "".join(
        (_render_inline(child, name) if (name := tag_of(child)) else "") + (child.tail or "") for child in element
    )
    return _mark_inline(element, tag, inner)


def _mark_inline(element: Any, tag: str, inner: str) -> str:
    text = inner.strip()
    if tag == "q":
        return f"“{inner}”"
    if tag in {"del", "s", "strike"} and text:
        return f"~~{inner}~~"
    if tag == "rt" and text:
        return f"({text})"
    if tag == "a" and 0 < len(text) < _SYMBOL and (element.get("href") or "").startswith("#"):
        # The sign beside a heading that links to the heading itself.
        return inner if any(c.isalnum() or c in "*†‡" for c in text) else ""
    return _mark_small(element, tag, inner, text) if tag in {"sup", "sub"} and text else inner


def _mark_small(element: Any, tag: str, inner: str, text: str) -> str:
    """Return small words with a sign where they would run into the word before them, or be another number with it."""
    if tag == "sub":
        return f"_{text}" if _INDEX.match(text) and _ONE_LETTER.search(_find_before(element)) else inner
    if not _POWER.match(text):
        return inner
    is_note = any(tag_of(link) == "a" for link in (element.getparent(), *element))
    return f"[{text}]" if is_note else f"^{text}" if _PLAIN_POWER.fullmatch(text) else f"^({text})"


def _stands_beside_formula(element: Any) -> bool:
    """Return whether a formula stands right beside an element, which then is the same as a script painted it."""
    beside = (one for one in (element.getprevious(), element.getnext()) if one is not None)
    return any(True for one in beside for _ in one.iter("{*}math"))


def _find_before(element: Any) -> str:
    """Return the words right before an element, within those around it."""
    before = element.getprevious()
    if before is None:
        return element.getparent().text or ""
    return before.tail or "".join(before.itertext())


def _indent(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    return "\n".join([first + lines[0], *(f"{others}{line}".rstrip() for line in lines[1:])])


def _render_list(element: Any) -> list[str]:
    is_ordered = tag_of(element) == "ol"
    start = element.get("start") or ""
    number = int(start) if start.isdecimal() else 1
    items: list[str] = []
    blocks: list[str] = []
    for child in element:
        tag = tag_of(child)
        if tag == "li":
            items.append(_render_item(child, f"{number}. " if is_ordered else "- "))
            number += 1
        elif tag and tag not in UNSEEN:  # lists directly inside a list
            items.append("\n".join(_indent(block, "  ", "  ") for block in _blocks_of(child, tag)))
        if text := _collapse(child.tail or ""):
            items.append(text)
    if text := _collapse(element.text or ""):
        blocks.append(text)
    if listing := "\n".join(item for item in items if item.strip()):
        blocks.append(listing)
    return blocks


def _render_item(element: Any, mark: str) -> str:
    inner = _blocks(element)
    joint = "\n\n" if any("\n\n" in block or block.startswith("```") for block in inner) else "\n"
    return _indent(joint.join(inner), mark, " " * len(mark)) if inner else ""


def _blocks_of(element: Any, tag: str) -> list[str]:
    """Return one element's blocks, be it a block or a run of text."""
    if tag in _BLOCKS or _has_blocks(element):
        return _render_block(element, tag)
    text = _collapse(_render_inline(element, tag))
    return [text] if text else []


def _render_code(element: Any) -> list[str]:
    text = "".join(_iterate_code(element)).replace("\r\n", "\n").replace("\xa0", " ").strip("\n")
    if not text.strip():
        return []
    fence = max((found[0] for found in _FENCES.finditer(text)), default="``") + "`"
    return [f"{fence}\n{text.rstrip()}\n{fence}"]


def _iterate_code(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        tag = tag_of(child)
        if tag == "br":
            yield "\n"
        elif tag and tag not in UNSEEN:
            yield from _iterate_code(child)
        yield child.tail or ""


def _render_definitions(element: Any) -> list[str]:
    """Return each term with its definitions as one block; groups may stand in a `div`."""
    blocks: list[str] = []
    if text := _collapse(element.text or ""):
        blocks.append(text)
    for child in element:
        tag = tag_of(child)
        if tag == "div":
            blocks += _render_definitions(child)
        elif tag == "dd":
            inner = _indent("\n\n".join(_blocks(child)), ": ", "  ")
            follows = blocks and "\n\n" not in blocks[-1]
            blocks[-1:] = [f"{blocks[-1]}\n{inner}"] if follows else [*blocks[-1:], inner]
        elif tag and tag not in UNSEEN:
            blocks += _blocks_of(child, tag)
        if text := _collapse(child.tail or ""):
            blocks.append(text)
    return [block for block in blocks if block.strip(": \n")]


def _render_table(table: Any) -> list[str]:
    rows: list[list[Any]] = []
    blocks = [text for text in (_collapse(table.text or ""),) if text]
    _collect_rows(table, rows, blocks)
    if _is_layout(table, rows):
        return [*blocks, *(block for row in rows for cell in row for block in _blocks(cell))]
    texts, spans = _lay_out(rows)
    guesses = list[str]()
    # Of its first rows those can name columns that are marked so, where some are.
    marked = takewhile(lambda row: all(tag_of(cell) == "th" or _is_in_head(cell) for cell in row), rows)
    most = min(sum(1 for _ in marked), MOST_NAMES) or MOST_NAMES
    lines = list(format_rows(texts, guesses.append, is_marked=_is_marked(rows), most_names=most, spans=spans))
    table.set(_GUESSES, "\n".join(guesses))
    return [*blocks, "\n".join(lines)] if lines else blocks


def _is_marked(rows: list[list[Any]]) -> bool | None:
    """Tell by its elements if the first row of a table is its header; None where they say nothing."""
    filled = [cells for row in rows if (cells := [cell for cell in row if "".join(cell.itertext()).strip()])]
    # A title names no column.
    filled = [*dropwhile(lambda cells: len(cells) == 1 and _count_covered(cells[0], "colspan") > 1, filled)][:2]
    first, *below = ([tag_of(cell) == "th" for cell in row] for row in filled or [[]])
    if not first or all(first) or _is_in_head(filled[0][0]):
        return True
    # What stands before each row names the row.
    if any(first):
        return False if below and first == below[0] else None
    are_bold = [all(map(_is_bold, row)) for row in filled]
    return True if are_bold == [True, False] else None


def _is_in_head(cell: Any) -> bool:
    return bool(tag_of(cell.getparent().getparent()) == "thead")


def _is_bold(cell: Any) -> bool:
    around = "ancestor::*[local-name()='b' or local-name()='strong']"
    return not cell.xpath(f".//text()[normalize-space() and not({around})]")


def _collect_rows(element: Any, rows: list[list[Any]], blocks: list[str]) -> None:
    """Add the cells of each row, and as blocks the caption and what browsers move out of a table."""
    for child in element:
        tag = tag_of(child)
        if tag == "tr":
            cells = [cell for cell in child if tag_of(cell) in {"td", "th"}]
            blocks += [text for cell in cells if (text := _collapse(cell.tail or ""))]
            rows += [cells] if cells else []
        elif tag in {"thead", "tbody", "tfoot", "form"}:
            _collect_rows(child, rows, blocks)
        elif tag and tag not in UNSEEN:
            blocks += _blocks_of(child, tag)
        if text := _collapse(child.tail or ""):
            blocks.append(text)


def _is_layout(table: Any, rows: list[list[Any]]) -> bool:
    # It only arranges a page if its cells hold pages, not values.
    if table.get("role") in {"presentation", "none"} or max((len(row) for row in rows), default=0) < 2:  # noqa: PLR2004
        return True
    filled = [cell for row in rows for cell in row if "".join(cell.itertext()).strip()]
    if any(len(cell) and len("".join(cell.itertext())) > _LONG_CELL for cell in filled):
        return True
    # A table of values may have a small one in a cell.
    pages = [cell for cell in filled if any(tag_of(inner) in _LAYOUT_CONTENT for inner in cell.iterdescendants())]
    return len(pages) * _LEAST_VALUES > len(filled)


def _lay_out(rows: list[list[Any]]) -> tuple[list[list[str]], list[Span]]:
    """Return the text of each row's cells, empty where another covers them, and the cells that cover others."""
    below: dict[int, int] = {}
    table: list[list[str]] = []
    spans: list[Span] = []
    width = 0
    for at, row in enumerate(rows):
        texts: list[str] = []
        for cell in row:
            _skip_covered(texts, below)
            span = Span(at, len(texts), _count_rows(cell), min(_count_covered(cell, "colspan"), _WIDEST))
            spans += [span] if span[2:] != (1, 1) else []
            below.update(dict.fromkeys(range(span.column, span.column + span.width), span.height - 1))
            text = " ".join("; ".join(map(_flatten, _blocks(cell))).split())
            texts += [text, *[""] * (span.width - 1)]
            width = max(width, span.column + 1)
        _skip_covered(texts, below)
        table.append(texts)
    # Where no cell begins there is no column.
    return [texts[:width] for texts in table], spans


def _skip_covered(texts: list[str], below: dict[int, int]) -> None:
    while below.get(len(texts), 0) > 0:
        below[len(texts)] -= 1
        texts.append("")


def _count_rows(cell: Any) -> int:
    """Return the rows that a cell covers, none beyond its group; 0 says all of the group."""
    rows = _count_covered(cell, "rowspan", least=0)
    if rows == 1:
        return 1
    left = 1 + sum(tag_of(row) == "tr" for row in islice(cell.getparent().itersiblings(), _MOST_COVERED))
    return min(rows or left, left)


def _count_covered(cell: Any, name: str, *, least: int = 1) -> int:
    value = cell.get(name) or ""
    return min(int(value), _MOST_COVERED) if value.isdecimal() and len(value) < 5 and int(value) >= least else 1  # noqa: PLR2004


def _flatten(block: str) -> str:
    """Return a list, or a table within a cell, on one line."""
    if block.startswith("| "):
        rows = [line.strip("| ").replace(" | ", ", ") for line in block.split("\n") if line.strip("|- ")]
        return "; ".join(rows)
    return block.replace("\n- ", "; ").removeprefix("- ")


_RENDERERS: Final[dict[str, Callable[[Any], list[str]]]] = {
    **dict.fromkeys(("ul", "ol", "menu", "dir"), _render_list),
    **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), _render_code),
    "table": _render_table,
    "dl": _render_definitions,
    "li": lambda element: [item] if (item := _render_item(element, "- ")) else [],  # outside a list
}
