"""The words of a question that say something by themselves, and which texts have them.

>>> words = QuestionWords("How many barrels did the customs men count?")
>>> words.share("They counted sixty-four barrels.")
0.5
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING

from bookwheel.text.matching import Passage, parse_words
from bookwheel.text.stems import stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.types import Chunk


class QuestionWords:
    """A question's words, in the form that "count" and "counted" share."""

    def __init__(self, question: str) -> None:
        self._stems = {stem(word.index_key) for word in parse_words(question) if word.is_distinctive}

    def find(self, text: str) -> set[str]:
        """Return those of the words that stand in a text."""
        return self._stems & {stem(key) for key in Passage(text).index_keys}

    def share(self, text: str) -> float:
        """Return the share of the words that stand in a text."""
        return len(self.find(text)) / max(1, len(self._stems))

    def choose(self, windows: Sequence[str], most: int) -> list[str]:
        """Return the windows with the rarest of the words, best first; all windows if none has any."""
        weights = _weigh([self.find(window) for window in windows])
        best = sorted(range(len(windows)), key=lambda at: -weights[at])[:most]
        return [windows[at] for at in best] if any(weights) else list(windows)

    def rank(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """Return the chunks without their texts, those with the rarest of the words first, else in their order."""
        places: list[Chunk] = []
        found: list[set[str]] = []
        for chunk in chunks:
            found.append(self.find(chunk.text))
            places.append(replace(chunk, text=""))
        weights = _weigh(found)
        return [places[at] for at in sorted(range(len(places)), key=lambda at: -weights[at])]


def _weigh(found: Sequence[set[str]]) -> list[float]:
    """Return the weight of each text: the words that few of the texts have count for more."""
    holders = Counter(word for words in found for word in words)
    # Summed in a fixed order: a set's own differs from run to run, and so would the last digits.
    return [sum(log(1 + len(found) / holders[word]) for word in sorted(words)) for words in found]
