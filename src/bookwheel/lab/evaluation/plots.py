"""A report's plots as SVG: accuracy, tokens and seconds against length, and accuracy by depth and length."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.lab.evaluation.heat_maps import draw_heat_maps
from bookwheel.lab.evaluation.layout import describe_cells
from bookwheel.lab.evaluation.report import ALL
from bookwheel.lab.evaluation.sections import format_length
from bookwheel.lab.evaluation.svg import GRAY, Svg, measure_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.lab.evaluation.records import Record
    from bookwheel.lab.evaluation.report import Cell, Report

_WIDTH: Final = 720
_HEIGHT: Final = 400
_LEFT, _TOP, _BOTTOM = 72, 12, 352
_GRID: Final = "#e6e9f0"
# By how many pixels the points of different readers are moved apart, so that bars can be told.
_SPREAD: Final = 3
_CAP: Final = 3
_LEAST_MARGIN: Final = 1.3
_LEAST_WIDTH: Final = 260
_LEGEND_ROW: Final = 20
_GAP: Final = 8
_COLORS: Final = (
    "#1f77b4",
    "#d6641c",
    "#2c8a3d",
    "#c02f33",
    "#7d55b0",
    "#8c564b",
    "#c9569f",
    "#5f6368",
    "#98951a",
    "#1396a5",
)
# A tick for every decade, or for every 1, 2 and 5, whichever gives at least three.
_MANTISSAS: Final = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))
_LEAST_TICKS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A number with the ends of its bar."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis between two numbers, with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool

    def scale(self, value: float) -> float:
        """Return where the value lies, from 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def draw_plots(report: Report) -> dict[str, str]:
    """Return the SVG of each figure by its caption."""
    tasks = dict.fromkeys(cell.task for cell in report.cells)
    whole = report.pooled or report.cells
    drawn: dict[str, str] = {}
    if not whole:
        return drawn
    percents = Axis(low=-3, high=103, ticks=(0, 20, 40, 60, 80, 100), is_log=False)
    for task in (*((ALL,) if report.pooled else ()), *tasks):
        cells = [cell for cell in (*report.pooled, *report.cells) if cell.task == task]
        caption = f"Accuracy against length. {describe_cells(cells, report)}"
        drawn[caption] = _draw_lines(cells, _score, "score, per cent", percents)
    by_task = defaultdict[str, list["Record"]](list)
    for record in report.records:
        by_task[record.task].append(record)
    for task in tasks:
        drawn |= draw_heat_maps(by_task[task], task)
    drawn["Tokens a sample (prompt and reply, all calls) against length"] = _draw_lines(
        whole, lambda cell: _plain(cell.prompt_tokens + cell.completion_tokens), "tokens"
    )
    drawn["Seconds a sample against length"] = _draw_lines(whole, lambda cell: _plain(cell.seconds), "seconds")
    return drawn


def _score(cell: Cell) -> Point:
    return Point(value=100 * cell.score.mean, low=100 * cell.score.low, high=100 * cell.score.high)


def _plain(value: float) -> Point:
    return Point(value=value, low=value, high=value)


