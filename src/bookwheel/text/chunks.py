"""Cut a document into chunks that tile its text exactly and never exceed a token budget.

Pure except for the tokenizer, and streaming: about one chunk's text is in memory at a time.
A chunk ends, in order of preference, at a paragraph, a line, a sentence, a word, or where the budget ends; not right
behind a heading, where it can end elsewhere.

`split_ahead` cuts in a thread, one ahead of the call in flight, so that the event loop never waits for a tokenizer. Its
chunks are those of `split` whatever the timing: each begins where the one before it ends, and a call in flight changes
nothing about that.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Final, Self

from bookwheel.background import let_leave
from bookwheel.patterns import compile_late
from bookwheel.text.lines import Line, Span, is_heading, read_lines
from bookwheel.text.sanitize import escape_markup
from bookwheel.text.tokens import SEAM, EstimatingTokenizer, Tokenizer, scan_text
from bookwheel.types import Chunk, Document, FindLead, LedDocument, Part

_CHARACTERS_PER_TOKEN: Final = 6
# Eighths of the last chunk's length that are looked at for the next: most differ by less than one.
_AHEAD: Final = 9
# A chunk holds at most this many characters per token: blanks and invisible characters may count as none.
_MOST_PER_TOKEN: Final = 64
# The places to end a chunk, best first, and the share of the budget that it must fill for that.
_BREAKS: Final = (
    (compile_late(r"\n[ \t]*\r?\n(?:\s*\n)?"), 0.8),
    (compile_late(r"\n"), 0.88),
    (compile_late(r"[.!?…][\"'”’)\]]*\s+|[。！？；][”’」』）]*"), 0.88),
    (compile_late(r"\s+"), 0.9),
)
# Characters around a place that tell whether a heading stands above it.
_ABOVE: Final = 300
_BELOW: Final = 60
# A lead takes at most this part of a chunk.
_LEAD_SHARE: Final = 8
# A smaller chunk is cut sooner than a thread is woken.
_LEAST_IN_THREAD: Final = 512
# Characters that modify the one before them, so no chunk may begin with one.
_COMBINING: Final = compile_late("[\u0300-\u036f\u200c\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")


def open_leads(document: Document) -> FindLead | None:
    """Return what finds a document's leads; None where it has none.

    One whose length is unknown is not kept: what stands before a chunk would be converted again for each.
    """
    return document.open_leads() if isinstance(document, LedDocument) and document.length is not None else None


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """A document up to a character."""

    document: Document
    length: int

    @property
    def name(self) -> str:
        return self.document.name

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Yield the text from `start` up to the end of the head."""
        left = self.length - start
        for part in self.document.parts(start):
            if left <= 0:
                return
            yield part if len(part.text) <= left else Part(text=part.text[:left], source=part.source, page=part.page)
            left -= len(part.text)

    def slice(self, start: int, end: int) -> str:
        return self.document.slice(start, end)

    def open_leads(self) -> FindLead | None:
        return open_leads(self.document)


def split(
    document: Document, tokenizer: Tokenizer, limit: int, *, start: int = 0, index: int = 0, leads: bool = False
) -> Iterator[Chunk]:
    """Yield the chunks from character `start` on, numbered from `index`, each of at most `limit` tokens.

    With `leads`, each says within its limit what it begins in.
    """
    window = _Window(document.parts(start), start)
    find = open_leads(document) if leads else None
    reach = limit * _CHARACTERS_PER_TOKEN
    while window.text(1):
        view = _view_budget(window, tokenizer, limit, reach)
        cut, tokens = _find_cut(view, limit)
        if view.is_local:
            # The next chunk is probably about as long. How much is looked at then does not change where it ends.
            reach = view.fit * _AHEAD // 8 + SEAM
        sources, pages = window.sources_and_pages(cut)
        taken = window.start, view.text[:cut], sources[0]
        lead, cost = _find_lead(find, tokenizer, limit, taken)
        if tokens + cost > limit:
            view.narrow(limit - cost)
            cut, tokens = _find_cut(view, limit - cost)
            sources, pages = window.sources_and_pages(cut)
        yield Chunk(
            index=index,
            start=window.start,
            end=window.start + cut,
            text=window.take(cut),
            tokens=tokens + cost,
            sources=sources,
            pages=pages,
            lead=lead,
        )
        index += 1


