"""Common and frequent words: RULER's `cwe` and `fwe`, where the evidence is spread over the whole document.

cwe     a numbered list of words; ten stand in it 30 times each, all others 3 times: name the ten.
Where a text is too short for that, 6 times and once. Where more words would be needed than the
vocabulary has, both counts grow by the same factor.
fwe     made-up words whose counts follow a zeta distribution with alpha 2.0; the most frequent place is taken
by dots: name the three most frequent words.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from random import Random
from string import ascii_lowercase
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.lab.tasks.assembly import CLOSE, AssembledDocument, count_tokens, join, length_error
from bookwheel.lab.tasks.base import GoldEvidence, MemoryRule
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.material import coin_word, draw_distinct, list_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMON: Final = 10
_FREQUENT: Final = 3
_FLATTEST: Final = 1.1
_STEEPEST: Final = 4.0
_ROUNDS: Final = 12


def build_common_words(request: SampleRequest) -> SampleDraft:
    """Build a sample of `cwe`."""
    count = request.read_int("words", _COMMON)
    key = request.rng.getrandbits(64)
    words = _draw_vocabulary(request, 12 * count)

    def texts(size: int) -> list[str]:
        return _build_list(words, size, count, Random(key))  # noqa: S311 - not for secrets

    body = _fit_length(texts, request, least=8 * count, guess=request.tokens // 4)
    return _build_draft(
        f"The document is a long numbered list of words. Which {count} words occur in it most often? Name all {count}.",
        words[:count],
        body,
    )


def _draw_vocabulary(request: SampleRequest, least: int) -> list[str]:
    """Return words in a seeded order: the data folder's, or made-up ones."""
    words = list_vocabulary(request.data_dir)
    if len(words) >= least:
        request.rng.shuffle(words)
        return words
    return list(islice(draw_distinct(lambda: coin_word(request.rng)), max(4000, least)))


def _build_list(words: list[str], size: int, count: int, rng: Random) -> list[str]:
    """Return about `size` numbered entries; the first `count` words are the common ones."""
    often, seldom = (30, 3) if size >= count * 36 else (6, 1)
    rest = max(1, size - count * often)
    most = (len(words) - count) * seldom
    if rest > most:
        factor = -(-size // (most + count * often))
        often, seldom = often * factor, seldom * factor
        rest = max(1, size - count * often)
    entries = [word for word in words[:count] for _ in range(often)]
    entries += [words[count + at // seldom] for at in range(rest)]
    rng.shuffle(entries)
    return [f"{number}. {word}\n" for number, word in enumerate(entries, start=1)]


def build_frequent_words(request: SampleRequest) -> SampleDraft:
    """Build a sample of `fwe`."""
    alpha = float(request.options.get("alpha", 2.0))
    key = request.rng.getrandbits(64)
    coined = draw_distinct(lambda: "".join(request.rng.choices(ascii_lowercase, k=6)))
    words = list(islice(coined, max(40, request.tokens // 50)))
    shares = [rank**-alpha for rank in range(1, len(words) + 2)]
    total = sum(shares)

    def texts(size: int) -> list[str]:
        counts = [round(size * share / total) for share in shares]
        entries = ["... "] * counts[0]
        for word, often in zip(words, counts[1:], strict=True):
            entries += [f"{word} "] * often
        Random(key).shuffle(entries)  # noqa: S311 - not for secrets
        return entries

    # The three words to find must be clearly more frequent than the next.
    last, following = shares[_FREQUENT : _FREQUENT + 2]
    sizes = range(8, 100_000)
    least = next(size for size in sizes if round(size * last / total) > round(size * following / total) + 1)
    body = _fit_length(texts, request, least=least, guess=request.tokens // 3)
    return _build_draft(
        f"The document is a row of made-up words; the dots are not words. Which {_FREQUENT} words occur in it most "
        f"often? Name all {_FREQUENT}.",
        words[:_FREQUENT],
        body,
        alpha=alpha,
    )


def _build_draft(question: str, golds: list[str], body: AssembledDocument, **metadata: float) -> SampleDraft:
    return SampleDraft(
        question=question,
        golds=tuple(golds),
        metric="share_of",
        body=body,
        memory=MemoryRule.TALLY,
        metadata=metadata,
    )


def _fit_length(
    texts: Callable[[int], list[str]], request: SampleRequest, *, least: int, guess: int
) -> AssembledDocument:
    """Return the longest text within the budget. A good guess of its size needs two or three rounds of counting."""
    need = count_tokens(texts(least), request.tokenizer)
    if need > request.tokens:
        raise length_error(request.task, request.tokens, need)
    low, size = least, max(least, min(guess, 4000))
    for _ in range(_ROUNDS):
        entries = texts(size)
        tokens = count_tokens(entries, request.tokenizer)
        if CLOSE * request.tokens < tokens <= request.tokens:
            return _finish_document(entries, request)
        aim = int(size * request.tokens * 0.992 / tokens)
        low = max(low, size) if tokens <= request.tokens else low
        size = max(low, aim if aim != size else size - 1)
    return _finish_document(texts(low), request)


def _finish_document(entries: list[str], request: SampleRequest) -> AssembledDocument:
    """Return the document without the blank at its end; all of it is evidence."""
    entries[-1] = entries[-1].rstrip()
    body = join(entries, (), request.tokenizer)
    everything = GoldEvidence(start=0, end=sum(map(len, body.pieces)))
    return AssembledDocument(pieces=body.pieces, tokens=body.tokens, evidence=(everything,))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonWordOptions:
    """The option of `cwe`."""

    words: AtLeastOne | None = None
    """Common words to name; 10 by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentWordOptions:
    """The option of `fwe`."""

    alpha: Annotated[float, Ge(_FLATTEST), Le(_STEEPEST)] | None = None
    """How fast the counts fall from word to word; 2.0 by default."""


TASKS: Final = (
    Task(
        name="cwe",
        description="RULER: the ten common words of a long list",
        build=build_common_words,
        options=CommonWordOptions,
    ),
    Task(
        name="fwe",
        description="RULER: the three most frequent made-up words",
        build=build_frequent_words,
        options=FrequentWordOptions,
    ),
)
