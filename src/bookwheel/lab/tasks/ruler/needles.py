"""Passages in filler: the eight needle tasks on a grid of forty depths, and variable tracking after an example."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.material import draw_uuid
from bookwheel.lab.tasks.ruler.prompts import PromptFamily, fill_template

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.lab.tasks.needles import NeedleVariant
    from bookwheel.lab.tasks.ruler.prompts import Prompt, Streams
    from bookwheel.lab.tasks.ruler.resources import Resources
    from bookwheel.text.tokens import Tokenizer


_SHORT: Final = 4096
DEPTHS: Final = [round(at * (100 / 39)) for at in range(40)]
# One asked value makes the sentences singular, by replacements in this order.
_SINGULAR: Final = (("Some", "A"), ("are all", "is"), ("are", "is"), ("answers", "answer"))


class NeedlePrompts(PromptFamily):
    """Prompts of one of the eight tasks."""

    def __init__(
        self,
        variant: NeedleVariant,
        resources: Resources,
        streams: Streams,
        *,
        most: int,
        tokenizer: Tokenizer,
        split: Callable[[str], list[str]],
    ) -> None:
        super().__init__(resources, streams, resources.wordings.needles, most=most, tokenizer=tokenizer)
        self._variant = variant
        self._split = split
        self._kind = "uuids" if variant.uuid_values else "numbers"
        self.increment = 500 if variant.haystack == "essay" else 5 if most < _SHORT else 25

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
        return self.resources.wordings.needle.format(type_needle_v=self._kind, key=key, value=value)

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
            lines = [self.resources.wordings.noise] * size
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
        sentences = self._split(" ".join(words).strip())
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

    def __init__(
        self,
        resources: Resources,
        streams: Streams,
        *,
        most: int,
        tokenizer: Tokenizer,
        hops: int,
        chains: int,
        is_example: bool = False,
    ) -> None:
        super().__init__(resources, streams, resources.wordings.chain, most=most, tokenizer=tokenizer)
        self._hops = hops
        self._chains = chains
        self._is_example = is_example
        self._example = ""
        self.reply_tokens = 0 if is_example else self.reply_tokens
        self.increment = 5 if is_example or most < _SHORT else 10

    def measure(self, size: int) -> int:
        """Return the tokens of a prompt without its example."""
        return self.count(self._write_plain(size))

    def find_size(self, high: int, overhead: int = 0) -> int:
        """Return the largest size that fits with the example."""
        return super().find_size(high, overhead + self.tokenizer.count(self._example))

    def search(self) -> int:
        """Make the example, then return the largest size found that fits with it."""
        if not self._is_example:
            maker = ChainPrompts(
                self.resources,
                self.streams,
                most=_EXAMPLE_TOKENS,
                tokenizer=self.tokenizer,
                hops=self._hops,
                chains=self._chains,
                is_example=True,
            )
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
        lines = [self.resources.wordings.noise] * size
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
