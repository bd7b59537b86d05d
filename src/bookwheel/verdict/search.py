"""Search a document of any length for the sentences that could bear out a claim.

The document is read once, block by block, and only a block and a few sentences are in memory. In each block the rarest
of a claim's words is looked for with plain string searches, and only the sentences around it are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bookwheel.text.lexicon import FORMS
from bookwheel.text.matching import drop_invisible
from bookwheel.text.sentences import find_ends
from bookwheel.verdict.statements import Statement, TermKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bookwheel.types import Part

# Characters of a block. Larger blocks save little, and smaller ones cost a pass over the claims each.
_BLOCK: Final = 1 << 16
# Characters that a sentence may have on either side of the word searched for.
_MOST_CONTEXT: Final = 320
# Occurrences of a word that are looked at in one block, and sentences of one block that are compared.
_MOST_PLACES: Final = 256
# Characters around an occurrence by which repeated sentences are known, and by which the best are chosen.
_SAME_AROUND: Final = 40
_NEAR: Final = 200
_MOST_SENTENCES: Final = 8
# Words of a claim without names and numbers whose sentences are looked at.
_MOST_ANCHORS: Final = 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, in the document's characters."""

    text: str
    start: int
    end: int
    before: str
    """The sentence before it, which may name what this one speaks of."""


@dataclass(slots=True)
class Query:
    """The words of one claim to search for."""

    anchors: tuple[tuple[str, ...], ...]
    """Spellings of each word, lower case. A sentence is looked at if it has one of the rarest."""
    required: tuple[tuple[str, ...], ...] = ()
    """Its names and numbers, each in all spellings."""
    is_done: bool = False
    """Nothing more is looked for."""
    seen: set[tuple[str, ...]] = field(default_factory=set)
    """The names and numbers that the document has somewhere."""


def make_query(statement: Statement) -> Query:
    """Return what to search for a statement."""
    exact = [term for term in statement.terms if term.is_exact]
    anchors = tuple(dict.fromkeys(_spellings(term.text, term.key) for term in statement.terms))
    if any(term.kind is TermKind.SIGN for term in statement.terms):
        anchors = tuple(dict.fromkeys((*_sign_pairs(statement), *(_spellings(one.text, one.key) for one in exact))))
    return Query(anchors, tuple(dict.fromkeys(_spellings(term.text, term.key) for term in exact)))


def search(parts: Iterable[Part], queries: Sequence[Query]) -> Iterator[tuple[int, list[Sentence]]]:
    """Yield the number of a query and sentences for it, block by block, until all queries are done."""
    for offset, text, _ in list_blocks(parts):
        visible, offsets = drop_invisible(text)
        block = _SearchedBlock(visible, offsets, offset)
        for number, query in enumerate(queries):
            if not query.is_done and (sentences := block.find(query)):
                yield number, sentences
        if all(query.is_done for query in queries):
            return


def list_blocks(parts: Iterable[Part], overlap: int = 2 * _MOST_CONTEXT) -> Iterator[tuple[int, str, bool]]:
    """Yield the text in blocks that overlap, each with the character where it begins and if it is the last."""
    offset, pending, length = 0, list[str](), 0
    for part in parts:
        pending.append(part.text)
        length += len(part.text)
        if length >= max(_BLOCK, 2 * overlap):
            text = "".join(pending)
            yield offset, text, False
            offset += len(text) - overlap
            pending, length = [text[len(text) - overlap :]], overlap
    if length:
        yield offset, "".join(pending), True


class _SearchedBlock:
    """One block of the document."""

    def __init__(self, text: str, offsets: list[int] | None, start: int) -> None:
        self._text = text
        self._offsets = offsets
        self._start = start
        lower = text.lower()
        # A few characters become two in lower case, which would shift all places behind them.
        self._lower = lower if len(lower) == len(text) else "".join(_lower(character) for character in text)

    def find(self, query: Query) -> list[Sentence]:
        """Return the sentences of this block that have most of a query's words."""
        counts = {anchor: self._count(anchor) for anchor in query.anchors}
        query.seen.update(anchor for anchor in query.required if counts.get(anchor) or self._count(anchor))
        there = sorted((count, anchor) for anchor, count in counts.items() if count)
        exact = [anchor for _, anchor in there if anchor in query.required]
        plain = [anchor for _, anchor in there if anchor not in query.required]
        chosen = exact[: _MOST_ANCHORS + 1] + plain[:_MOST_ANCHORS]
        around: dict[str, int] = {}
        for anchor in chosen:
            for place in self._places(anchor):
                around.setdefault(self._lower[max(0, place - _SAME_AROUND) : place + _SAME_AROUND], place)
        best = sorted(around.values(), key=lambda place: -self._score(place, query))
        spans: dict[tuple[int, int], None] = {}
        for place in best[: 2 * _MOST_SENTENCES]:
            if not any(start <= place < end for start, end in spans):
                spans[self._expand(place)] = None
        return [self._sentence(*span) for span in [*spans][:_MOST_SENTENCES]]

    def _count(self, anchor: tuple[str, ...]) -> int:
        return sum(self._lower.count(spelling) for spelling in anchor)

    def _places(self, anchor: tuple[str, ...]) -> Iterator[int]:
        for spelling in anchor:
            at = -1
            for _ in range(_MOST_PLACES):
                at = self._lower.find(spelling, at + 1)
                if at < 0:
                    break
                yield at

    def _score(self, place: int, query: Query) -> int:
        text = self._lower[max(0, place - _NEAR) : place + _NEAR]
        score = 0
        for anchor in query.anchors:
            if any(spelling in text for spelling in anchor):
                score += 3 if anchor in query.required else 1
        return score

    def _expand(self, place: int) -> tuple[int, int]:
        """Return the sentence around a place."""
        before, after = max(0, place - _MOST_CONTEXT), min(len(self._text), place + _MOST_CONTEXT)
        first = max(find_ends(self._text, before, place), default=before)
        last = next(find_ends(self._text, place, after), after)
        quote = self._text[first:last]
        return first + len(quote) - len(quote.lstrip()), first + len(quote.rstrip())

    def _sentence(self, start: int, end: int) -> Sentence:
        stops = list(find_ends(self._text, max(0, start - _MOST_CONTEXT), start))
        previous = self._text[stops[-2] if len(stops) > 1 else max(0, start - _MOST_CONTEXT) : start]
        first, last = (self._offsets[start], self._offsets[end - 1] + 1) if self._offsets else (start, end)
        return Sentence(self._text[start:end], self._start + first, self._start + last, previous)


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _spellings(text: str, key: str) -> tuple[str, ...]:
    """Return the ways to find a word in a lower-case text: its stem, which its other forms share, and its own form."""
    lower = text.casefold()
    if key.isdigit():
        return tuple(dict.fromkeys((lower, key, f"{int(key):,}")))
    forms = tuple(dict.fromkeys((key, lower, *FORMS.get(key, ()))))
    return tuple(form for form in forms if not any(form != other and form.startswith(other) for other in forms))


def _sign_pairs(statement: Statement) -> Iterator[tuple[str, ...]]:
    for one, two in zip(statement.terms, statement.terms[1:], strict=False):
        if one.kind is two.kind is TermKind.SIGN and one.end == two.start:
            yield (one.text + two.text,)
