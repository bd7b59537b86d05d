"""A short answer to a question that names two and asks for one of them, out of the whole document.

One passage seldom has the figures of both: each is looked for by its own name, beside the other words of the question.
"""

from __future__ import annotations

from typing import Final

from bookwheel.reading.ways.document_index import index_passages
from bookwheel.reading.ways.table_answers import ToldAnswer
from bookwheel.text.alternatives import choose_alternative
from bookwheel.text.comparatives import Alternatives
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.structure import Shape
from bookwheel.types import Document

_PASSAGES: Final = 4
"""Passages of each of the two that are looked through."""


def find_compared(two: Alternatives, document: Document) -> ToldAnswer | None:
    """Return the one of two that figures or a sentence tell; None where nothing tells."""
    index = index_passages(document)
    asked = [two.question.replace(other, " ") for other in two.names]
    # A row says nothing without its table, which tells more (table_answers.py).
    windows = [
        one.window.shown
        for words in map(QuestionWords, asked)
        for one in index.rank(words, _PASSAGES)
        if one.window.shape is not Shape.ROW
    ]
    passages = list(dict.fromkeys(windows))
    found = choose_alternative(two, passages)
    if found is None:
        return None
    shown = "\n".join(passages[at] for at in found.passages)
    return ToldAnswer(found.text, shown, is_sure=found.is_sure, is_looked_up=True)
