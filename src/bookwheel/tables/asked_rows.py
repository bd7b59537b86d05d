"""Rows of sentences by the reader's own short answers: whoever is asked for must be named, and surely.

    asked      every obligation: who, what, until when
    sentence   The Owner must hand back the deposit within 14 days.    Who? The Owner    Until when? 14 days    a row
               The cellar is not included.                             Who? nobody surely                       none

A call for each sentence, and one more for each row and each date that does not stand there as a date. It knows nothing
of how obligations are worded: a sentence about somebody who may or hopes to do something is a row, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bookwheel.models.base import copy_spans
from bookwheel.reading.ways.passages import GAP
from bookwheel.reading.ways.question_scorer import SURE
from bookwheel.reading.ways.short_answers import is_label
from bookwheel.tables.columns import Kind
from bookwheel.tables.headers import OF_PEOPLE
from bookwheel.types import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.base import Copies, Model
    from bookwheel.reading.prompts import Prompts
    from bookwheel.tables.columns import Column

TURN: Final = "short"
"""The prompt that a short answer is asked for by."""


def find_people(columns: Sequence[Column]) -> int | None:
    """Return the place of the first column of words, where it asks who and another column of words stands beside it."""
    texts = [at for at, column in enumerate(columns) if column.kind is Kind.TEXT]
    asks_who = len(texts) > 1 and OF_PEOPLE.search(columns[texts[0]].name) and columns[texts[0]].name != "name"
    return texts[0] if asks_who else None


@dataclass(kw_only=True)
class CellReader:
    """Asks for cells of sentences, and adds up what that costs."""

    model: Model
    prompts: Prompts
    columns: Sequence[Column]
    usage: Usage = field(default_factory=Usage)

    async def can_ask(self, text: str) -> bool:
        """Return whether the model tells which words of a text are an answer, and the prompts have words for that."""
        if TURN not in self.prompts.turns:
            return False
        return bool((await self._copy(text, f"{self.columns[0].name}?")).spans)

    async def fill(self, text: str, cells: Sequence[str | None], people: int) -> tuple[str | None, ...] | None:
        """Return the cells with who and until when; None where nobody is surely named."""
        who = await self._ask(text, self.columns[people])
        if who is None:
            return None
        filled = [*cells]
        filled[people] = who
        for at, column in enumerate(self.columns):
            if column.kind is Kind.DATE and not filled[at]:
                filled[at] = await self._ask(text, column)
        return tuple(filled)

    async def _ask(self, text: str, column: Column) -> str | None:
        question = f"{column.name[:1].upper()}{column.name[1:]}?"
        copies = await self._copy(text, question)
        best = next((one for one in copies.spans if not is_label(question, text, one.start, one.end)), None)
        # What is most of a text is no answer about it: "A7."
        if best is None or best.logprob < SURE or best.end - best.start > len(text) / 2:
            return None
        return text[best.start : best.end]

    async def _copy(self, text: str, question: str) -> Copies:
        copies = await copy_spans(self.model, self.prompts.turn(TURN, question=question, section=text), text, GAP)
        self.usage += copies.usage
        return copies
