"""Facts: sentences of our own that tasks hide in essays, with the note to take of each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, cycle
from typing import TYPE_CHECKING

from bookwheel.lab.tasks import filler
from bookwheel.lab.tasks.assembly import AssembledDocument, SourcePassage, assemble
from bookwheel.lab.tasks.base import GoldEvidence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bookwheel.lab.tasks.definition import SampleRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A sentence with its place and its note; without a note it is a decoy."""

    text: str
    place: float
    note: str = ""
    key: str = ""
    replaces: tuple[str, ...] = ()

    def to_passage(self, end: str = " ") -> SourcePassage:
        """Return the passage to set into the filler."""
        evidence = GoldEvidence(start=0, end=len(self.text), note=self.note, key=self.key, replaces=self.replaces)
        return SourcePassage(text=self.text + end, evidence=(evidence,) if self.note else (), place=self.place)


def hide_in_essays(request: SampleRequest, facts: Sequence[Fact]) -> AssembledDocument:
    """Hide the facts among sentences of books, or of made-up prose without a data folder."""
    hay, _ = filler.essay(request.language, request.data_dir, request.rng)
    gap = "" if request.language == "zh" else " "
    passages = [fact.to_passage(gap) for fact in facts]
    return assemble(hay, passages, tokens=request.tokens, tokenizer=request.tokenizer, task=request.task)


def draw_books(request: SampleRequest) -> list[Path]:
    """Return the books of the data folder in their order, from one that the seed chooses; none without a folder."""
    paths = request.data_dir.list_books(filler.BOOKS[request.language][1])
    first = request.rng.randrange(len(paths)) if paths else 0
    return paths[first:] + paths[:first]


def hide_in_books(request: SampleRequest, books: Sequence[Path], facts: Sequence[Fact]) -> AssembledDocument:
    """Hide the facts in the books, one after the other from the first page on; without books, in made-up prose."""
    pages = chain.from_iterable(map(filler.load_sentences, cycle(books)))
    return assemble(
        pages if books else filler.prose(request.language, request.rng),
        [fact.to_passage("" if request.language == "zh" else " ") for fact in facts],
        tokens=request.tokens,
        tokenizer=request.tokenizer,
        task=request.task,
    )


def capitalize(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
