"""Variable tracking: a chain of assignments in noise, after one short example with its answer."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.ruler.prompts import count, estimate_bound, fill_template, find_size, fit

if TYPE_CHECKING:
    from bookwheel.lab.tasks.ruler.prompts import Prompt
    from bookwheel.lab.tasks.ruler.resources import Resources
    from bookwheel.lab.tasks.ruler.streams import Streams
    from bookwheel.text.tokens import Tokenizer

_EXAMPLE_TOKENS: Final = 500
_EXAMPLE_VALUE: Final = "12345"
_SHORT: Final = 4096


class ChainPrompts:
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
        self._resources = resources
        self._streams = streams
        self._most = most
        self._tokenizer = tokenizer
        self._hops = hops
        self._chains = chains
        self._is_example = is_example
        self._example = ""
        self.reply_tokens = 0 if is_example else resources.wordings.chain.reply_tokens
        self.increment = 5 if is_example or most < _SHORT else 10

    def search(self) -> int:
        """Make the example, then return the largest size found that fits with it."""
        extra = self.reply_tokens
        if not self._is_example:
            self._example = self._write_example()
            extra += self._tokenizer.count(self._example)
        sample = self._measure(self.increment)
        high = estimate_bound(sample, self.increment, self._most, self.increment)
        return find_size(self.increment, high, lambda size: self._measure(size) + extra <= self._most)

    def _measure(self, size: int) -> int:
        return count(self._write_plain(size), self._tokenizer)

    def write(self, index: int, size: int) -> Prompt:
        """Return a prompt with so many lines of noise, behind its example."""
        del index
        prompt = self._write_plain(size)
        return prompt if self._is_example else replace(prompt, lead=f"{self._rename_example()}\n")

    def _write_example(self) -> str:
        maker = ChainPrompts(
            self._resources,
            self._streams,
            most=_EXAMPLE_TOKENS,
            tokenizer=self._tokenizer,
            hops=self._hops,
            chains=self._chains,
            is_example=True,
        )
        example = fit(maker, 0, maker.search(), _EXAMPLE_TOKENS, self._tokenizer, "vt").prompt
        return f"{example.input}{example.answer_prefix} {' '.join(example.outputs)}\n"

    def _rename_example(self) -> str:
        text = self._example
        for name in text.strip().split()[-self._hops - 1 :]:
            text = text.replace(name, self._draw_name(len(name)))
        return text.replace(_EXAMPLE_VALUE, str(self._streams.numpy.randint(10000, 99999)))

    def _draw_name(self, letters: int) -> str:
        return "".join(self._streams.random.choices(ascii_uppercase, k=letters))

    def _write_plain(self, size: int) -> Prompt:
        hops = min(10, self._hops) if self._is_example else self._hops
        names = [self._draw_name(3 if self._is_example else 5) for _ in range((hops + 1) * self._chains)]
        if len(set(names)) < len(names):
            raise ValueError("two variables have one name")
        lines = [self._resources.wordings.noise] * size
        rows = [names[at : at + hops + 1] for at in range(0, len(names), hops + 1)]
        chains = [self._write_chain(row) for row in rows]
        for chain in chains:
            places = sorted(self._streams.random.sample(range(len(lines)), len(chain)))
            for at, place in enumerate(places):
                lines.insert(place + at, chain[at])
        value = chains[0][0].split("=")[-1].strip()
        context = "\n".join(lines).replace(". \n", ".\n")
        needles = [line.strip() for line in chains[0]]
        template = self._resources.wordings.chain
        return fill_template(template, context, rows[0], needles=needles, query=value, num_v=self._hops + 1)

    def _write_chain(self, row: list[str]) -> list[str]:
        value = _EXAMPLE_VALUE if self._is_example else str(self._streams.numpy.randint(10000, 99999))
        links = [f"VAR {name} = VAR {before} " for before, name in pairwise(row)]
        return [f"VAR {row[0]} = {value}", *links]