def _draw_lines(cells: Sequence[Cell], read: Callable[[Cell], Point], title: str, axis: Axis | None = None) -> str:
    """Draw a line for each model and way. Without an axis it is a logarithmic one around the values."""
    readers = list(dict.fromkeys((cell.model, cell.way) for cell in cells))
    is_alone = len({model for model, _ in readers}) == 1
    labels = [way if is_alone else f"{model} · {way}" for model, way in readers]
    points = {id(cell): read(cell) for cell in cells if cell.is_measured}
    axis = axis or choose_axis([point.value for point in points.values()])
    legend = 40 + max(map(measure_text, labels))
    right = max(_LEAST_WIDTH, _WIDTH - legend)
    svg = Svg(right + legend, max(_HEIGHT, _TOP + _LEGEND_ROW * (len(readers) + 1)))
    lengths = sorted({max(cell.length, 1) for cell in cells})
    low, high = _log_limits(lengths)
    across = Axis(low=low, high=high, ticks=tuple(lengths), is_log=True)
    _draw_frame(svg, across, axis, right, title)
    for number, (model, way) in enumerate(readers):
        color = _COLORS[number % len(_COLORS)]
        moved = _SPREAD * (number - (len(readers) - 1) / 2)
        row = sorted((c for c in cells if (c.model, c.way) == (model, way) and id(c) in points), key=lambda c: c.length)
        marks = []
        for cell in row:
            point = points[id(cell)]
            if axis.is_log and not point.value > 0:
                continue
            x = _LEFT + (right - _LEFT) * across.scale(max(cell.length, 1)) + moved
            marks.append((x, _height(axis, point.value)))
            if point.low < point.high:
                _draw_bar(svg, x, _height(axis, point.low), _height(axis, point.high), color)
        svg.polyline(marks, color)
        for x, y in marks:
            svg.mark(number, x, y, color)
        middle = _TOP + _LEGEND_ROW * (number + 0.5)
        svg.line(right + 10, middle, right + 30, middle, color, 1.6)
        svg.mark(number, right + 20, middle, color)
        svg.text(right + 36, middle + 4, labels[number])
    return str(svg)


def _height(axis: Axis, value: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * axis.scale(value)


def _draw_bar(svg: Svg, x: float, low: float, high: float, color: str) -> None:
    svg.line(x, low, x, high, color, 0.8)
    for end in (low, high):
        svg.line(x - _CAP, end, x + _CAP, end, color, 0.8)


def _draw_frame(svg: Svg, across: Axis, up: Axis, right: float, title: str) -> None:
    """Draw the grid, the numbers of both axes and their names."""
    for tick in up.ticks:
        y = _height(up, tick)
        svg.line(_LEFT, y, right, y, _GRID)
        svg.text(_LEFT - 6, y + 4, f"{tick:,.6g}", anchor="end")
    free = -math.inf
    for tick in across.ticks:
        x = _LEFT + (right - _LEFT) * across.scale(tick)
        svg.line(x, _TOP, x, _BOTTOM, _GRID)
        # A logarithmic axis has no 0, so samples that do not say their length stand at 1.
        label = format_length(round(tick) if tick > 1 else 0)
        half = measure_text(label) / 2
        # A number that would stand on its neighbour is left out; the last one always has room on the right.
        if x - half > free:
            svg.text(x, _BOTTOM + 18, label, anchor="middle")
            free = x + half + _GAP
    svg.line(_LEFT, _BOTTOM, right, _BOTTOM, GRAY)
    svg.line(_LEFT, _TOP, _LEFT, _BOTTOM, GRAY)
    svg.text((_LEFT + right) / 2, _BOTTOM + 40, "tokens of the document", anchor="middle")
    svg.text(14, (_TOP + _BOTTOM) / 2, title, anchor="middle", turned=True)


def choose_axis(values: Sequence[float]) -> Axis:
    """Return a logarithmic axis around the positive values; one from 0 to 1 where there are none."""
    heights = [value for value in values if value > 0 and math.isfinite(value)]
    if not heights:
        return Axis(low=0, high=1, ticks=(0, 0.5, 1), is_log=False)
    low, high = _log_limits(heights)
    return Axis(low=low, high=high, ticks=tuple(choose_log_ticks(low, high)), is_log=True)


def _log_limits(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a log axis around positive values, a twentieth of their span beyond each."""
    low, high = min(values), max(values)
    margin = max((high / low) ** 0.05, _LEAST_MARGIN)
    return low / margin, high * margin


def choose_log_ticks(low: float, high: float) -> list[float]:
    """Return ticks at round numbers between two positive numbers, however close they are."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in _MANTISSAS:
        ticks = [mantissa * 10.0**decade for decade in decades for mantissa in mantissas]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= _LEAST_TICKS:
            return ticks
    return [float(f"{low * (high / low) ** share:.6g}") for share in (0.1, 0.5, 0.9)]
