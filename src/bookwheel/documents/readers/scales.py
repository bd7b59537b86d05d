"""The scale of a chart: numbers at even steps along a side, and what bars that have no numbers show by it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from bookwheel.documents.readers.colours import Paint
from bookwheel.documents.readers.pdf_layout import Fragment

LEAST_TICKS: Final = 3
ABOUT: Final = "≈"
"""Stands before a number that is not written in a chart, but measured at its scale."""
_VALUE: Final = re.compile(r"[-−–]?\d[\d.,\s]*")
# A point that parts thousands, or three decimals.
_POINTED: Final = re.compile(r"(\d+)\.\d{3}(?!\d)")
# How far the growth between two ticks may differ from that between others, as a share.
_UNEVEN: Final = 0.12


def find_scale(numbers: Sequence[Fragment], *, is_down: bool) -> list[Fragment]:
    """Return the longest run of numbers, in a column or on a line, whose places and values grow by even steps."""
    best: list[Fragment] = []
    for first in numbers:
        if is_down:
            line = [f for f in numbers if min(abs(f.right - first.right), abs(f.left - first.left)) < first.height / 2]
        else:
            line = [f for f in numbers if f.is_level(first)]
        line.sort(key=lambda f: middle(f, is_down=is_down))
        known = [(middle(f, is_down=is_down), value, f) for f in line if (value := _read_value(f.text)) is not None]
        if len(known) > len(best) and _is_even(known):
            best = [f for _, _, f in known]
    return best


def _is_even(ticks: Sequence[tuple[float, float, Fragment]]) -> bool:
    """Return whether values grow with their places, even where one of the ticks was not recognised."""
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(ticks)]
    if len(ticks) < LEAST_TICKS or any(place <= 0 or value == 0 for place, value in steps):
        return False
    growth = [value / place for place, value in steps]
    usual = median(growth)
    return all(abs(one - usual) <= _UNEVEN * abs(usual) for one in growth)


def measure_bars(
    names: Sequence[Fragment], ticks: Sequence[Fragment], paint: Paint, *, is_down: bool
) -> list[Fragment]:
    """Return what the bars of a chart without numbers show by its scale, each as a number at the end of its bar."""
    known = [(middle(f, is_down=not is_down), value) for f in ticks if (value := _read_value(f.text)) is not None]
    texts = [f.text for f in ticks]
    # What stands before and behind the numbers; 0, and all but the highest, often bear no unit.
    units = {(re.sub(r"[-−–]|\d.*", "", one), re.sub(r".*\d", "", one)) for one in texts if _read_value(one)}
    factor, units = _find_factor(texts), units - {("", "")}
    is_read = names and len(known) >= LEAST_TICKS and factor and len(units) <= 1
    ends = paint.find_ends(names, is_down=is_down) if is_read else []
    if not ends:
        return []
    known = [(place, factor * value) for place, value in known]
    (first, low), (last, high) = known[0], known[-1]
    digits = 2 - math.floor(math.log10(abs(high - low)))
    before, after = units.pop() if units else ("", "")
    numbers = []
    for f, end in zip(names, ends, strict=True):
        value = round(low + (end - first) * (high - low) / (last - first), digits)
        sign = "-" if value < 0 else ""
        text = f"{ABOUT}{sign}{before}{abs(value):.{max(digits, 0)}f}{after}"
        place = (end, end + f.height, f.bottom, f.top) if is_down else (f.left, f.right, end, end + f.height)
        numbers.append(Fragment(text, *place))
    return numbers


def _find_factor(ticks: Sequence[str]) -> int:
    """Return what the values of ticks are multiplied with: 1000 if points part thousands, 0 if nobody can know."""
    pointed = [_POINTED.search(tick) for tick in ticks if _read_value(tick)]
    nothing = [tick for tick in ticks if _read_value(tick) == 0]
    if not all(pointed) or any(found and found[1] == "0" for found in pointed) or any("." in tick for tick in nothing):
        return 1
    # With decimals, 0 would have them too.
    return 1000 if nothing else 0


def _read_value(text: str) -> float | None:
    found = _VALUE.search(text)
    digits = re.sub(r"(?<!\b0)[\s,](?=\d{3}\b)", "", found[0].strip(" ,.")) if found else ""
    try:
        return float(re.sub("[−–]", "-", digits).replace(",", "."))
    except ValueError:
        return None


def middle(fragment: Fragment, *, is_down: bool) -> float:
    return (fragment.bottom + fragment.top) / 2 if is_down else (fragment.left + fragment.right) / 2
