"""Join the words that a PDF's line ends and page ends have cut."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from bookwheel.documents.readers.pdf_words import HYPHENS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.documents.readers.pdf_layout import TextLine

_AT_END: Final = re.compile(rf"([^\W\d_]+)[{HYPHENS}\-‐]$")
_WORD_START: Final = re.compile(r"^[^\W\d_]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Hyphens:
    """Joins words that a line end has cut. What the document writes elsewhere decides: `non-free` keeps its hyphen."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for text in texts:
            self._words.update(word.lower() for word in _WORD.findall(text))

    def join(self, lines: Sequence[TextLine]) -> str:
        """Return the lines as text, paragraphs apart."""
        pieces: list[str] = []
        for line in lines:
            text = line.text
            cut = _AT_END.search(pieces[-1]) if pieces else None
            rest = _WORD_START.match(text) if cut else None
            if cut and rest and _can_go_on(cut[1], rest[0]):
                pieces[-1] = pieces[-1][: cut.end(1)] + self._hyphen(cut[1], rest[0]) + rest[0]
                end = len(rest[0])
                while end < len(text) and not text[end].isspace():  # its punctuation goes along
                    end += 1
                pieces[-1] += text[len(rest[0]) : end]
                text = text[end:].lstrip()
                if not text:
                    continue
            elif line.begins_paragraph and pieces:
                pieces.append("")
            pieces.append(text)
        text = "\n".join(pieces)
        return text.translate({ord(mark): "-" for mark in HYPHENS}).strip("\n")

    def join_pages(self, before: str, after: str) -> tuple[str, str]:
        """Return the texts of two pages; a word that the page's end has cut goes to the first one, whole."""
        cut, rest = _AT_END.search(before), _WORD_START.match(after)
        if not cut or not rest or not _can_go_on(cut[1], rest[0]):
            return before, after
        end = len(rest[0])
        while end < len(after) and not after[end].isspace():  # its punctuation goes along
            end += 1
        hyphen = self._hyphen(cut[1], rest[0])
        return f"{before[: cut.end(1)]}{hyphen}{after[:end]}", after[end:].lstrip()

    def _hyphen(self, before: str, after: str) -> str:
        """Return a hyphen if the word is written with one, or if only its two halves are words of the document."""
        with_one, without = self._words[f"{before}-{after}".lower()], self._words[f"{before}{after}".lower()]
        # Each half was counted once where it is cut. Halves in capitals are rather names: `ISO-IEC`.
        halves = [self._words[half.lower()] > 1 for half in (before, after)]
        are_words = any(halves) if after[0].isupper() else all(halves)
        return "-" if with_one > without or (are_words and not without) else ""


def _can_go_on(before: str, after: str) -> bool:
    """Return True if a line may begin with the rest of a word: of `exam-ple`, `EXAM-PLE`, not of `Jean-Paul`."""
    return after[0].islower() or (before[-1].isupper() and after[0].isupper())
