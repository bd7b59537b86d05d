"""The families of RULER's prompts.

needles    the eight needle tasks, on a grid of forty depths
chains     variable tracking, after an example
common     a numbered list of words, after an example; ten of them stand in it more often
frequent   words by a zeta distribution
passages   numbered documents, among them those of a question
"""

from dataclasses import replace
from itertools import pairwise
from math import pi
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from bookwheel.lab.tasks.assembly import number_documents
from bookwheel.lab.tasks.material import draw_uuid
from bookwheel.lab.tasks.needles import NeedleVariant
from bookwheel.lab.tasks.ruler.prompts import Inputs, Prompt, PromptFamily, fill_template

_SHORT: Final = 4096
DEPTHS: Final = [round(at * (100 / 39)) for at in range(40)]
# One asked value makes the sentences singular, by replacements in this order.
_SINGULAR: Final = (("Some", "A"), ("are all", "is"), ("are", "is"), ("answers", "answer"))


class NeedlePrompts(PromptFamily):
    """Prompts of one of the eight tasks."""

    def __init__(self, inputs: Inputs, variant: NeedleVariant) -> None:
        super().__init__(inputs, inputs.resources.sentences.needles)
        self._variant = variant
        self._kind = "uuids" if variant.uuid_values else "numbers"
        self.increment = 500 if variant.haystack == "essay" else 5 if self.most < _SHORT else 25

    def write(self, index: int, size: int) -> Prompt:
        """Return a prompt with so many words, lines or needles of filler."""
        del index
        variant, rng = self._variant, self.streams.random
        keys, values, needles = [], [], []
        for _ in range(max(variant.keys, variant.queries)):
            keys.append(self._draw(uuids=variant.uuid_keys, is_key=True))
            values.append([self._draw(uuids=variant.uuid_values) for _ in range(variant.values)])
            needles += [self._word_needle(keys[-1], value) for value in values[-1]]
        self.streams.fresh().shuffle(needles)
        context = self._hide(needles, size)
        asked = rng.sample(range(len(keys)), variant.queries)
        names = [keys[at] for at in asked]
        golds = [value for at in asked for value in values[at]]
        template, kind = self.template, self._kind
        if variant.queries * variant.values == 1:
            text, prefix = template.text, template.prefix
            for plural, singular in _SINGULAR:
                text, prefix = text.replace(plural, singular), prefix.replace(plural, singular)
            template, kind = replace(template, text=text, prefix=prefix), kind[:-1]
        query = f"{', '.join(names[:-1])}, and {names[-1]}" if len(names) > 1 else names[0]
        wanted = [self._word_needle(keys[at], value) for at in asked for value in values[at]]
        return fill_template(template, context, golds, needles=wanted, type_needle_v=kind, query=query)

    def _word_needle(self, key: str, value: str) -> str:
        return self.resources.sentences.needle.format(type_needle_v=self._kind, key=key, value=value)

    def _draw(self, *, uuids: bool, is_key: bool = False) -> str:
        rng = self.streams.random
        if uuids:
            return draw_uuid(rng)
        if is_key:
            names = self.resources.keys
            return names[rng.choice(range(len(names)))]
        return str(rng.randint(10**6, 10**7 - 1))

    def _hide(self, needles: list[str], size: int) -> str:
        if self._variant.haystack == "essay":
            return self._hide_in_essay(needles, size)
        if self._variant.haystack == "noise":
            lines = [self.resources.sentences.noise] * size
        else:
            lines = [
                self._word_needle(
                    self._draw(uuids=self._variant.uuid_keys, is_key=True), self._draw(uuids=self._variant.uuid_values)
                )
                for _ in range(size)
            ]
        places = sorted(self.streams.random.sample(range(size), len(needles)), reverse=True)
        for place, needle in zip(places, needles, strict=True):
            lines.insert(place, needle)
        return "\n".join(lines)

    def _hide_in_essay(self, needles: list[str], size: int) -> str:
        """Set the needles between sentences, at different depths of the grid."""
        essay = self.resources.essay
        words = (essay * -(-size // len(essay)))[:size]
        sentences = self.resources.split(" ".join(words).strip())
        depths = self.streams.random.sample(DEPTHS, len(needles))
        stops = sorted(int(len(sentences) * (depth / 100)) for depth in depths)
        texts: list[str] = []
        begin = 0
        for stop, needle in zip(stops, needles, strict=True):
            texts += [" ".join(sentences[begin:stop]), needle]
            begin = stop
        texts.append(" ".join(sentences[begin:]))
        return " ".join(texts)


_EXAMPLE_TOKENS: Final = 500
_EXAMPLE_VALUE: Final = "12345"


class ChainPrompts(PromptFamily):
    """Prompts of `vt`. The example is made first, with shorter names, and gets new names for each sample."""

    def __init__(self, inputs: Inputs, hops: int, chains: int, *, is_example: bool = False) -> None:
        super().__init__(inputs, inputs.resources.sentences.chain)
        self._hops = hops
        self._chains = chains
        self._is_example = is_example
        self._example = ""
        self.reply_tokens = 0 if is_example else self.reply_tokens
        self.increment = 5 if is_example or self.most < _SHORT else 10

    def measure(self, size: int) -> int:
        """Return the tokens of a prompt without its example."""
        return self.count(self._write_plain(size))

    def find_size(self, high: int, overhead: int = 0) -> int:
        """Return the largest size that fits with the example."""
        return super().find_size(high, overhead + self.tokenizer.count(self._example))

    def search(self) -> int:
        """Make the example, then return the largest size found that fits with it."""
        if not self._is_example:
            inputs = replace(self.inputs, most=_EXAMPLE_TOKENS)
            maker = ChainPrompts(inputs, self._hops, self._chains, is_example=True)
            example = maker.fit(0, maker.search(), "vt").prompt
            self._example = f"{example.input}{example.answer_prefix} {' '.join(example.outputs)}\n"
        return super().search()

    def write(self, index: int, size: int) -> Prompt:
        """Return a prompt with so many lines of noise, behind its example."""
        del index
        prompt = self._write_plain(size)
        if self._is_example:
            return prompt
        text = self._example
        for name in text.strip().split()[-self._hops - 1 :]:
            text = text.replace(name, self._draw_name(len(name)))
        text = text.replace(_EXAMPLE_VALUE, str(self.streams.numpy.randint(10000, 99999)))
        return replace(prompt, lead=f"{text}\n")

    def _draw_name(self, letters: int) -> str:
        return "".join(self.streams.random.choices(ascii_uppercase, k=letters))

    def _write_plain(self, size: int) -> Prompt:
        hops = min(10, self._hops) if self._is_example else self._hops
        names = [self._draw_name(3 if self._is_example else 5) for _ in range((hops + 1) * self._chains)]
        if len(set(names)) < len(names):
            raise ValueError("two variables have one name")
        lines = [self.resources.sentences.noise] * size
        rows = [names[at : at + hops + 1] for at in range(0, len(names), hops + 1)]
        chains: list[list[str]] = []
        for row in rows:
            value = _EXAMPLE_VALUE if self._is_example else str(self.streams.numpy.randint(10000, 99999))
            links = [f"VAR {name} = VAR {before} " for before, name in pairwise(row)]
            chains.append([f"VAR {row[0]} = {value}", *links])
        for chain in chains:
            places = sorted(self.streams.random.sample(range(len(lines)), len(chain)))
            for at, place in enumerate(places):
                lines.insert(place + at, chain[at])
        asked = chains[0][0].split("=")[-1].strip()
        context = "\n".join(lines).replace(". \n", ".\n")
        needles = [line.strip() for line in chains[0]]
        return fill_template(self.template, context, rows[0], needles=needles, query=asked, num_v=self._hops + 1)


_COMMON: Final = 10
_FIRST_SIZE: Final = 4096
# Bernoulli numbers over factorials, for the tail of the zeta function.
_TAIL: Final = (1 / 12, -1 / 720, 1 / 30240)


class CommonPrompts(PromptFamily):
    """Prompts of `cwe`: ten words stand in a numbered list more often than all others."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs, inputs.resources.sentences.common)
        self._words = list(self.resources.vocabulary)
        self.streams.fresh().shuffle(self._words)
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

    def __init__(self, inputs: Inputs, alpha: float) -> None:
        super().__init__(inputs, inputs.resources.sentences.frequent)
        self._alpha = alpha
        self._zeta = zeta(alpha)
        self._room = self.most - self.reply_tokens
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

    def __init__(self, inputs: Inputs, task: str) -> None:
        super().__init__(inputs, inputs.resources.sentences.passages)
        self.questions, self._documents = self.resources.load_questions(task)

    def write(self, index: int, size: int) -> Prompt:
        """Return a question among so many documents."""
        asked = self.questions[index]
        numbers = asked.choose_documents(len(self._documents), size, self.streams.random)
        self.streams.fresh().shuffle(numbers)
        context = number_documents(self._documents[number] for number in numbers)
        own = [self._documents[number] for number in asked.own]
        return fill_template(self.template, context, asked.outputs, needles=own, query=asked.query)
