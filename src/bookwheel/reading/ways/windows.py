"""Windows: the runs of a few sentences that the way `quotes` chooses its passages from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bookwheel.text.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.text.tokens import Tokenizer

SENTENCES: Final = 3
# One line that ends like no sentence. "# Why is it red?" stays with its answer.
_HEADING: Final = re.compile(r"#{1,6}\s[^\n]*[^\n.!?。！？]")


def split_windows(text: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """Return the runs of up to three sentences, each within the limit, as single lines.

    A heading begins a run: it names what follows, and by itself says nothing.
    """
    runs: list[list[str]] = [[]]
    is_heading = False
    for start, end in split_sentences(text):
        line = text[start:end].strip()
        is_below, is_heading = is_heading, bool(_HEADING.fullmatch(line))
        # A heading right below another one belongs to it.
        if is_heading and not is_below:
            runs.append([])
        if any(map(str.isalnum, line)):
            runs[-1].append(" ".join(line.split()))
    return list(dict.fromkeys(window for run in runs for window in _split_run(run, tokenizer, limit)))


def _split_run(sentences: Sequence[str], tokenizer: Tokenizer, limit: int) -> Iterator[str]:
    end = 0
    for first in range(len(sentences)):
        last = min(first + SENTENCES, len(sentences))
        while last - first > 1 and tokenizer.count(" ".join(sentences[first:last])) > limit:
            last -= 1
        # Else it is the end of the window before.
        if last > end:
            yield " ".join(sentences[first:last])
            end = last


def overlaps(one: str, other: str) -> bool:
    """Return whether two windows share a sentence: windows of one chunk are shifted against each other."""
    sentences = {one[start:end].strip() for start, end in split_sentences(one)}
    return any(other[start:end].strip() in sentences for start, end in split_sentences(other))
