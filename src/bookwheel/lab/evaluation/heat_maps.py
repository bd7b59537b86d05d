"""Heat maps of the score by the depth of the evidence and the length of the document, one for each model and way."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from bookwheel.lab.evaluation.sections import format_length
from bookwheel.lab.evaluation.svg import Svg, measure_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bookwheel.lab.evaluation.records import Record

_DEPTHS: Final = 5
_MOST_PANELS: Final = 6
_COLUMNS: Final = 3
# Pixels: a panel, and the fields within it.
_PANEL: Final = (240, 230)
_LEFT, _TOP, _WIDE, _HIGH = 54, 24, 174, 140
_BEYOND: Final = 6
# Red, yellow and green at 0, 0.5 and 1.
_SCALE: Final = ((200, 60, 50), (253, 240, 170), (40, 140, 80))
_DARK_BELOW, _DARK_ABOVE = 0.2, 0.8


def draw_heat_maps(records: Sequence[Record], task: str) -> dict[str, str]:
    """Return a figure by its caption; none for a task without evidence."""
    placed = [record for record in records if record.depth is not None and record.outcome != "refused"]
    by_reader = defaultdict[tuple[str, str], list["Record"]](list)
    for record in placed:
        by_reader[record.model, record.way].append(record)
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
        f"Score in per cent by the depth of the evidence and the length of the document. Task: {task}. "
        f"n = {len(placed)} in all.{more}"
    )
    return {caption: str(svg)}


def _average(records: Sequence[Record], lengths: Sequence[int]) -> dict[tuple[int, int], float]:
    """Return the mean score of each field, by depth and column."""
    column = {length: place for place, length in enumerate(lengths)}
    sums = defaultdict[tuple[int, int], list[float]](lambda: [0.0, 0.0])
    for record in records:
        depth = min(int((record.depth or 0.0) * _DEPTHS), _DEPTHS - 1)
        field = sums[depth, column[record.length]]
        field[0] += record.score
        field[1] += 1
    return {place: total / count for place, (total, count) in sums.items()}


def _draw_panel(
    svg: Svg,
    origin: tuple[float, float],
    fields: Mapping[tuple[int, int], float],
    lengths: Sequence[int],
    title: str,
) -> None:
    """Draw the fields with their numbers; a field without a sample stays white."""
    left, top = origin[0] + _LEFT, origin[1] + _TOP
    wide, high = _WIDE / len(lengths), _HIGH / _DEPTHS
    svg.text(left + _WIDE / 2, top - 8, title, anchor="middle")
    for (depth, column), mean in fields.items():
        x, y = left + wide * column, top + high * depth
        svg.rect(x, y, wide, high, mix_color(mean))
        ink = "#1d2330" if _DARK_BELOW < mean < _DARK_ABOVE else "#ffffff"
        svg.text(x + wide / 2, y + high / 2 + 4, f"{100 * mean:.0f}", anchor="middle", color=ink)
    for edge in range(_DEPTHS + 1):
        svg.text(left - 5, top + high * edge + 4, f"{100 * edge // _DEPTHS}", anchor="end")
    free = -math.inf
    for column, length in enumerate(lengths):
        middle, label = left + wide * (column + 0.5), format_length(length)
        half = measure_text(label) / 2
        if middle - half > free:
            svg.text(middle, top + _HIGH + 16, label, anchor="middle")
            free = middle + half + _BEYOND
    svg.text(left + _WIDE / 2, top + _HIGH + 34, "tokens of the document", anchor="middle")
    svg.text(left - 38, top + _HIGH / 2, "depth, per cent", anchor="middle", turned=True)


def mix_color(share: float) -> str:
    """Return the color of a score from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    low, high = _SCALE[:2] if share < 0.5 else _SCALE[1:]  # noqa: PLR2004 - the middle of the scale
    part = 2 * share - (share >= 0.5)  # noqa: PLR2004
    return "#" + "".join(f"{round(one + (other - one) * part):02x}" for one, other in zip(low, high, strict=True))
