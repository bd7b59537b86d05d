"""Windows: the short passages that the way `quotes` chooses from. They follow what the text is written in.

    a paragraph, a clause, an item      runs of up to three of its sentences
    a row, a turn, a line of a log      whole, and never together with another one
    code                                whole blocks

A window is shown with its heading and with what leads it in, a row with the header of its table: "# Prices … | Plan |
Minute | … | Yearly | 4p |". These say what it is about and nothing by themselves, so they are no windows of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.text.sentences import split_sentences
from bookwheel.text.structure import Shape, split_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bookwheel.text.structure import Span, TextPart
    from bookwheel.text.tokens import Tokenizer

SENTENCES: Final = 3
# A heading or a header that is longer says too much for the passage under it.
_LONGEST_LEAD: Final = 240
_GAP: Final = " … "
# Of a run of sentences: some 120 tokens of English.
_BYTES: Final = 480


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A passage of a text with its place."""

    start: int
    end: int
    shape: Shape
    text: str
    """The words of the passage itself, on one line."""
    leads: tuple[str, ...] = ()
    """Its heading and what leads it in, each on one line."""
    is_adjacent: bool = False
    """True where nothing stands between the leads and the passage."""

    @property
    def shown(self) -> str:
        """The passage as it is shown and judged."""
        return (" " if self.is_adjacent else _GAP).join((*self.leads, self.text))


def _fits_bytes(text: str) -> bool:
    return len(text.encode("utf-8", "replace")) <= _BYTES


def find_windows(text: str, fits: Callable[[str], bool] = _fits_bytes) -> Iterator[Window]:
    """Yield the windows of a text in order. A run of sentences that does not fit is shortened; one sentence stays."""
    for part in split_parts(text):
        leads = tuple(_flatten(text, span) for span in (part.heading, part.lead) if span)
        leads = tuple(dict.fromkeys(lead for lead in leads if lead and len(lead) <= _LONGEST_LEAD))
        above = max((span[1] for span in (part.heading, part.lead) if span), default=-1)
        for start, end in _split_runs(text, part, fits):
            line = _flatten(text, (start, end))
            if any(map(str.isalnum, line)):
                is_adjacent = len(leads) == 1 and not any(map(str.isalnum, text[above:start]))
                yield Window(
                    start=start,
                    end=end,
                    shape=part.shape,
                    text=line,
                    leads=leads,
                    is_adjacent=is_adjacent,
                )


def split_windows(text: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """Return the windows of a text as they are shown, each within the limit; one with too long leads loses them."""
    windows = find_windows(text, lambda run: tokenizer.count(run) <= limit)
    return list(dict.fromkeys(fit(window, tokenizer, limit) for window in windows))


def fit(window: Window, tokenizer: Tokenizer, limit: int) -> str:
    """Return a window as it is shown, with as many of its leads as fit, the nearest last, and as many sentences."""
    for first in range(len(window.leads) + 1):
        shown = _GAP.join((*window.leads[first:], window.text)) if first else window.shown
        if tokenizer.count(shown) <= limit:
            return shown
    kept = ""
    for _, end in split_sentences(window.text):
        # One long sentence stays whole.
        if kept and tokenizer.count(window.text[:end].rstrip()) > limit:
            break
        kept = window.text[:end].rstrip()
    return kept


def _flatten(text: str, span: Span) -> str:
    return " ".join(text[span[0] : span[1]].split())


def _split_runs(text: str, part: TextPart, fits: Callable[[str], bool]) -> Iterator[Span]:
    """Yield the runs of sentences of a part, shifted by one sentence each."""
    if part.shape in (Shape.ROW, Shape.TURN, Shape.CODE):
        yield part.start, part.end
        return
    spans = [(part.start + start, part.start + end) for start, end in split_sentences(text[part.start : part.end])]
    done = 0
    for first in range(len(spans)):
        last = min(first + SENTENCES, len(spans))
        while last - first > 1 and not fits(_flatten(text, (spans[first][0], spans[last - 1][1]))):
            last -= 1
        # Else it is the end of the run before.
        if last > done:
            yield spans[first][0], spans[last - 1][1]
            done = last


def overlaps(one: str, other: str) -> bool:
    """Return whether two windows share a sentence: windows of one chunk are shifted against each other."""
    first, body = one.rpartition(_GAP)[2], other.rpartition(_GAP)[2]
    sentences = {first[start:end].strip() for start, end in split_sentences(first)}
    return any(body[start:end].strip() in sentences for start, end in split_sentences(body))
