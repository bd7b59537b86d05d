"""Prompts of which the whole text counts: common words, words by a zeta distribution, documents of a question."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.assembly import number_documents
from bookwheel.lab.tasks.ruler.prompts import PromptFamily, fill_template

if TYPE_CHECKING:
    from bookwheel.lab.tasks.ruler.prompts import Prompt, Streams
    from bookwheel.lab.tasks.ruler.resources import Resources
    from bookwheel.text.tokens import Tokenizer


_SHORT: Final = 4096
_COMMON: Final = 10
_FIRST_SIZE: Final = 4096
# Bernoulli numbers over factorials, for the tail of the zeta function.
_TAIL: Final = (1 / 12, -1 / 720, 1 / 30240)


class CommonPrompts(PromptFamily):
    """Prompts of `cwe`: ten words stand in a numbered list more often than all others."""

    def __init__(self, resources: Resources, streams: Streams, *, most: int, tokenizer: Tokenizer) -> None:
        super().__init__(resources, streams, resources.wordings.common, most=most, tokenizer=tokenizer)
        self._words = list(resources.vocabulary)
        streams.fresh().shuffle(self._words)
        self._more: list[str] = []

    def search(self) -> int:
        """Return the largest number of different words found that fits."""
        per_word = self.measure(_FIRST_SIZE) / _FIRST_SIZE
        return self.find_size(max(int(self.most // per_word) * 2, self.increment * 2))

    def write(self, index: int, size: int) -> Prompt:
        """Return a list of so many different words, behind its example."""
        del index
        is_short = self.most < _SHORT
        example, known = self._list_words(*((20, 3, 1) if is_short else (40, 10, 3)))
        context, common = self._list_words(size, *((6, 1) if is_short else (30, 3)))
        shown = fill_template(self.template, example, known)
        answer = " ".join(f"{number}. {word}" for number, word in enumerate(known, start=1))
        prompt = fill_template(self.template, context, common)
        return replace(prompt, lead=f"{shown.input}{shown.answer_prefix} {answer}\n")

    def _list_words(self, size: int, often: int, seldom: int) -> tuple[str, list[str]]:
        if size > len(self._words) and not self._more:
            self._more = self.resources.further_words(self.streams.fresh())
        chosen = self.streams.random.sample(self._words if size <= len(self._words) else self._more, size)
        entries = chosen[:_COMMON] * often + chosen[_COMMON:] * seldom
        self.streams.fresh().shuffle(entries)
        return " ".join(f"{number}. {word}" for number, word in enumerate(entries, start=1)), chosen[:_COMMON]


class FrequentPrompts(PromptFamily):
    """Prompts of `fwe`. Its own loop fills the length: text is added until it is too long, then taken away."""

    def __init__(
        self, resources: Resources, streams: Streams, *, most: int, tokenizer: Tokenizer, alpha: float
    ) -> None:
        super().__init__(resources, streams, resources.wordings.frequent, most=most, tokenizer=tokenizer)
        self._alpha = alpha
        self._zeta = zeta(alpha)
        self._room = most - self.reply_tokens
        self.increment = max(1, self._room // 32)

    def search(self) -> int:
        """Return the number of words, dots among them, with which the text just stays below the length."""
        words = self._draw_vocabulary()
        size = self._room // 6
        while self.count(self._write(words, size)) < self._room:
            size += self.increment
        return size - self.increment

    def write(self, index: int, size: int) -> Prompt:
        """Return a text of about so many words, or of fewer where that is too long."""
        del index
        words = self._draw_vocabulary()
        prompt = self._write(words, size)
        while self.count(prompt) > self._room and size > self.increment:
            size -= self.increment
            prompt = self._write(words, size)
        return prompt

    def _draw_vocabulary(self) -> list[str]:
        rng, size = self.streams.random, self._room // 50
        drawn = ["".join(rng.choices(ascii_lowercase, k=6)) for _ in range(size)]
        while len(set(drawn)) < size:
            drawn.append("".join(rng.choices(ascii_lowercase, k=6)))
        words = sorted(set(drawn))
        self.streams.fresh().shuffle(words)
        words[:1] = ["..."]
        return words

    def _write(self, words: list[str], size: int) -> Prompt:
        entries: list[str] = []
        for rank, word in enumerate(words, start=1):
            entries += [word] * int(size * rank**-self._alpha / self._zeta)
        self.streams.fresh().shuffle(entries)
        return fill_template(self.template, " ".join(entries), words[1:4])


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


class PassagePrompts(PromptFamily):
    """Prompts of `qa_1` and `qa_2`."""

    def __init__(self, task: str, resources: Resources, streams: Streams, *, most: int, tokenizer: Tokenizer) -> None:
        super().__init__(resources, streams, resources.wordings.passages, most=most, tokenizer=tokenizer)
        self.questions, self._documents = resources.load_questions(task)

    def write(self, index: int, size: int) -> Prompt:
        """Return a question among so many documents."""
        asked = self.questions[index]
        numbers = self._choose_documents(asked.own, asked.article, size)
        self.streams.fresh().shuffle(numbers)
        context = number_documents(self._documents[number] for number in numbers)
        own = [self._documents[number] for number in asked.own]
        return fill_template(self.template, context, asked.outputs, needles=own, query=asked.query)

    def _choose_documents(self, own: tuple[int, ...], article: tuple[int, ...], size: int) -> list[int]:
        total, rng = len(self._documents), self.streams.random
        if size >= total:
            return (list(range(total)) * -(-size // total))[:size]
        if size - len(own) <= len(article):
            return [*own, *rng.sample(article, size - len(own))]
        taken = {*own, *article}
        others = [number for number in range(total) if number not in taken]
        return [*own, *article, *rng.sample(others, max(0, size - len(own) - len(article)))]
