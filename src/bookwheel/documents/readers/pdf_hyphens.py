"""Words that the end of a line or a page of a PDF has cut, joined as the document writes them elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from bookwheel.documents.readers.pdf_layout import TextLine

HYPHENS: Final = "\x02\ufffe\N{SOFT HYPHEN}"
"""PDFium's own signs for a hyphen at a line's end, and the one that is seen only there."""
_AT_ENDS: Final = (*HYPHENS, "-", "‐")
_AT_END: Final = re.compile(rf"([^\W\d_]+)[{HYPHENS}\-‐]$")
# Where a blank parts words in a text of signs without blanks.
_LATIN_END: Final = re.compile(r"[A-Za-z0-9.,;)]$")
_WORD_START: Final = re.compile(r"^[^\W\d_]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Hyphens:
    """Joins words that a line end has cut. What the document writes elsewhere decides: `non-free` keeps its hyphen."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(texts)

    @cached_property
    def _words(self) -> Counter[str]:
        words: Counter[str] = Counter()
        for word, count in Counter(chain.from_iterable(map(_WORD.findall, self._texts))).items():
            words[word.lower()] += count
        return words

    def join(self, lines: Sequence[TextLine]) -> str:
        """Return the lines as text, paragraphs apart."""
        pieces: list[str] = []
        for line in lines:
            text = line.text
            if pieces and (joined := self._join_cut(pieces[-1], text)):
                pieces[-1], text = joined
                if not text:
                    continue
            elif pieces and line.runs_on and not line.begins_paragraph:
                is_between_words = _LATIN_END.search(pieces[-1]) and text[:1].isascii()
                pieces[-1] += f" {text}" if is_between_words else text
                continue
            elif line.begins_paragraph and pieces:
                pieces.append("")
            pieces.append(text)
        text = "\n".join(pieces)
        for mark in HYPHENS:
            text = text.replace(mark, "-")
        return text.strip("\n")

    def join_pages(self, before: str, after: str) -> tuple[str, str]:
        """Return the texts of two pages; a word that the page's end has cut goes to the first one, whole."""
        return self._join_cut(before, after) or (before, after)

    def _join_cut(self, before: str, after: str) -> tuple[str, str] | None:
        """Return both texts with the word that was cut at the end of the first one, or None if none was."""
        if not before.endswith(_AT_ENDS):  # as most, which are long, do not
            return None
        cut, rest = _AT_END.search(before), _WORD_START.match(after)
        if not cut or not rest:
            return None
        # The rest of a word may begin a line: of `exam-ple`, `EXAM-PLE`, not of `Jean-Paul`.
        if not (rest[0][0].islower() or (cut[1][-1].isupper() and rest[0][0].isupper())):
            return None
        end = next((at for at in range(rest.end(), len(after)) if after[at].isspace()), len(after))
        # Its punctuation goes along.
        return f"{before[: cut.end(1)]}{self._hyphen(cut[1], rest[0])}{after[:end]}", after[end:].lstrip()

    def _hyphen(self, before: str, after: str) -> str:
        """Return a hyphen if the word is written with one, or if only its two halves are words of the document."""
        with_one, without = self._words[f"{before}-{after}".lower()], self._words[f"{before}{after}".lower()]
        # Each half was counted once where it is cut. Halves in capitals are rather names: `ISO-IEC`.
        halves = [self._words[half.lower()] > 1 for half in (before, after)]
        are_words = any(halves) if after[0].isupper() else all(halves)
        return "-" if with_one > without or (are_words and not without) else ""
