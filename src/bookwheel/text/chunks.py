"""Cutting a document into chunks that tile its text exactly and never exceed a token budget.

Pure but for the tokenizer, and streaming: only about one chunk's text is held at a time.
A chunk ends, in order of liking, at a paragraph, a line, a sentence, a word, or where the budget ends.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Document, Part

_CHARACTERS_PER_TOKEN: Final = 6
_MOST_PER_TOKEN: Final = 64
"""A chunk takes no more text than this, however little of it counts: blanks and invisible characters."""
_ENDS: Final = (
    (re.compile(r"\n[ \t]*\r?\n\s*"), 0.8),
    (re.compile(r"\n"), 0.88),
    (re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；][”’」』）]*"), 0.88),
    (re.compile(r"\s+"), 0.9),
)
"""What a chunk likes to end with, and from which share of its length on that is worth it."""
_JOINED: Final = re.compile("[\u0300-\u036f\u200c\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
"""Characters that belong to the one before them."""


def split(document: Document, tokenizer: Tokenizer, limit: int, *, start: int = 0, index: int = 0) -> Iterator[Chunk]:
    """The document's chunks from character `start` on, numbered from `index`; each holds at most `limit` tokens."""
    window = _Window(document.parts(start), start)
    while window.text(1):
        cut, tokens = _find_cut(window, tokenizer, limit)
        sources, pages = window.places(cut)
        yield Chunk(
            index=index,
            start=window.start,
            end=window.start + cut,
            text=window.take(cut),
            tokens=tokens,
            sources=sources,
            pages=pages,
        )
        index += 1


def _find_cut(window: _Window, tokenizer: Tokenizer, limit: int) -> tuple[int, int]:
    """How many characters the next chunk takes, and its tokens."""
    text = window.text(limit * _CHARACTERS_PER_TOKEN)
    fit = _fit_tokens(text, tokenizer, limit)
    while fit == len(text) < limit * _MOST_PER_TOKEN and len(longer := window.text(2 * len(text))) > len(text):
        text = longer
        fit = _fit_tokens(text, tokenizer, limit)
    cut = fit if fit == len(text) else _find_chunk_end(text, fit)
    tokens = tokenizer.count(escape_markup(text[:cut]))
    while tokens > limit and cut > 1:
        cut = _find_chunk_end(text, max(1, min(cut - 1, cut * limit // tokens)))
        tokens = tokenizer.count(escape_markup(text[:cut]))
    return cut, tokens


def _fit_tokens(text: str, tokenizer: Tokenizer, limit: int) -> int:
    """How many leading characters are within the limit, or a few less; shielding only ever shortens a text."""
    shown = escape_markup(text)
    fit = tokenizer.fit(shown, limit)
    return len(text) if fit >= len(shown) else max(1, fit)


def _find_chunk_end(text: str, fit: int) -> int:
    """The best place to end a chunk that may take `fit` characters."""
    for end, share in _ENDS:
        worth = int(fit * share)
        places = [m.end() for m in end.finditer(text, worth) if worth < m.end() <= fit]
        if places:
            return places[-1]
    cut = fit
    while cut > 1 and (_JOINED.match(text, cut) or text[cut - 1] in "\u200d\r"):
        cut -= 1
    return cut if cut > 1 else fit


class _Window:
    """The text ahead: parts are drawn from the document as they are needed and given up when taken."""

    def __init__(self, parts: Iterator[Part], start: int) -> None:
        self.start = start
        self._parts = parts
        self._held = ""
        self._at = 0
        """Where in the held text the next chunk begins."""
        self._marks: list[tuple[int, str, int | None]] = []
        """From which character of the document on which source and page go."""

    def text(self, length: int) -> str:
        """The next `length` characters, or all that the document still has."""
        if len(self._held) - self._at < length:
            self._draw(length)
        return self._held[self._at : self._at + length]

    def _draw(self, length: int) -> None:
        pieces = [self._held[self._at :]]
        have = len(pieces[0])
        while have < length and (part := next(self._parts, None)) is not None:
            if part.text:
                self._marks.append((self.start + have, part.source, part.page))
                pieces.append(part.text)
                have += len(part.text)
        self._held, self._at = "".join(pieces), 0

    def places(self, cut: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The sources and pages of the next `cut` characters."""
        touched = [mark for mark in self._marks if mark[0] < self.start + cut]
        sources = dict.fromkeys(source for _, source, _ in touched)
        pages = dict.fromkeys(page for _, _, page in touched if page is not None)
        return tuple(sources), tuple(pages)

    def take(self, cut: int) -> str:
        """Give up the next `cut` characters."""
        taken = self._held[self._at : self._at + cut]
        self._at += cut
        self.start += cut
        ahead = [mark for mark in self._marks if mark[0] > self.start]
        current = [mark for mark in self._marks if mark[0] <= self.start][-1:]
        self._marks = current + ahead
        return taken
