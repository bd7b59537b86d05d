"""A report's plots as SVG: accuracy, tokens and seconds against length, and accuracy by depth and length."""

from __future__ import annotations

import io
import math
import warnings
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bookwheel.errors import MissingExtra
from bookwheel.evaluation.layout import describe_cells
from bookwheel.evaluation.report import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from bookwheel.evaluation.report import Cell, Report
    from bookwheel.evaluation.results import Record

_WIDTH, _HEIGHT = 7.2, 4.0
_MARKS = "osD^vP*X"
_LEAST_MARGIN = 1.3
# By how much the points of different readers are moved apart, as a share of the length, so that bars can be told.
_SPREAD = 0.012
_DEPTHS = 5
_MOST_PANELS = 6
_DARK_BELOW, _DARK_ABOVE = 0.15, 0.85
_MOST_LEVEL_LABELS = 3
# Inches of a row of heat maps; shares of the width for a letter of the legend, its mark, and the least plot.
_PANEL = 2.4
_LETTER, _LEGEND_MARK, _LEAST_WIDTH = 0.0105, 0.075, 0.4
# A tick for every decade, or for every 1, 2 and 5, whichever gives at least three.
_MANTISSAS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))
_LEAST_TICKS = 3


def draw_plots(report: Report) -> dict[str, str]:
    """Captions to SVG. MissingExtra without matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError as missing:
        raise MissingExtra("drawing plots", "evaluation") from missing
    if not report.cells:
        return {}
    tasks = dict.fromkeys(cell.task for cell in report.cells)
    whole = report.pooled or report.cells
    with (
        mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bookwheel", "font.size": 9}),
        warnings.catch_warnings(),
    ):
        # Labels are drawn by the browser: it does not matter which letters matplotlib's own font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        drawn = {}
        for task in (*((ALL,) if report.pooled else ()), *tasks):
            cells = [cell for cell in (*report.pooled, *report.cells) if cell.task == task]
            drawn[f"Accuracy against length. {describe_cells(cells, report)}"] = _figure(
                cells, _accuracy, "score, per cent"
            )
        for task in tasks:
            drawn |= _draw_depths([record for record in report.records if record.task == task], task)
        drawn["Tokens a sample (prompt and reply, all calls) against length"] = _figure(
            whole, _tokens, "tokens", log=True
        )
        drawn["Seconds a sample against length"] = _figure(whole, _seconds, "seconds", log=True)
    return drawn


def _figure(
    cells: Sequence[Cell],
    draw: Callable[[Any, list[float], list[Cell], dict[str, Any]], None],
    title: str,
    *,
    log: bool = False,
) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _HEIGHT))
    readers = dict.fromkeys((cell.model, cell.way) for cell in cells)
    alone = len({model for model, _ in readers}) == 1
    longest = max(len(way if alone else f"{model} · {way}") for model, way in readers)
    # Placed by hand: a layout engine draws every figure twice.
    right = max(_LEAST_WIDTH, 1 - _LEGEND_MARK - _LETTER * longest)
    axes: Any = figure.add_axes((0.1, 0.12, right - 0.1, 0.84))
    lengths = sorted({max(cell.length, 1) for cell in cells})
    axes.set_xscale("log")
    # Before anything is drawn: matplotlib's own limits around one point have no width, or one of rounding errors.
    axes.set_xlim(_log_limits(lengths))
    for number, (model, way) in enumerate(readers):
        line = sorted((c for c in cells if (c.model, c.way) == (model, way) and c.is_measured), key=lambda c: c.length)
        label = (way if alone else f"{model} · {way}").replace("$", r"\$")
        style = {"marker": _MARKS[number % len(_MARKS)], "label": label, "linewidth": 1.2, "markersize": 4}
        moved = 1 + _SPREAD * (number - (len(readers) - 1) / 2)
        draw(axes, [max(cell.length, 1) * moved for cell in line], line, style)
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths], minor=False)
    axes.xaxis.minorticks_off()
    heights = [height for line in axes.lines for height in line.get_ydata() if height > 0]
    if log and heights:
        axes.set_yscale("log")
        low, high = _log_limits(heights)
        axes.set_ylim(low, high)
        ticks = choose_log_ticks(low, high)
        axes.set_yticks(ticks, [f"{tick:,.6g}" for tick in ticks], minor=False)
        axes.yaxis.minorticks_off()
    axes.set_xlabel("tokens of the document")
    axes.set_ylabel(title)
    axes.grid(alpha=0.3)
    figure.legend(loc="upper left", bbox_to_anchor=(right, 0.98), frameon=False)
    return _to_svg(figure)


def _to_svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


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


def _draw_depths(records: Sequence[Record], task: str) -> dict[str, str]:
    """Return a figure with a heat map for each model and way; none for a task without evidence."""
    placed = [record for record in records if record.depth is not None and record.outcome != "refused"]
    readers = list(dict.fromkeys((record.model, record.way) for record in placed))
    if not readers:
        return {}
    from matplotlib.figure import Figure

    shown = readers[:_MOST_PANELS]
    columns = min(3, len(shown))
    rows = math.ceil(len(shown) / columns)
    lengths = sorted({record.length for record in placed})
    height = _PANEL * rows
    figure = Figure(figsize=(_WIDTH, height))
    figure.subplots_adjust(
        left=0.08, right=0.98, top=1 - 0.3 / height, bottom=0.75 / height, wspace=0.45, hspace=1.05 / (_PANEL - 1.05)
    )
    for number, (model, way) in enumerate(shown):
        axes: Any = figure.add_subplot(rows, columns, number + 1)
        own = [record for record in placed if (record.model, record.way) == (model, way)]
        _draw_heat_map(axes, own, lengths)
        name = way if len({model for model, _ in readers}) == 1 else f"{model} · {way}"
        axes.set_title(name.replace("$", r"\$"), fontsize=9)
    left_out = len(readers) - len(shown)
    more = f" {left_out} more are left out." if left_out else ""
    caption = (
        f"Score in per cent by the depth of the evidence and the length of the document. Task: {task}. "
        f"n = {len(placed)} in all.{more}"
    )
    return {caption: _to_svg(figure)}


def _draw_heat_map(axes: Any, records: Sequence[Record], lengths: Sequence[int]) -> None:
    """Draw mean scores, each with its number; an empty field is white."""
    fields: dict[tuple[int, int], list[float]] = {}
    for record in records:
        depth = min(int((record.depth or 0.0) * _DEPTHS), _DEPTHS - 1)
        fields.setdefault((depth, lengths.index(record.length)), []).append(record.score)
    means = [
        [fmean(fields[depth, column]) if (depth, column) in fields else math.nan for column in range(len(lengths))]
        for depth in range(_DEPTHS)
    ]
    # Drawn as shapes: the page forbids images, and a heat map of pixels is one.
    columns, rows = ([edge - 0.5 for edge in range(n + 1)] for n in (len(lengths), _DEPTHS))
    axes.pcolormesh(columns, rows, means, cmap="RdYlGn", vmin=0, vmax=1)
    axes.set_ylim(_DEPTHS - 0.5, -0.5)
    for (depth, column), scores in fields.items():
        mean = fmean(scores)
        ink = "black" if _DARK_BELOW < mean < _DARK_ABOVE else "white"
        axes.text(column, depth, f"{100 * mean:.0f}", ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(
        range(len(lengths)),
        [f"{length:,}" for length in lengths],
        rotation=45 if len(lengths) > _MOST_LEVEL_LABELS else 0,
    )
    edges = [round(100 * edge / _DEPTHS) for edge in range(_DEPTHS + 1)]
    axes.set_yticks([edge - 0.5 for edge in range(_DEPTHS + 1)], [f"{edge}" for edge in edges])
    axes.set_xlabel("tokens of the document")
    axes.set_ylabel("depth, per cent")


def _accuracy(axes: Any, x: list[float], cells: list[Cell], style: dict[str, Any]) -> None:
    y = [100 * cell.score.mean for cell in cells]
    below = [100 * (cell.score.mean - cell.score.low) for cell in cells]
    above = [100 * (cell.score.high - cell.score.mean) for cell in cells]
    axes.errorbar(x, y, yerr=[below, above], capsize=2, elinewidth=0.8, **style)
    axes.set_ylim(-3, 103)


def _tokens(axes: Any, x: list[float], cells: list[Cell], style: dict[str, Any]) -> None:
    axes.plot(x, [cell.prompt_tokens + cell.completion_tokens for cell in cells], **style)


def _seconds(axes: Any, x: list[float], cells: list[Cell], style: dict[str, Any]) -> None:
    axes.plot(x, [cell.seconds for cell in cells], **style)
