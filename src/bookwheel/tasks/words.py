"""Common and frequent words: RULER's `cwe` and `fwe`, where the evidence is spread over the whole document.

cwe     a numbered list of words; ten stand in it 30 times each, all others 3 times: name the ten.
Where a text is too short for that, 6 times and once. Where more words would be needed than the
vocabulary has, both counts grow by the same factor.
fwe     made-up words whose counts follow a zeta distribution with alpha 2.0; the most frequent place is taken
by dots: name the three most frequent words.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.tasks import lexicon
from bookwheel.tasks.assembly import CLOSE, AssembledDocument, join, measure, too_short
from bookwheel.tasks.base import GoldEvidence, MemoryRule
from bookwheel.tasks.orders import Draft, Order, Task

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMON: Final = 10
_FREQUENT: Final = 3
_FLATTEST: Final = 1.1
_STEEPEST: Final = 4.0
_ROUNDS: Final = 12


def common_words(order: Order) -> Draft:
    """`cwe`."""
    count = order.number("words", _COMMON)
    key = order.rng.getrandbits(64)
    words = _vocabulary(order, 12 * count)

    def texts(size: int) -> list[str]:
        return _numbered_list(words, size, count, Random(key))  # noqa: S311 - not for secrets

    body = _sized(texts, order, least=8 * count, guess=order.tokens // 4)
    return _draft(
        f"The document is a long numbered list of words. Which {count} words occur in it most often? Name all {count}.",
        words[:count],
        body,
    )


def _vocabulary(order: Order, least: int) -> list[str]:
    """Words in a seeded order: the data folder's, else coined ones."""
    words = lexicon.vocabulary(order.shelf)
    if len(words) >= least:
        order.rng.shuffle(words)
        return words
    coined: dict[str, None] = {}
    while len(coined) < max(4000, least):
        coined[lexicon.coined(order.rng)] = None
    return list(coined)


def _numbered_list(words: list[str], size: int, count: int, rng: Random) -> list[str]:
    """About `size` entries; the first `count` words are the common ones."""
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


def frequent_words(order: Order) -> Draft:
    """`fwe`."""
    alpha = _alpha(order)
    key = order.rng.getrandbits(64)
    coined: dict[str, None] = {}
    while len(coined) < max(40, order.tokens // 50):
        coined["".join(order.rng.choices(ascii_lowercase, k=6))] = None
    words = list(coined)
    shares = [rank**-alpha for rank in range(1, len(words) + 2)]
    total = sum(shares)

    def texts(size: int) -> list[str]:
        counts = [round(size * share / total) for share in shares]
        entries = ["... "] * counts[0]
        for word, often in zip(words, counts[1:], strict=True):
            entries += [f"{word} "] * often
        Random(key).shuffle(entries)  # noqa: S311 - not for secrets
        return entries

    least = next(size for size in range(8, 100_000) if _apart([round(size * share / total) for share in shares]))
    body = _sized(texts, order, least=least, guess=order.tokens // 3)
    return _draft(
        f"The document is a row of made-up words; the dots are not words. Which {_FREQUENT} words occur in it most "
        f"often? Name all {_FREQUENT}.",
        words[:_FREQUENT],
        body,
        alpha=alpha,
    )


def _alpha(order: Order) -> float:
    value = order.options.get("alpha", 2.0)
    if not isinstance(value, int | float) or not _FLATTEST <= value <= _STEEPEST:
        raise InputError(f"the option alpha of fwe must be from {_FLATTEST} to {_STEEPEST}, not {value!r}")
    return float(value)


def _apart(counts: list[int]) -> bool:
    """Whether the three words asked for are clearly more frequent than the next."""
    return counts[_FREQUENT] > counts[_FREQUENT + 1] + 1


def _draft(question: str, golds: list[str], body: AssembledDocument, **metadata: float) -> Draft:
    return Draft(
        question=question,
        golds=tuple(golds),
        metric="share_of",
        body=body,
        memory=MemoryRule.TALLY,
        metadata=metadata,
    )


def _sized(texts: Callable[[int], list[str]], order: Order, *, least: int, guess: int) -> AssembledDocument:
    """The longest of the texts of so many entries that is near the budget; counted whole two or three times."""
    need = measure(texts(least), order.tokenizer)
    if need > order.tokens:
        raise too_short(order.task, order.tokens, need)
    low, size = least, max(least, min(guess, 4000))
    for _ in range(_ROUNDS):
        made = texts(size)
        tokens = measure(made, order.tokenizer)
        if CLOSE * order.tokens < tokens <= order.tokens:
            return _whole(made, order)
        aim = int(size * order.tokens * 0.992 / tokens)
        low = max(low, size) if tokens <= order.tokens else low
        size = max(low, aim if aim != size else size - 1)
    return _whole(texts(low), order)


def _whole(made: list[str], order: Order) -> AssembledDocument:
    """The text without the blank at its end, and all of it as evidence."""
    made[-1] = made[-1].rstrip()
    body = join(made, (), order.tokenizer)
    everything = GoldEvidence(start=0, end=sum(map(len, body.pieces)))
    return AssembledDocument(pieces=body.pieces, tokens=body.tokens, evidence=(everything,))


def most_frequent(text: str, count: int) -> list[str]:
    """The words that a text holds most often, for whoever checks a sample by counting."""
    words = Counter(word for word in text.split() if word.isalpha())
    return [word for word, _ in words.most_common(count)]


TASKS: Final = (
    Task(name="cwe", about="RULER: the ten common words of a long list", build=common_words, options=("words",)),
    Task(name="fwe", about="RULER: the three most frequent made-up words", build=frequent_words, options=("alpha",)),
)
