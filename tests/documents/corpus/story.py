"""The text of the corpus: words that a document must keep, in order, with its headings and pages."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BOOKS = Path(__file__).parents[2] / "fixtures" / "data" / "books"
THINGS = ("lamp oil", "flour", "rope", "candles", "salted herring", "coal", "sail cloth", "tar", "fresh water", "nails")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One document of the corpus."""

    name: str
    """A file's name; the word before the dash says what it is a sample of."""
    write: Callable[[Path], None]
    text: str
    """All content, in reading order."""
    headings: tuple[str, ...] = ()
    pages: dict[int, str] = field(default_factory=dict)
    """Words that stand on a page, by its number."""
    dropped: str = ""
    """Boilerplate, which must not be read."""


@cache
def sentences(book: str = "en_essays_own.txt") -> tuple[str, ...]:
    """Return the book's sentences of a middling length."""
    text = " ".join((BOOKS / book).read_text("utf-8").split())
    parts = re.split(r"(?<=[.!?])\s+|(?<=[。！？])", text)
    return tuple(part for part in parts if 12 <= len(part) <= 160)


class Story:
    """A source of paragraphs, titles and tables, the same for the same seed."""

    def __init__(self, seed: int, book: str = "en_essays_own.txt") -> None:
        self._random = random.Random(seed)
        self._sentences = sentences(book)
        self._joint = "" if book.startswith("zh") else " "

    def sentence(self) -> str:
        return self._random.choice(self._sentences)

    def paragraph(self, count: int = 4) -> str:
        return self._joint.join(self.sentence() for _ in range(count))

    def paragraphs(self, count: int, length: int = 4) -> list[str]:
        return [self.paragraph(length) for _ in range(count)]

    def title(self) -> str:
        return " ".join(re.findall(r"\w+", self.sentence())[:4]).capitalize()

    def table(self, rows: int = 6) -> list[list[str]]:
        """Return a table with a head; every number is its own."""
        names = self._random.sample(THINGS, min(rows, len(THINGS)))
        numbers = self._random.sample(range(1000, 9999), 2 * rows)
        body = [[name, str(numbers[2 * i]), f"pier {numbers[2 * i + 1]}"] for i, name in enumerate(names)]
        return [["Cargo", "Barrels", "Landed at"], *body]
