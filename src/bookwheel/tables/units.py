"""The parts of a document that may be rows: sentences, items of lists, lines of tables, with what leads them in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bookwheel.picture import LABEL, MARK
from bookwheel.text.sentences import split_sentences
from bookwheel.text.structure import Shape, split_parts

if TYPE_CHECKING:
    from bookwheel.text.ranking import QuestionWords
    from bookwheel.types import Document

_PIECE: Final = 1 << 18
"""Characters whose structure is looked at together."""
_LABEL: Final = re.compile(
    r"\s*(?:(?:[-*+•·–]|\(?\d{1,3}[.)、])\s+)?(?:[^\W\d]\w*(?: \w+){0,2}: |[\u4e00-\u9fff]{2,8}[:：])(?=\S)"
)
"""What leads in the sentences behind it, where it has a word of what is asked: "Actions: Ada orders it. Bo pays." """
_SEMICOLON: Final = re.compile(r"[;；]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part, and what leads it in."""

    start: int
    end: int
    line: str
    """With the blanks around it, for a row has its place under the header by them."""
    heading: str
    leads: str
    """Its heading, and what else leads it in."""
    header: str
    """The header of a row; empty elsewhere."""
    header_start: int

    @property
    def is_framed(self) -> bool:
        """A row between bars."""
        return self.text.startswith("|") and self.text.endswith("|")

    @property
    def text(self) -> str:
        return self.line.strip()


def list_units(document: Document, words: QuestionWords | None = None) -> Iterator[Unit]:
    """Yield the parts of a document; a label that has a word of what is asked leads in the sentences behind it."""
    for start, text in list_pieces(document):
        for part in split_parts(text):
            above = [text[span[0] : span[1]] if span else "" for span in (part.heading, part.lead)]
            leads = " ".join(" ".join(above).split())
            header = text[part.lead[0] : part.lead[1]] if part.lead and part.shape is Shape.ROW else ""
            spans = [(part.start, part.end)]
            label = _LABEL.match(text, part.start, part.end)
            label = label if label and words and words.find(label[0]) else None
            if part.shape in (Shape.PROSE, Shape.ITEM, Shape.REFERENCE) or label:
                first = label.end() if label else part.start
                leads = f"{leads} {label[0].strip()}".strip() if label else leads
                spans = [(first + a, first + b) for a, b in split_sentences(text[first : part.end])]
                if label:  # Between semicolons, each part of a sentence.
                    cuts = ([a, *(cut.end() for cut in _SEMICOLON.finditer(text, a, b - 1)), b] for a, b in spans)
                    spans = [piece for some in cuts for piece in pairwise(some)]
            for a, b in spans:
                body = text[a:b].strip()
                # A line with a colon at its end leads in others and says nothing by itself.
                if any(map(str.isalnum, body)) and not body.endswith((":", "：")):
                    yield Unit(
                        start=start + a,
                        end=start + b,
                        line=text[a:b],
                        heading=above[0],
                        leads=leads,
                        header=header,
                        header_start=start + (part.lead[0] if part.lead else part.start),
                    )


def list_pieces(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the document in pieces that end with a line, each with its place and without the marks of its pictures."""
    start, held = 0, ""
    for part in document.parts():
        held += part.text
        while len(held) > _PIECE:
            cut = held.rfind("\n", _PIECE // 2, _PIECE) + 1 or _PIECE
            yield start, _blank_marks(held[:cut])
            start, held = start + cut, held[cut:]
    if held:
        yield start, _blank_marks(held)


def _blank_marks(piece: str) -> str:
    """Return a text as long without the marks of its pictures: their page is no value of the words around them."""
    return MARK.sub(lambda found: "\n" * len(found[0]) if LABEL.search(found[1]) else found[0], piece)
