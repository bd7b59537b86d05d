"""A report's plots as SVG: accuracy, tokens and seconds against length."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from bookwheel.errors import MissingExtra
from bookwheel.evaluation.layout import describe_cells
from bookwheel.evaluation.report import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.evaluation.report import Cell, Report

_WIDTH, _HEIGHT = 7.2, 4.0
_MARKS = "osD^vP*X"
_LEAST_MARGIN = 1.3
# By how much the points of different readers are moved apart, as a share of the length, so that bars can be told.
_SPREAD = 0.012


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

    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axes: Any = figure.add_subplot()
    lengths = sorted({max(cell.length, 1) for cell in cells})
    axes.set_xscale("log")
    # Before anything is drawn: matplotlib's own limits around one point have no width, or one of rounding errors.
    axes.set_xlim(_log_limits(lengths))
    readers = dict.fromkeys((cell.model, cell.way) for cell in cells)
    alone = len({model for model, _ in readers}) == 1
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
        axes.set_ylim(_log_limits(heights))
    axes.set_xlabel("tokens of the document")
    axes.set_ylabel(title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _log_limits(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a log axis around positive values, a twentieth of their span beyond each."""
    low, high = min(values), max(values)
    margin = max((high / low) ** 0.05, _LEAST_MARGIN)
    return low / margin, high * margin


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
