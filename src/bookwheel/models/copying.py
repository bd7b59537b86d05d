"""A short answer as a copy: which spans of a passage can be one, and a search for the likeliest as the reply.

    span        whole words, or Chinese characters, of at most a few tokens
    log p(span) = sum of log p(token | prompt, tokens before) + log p(end of the reply | prompt, span)

The search keeps the few likeliest beginnings and lets each go on only as the passage does. A log-probability only falls
with more tokens, so it ends as soon as no beginning is likelier than the best whole span.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bookwheel.models.gguf import Floats

    Scores = Callable[[Sequence["Beginning"]], Floats]
    """Returns for each beginning the log-probabilities of the token after it."""

BEAM: Final = 6
LONGEST: Final = 28
"""Tokens of a span."""
# Characters of which that many tokens are taken.
_REACH: Final = 160
_LETTER: Final = r"[^\W\u3400-\u9fff]"
_WORD: Final = re.compile(
    rf"[£$€¥#~]?{_LETTER}+(?:[-'’./@+]{_LETTER}+|(?<=\d):(?=\d){_LETTER}+|,\d{{3}}\b)*(?: ?[%°])?|[\u3400-\u9fff]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A word of the passage with which a span may begin."""

    place: int
    ids: tuple[int, ...]
    """The tokens of the passage from here on."""
    ends: Mapping[int, int]
    """After so many of them a span may end: at which character."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first tokens of some spans."""

    ids: tuple[int, ...]
    logprob: float
    parent: int
    """Its place among the beginnings of one token less."""
    openings: tuple[Opening, ...]


@dataclass(frozen=True, slots=True)
class CopiedSpan:
    """A span of a passage as the reply."""

    start: int
    end: int
    logprob: float


def find_openings(
    passage: str, encode: Callable[[str], tuple[Sequence[int], Sequence[int]]], gap: str = ""
) -> list[Opening]:
    """Return the words that spans begin with; no span goes over a gap. `encode` gives tokens and where they end."""
    openings = []
    for first, last in _split(passage, gap):
        words = list(_WORD.finditer(passage, first, last))
        ends = {word.end() for word in words}
        for word in words:
            ids, token_ends = encode(passage[word.start() : min(last, word.start() + _REACH)])
            places = {at: word.start() + end for at, end in enumerate(token_ends[:LONGEST], 1)}
            allowed = {at: end for at, end in places.items() if end in ends}
            if allowed:
                openings.append(Opening(place=word.start(), ids=tuple(ids[: max(allowed)]), ends=allowed))
    return openings


def _split(passage: str, gap: str) -> Iterable[tuple[int, int]]:
    start = 0
    for part in passage.split(gap) if gap else [passage]:
        yield start, start + len(part)
        start += len(part) + len(gap)


def search(openings: Sequence[Opening], score: Scores, end: int) -> list[CopiedSpan]:
    """Return the spans that were found, the likeliest first; `end` is the token that ends a reply."""
    live = [Beginning((), 0.0, 0, tuple(openings))]
    found: dict[tuple[int, ...], CopiedSpan] = {}
    while live:
        rows = score(live)
        longer: dict[tuple[int, ...], Beginning] = {}
        for at, (beginning, row) in enumerate(zip(live, rows, strict=True)):
            depth = len(beginning.ids)
            following: dict[int, list[Opening]] = {}
            for opening in beginning.openings:
                if depth in opening.ends:
                    span = CopiedSpan(opening.place, opening.ends[depth], beginning.logprob + float(row[end]))
                    # The same words at a later place are the same answer.
                    found.setdefault(beginning.ids, span)
                if depth < len(opening.ids):
                    following.setdefault(opening.ids[depth], []).append(opening)
            for token, some in following.items():
                ids = (*beginning.ids, token)
                longer[ids] = Beginning(ids, beginning.logprob + float(row[token]), at, tuple(some))
        best = max((span.logprob for span in found.values()), default=-float("inf"))
        live = [one for one in nlargest(BEAM, longer.values(), key=lambda one: one.logprob) if one.logprob > best]
    return sorted(found.values(), key=lambda span: -span.logprob)
