"""What all pages of a folder repeat at their beginning and their end, such as the menus of a saved site."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST_PAGES: Final = 4
_SHARE: Final = 0.5
# Blocks from an edge that are compared.
_MOST_BLOCKS: Final = 40
_BETWEEN: Final = "\n\n"


def find_repeated_edges(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return, for each text, how many characters at its beginning and its end repeat those of an earlier one."""
    if len(texts) < _LEAST_PAGES:
        return [(0, 0)] * len(texts)
    pages = [text.rstrip("\n").split(_BETWEEN) for text in texts]
    heads = _count_repeats([page[:_MOST_BLOCKS] for page in pages])
    tails = _count_repeats([page[: -_MOST_BLOCKS - 1 : -1] for page in pages])
    edges: list[tuple[int, int]] = []
    for text, page, head, tail in zip(texts, pages, heads, tails, strict=True):
        if head + tail >= len(page):  # nothing of its own: it may be a page that others quote
            edges.append((0, 0))
            continue
        start = sum(len(block) + len(_BETWEEN) for block in page[:head])
        end = sum(len(block) + len(_BETWEEN) for block in page[len(page) - tail :])
        edges.append((start, end + len(text) - len(text.rstrip("\n")) if tail else 0))
    return edges


def _count_repeats(pages: Sequence[Sequence[str]]) -> list[int]:
    """Return how many blocks of each page, from its edge on, stand on most pages and on an earlier one."""
    counts = Counter(block for page in pages for block in set(page))
    common = {block for block, count in counts.items() if count >= _LEAST_PAGES and count > _SHARE * len(pages)}
    seen: set[str] = set()
    lengths: list[int] = []
    for page in pages:
        lengths.append(sum(1 for _ in takewhile(seen.__contains__, page)))
        seen |= common.intersection(page)
    return lengths
