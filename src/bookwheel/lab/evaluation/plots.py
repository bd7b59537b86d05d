"""A report's plots as SVG: accuracy, tokens and seconds against length, and accuracy by depth and length."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Literal

from bookwheel.lab.evaluation.records import Record, group_by
from bookwheel.lab.evaluation.report import ALL, Cell, Report, describe_cells
from bookwheel.lab.evaluation.sections import format_length
from bookwheel.text.sanitize import sanitize

# Chinese letters are as wide as the font is high, others about half of that.
_CJK: Final = "\u2e80"
_NARROW: Final = 0.56
FONT: Final = 12
"""Pixels."""
GRAY: Final = "#59627a"
_MARKS: Final[tuple[tuple[tuple[float, float], ...] | None, ...]] = (
    None,
    ((-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)),
    ((0, -4.6), (4.6, 3.4), (-4.6, 3.4)),
    ((0, -4.8), (4.8, 0), (0, 4.8), (-4.8, 0)),
    ((0, 4.6), (4.6, -3.4), (-4.6, -3.4)),
)


def measure_text(text: str) -> float:
    """Return about how many pixels a text is wide."""
    return FONT * sum(1 if letter >= _CJK else _NARROW for letter in text)


class Svg:
    """A drawing of a fixed size."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._shapes: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> None:
        self._shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width:g}"/>'
        )

    def polyline(self, points: Sequence[tuple[float, float]], color: str) -> None:
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
        size: int = FONT,
    ) -> None:
        """Write a text; `turned` writes it upwards."""
        font = "" if size == FONT else f' font-size="{size}"'
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}"{font}{turn}>'
            f"{escape(sanitize(text))}</text>"
        )

    def lengths(self, places: Iterable[tuple[float, int]], y: float, gap: float) -> None:
        """Write lengths of documents below their places from left to right, without those that would overlap."""
        free = -math.inf
        for x, length in places:
            label = format_length(length)
            half = measure_text(label) / 2
            # The last one always has room on the right.
            if x - half > free:
                self.text(x, y, label, anchor="middle")
                free = x + half + gap

    def __str__(self) -> str:
        return (
            f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" xmlns="http://www.w3.org/2000/svg" '
            f'font-family="system-ui, sans-serif" font-size="{FONT}">\n' + "\n".join(self._shapes) + "\n</svg>\n"
        )


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
# Okabe and Ito's, which people with any kind of colour vision can tell apart; the marks differ too.
_COLORS: Final = (*("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b07d00", "#000000", "#8c564b"),)
# A tick for every decade, or for every 1, 2 and 5, whichever gives at least three.
_MANTISSAS: Final = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))
_LEAST_TICKS: Final = 3


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
    for task in tasks:
        drawn |= draw_heat_maps([record for record in report.records if record.task == task], task)
    drawn["Tokens a sample (prompt and reply, all calls) against length"] = _draw_lines(
        whole, lambda cell: (cell.prompt_tokens + cell.completion_tokens,) * 3, "tokens"
    )
    drawn["Seconds a sample against length"] = _draw_lines(whole, lambda cell: (cell.seconds,) * 3, "seconds")
    return drawn


def _score(cell: Cell) -> tuple[float, float, float]:
    return 100 * cell.score.mean, 100 * cell.score.low, 100 * cell.score.high


def _draw_lines(
    cells: Sequence[Cell], read: Callable[[Cell], tuple[float, float, float]], title: str, axis: Axis | None = None
) -> str:
    """Draw a line for each model and way through what is read of a cell: a number, and the ends of its bar.

    Without an axis it is a logarithmic one around the values.
    """
    readers = list(dict.fromkeys((cell.model, cell.way) for cell in cells))
    is_alone = len({model for model, _ in readers}) == 1
    labels = [way if is_alone else f"{model} · {way}" for model, way in readers]
    points = {id(cell): read(cell) for cell in cells if cell.is_measured}
    axis = axis or choose_axis([value for value, _, _ in points.values()])
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
            value, least, most = points[id(cell)]
            if axis.is_log and not value > 0:
                continue
            x = _LEFT + (right - _LEFT) * across.scale(max(cell.length, 1)) + moved
            marks.append((x, _height(axis, value)))
            if least < most:
                ends = (_height(axis, least), _height(axis, most))
                svg.line(x, ends[0], x, ends[1], color, 0.8)
                for end in ends:
                    svg.line(x - _CAP, end, x + _CAP, end, color, 0.8)
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


def _draw_frame(svg: Svg, across: Axis, up: Axis, right: float, title: str) -> None:
    """Draw the grid, the numbers of both axes and their names."""
    for tick in up.ticks:
        y = _height(up, tick)
        svg.line(_LEFT, y, right, y, _GRID)
        svg.text(_LEFT - 6, y + 4, f"{tick:,.6g}", anchor="end")
    # A logarithmic axis has no 0, so samples that do not say their length stand at 1.
    places = [(_LEFT + (right - _LEFT) * across.scale(tick), round(tick) if tick > 1 else 0) for tick in across.ticks]
    for x, _ in places:
        svg.line(x, _TOP, x, _BOTTOM, _GRID)
    svg.lengths(places, _BOTTOM + 18, 8)
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


