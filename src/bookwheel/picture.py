"""A picture of a document, and the words that were recognised in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bookwheel.patterns import compile_late

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, as shares of the sides of a page or a picture."""
MARK: Final = compile_late(r"\[([^\[\]\n]{1,300}?)\]")
"""What may be the mark of a picture: its label between brackets."""
LABEL: Final = compile_late(r"\bfigure \d+(?: #[0-9a-f]{6})?$")
"""How a label ends."""
SIGNS: Final = (
    (0, b"\x89PNG"),
    (0, b"\xff\xd8\xff"),
    (0, b"II*\0"),
    (0, b"MM\0*"),
    (8, b"WEBP"),
    (0, b"GIF8"),
    *((4, b"ftyp" + brand) for brand in (b"heic", b"heix", b"mif1", b"avif")),
)
"""What files that are read as pictures have at a place near their beginning."""
_PART: Final = compile_late(r", box ([01](?:\.\d+)?) ([01](?:\.\d+)?) ([01](?:\.\d+)?) ([01](?:\.\d+)?)$")


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
    def text(self) -> str:
        """The words that were recognised in it, a line each."""
        return "\n".join(line.text for line in self.lines)

    @property
    def mark(self) -> str:
        """The words that point at it, in the document, in prompts and in memories."""
        return f"[{self.label}]"

    @property
    def media(self) -> str:
        return find_media(self.content)


def is_picture(head: bytes) -> bool:
    """Return whether a file that begins so is read as a picture."""
    return any(head.startswith(sign, at) for at, sign in SIGNS)


def find_media(content: bytes) -> str:
    """Return the media type of a picture that is kept."""
    return "image/png" if content.startswith(b"\x89PNG") else "image/jpeg"


def split_label(words: str) -> tuple[str, Box | None]:
    """Return the label between two brackets, and the part of the picture that it names; None for all of it.

    >>> split_label("page 12, figure 3, box 0 0.5 1 1")
    ('page 12, figure 3', (0.0, 0.5, 1.0, 1.0))
    """
    part = _PART.search(words)
    if part is None:
        return words, None
    left, top, right, bottom = (min(float(side), 1.0) for side in part.groups())
    return words[: part.start()], (left, top, right, bottom)


def place_on_page(inner: Box, outer: Box) -> Box:
    across, down = outer[2] - outer[0], outer[3] - outer[1]
    left, right = (round(outer[0] + side * across, 4) for side in inner[::2])
    top, bottom = (round(outer[1] + side * down, 4) for side in inner[1::2])
    return left, top, right, bottom


def find_above(pictures: Mapping[str, Picture], text: str) -> Picture | None:
    """Return the picture whose mark is the last one in the text above some words; None where there is none."""
    marks = [found[1] for found in MARK.finditer(text) if found[1] in pictures]
    return pictures[marks[-1]] if marks else None
