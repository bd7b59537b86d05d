"""Read the words in a picture by `rapidocr`, whose models are in its package: no network, one thread.

The recogniser finds lines of words anywhere and at any angle. Here they are put into reading order: a page that lies on
its side or upside down is turned, a slanted one straightened, columns and tables are read as those of a printed page
are, and what stands between ruled lines becomes the rows of a table. Called in child processes (`documents.child`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from bookwheel.documents.readers.charts import read_chart, write_figure, write_lines
from bookwheel.documents.readers.grid import format_rows
from bookwheel.documents.readers.pdf_layout import Fragment
from bookwheel.errors import MissingExtra
from bookwheel.picture import Box, PictureLine

_MODELS: Final = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}
# Lines of less are noise: specks, textures, letters of scripts that the models do not know.
_LEAST_CONFIDENCE: Final = 0.5
# Pixels: the recogniser makes what is larger smaller, so tall pictures such as rolled-up screens are read in tiles.
_LONGEST_SIDE: Final = 2000
_TALL: Final = 1.8
# A line this much taller than wide stands upright.
_UPRIGHT: Final = 1.5
# The share of the characters by which a page is turned.
_TURNED: Final = 0.6
# The shares of a table's sides that a ruled line has at least, and of a picture's sides that a table has.
_RULED: Final = 0.6
_LEAST_TABLE: Final = 0.04
_LEAST_RULES: Final = 3
# The slant of a page, in radians, above which it is made straight; its lines are no longer where its pixels are then.
_STRAIGHT: Final = 0.005
# Heights of its letters that a line is long to show a slant, and the lines that show one.
_LONG: Final = 4.0
_LEAST_LONG: Final = 3

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """What was read in a picture."""

    text: str
    """In reading order, tables as rows."""
    lines: tuple[PictureLine, ...]
    confidence: float
    """The mean of the lines' by their characters; 1 where there is none."""
    guessed: int = 0
    """Tables whose first rows were taken for the names of their columns, where nothing tells."""


@dataclass(frozen=True, slots=True)
class _Found:
    """One line as the recogniser found it, in pixels."""

    text: str
    corners: tuple[Point, ...]
    confidence: float
    is_flipped: bool
    """It stands on its head, after an upright one was laid down."""

    @property
    def is_upright(self) -> bool:
        first, second, third, _ = self.corners
        return math.dist(second, third) >= _UPRIGHT * math.dist(first, second)


@cache
def _load_engine() -> Any:
    try:
        import cv2
        import onnxruntime  # noqa: F401 - without it rapidocr fails later, and says less
        import rapidocr
    except ImportError as error:
        raise MissingExtra("reading the words in pictures", "pictures") from error
    cv2.setNumThreads(1)
    folder = Path(rapidocr.__file__).parent / "models"
    threads = "EngineConfig.onnxruntime."
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "error",
            f"{threads}intra_op_num_threads": 1,
            f"{threads}inter_op_num_threads": 1,
            # Named, so that nothing is fetched where a file is missing.
            **{f"{stage}.model_path": str(folder / name) for stage, name in _MODELS.items()},
        }
    )


def recognise(pixels: Any, *, is_turned: bool = False) -> Recognition:
    import numpy as np

    height, width = pixels.shape[:2]
    found = [
        line
        for top, tile in _split_tall(pixels)
        for line in _run_engine(tile, top)
        if line.confidence >= _LEAST_CONFIDENCE
    ]
    if not found:
        return Recognition(text="", lines=(), confidence=1.0)
    turn = _find_turn(found)
    # Long upright lines of one page point the same way.
    ways = {line.is_flipped for line in found if line.is_upright and len(line.text) > 2}  # noqa: PLR2004
    if not is_turned and (turn == 2 or (turn and len(ways) > 1)):  # noqa: PLR2004
        # Of a page that is turned, some lines are not recognised as such: it is read again as it should lie.
        again = recognise(np.rot90(pixels, turn), is_turned=True)
        return replace(again, lines=tuple(replace(line, box=_turn_box(line.box, turn)) for line in again.lines))
    turned = [[_turn_point(point, turn, width, height) for point in line.corners] for line in found]
    slant = _find_slant(found, turned, turn)
    fragments = [_straighten(line.text, corners, slant) for line, corners in zip(found, turned, strict=True)]
    rows: list[list[int]] = []
    for at in sorted(range(len(fragments)), key=lambda at: -fragments[at].top):
        if rows and fragments[at].is_level(fragments[rows[-1][0]]):
            rows[-1].append(at)
        else:
            rows.append([at])
    order = [at for row in rows for at in sorted(row, key=lambda at: fragments[at].left)]
    weight = sum(len(line.text) for line in found)
    lines = tuple(
        PictureLine(
            text=found[at].text, box=_to_box(found[at], width, height), confidence=round(found[at].confidence, 3)
        )
        for at in order
    )
    tables = [] if turn else _find_tables(pixels)
    guesses: list[str] = []
    return Recognition(
        text="\n".join(
            _write_text([fragments[at] for at in order], tables, None if turn or slant else pixels, guesses)
        ),
        lines=lines,
        confidence=sum(len(line.text) * line.confidence for line in found) / weight,
        guessed=len(guesses),
    )


