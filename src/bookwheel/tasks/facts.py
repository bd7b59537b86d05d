"""Shared by the families that set statements of their own into essays: a statement, and what to note of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwheel.tasks import filler
from bookwheel.tasks.assembly import AssembledDocument, SourcePassage, assemble
from bookwheel.tasks.base import GoldEvidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.tasks.orders import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A sentence of ours, where it goes, and its note; without a note it is there to mislead."""

    text: str
    place: float
    note: str = ""
    key: str = ""
    replaces: tuple[str, ...] = ()

    def passage(self, end: str = " ") -> SourcePassage:
        """As it is set into the filler."""
        found = GoldEvidence(start=0, end=len(self.text), note=self.note, key=self.key, replaces=self.replaces)
        return SourcePassage(text=self.text + end, evidence=(found,) if self.note else (), place=self.place)


def in_essays(order: Order, facts: Sequence[Fact]) -> AssembledDocument:
    """The facts among sentences of books, or of made-up prose where there are none."""
    hay, _ = filler.essay(order.language, order.shelf, order.rng)
    gap = "" if order.language == "zh" else " "
    passages = [fact.passage(gap) for fact in facts]
    return assemble(hay, passages, tokens=order.tokens, tokenizer=order.tokenizer, task=order.task)


def sentence(text: str) -> str:
    """With a capital at its beginning."""
    return text[:1].upper() + text[1:]
