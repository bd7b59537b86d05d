"""A picture of a document, and the words that were recognised in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, as shares of the sides of a page or a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLine:
    """A line of words that was recognised in a picture."""

    text: str
    box: Box
    """Its place in the picture."""
    confidence: float
    """From 0 to 1, as the recogniser gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of a document: a figure, or a page as it looks. The text has its mark where it stands."""

    label: str
    """Unique in its document: `page 12, figure 3`."""
    source: str
    page: int | None
    box: Box
    """Its place on its page; the whole page where nothing is known."""
    sha256: str
    """Of its bytes."""
    width: int
    """Pixels, as it is kept."""
    height: int
    lines: tuple[PictureLine, ...] = ()
    content: bytes = field(default=b"", compare=False, repr=False)
    """PNG or JPEG; empty where only what is known about it was loaded."""

    @property
    def mark(self) -> str:
        """The words that point at it, in the document, in prompts and in memories."""
        return f"[{self.label}]"

    @property
    def media(self) -> str:
        """The media type of its bytes."""
        return "image/png" if self.content.startswith(b"\x89PNG") else "image/jpeg"