_DEPTHS: Final = 5
_MOST_PANELS: Final = 6
_COLUMNS: Final = 3
# Pixels: a panel, and the fields within it.
_PANEL: Final = (240, 230)
_PANEL_LEFT, _PANEL_TOP, _FIELDS_WIDE, _FIELDS_HIGH = 54, 24, 174, 140
# Orange, white and blue at 0, 0.5 and 1: red and green look alike to one man in twelve.
_SCALE: Final = ((179, 72, 0), (247, 247, 247), (0, 90, 181))
_DARK_BELOW, _DARK_ABOVE = 0.12, 0.85
_SMALL: Final = 9


def draw_heat_maps(records: Sequence[Record], task: str) -> dict[str, str]:
    """Return a figure by its caption; none for a task without evidence."""
    placed = [record for record in records if record.depth is not None and record.outcome != "refused"]
    by_reader = group_by(placed, lambda record: (record.model, record.way))
    if not by_reader:
        return {}
    shown = list(by_reader)[:_MOST_PANELS]
    columns = min(_COLUMNS, len(shown))
    wide, high = _PANEL
    svg = Svg(wide * columns, high * math.ceil(len(shown) / columns))
    lengths = sorted({record.length for record in placed})
    has_models = len({model for model, _ in by_reader}) > 1
    for number, (model, way) in enumerate(shown):
        fields = _average(by_reader[model, way], lengths)
        origin = (wide * (number % columns), high * (number // columns))
        _draw_panel(svg, origin, fields, lengths, f"{model} · {way}" if has_models else way)
    left_out = len(by_reader) - len(shown)
    more = f" {left_out} more are left out." if left_out else ""
    caption = (
        f"Score in per cent by the depth of the evidence and the length of the document, with the samples (n). "
        f"Task: {task}. "
        f"n = {len(placed)} in all.{more}"
    )
    return {caption: str(svg)}


def _average(records: Sequence[Record], lengths: Sequence[int]) -> dict[tuple[int, int], tuple[float, int]]:
    """Return the mean score of each field and its samples, by depth and column."""
    column = {length: place for place, length in enumerate(lengths)}
    fields = group_by(records, lambda one: (min(int((one.depth or 0.0) * _DEPTHS), _DEPTHS - 1), column[one.length]))
    return {place: (sum(one.score for one in field) / len(field), len(field)) for place, field in fields.items()}


def _draw_panel(
    svg: Svg,
    origin: tuple[float, float],
    fields: Mapping[tuple[int, int], tuple[float, int]],
    lengths: Sequence[int],
    title: str,
) -> None:
    """Draw the fields with their scores and samples; a field without a sample has no number."""
    left, top = origin[0] + _PANEL_LEFT, origin[1] + _PANEL_TOP
    wide, high = _FIELDS_WIDE / len(lengths), _FIELDS_HIGH / _DEPTHS
    svg.text(left + _FIELDS_WIDE / 2, top - 8, title, anchor="middle")
    for (depth, column), (mean, count) in fields.items():
        x, y = left + wide * column, top + high * depth
        svg.rect(x, y, wide, high, mix_color(mean))
        ink = "#1d2330" if _DARK_BELOW < mean < _DARK_ABOVE else "#ffffff"
        svg.text(x + wide / 2, y + high / 2, f"{100 * mean:.0f}", anchor="middle", color=ink)
        svg.text(x + wide / 2, y + high - 4, f"n {count}", anchor="middle", color=ink, size=_SMALL)
    for edge in range(_DEPTHS + 1):
        svg.text(left - 5, top + high * edge + 4, f"{100 * edge // _DEPTHS}", anchor="end")
    places = [(left + wide * (column + 0.5), length) for column, length in enumerate(lengths)]
    svg.lengths(places, top + _FIELDS_HIGH + 16, 6)
    svg.text(left + _FIELDS_WIDE / 2, top + _FIELDS_HIGH + 34, "tokens of the document", anchor="middle")
    svg.text(left - 38, top + _FIELDS_HIGH / 2, "depth, per cent", anchor="middle", turned=True)


def mix_color(share: float) -> str:
    share = min(max(share, 0.0), 1.0)
    low, high = _SCALE[:2] if share < 0.5 else _SCALE[1:]  # noqa: PLR2004 - the middle of the scale
    part = 2 * share - (share >= 0.5)  # noqa: PLR2004
    return "#" + "".join(f"{round(one + (other - one) * part):02x}" for one, other in zip(low, high, strict=True))