def _find_lead(find: FindLead | None, tokenizer: Tokenizer, limit: int, taken: tuple[int, str, str]) -> tuple[str, int]:
    """Return the lead of a text and its tokens; none where it takes too much room."""
    lead = find(*taken) if find else ""
    tokens = tokenizer.count(escape_markup(lead)) if lead else 0
    return (lead, tokens) if tokens * _LEAD_SHARE <= limit else ("", 0)


def fill_in(chunk: Chunk, document: Document, tokenizer: Tokenizer, limit: int) -> Chunk:
    """Return a chunk that was kept without its text with that, and with its lead where there is room."""
    text = document.slice(chunk.start, chunk.end)
    source = chunk.sources[0] if chunk.sources else ""
    lead, cost = _find_lead(open_leads(document), tokenizer, limit, (chunk.start, text, source))
    # What was counted may have had a lead.
    tokens = tokenizer.count(escape_markup(text))
    lead, cost = (lead, cost) if tokens + cost <= limit else ("", 0)
    return replace(chunk, text=text, lead=lead, tokens=tokens + cost)


def _view_budget(window: _Window, tokenizer: Tokenizer, limit: int, reach: int) -> _PromptView:
    """Return so much of the unread text that the budget ends inside it, or all that a chunk may hold."""
    view = _PromptView(window.text(reach), tokenizer, limit)
    while view.fit > len(view.text) - SEAM and len(view.text) < limit * _MOST_PER_TOKEN:
        longer = window.text(2 * len(view.text))
        if len(longer) == len(view.text):
            break
        view = _PromptView(longer, tokenizer, limit)
    return view


