"""The words of a question that say something by themselves, and which texts have them.

>>> words = QuestionWords("How many barrels did the customs men count?")
>>> words.share("They counted sixty-four barrels.")
0.5
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.text.matching import Passage, parse_words
from bookwheel.text.stems import FORMS, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bookwheel.types import Chunk, Document

# Words that ask, whatever is asked for.
_ASKING: Final = frozenset(map(stem, lexicon.ASKING)) | lexicon.LIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCounts:
    """In how many windows of a document words stand; those that stand in none are left out."""

    windows: int
    counts: Mapping[str, int]


class QuestionWords:
    """A question's words, in the form that "count" and "counted" share."""

    def __init__(self, question: str, stems: set[str] | None = None) -> None:
        parsed = (word for word in parse_words(question) if word.is_distinctive)
        self.order = [stem(word.index_key) for word in parsed] if stems is None else sorted(stems)
        """The stems as they stand in the question."""
        self._stems = set(self.order)
        self.question = question

    @property
    def stems(self) -> set[str]:
        """The stems of the words that say something, save those that only ask; all of them where no other is left."""
        return self._stems - _ASKING or self._stems

    def beyond(self, text: str) -> QuestionWords:
        """Return the words to look for beside a text: those that it lacks, and the names and numbers that it adds."""
        added = {stem(word.index_key) for word in parse_words(text) if word.is_exact}
        return QuestionWords("", (self._stems - _ASKING - self.find(text)) | (added - self._stems))

    @property
    def has_subject(self) -> bool:
        """True where a word says what is asked about, unlike those of "And when?"."""
        return bool(self._stems - _ASKING)

    def find(self, text: str) -> set[str]:
        """Return those of the words that stand in a text."""
        return self._stems & {stem(key) for key in Passage(text).index_keys}

    def share(self, text: str) -> float:
        """Return the share of the words that stand in a text."""
        return len(self.find(text)) / max(1, len(self._stems))

    def count_windows(self, document: Document, size: int, *, beside: set[str]) -> WordCounts:
        """Count the windows of `size` characters with each word, save words that only ask and those in `beside`."""
        wanted = self._stems - beside - _ASKING
        # Most windows hold none of the words, which a search for their letters shows a hundred times as fast.
        forms = [form for word in wanted for form in (word, *FORMS.get(word, ()))]
        counts, windows = Counter[str](), 0
        for part in document.parts() if wanted else ():
            for start in range(0, len(part.text), size):
                text = part.text[start : start + size]
                folded = text.casefold()
                windows += 1
                if any(form in folded for form in forms):
                    counts.update(wanted & self.find(text))
        return WordCounts(windows=windows, counts=counts)

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
