"""The pictures that the answers of a memory rest on: with page, box and confidence in their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bookwheel.documents.readers.pictures import place_quote
from bookwheel.memory.passages import DatedQuote
from bookwheel.models.base import Model
from bookwheel.models.vision import find_vision
from bookwheel.picture import Picture
from bookwheel.reading.pictures import see_pictures

if TYPE_CHECKING:
    from bookwheel.journal.memory_pictures import MemoryPictures
    from bookwheel.memory.opened import OpenMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class PointedAt:
    """The pictures that a call may point at."""

    pictures: MemoryPictures
    listed: tuple[Picture, ...]

    def list_pictures(self) -> tuple[Picture, ...]:
        return self.listed

    def load_picture(self, sha256: str) -> bytes:
        return self.pictures.load(sha256)


def see(opened: OpenMemory, model: Model, words: str = "", text: int | None = None) -> Model:
    """Return the model as it sees the pictures that some words point at, or those of a text."""
    if find_vision(model) is None:
        return model
    pictures = opened.tables.pictures(opened.record.number)
    listed = pictures.pointed_at(words) if text is None else pictures.of_text(text)
    held = PointedAt(pictures=pictures, listed=listed)
    return see_pictures(model, held, opened.record.plan, opened.brief) if listed else model


# Characters above a quote in which the mark of its picture stands.
_BEFORE: Final = 20_000


def find_marks(opened: OpenMemory, marks: Sequence[str]) -> tuple[DatedQuote, ...]:
    """Return where the marks of pictures stand in the newest texts that have them."""
    texts, memory = opened.tables.list_texts(opened.record.number), opened.record.number
    quotes = []
    for mark in dict.fromkeys(marks):
        for text in reversed(texts):
            if any(one.mark == mark for one in opened.tables.pictures(memory).of_text(text.number)):
                start = opened.tables.load_text(memory, text.number).find(mark)
                end, number = start + len(mark), text.number
                quotes.append(DatedQuote(quote=mark, source=text.source, at=text.at, start=start, end=end, text=number))
                break
    return tuple(quotes)


def locate(opened: OpenMemory, quotes: Sequence[DatedQuote]) -> tuple[DatedQuote, ...]:
    """Return quotes with their pages, and with picture, box and confidence where they are from a picture."""
    return tuple(_locate(opened, quote) if quote.text else quote for quote in quotes)


def _locate(opened: OpenMemory, quote: DatedQuote) -> DatedQuote:
    memory = opened.record.number
    pictures = opened.tables.pictures(memory)
    placed = replace(quote, page=pictures.find_page(quote.text, quote.start))
    held = {one.label: one for one in pictures.of_text(quote.text)}
    if not held:
        return placed
    content = opened.tables.load_text(memory, quote.text)
    found = place_quote(held, quote.quote, content[max(0, quote.start - _BEFORE) : quote.start])
    if found is None:
        return placed
    picture, box, sure = found
    return replace(placed, page=picture.page, picture=picture.label, box=box, confidence=sure)
