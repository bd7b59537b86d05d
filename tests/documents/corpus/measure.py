"""Measure what a conversion keeps: words, order, headings, pages; and what it invents."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.types import Part

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """Shares of a document, in percent."""

    words: int
    kept: float
    """Content words that the conversion has, counted as often as they stand in the document."""
    invented: float
    """Words of the conversion that the document does not have, or not as often."""
    order: float
    """Pairs of neighbouring words that are neighbours in the conversion."""
    headings: float
    pages: float

    def row(self) -> str:
        return "\t".join(str(value) if isinstance(value, int) else f"{value:.2f}" for value in astuple(self))


COLUMNS = "document\twords\tkept %\tinvented %\torder %\theadings %\tpages %"


def words_of(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def share(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 100.0


def measure(
    gold: str, parts: Sequence[Part], headings: Iterable[str] = (), pages: dict[int, str] | None = None
) -> Fidelity:
    """Compare a conversion with the text that it should hold."""
    text = "".join(part.text for part in parts)
    wanted, found = words_of(gold), words_of(text)
    common = sum((Counter(wanted) & Counter(found)).values())
    marked = {" ".join(words_of(line)) for line in text.splitlines() if line.lstrip("> -").startswith("#")}
    headings = [" ".join(words_of(heading)) for heading in headings]
    by_page: dict[int | None, str] = {}
    for part in parts:
        by_page[part.page] = by_page.get(part.page, "") + part.text
    right = [set(words_of(words)) <= set(words_of(by_page.get(page, ""))) for page, words in (pages or {}).items()]
    return Fidelity(
        words=len(wanted),
        kept=share(common, len(wanted)),
        invented=share(len(found) - common, len(found)),
        order=share(sum((Counter(pairwise(wanted)) & Counter(pairwise(found))).values()), len(wanted) - 1),
        headings=share(sum(heading in marked for heading in headings), len(headings)),
        pages=share(sum(right), len(right)),
    )
