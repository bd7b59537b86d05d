"""Lines of the memory that find no room in it wait beside it, and come back where a section shares their rare words.

    kept    = of what the model wrote, the newest lines that the limit has room for; the others wait
    given   = lines that wait and share rare words with the next section, then what was kept, within the limit

So a contract may define a thousand names, of which a section needs ten. The memory stays fixed. A line that came back
is the model's again: what it leaves out of its next memory is gone. What waits is found again in the stored replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bookwheel.reading.guards import trim
from bookwheel.text.ranking import find_stems, weigh_rarity
from bookwheel.types import Memory

if TYPE_CHECKING:
    from bookwheel.text.tokens import Tokenizer

_SHARE: Final = 0.75
"""Of the memory, for lines that come back."""
_LEAST_WEIGHT: Final = 0.3
"""Of a line's words, weighed by how few lines have them, that a section must share."""


@dataclass(slots=True)
class WaitingLines:
    """The lines that wait, in the order in which they were written."""

    tokenizer: Tokenizer
    _words: dict[str, frozenset[str]] = field(default_factory=dict)
    _holders: Counter[str] = field(default_factory=Counter)

    def keep(self, text: str, given: str, limit: int) -> Memory:
        """Return the memory with the lines that there is room for, the new ones first; the others wait."""
        tokens = self.tokenizer.count(text)
        if tokens <= limit:
            return Memory(text=text, tokens=tokens, limit=limit)
        old = set(given.splitlines())
        lines = [line for line in text.splitlines() if line.strip()]
        order = sorted(range(len(lines)), key=lambda at: (lines[at] in old, -at))
        kept, left = set[int](), limit
        for at in order:
            left -= self.tokenizer.count(f"{lines[at]}\n")
            if left < 0:
                break
            kept.add(at)
        self._add([line for at, line in enumerate(lines) if at not in kept])
        words = "\n".join(line for at, line in enumerate(lines) if at in kept)
        # The sum of its lines is not always the whole.
        words, tokens, _ = trim(words, limit, self.tokenizer)
        return Memory(text=words, tokens=tokens, limit=limit)

    def recall(self, memory: Memory, section: str) -> Memory:
        """Return the memory for a section: lines that wait and share its rare words, then what was kept."""
        back = self._choose(section, int(memory.limit * _SHARE)) if self._words else []
        if not back:
            return memory
        self._drop(back)
        return self.keep("\n".join((*back, memory.text)), memory.text, memory.limit)

    def follow(self, last: Memory, before: Memory, wrote: str, after: Memory) -> None:
        """Take in what a stored step did: lines that came back before it, those that made way, and those left over."""
        given, kept = set(before.text.splitlines()), set(after.text.splitlines())
        self._drop(before.text.splitlines())
        self._add([line for line in last.text.splitlines() if line.strip() and line not in given])
        self._add([line for line in wrote.splitlines() if line.strip() and line not in kept])

    def _choose(self, section: str, room: int) -> list[str]:
        stems, total = find_stems(section), len(self._words)
        weights = {word: weigh_rarity(count, total) for word, count in self._holders.items()}
        found = []
        for at, (line, words) in enumerate(self._words.items()):
            whole = sum(weights[word] for word in words)
            shared = sum(weights[word] for word in words & stems)
            if shared and shared >= _LEAST_WEIGHT * whole:
                found.append((-shared, at, line))
        chosen = []
        for _, _, line in sorted(found):
            room -= self.tokenizer.count(f"{line}\n")
            if room < 0:
                break
            chosen.append(line)
        return chosen

    def _add(self, lines: Sequence[str]) -> None:
        for line in lines:
            if line not in self._words:
                self._words[line] = frozenset(find_stems(line))
                self._holders.update(self._words[line])

    def _drop(self, lines: Sequence[str]) -> None:
        for line in lines:
            if words := self._words.pop(line, None):
                self._holders.subtract(words)