def _split_tall(pixels: Any) -> Iterator[tuple[int, Any]]:
    """Yield tiles of a tall picture, cut where a row of pixels is emptiest, and the row where each begins."""
    height, width = pixels.shape[:2]
    tile = max(int(_TALL * width), _LONGEST_SIDE // 2)
    if height <= _LONGEST_SIDE or height <= _TALL * width:
        yield 0, pixels
        return
    spread = pixels.std(axis=(1, 2))
    top = 0
    while height - top > tile:
        ahead = range(top + tile * 3 // 4, top + tile)
        end = min(ahead, key=lambda row: float(spread[row]))
        yield top, pixels[top:end]
        top = end
    yield top, pixels[top:]


def _run_engine(pixels: Any, top: int) -> Iterator[_Found]:
    from rapidocr.utils.process_img import map_boxes_to_original

    engine = _load_engine()
    image, record = engine.preprocess_img(pixels[:, :, ::-1].copy())
    detected, directions, words, _ = engine.run_ocr_steps(image, record)
    if detected.boxes is None or words.txts is None:
        return
    corners = map_boxes_to_original(detected.boxes, record, *pixels.shape[:2])
    for text, points, confidence, (label, _) in zip(
        words.txts, corners, words.scores, directions.cls_res or [], strict=True
    ):
        if line := " ".join(text.split()):
            places = tuple((float(x), float(y) + top) for x, y in points)
            yield _Found(line, places, float(confidence), "180" in str(label))


def _to_box(line: _Found, width: int, height: int) -> Box:
    across, down = zip(*line.corners, strict=True)
    left, right, top, bottom = min(across) / width, max(across) / width, min(down) / height, max(down) / height
    return round(left, 4), round(top, 4), round(right, 4), round(bottom, 4)


def _turn_box(box: Box, turn: int) -> Box:
    """Return the place on the page as it lies of a box on the page that was turned by quarters against the clock."""
    for _ in range(turn):
        left, top, right, bottom = box
        box = round(1 - bottom, 4), left, round(1 - top, 4), right
    return box


def _find_slant(found: Sequence[_Found], turned: Sequence[Sequence[Point]], turn: int) -> float:
    """Return the angle of the lines of a page that stands upright, in radians; 0 where it is hardly slanted."""
    slants: list[list[float]] = []
    for line, corners in zip(found, turned, strict=True):
        # Of its left end and of its right one.
        first, second, third, last = sorted(corners)
        left, right = (first[0] + second[0]) / 2, (third[0] + last[0]) / 2
        top, bottom = (first[1] + second[1]) / 2, (third[1] + last[1]) / 2
        # A short line, such as the name of a bar, has no direction; the longer one is, the better it tells it.
        length = (right - left) / max(math.dist(first, second), math.dist(third, last), 1)
        if line.is_upright == bool(turn % 2) and length > _LONG:
            slants.append([math.atan2(bottom - top, right - left)] * round(length))
    slant = median(chain.from_iterable(slants)) if len(slants) >= _LEAST_LONG else 0.0
    return slant if abs(slant) > _STRAIGHT else 0.0


def _straighten(text: str, corners: Sequence[Point], slant: float) -> Fragment:
    """Return a line as a fragment of a straight page, whose heights count from below."""
    cos, sin = math.cos(-slant), math.sin(-slant)
    across, down = zip(*((x * cos - y * sin, x * sin + y * cos) for x, y in corners), strict=True)
    return Fragment(text, min(across), max(across), -max(down), -min(down))


def _find_turn(found: Sequence[_Found]) -> int:
    """Return by how many quarters of a circle the page must be turned against the clock to stand upright."""
    total = sum(len(line.text) for line in found)
    upright = [line for line in found if line.is_upright and len(line.text) > 1]
    is_sideways = sum(len(line.text) for line in upright) > _TURNED * total
    those = upright if is_sideways else [line for line in found if not line.is_upright]
    is_flipped = 2 * sum(line.is_flipped for line in those) > len(those)
    return (3 if is_flipped else 1) if is_sideways else (2 if is_flipped else 0)


def _turn_point(point: Point, turn: int, width: int, height: int) -> Point:
    x, y = point
    return {0: (x, y), 1: (y, width - x), 2: (width - x, height - y), 3: (height - y, x)}[turn]


@dataclass(frozen=True, slots=True)
class _Table:
    """A grid of ruled lines: the places of its columns' and rows' borders, in pixels."""

    across: tuple[int, ...]
    down: tuple[int, ...]

    def find_cell(self, fragment: Fragment) -> tuple[int, int] | None:
        """Return the row and column of a fragment's middle, or None beside the table."""
        x, y = (fragment.left + fragment.right) / 2, -(fragment.bottom + fragment.top) / 2
        row = next((at for at in range(len(self.down) - 1) if self.down[at] <= y < self.down[at + 1]), None)
        column = next((at for at in range(len(self.across) - 1) if self.across[at] <= x < self.across[at + 1]), None)
        return None if row is None or column is None else (row, column)


def _find_tables(pixels: Any) -> list[_Table]:
    """Return the grids of a picture that have two columns and two rows at least, from above."""
    import cv2
    import numpy as np

    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    height, width = grey.shape
    ink = cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 25, 8)
    level = cv2.morphologyEx(ink, cv2.MORPH_OPEN, cv2.getStructuringElement(cv2.MORPH_RECT, (max(width // 25, 20), 1)))
    upright = cv2.morphologyEx(
        ink, cv2.MORPH_OPEN, cv2.getStructuringElement(cv2.MORPH_RECT, (1, max(height // 60, 15)))
    )
    both = cv2.dilate(cv2.bitwise_or(level, upright), cv2.getStructuringElement(cv2.MORPH_RECT, (5, 5)))
    shapes, _ = cv2.findContours(both, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    tables = []
    for left, top, across, down in (cv2.boundingRect(shape) for shape in shapes):
        if across < max(_LEAST_TABLE * width, 60) or down < max(_LEAST_TABLE * height, 30):
            continue
        rows = _find_rules(level[top : top + down, left : left + across].mean(axis=1) / 255, top)
        # A border may part half of the rows alone, as between rooms of a plan or below a merged cell.
        shares = [upright[a:b, left : left + across].mean(axis=0) / 255 for a, b in pairwise(rows)]
        columns = _find_rules(np.quantile(shares, 0.5, axis=0, method="higher"), left) if shares else ()
        if len(rows) >= _LEAST_RULES and len(columns) >= _LEAST_RULES:
            tables.append(_Table(columns, rows))
    return sorted(tables, key=lambda table: table.down[0])


def _find_rules(shares: Any, start: int) -> tuple[int, ...]:
    """Return the middles of the runs of rows, or columns, that are ruled nearly from one side to the other."""
    places: list[int] = []
    run: list[int] = []
    for at, share in enumerate([*shares.tolist(), 0.0]):
        if share >= _RULED:
            run.append(at)
        elif run:
            places.append(start + run[len(run) // 2])
            run = []
    return tuple(place for at, place in enumerate(places) if not at or place - places[at - 1] > 5)  # noqa: PLR2004


def _write_text(
    fragments: Sequence[Fragment], tables: Sequence[_Table], pixels: Any, guesses: list[str]
) -> Iterator[str]:
    """Yield the text's lines: what is of no table as on any page, each table where it begins, a chart at the end."""
    found = read_chart(fragments, pixels)
    # Without rows it is numbers at even steps, as those of a calendar.
    chart = found if found and found.rows else None
    left = [f for f in fragments if not chart or f not in chart.used]
    for table in tables:
        cells = {at: cell for at, fragment in enumerate(left) if (cell := table.find_cell(fragment))}
        if len(cells) < 2:  # noqa: PLR2004 - a frame around something else
            continue
        yield from write_lines([f for at, f in enumerate(left) if at not in cells and -f.top < table.down[0]])
        rows = [["" for _ in table.across[1:]] for _ in table.down[1:]]
        for at, (row, column) in cells.items():
            rows[row][column] = f"{rows[row][column]} {left[at].text}".strip()
        used = [column for column in range(len(rows[0])) if any(row[column] for row in rows)]
        yield from format_rows(([row[column] for column in used] for row in rows), guesses.append, keeps_empty=True)
        left = [f for at, f in enumerate(left) if at not in cells and -f.top >= table.down[0]]
    if chart:
        yield from write_lines(left)
        yield ""
        yield from chart.write()
    else:
        yield from write_figure(left, found if len(left) == len(fragments) else read_chart(left, pixels))
