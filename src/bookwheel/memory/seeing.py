"""Show a model that can see the pictures of a memory's texts.

A line of the memory points at a picture by its mark, as in the memory of a reading. So pictures are edited and
forgotten with their lines, and their bytes go with the last text that has them. A text-only model reads the recognised
words below the mark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwheel.models.vision import find_vision
from bookwheel.reading.pictures import see_pictures

if TYPE_CHECKING:
    from bookwheel.journal.memory_pictures import MemoryPictures
    from bookwheel.memory.opened import OpenMemory
    from bookwheel.models.base import Model
    from bookwheel.picture import Picture


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
