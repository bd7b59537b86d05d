"""Common words after an example, and made-up words whose counts follow a zeta distribution."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.ruler.prompts import count, fill_template, find_size

if TYPE_CHECKING:
    from bookwheel.lab.tasks.ruler.prompts import Prompt
    from bookwheel.lab.tasks.ruler.resources import Resources
    from bookwheel.lab.tasks.ruler.streams import Streams
    from bookwheel.text.tokens import Tokenizer

_SHORT: Final = 4096
_COMMON: Final = 10
_FIRST_SIZE: Final = 4096
# Bernoulli numbers over factorials, for the tail of the zeta function.
_TAIL: Final = (1 / 12, -1 / 720, 1 / 30240)


class CommonPrompts:
    """Prompts of `cwe`: ten words stand in a numbered list more often than all others."""

    increment = 10

    def __init__(self, resources: Resources, streams: Streams, *, most: int, tokenizer: Tokenizer) -> None:
        self._streams = streams
        self._template = resources.wordings.common
        self._most = most
        self._tokenizer = tokenizer
        self.reply_tokens = self._template.reply_tokens
        self._words = list(resources.vocabulary)
        streams.fresh().shuffle(self._words)
        self._resources = resources
        self._more: list[str] | None = None

    def search(self) -> int:
        """Return the largest number of different words found that fits."""
        per_word = count(self.write(0, _FIRST_SIZE), self._tokenizer) / _FIRST_SIZE
        high = max(int(self._most // per_word) * 2, self.increment * 2)
        return find_size(self.increment, high, self._fits)

    def _fits(self, size: int) -> bool:
        return count(self.write(0, size), self._tokenizer) + self.reply_tokens <= self._most

    def write(self, index: int, size: int) -> Prompt:
        """Return a list of so many different words, behind its example."""
        del index
        is_short = self._most < _SHORT
        example, known = self._list_words(*((20, 3, 1) if is_short else (40, 10, 3)))
        context, common = self._list_words(size, *((6, 1) if is_short else (30, 3)))
        shown = fill_template(self._template, example, known)
        answer = " ".join(f"{number}. {word}" for number, word in enumerate(known, start=1))
        prompt = fill_template(self._template, context, common)
        return replace(prompt, lead=f"{shown.input}{shown.answer_prefix} {answer}\n")

    def _list_words(self, size: int, often: int, seldom: int) -> tuple[str, list[str]]:
        chosen = self._streams.random.sample(self._choose_list(size), size)
        entries = chosen[:_COMMON] * often + chosen[_COMMON:] * seldom
        self._streams.fresh().shuffle(entries)
        return " ".join(f"{number}. {word}" for number, word in enumerate(entries, start=1)), chosen[:_COMMON]

    def _choose_list(self, size: int) -> list[str]:
        if size <= len(self._words):
            return self._words
        if self._more is None:
            self._more = self._resources.further_words(self._streams.fresh())
        return self._more


class FrequentPrompts:
    """Prompts of `fwe`. Its own loop fills the length: text is added until it is too long, then taken away."""

    def __init__(
        self, resources: Resources, streams: Streams, *, most: int, tokenizer: Tokenizer, alpha: float
    ) -> None:
        self._streams = streams
        self._template = resources.wordings.frequent
        self._tokenizer = tokenizer
        self._alpha = alpha
        self._zeta = zeta(alpha)
        self.reply_tokens = self._template.reply_tokens
        self._room = most - self.reply_tokens
        self.increment = max(1, self._room // 32)

    def search(self) -> int:
        """Return the number of words, dots among them, with which the text just stays below the length."""
        words = self._draw_vocabulary()
        size = self._room // 6
        while count(self._write(words, size), self._tokenizer) < self._room:
            size += self.increment
        return size - self.increment

    def write(self, index: int, size: int) -> Prompt:
        """Return a text of about so many words, or of fewer where that is too long."""
        del index
        words = self._draw_vocabulary()
        prompt = self._write(words, size)
        while count(prompt, self._tokenizer) > self._room and size > self.increment:
            size -= self.increment
            prompt = self._write(words, size)
        return prompt

    def _draw_vocabulary(self) -> list[str]:
        rng, size = self._streams.random, self._room // 50
        drawn = ["".join(rng.choices(ascii_lowercase, k=6)) for _ in range(size)]
        while len(set(drawn)) < size:
            drawn.append("".join(rng.choices(ascii_lowercase, k=6)))
        words = sorted(set(drawn))
        self._streams.fresh().shuffle(words)
        words[:1] = ["..."]
        return words

    def _write(self, words: list[str], size: int) -> Prompt:
        entries: list[str] = []
        for rank, word in enumerate(words, start=1):
            entries += [word] * int(size * rank**-self._alpha / self._zeta)
        self._streams.fresh().shuffle(entries)
        return fill_template(self._template, " ".join(entries), words[1:4])


def zeta(alpha: float) -> float:
    """Return Riemann's zeta function above 1: a sum, and Euler's and Maclaurin's terms for its tail."""
    if alpha == 2.0:  # noqa: PLR2004 - the known value, which the sum meets to the last digit but one
        return pi * pi / 6
    start = 30
    total: float = sum(number**-alpha for number in range(1, start))
    total += start ** (1 - alpha) / (alpha - 1) + start**-alpha / 2
    rising = alpha
    for at, factor in enumerate(_TAIL):
        total += factor * rising * start ** (-alpha - 2 * at - 1)
        rising *= (alpha + 2 * at + 1) * (alpha + 2 * at + 2)
    return total