def _find_cut(view: _PromptView, limit: int) -> tuple[int, int]:
    """Return the length of the next chunk in characters and in tokens."""
    text, fit = view.text, view.fit
    cut = fit if fit == len(text) else _find_chunk_end(text, fit)
    # A prefix can have more tokens than it had inside the whole text, so the count is checked.
    tokens = view.count(cut)
    while tokens > limit and cut > 1:
        cut = _find_chunk_end(text, max(1, min(cut - 1, cut * limit // tokens)))
        tokens = view.count(cut)
    return cut, tokens


class _PromptView:
    """A piece of the document, tokenized as prompts show it."""

    def __init__(self, text: str, tokenizer: Tokenizer, limit: int) -> None:
        self.text = text
        self._tokenizer = tokenizer
        self._escaped = escape_markup(text)
        self._scanned = scan_text(tokenizer, self._escaped)
        self.is_local = self._scanned.is_local
        self.fit = self._fit(limit)

    def _fit(self, limit: int) -> int:
        # Escaping can only shorten a text, so that so many characters of it fit, or a few more.
        fit = self._scanned.fit(limit)
        return len(self.text) if fit >= len(self._escaped) else max(1, fit)

    def narrow(self, limit: int) -> None:
        self.fit = self._fit(limit)

    def count(self, cut: int) -> int:
        """Return the tokens of the first `cut` characters."""
        escaped = escape_markup(self.text[:cut])
        # A cut inside a tag leaves it unescaped, so the prefix can be another text.
        return (
            self._scanned.count(len(escaped)) if self._escaped.startswith(escaped) else self._tokenizer.count(escaped)
        )


def _find_chunk_end(text: str, fit: int) -> int:
    """Return the best place to end a chunk of at most `fit` characters."""
    headings: _HeadingEnds | None = None
    behind_heading: dict[int, None] = {}
    for pattern, share in _BREAKS:
        least = int(fit * share)
        ends = [m.end() for m in pattern.finditer(text, least) if least < m.end() <= fit]
        for end in reversed(ends):
            headings = headings or _HeadingEnds(text, least, fit)
            if end not in behind_heading and not headings.is_behind(end):
                return end
            behind_heading[end] = None
    if behind_heading:
        return next(iter(behind_heading))
    cut = fit
    while cut > 1 and (_COMBINING.match(text, cut) or text[cut - 1] in "\u200d\r"):
        cut -= 1
    return cut if cut > 1 else fit


class _HeadingEnds:
    """Tells of places between two in a text whether they stand right behind a heading; its lines are read once."""

    def __init__(self, text: str, start: int, end: int) -> None:
        first = max(0, start - _ABOVE)
        self._lines = [
            Line(first + line.start, first + line.end, line.text) for line in read_lines(text[first : end + _BELOW])
        ]
        self._starts = [line.start for line in self._lines]

    def is_behind(self, place: int) -> bool:
        """Tell if the last line before a place is a heading of what comes then."""
        window = max(0, place - _ABOVE), place + _BELOW
        at = bisect_left(self._starts, place) - 1
        while at >= 0 and self._lines[at].end >= window[0] and _clip(self._lines[at], window).is_blank:
            at -= 1
        if at < 0 or self._lines[at].end < window[0]:
            return False
        around = range(max(0, at - 1), min(at + 2, len(self._lines)))
        lines = [_clip(self._lines[one], window) for one in around if self._starts[one] < window[1]]
        # A line that begins before the window is its first.
        is_first = at == 0 or self._starts[at] <= window[0]
        return is_heading(lines[at - around[0] :], 0) if is_first else is_heading(lines, 1)


def _clip(line: Line, window: Span) -> Line:
    start, end = max(line.start, window[0]), min(line.end, window[1])
    return Line(start, end, line.text[start - line.start : max(start, end) - line.start])


class _Window:
    """The unread text: parts are fetched from the document as needed and dropped once they are in a chunk."""

    def __init__(self, parts: Iterator[Part], start: int) -> None:
        self.start = start
        self._parts = parts
        self._buffer = ""
        self._offset = 0
        """Index in the buffer where the next chunk begins."""
        self._marks: list[tuple[int, str, int | None]] = []
        """The character of the document where each source and page begins."""

    def text(self, length: int) -> str:
        """Return the next `length` characters, or all that are left."""
        have = len(self._buffer) - self._offset
        if have < length:
            pieces = [self._buffer[self._offset :]]
            while have < length and (part := next(self._parts, None)) is not None:
                if part.text:
                    self._marks.append((self.start + have, part.source, part.page))
                    pieces.append(part.text)
                    have += len(part.text)
            self._buffer, self._offset = "".join(pieces), 0
        return self._buffer[self._offset : self._offset + length]

    def sources_and_pages(self, cut: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the sources and pages of the next `cut` characters."""
        touched = [mark for mark in self._marks if mark[0] < self.start + cut]
        sources = dict.fromkeys(source for _, source, _ in touched)
        pages = dict.fromkeys(page for _, _, page in touched if page is not None)
        return tuple(sources), tuple(pages)

    def take(self, cut: int) -> str:
        """Remove and return the next `cut` characters."""
        taken = self._buffer[self._offset : self._offset + cut]
        self._offset += cut
        self.start += cut
        ahead = [mark for mark in self._marks if mark[0] > self.start]
        current = [mark for mark in self._marks if mark[0] <= self.start][-1:]
        self._marks = current + ahead
        return taken


def split_ahead(
    document: Document, tokenizer: Tokenizer, limit: int, *, start: int = 0, index: int = 0
) -> AsyncIterator[Chunk]:
    """Yield the chunks of `split` with their leads. While one is read, the next is cut."""
    chunks = split(document, tokenizer, limit, start=start, index=index, leads=True)
    return _Ahead(chunks, in_thread=limit >= _LEAST_IN_THREAD and not isinstance(tokenizer, EstimatingTokenizer))


class _Ahead:
    """The chunks, and the one that is being cut."""

    def __init__(self, chunks: Iterator[Chunk], *, in_thread: bool) -> None:
        self._chunks = chunks
        self._in_thread = in_thread
        self._upcoming: asyncio.Future[Chunk | None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        if self._in_thread:
            chunk = await (self._upcoming or self._cut())
            self._upcoming = self._cut() if chunk else None
        else:
            chunk = next(self._chunks, None)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    def _cut(self) -> asyncio.Future[Chunk | None]:
        # A reading that stops does not wait for the chunk ahead, and nobody misses an error in it.
        return let_leave(asyncio.get_running_loop().run_in_executor(None, next, self._chunks, None))
