"""The eight needle tasks: keys with values in noise, essays or other needles, on a grid of forty depths."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.ruler.prompts import count, estimate_bound, fill_template, find_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.lab.tasks.needles import NeedleVariant
    from bookwheel.lab.tasks.ruler.prompts import Prompt
    from bookwheel.lab.tasks.ruler.resources import Resources
    from bookwheel.lab.tasks.ruler.streams import Streams
    from bookwheel.text.tokens import Tokenizer

DEPTHS: Final = [round(at * (100 / 39)) for at in range(40)]
_SHORT: Final = 4096
# One asked value makes the sentences singular, by replacements in this order.
_SINGULAR: Final = (("Some", "A"), ("are all", "is"), ("are", "is"), ("answers", "answer"))


class NeedlePrompts:
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
        self._variant = variant
        self._resources = resources
        self._streams = streams
        self._most = most
        self._tokenizer = tokenizer
        self._split = split
        self._keys = max(variant.keys, variant.queries)
        self.reply_tokens = resources.wordings.needles.reply_tokens
        is_essay = variant.haystack == "essay"
        self.increment = 500 if is_essay else 5 if most < _SHORT else 25

    def search(self) -> int:
        """Return the largest size found that fits."""
        sample = count(self.write(0, self.increment), self._tokenizer)
        high = estimate_bound(sample, self.increment, self._most, self.increment)
        return find_size(self.increment, high, self._fits)

    def _fits(self, size: int) -> bool:
        return count(self.write(0, size), self._tokenizer) + self.reply_tokens <= self._most

    def write(self, index: int, size: int) -> Prompt:
        """Return a prompt with so many words, lines or needles of filler."""
        del index
        variant, rng = self._variant, self._streams.random
        keys, values, needles = [], [], []
        for _ in range(self._keys):
            keys.append(self._draw(uuids=variant.uuid_keys, is_key=True))
            values.append([self._draw(uuids=variant.uuid_values) for _ in range(variant.values)])
            needles += [self._word_needle(keys[-1], value) for value in values[-1]]
        self._streams.fresh().shuffle(needles)
        context = self._hide(needles, size)
        asked = rng.sample(range(self._keys), variant.queries)
        names = [keys[at] for at in asked]
        golds = [value for at in asked for value in values[at]]
        template, kind = self._resources.wordings.needles, self._kind
        if variant.queries * variant.values == 1:
            text, prefix = template.text, template.prefix
            for plural, singular in _SINGULAR:
                text, prefix = text.replace(plural, singular), prefix.replace(plural, singular)
            template, kind = replace(template, text=text, prefix=prefix), kind[:-1]
        query = f"{', '.join(names[:-1])}, and {names[-1]}" if len(names) > 1 else names[0]
        wanted = [self._word_needle(keys[at], value) for at in asked for value in values[at]]
        return fill_template(template, context, golds, needles=wanted, type_needle_v=kind, query=query)

    @property
    def _kind(self) -> str:
        return "uuids" if self._variant.uuid_values else "numbers"

    def _word_needle(self, key: str, value: str) -> str:
        return self._resources.wordings.needle.format(type_needle_v=self._kind, key=key, value=value)

    def _draw(self, *, uuids: bool, is_key: bool = False) -> str:
        rng = self._streams.random
        if uuids:
            return str(uuid.UUID(int=rng.getrandbits(128), version=4))
        if is_key:
            names = self._resources.keys
            return names[rng.choice(range(len(names)))]
        return str(rng.randint(10**6, 10**7 - 1))

    def _hide(self, needles: list[str], size: int) -> str:
        if self._variant.haystack == "essay":
            return self._hide_in_essay(needles, size)
        if self._variant.haystack == "noise":
            lines = [self._resources.wordings.noise] * size
        else:
            lines = [
                self._word_needle(
                    self._draw(uuids=self._variant.uuid_keys, is_key=True), self._draw(uuids=self._variant.uuid_values)
                )
                for _ in range(size)
            ]
        places = sorted(self._streams.random.sample(range(size), len(needles)), reverse=True)
        for place, needle in zip(places, needles, strict=True):
            lines.insert(place, needle)
        return "\n".join(lines)

    def _hide_in_essay(self, needles: list[str], size: int) -> str:
        """Set the needles between sentences, at different depths of the grid."""
        essay = self._resources.essay
        words = (essay * -(-size // len(essay)))[:size]
        sentences = self._split(" ".join(words).strip())
        depths = self._streams.random.sample(DEPTHS, len(needles))
        stops = sorted(int(len(sentences) * (depth / 100)) for depth in depths)
        texts: list[str] = []
        begin = 0
        for stop, needle in zip(stops, needles, strict=True):
            texts += [" ".join(sentences[begin:stop]), needle]
            begin = stop
        texts.append(" ".join(sentences[begin:]))
        return " ".join(texts)
