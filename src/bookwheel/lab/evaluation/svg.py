"""SVG written by hand: the few shapes that a report's plots need, in pixels from the upper left corner."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, Literal

from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence

# Chinese letters are as wide as the font is high, others about half of that.
_WIDE: Final = "\u2e80"
_NARROW: Final = 0.56
FONT: Final = 12
"""Pixels."""
GRAY: Final = "#59627a"


class Svg:
    """A drawing of a fixed size."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._shapes: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> None:
        """Draw a straight line."""
        self._shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width:g}"/>'
        )

    def polyline(self, points: Sequence[tuple[float, float]], color: str) -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>')

    def mark(self, number: int, x: float, y: float, color: str) -> None:
        """Draw the mark of a series: a disc, square, diamond or triangle."""
        shape = _MARKS[number % len(_MARKS)]
        if shape is None:
            self._shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{color}"/>')
            return
        path = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shape)
        self._shapes.append(f'<polygon points="{path}" fill="{color}"/>')

    def rect(self, x: float, y: float, width: float, height: float, color: str) -> None:
        """Draw a filled rectangle."""
        self._shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: Literal["start", "middle", "end"] = "start",
        color: str = GRAY,
        turned: bool = False,
    ) -> None:
        """Write a text; `turned` writes it upwards."""
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}"{turn}>{escape(sanitize(text))}</text>'
        )

    def __str__(self) -> str:
        return (
            f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" xmlns="http://www.w3.org/2000/svg" '
            f'font-family="system-ui, sans-serif" font-size="{FONT}">\n' + "\n".join(self._shapes) + "\n</svg>\n"
        )


_MARKS: Final[tuple[tuple[tuple[float, float], ...] | None, ...]] = (
    None,
    ((-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)),
    ((0, -4.6), (4.6, 3.4), (-4.6, 3.4)),
    ((0, -4.8), (4.8, 0), (0, 4.8), (-4.8, 0)),
    ((0, 4.6), (4.6, -3.4), (-4.6, -3.4)),
)


def measure_text(text: str) -> float:
    """Return about how many pixels a text is wide."""
    return FONT * sum(1 if letter >= _WIDE else _NARROW for letter in text)
