r"""Find what is copied from the document, among the sentences that a search has found there.

    document    # Who built it?\nThe mill was built by Odo Farr,\na carpenter. He died in 1601.
    answer      Who built it? The mill was built by Odo Farr, a carpenter.      copied: two sentences of the document

Blanks, line ends, bullets, quotes and invisible characters do not count, and neither does what is struck out. A copy is
a whole sentence: "Ada signed it." is none of "Nobody says that Ada signed it."
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.matching import UNSPACED, drop_invisible
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Part
from bookwheel.verdict.parsing import STRUCK, parse
from bookwheel.verdict.search import LocatedSentence, make_query, search

# Terms of a sentence that says something by itself. A name, or a list of two, stands in many places.
_LEAST_SENTENCE: Final = 4
# Lines of an answer that one sentence of the document may stand on.
_MOST_LINES: Final = 8
# Characters between two sentences of which one follows the other.
_MOST_BETWEEN: Final = 16
_LEAST_QUOTE: Final = 7
_QUOTES: Final = compile_late("[\"'“”‘’«»「」]")
_PARTS: Final = compile_late(r"[“”„«»「」\"]|…|\.{3}")
_STOPS: Final = ".…。"
_UNSPACED: Final = compile_late(f"[{UNSPACED}]")
_BULLETS: Final = compile_late(r"(?:\n|\A)\s*(?:(?:[-*•·>]+|#+|\(?\d{1,2}[.)、])\s+)+")


def find_copies(pieces: Sequence[str], found: Iterable[LocatedSentence]) -> dict[int, LocatedSentence]:
    """Return the sentences of a document that pieces of an answer are, by the pieces' numbers.

    A piece that says little is a copy only next to one that says more, as a heading above its sentence.
    """
    held: dict[str, list[LocatedSentence]] = {}
    for one in sorted(found, key=lambda one: one.start):
        held.setdefault(_squeeze(one.text), []).append(one)
    keys = [_squeeze(piece) for piece in pieces]
    ends = [(first, last) for last in range(len(keys) + 1) for first in range(max(0, last - _MOST_LINES), last)]
    runs = [(first, last, one) for first, last in ends for one in held.get("".join(keys[first:last]), ())]
    copies: dict[int, LocatedSentence] = {}
    # Those that say something come first, and may tell of which place the others are.
    for first, last, one in sorted(runs, key=lambda run: not says_something(run[2].text)):
        before, after = copies.get(first - 1), copies.get(last)
        is_beside = (before and 0 <= one.start - before.end <= _MOST_BETWEEN) or (
            after and 0 <= after.start - one.end <= _MOST_BETWEEN
        )
        if says_something(one.text) or is_beside:
            copies |= {at: one for at in range(first, last) if at not in copies}
    return dict(sorted(copies.items()))


def says_something(text: str) -> bool:
    """Tell if a copy bears a sentence out. A name, or a list of two, stands in many places."""
    return len(parse(text).terms) >= _LEAST_SENTENCE


def find_quotes(parts: Iterable[Part], reply: str) -> tuple[LocatedSentence, ...]:
    """Return the document's sentences that a reply copies, or lines of them, in the reply's order.

    Of several with the same words, one that is no more than these is meant, as a line of its own; then the longest.
    """
    quotes = {key: quote for quote in _list_quotes(reply) if _is_telling(key := _squeeze(quote))}
    queries = [make_query(quote, "") for quote in quotes.values()]
    search(parts, queries)
    copied = [(_squeeze(one.text), one) for query in queries for one in query.sentences]
    found: dict[str, LocatedSentence] = {}
    for quote in quotes:
        held = [(key, one) for key, one in copied if quote in key]
        # What stands in quotes within a sentence is a part of it.
        if held and not any(quote in other for other in found):
            found[quote] = max(held, key=lambda pair: (pair[0] == quote, len(pair[0]), -pair[1].start))[1]
    return tuple(dict.fromkeys(found.values()))


def is_findable(reply: str) -> bool:
    """Tell if a reply has so many words that they stand nowhere by chance."""
    return any(_is_telling(_squeeze(quote)) for quote in _list_quotes(reply))


def _list_quotes(reply: str) -> Iterator[str]:
    """Yield the sentences of a reply, and what stands in quotes or between dots there."""
    for line in reply.splitlines():
        yield from list_sentences(line)
        yield from _PARTS.split(line)


def _is_telling(key: str) -> bool:
    # A sign of a script without blanks says as much as some letters.
    return len(key) + len(_UNSPACED.findall(key)) >= _LEAST_QUOTE


def _squeeze(text: str) -> str:
    """Return the signs of a text by which a copy is known."""
    bare = _QUOTES.sub(" ", STRUCK.sub(" ", drop_invisible(text)[0]))
    return "".join(_BULLETS.sub(" ", bare).split()).strip(_STOPS)
