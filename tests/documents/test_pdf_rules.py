"""Cells of a drawn grid are cells, however close they stand; what is no grid parts no words."""

from contextlib import closing
from itertools import pairwise

import pypdfium2
import pytest
from conversion import text_of
from reportlab.pdfgen.canvas import Canvas

from bookwheel.text.cells import split_cells

ROWS = [
    ["Boat", "Low", "High", "Total"],
    ["Heron", "36", "41", "1,204.50"],
    ["Skiff of the north", "144", "1,200", "12,400.75"],
    ["Punt", "5", "7", "3.20"],
]
SIDES = [60, 142, 162, 188, 234]
TOP, HEIGHT = 700, 13


def draw_lines(canvas):
    for side in SIDES:
        canvas.line(side, TOP, side, TOP - len(ROWS) * HEIGHT)
    for at in range(len(ROWS) + 1):
        canvas.line(SIDES[0], TOP - at * HEIGHT, SIDES[-1], TOP - at * HEIGHT)


def draw_thin_areas(canvas):
    """As browsers do, cell by cell."""
    for at in range(len(ROWS)):
        for side in SIDES:
            canvas.rect(side - 0.4, TOP - (at + 1) * HEIGHT, 0.8, HEIGHT, stroke=0, fill=1)


def draw_cells(canvas):
    for at in range(len(ROWS)):
        for left, right in pairwise(SIDES):
            canvas.rect(left, TOP - (at + 1) * HEIGHT, right - left, HEIGHT)


def draw(path, grid, rows=ROWS, gap=1):
    canvas = Canvas(str(path), invariant=True)
    canvas.setFont("Helvetica", 9)
    canvas.drawString(60, 740, "The keeper wrote down what each boat brought in during the year, and here it stands.")
    grid(canvas)
    for at, row in enumerate(rows):
        base = TOP - (at + 1) * HEIGHT + 4
        canvas.drawString(SIDES[0] + gap, base, row[0])
        for right, cell in zip(SIDES[2:], row[1:], strict=True):
            canvas.drawRightString(right - gap, base, cell)
    canvas.save()
    return path


@pytest.mark.parametrize("grid", [draw_lines, draw_thin_areas, draw_cells])
@pytest.mark.parametrize("gap", [0.6, 1, 2])
def test_the_cells_of_a_narrow_grid_stay_apart(tmp_path, grid, gap):
    text = text_of(draw(tmp_path / "a.pdf", grid, gap=gap))
    assert text.splitlines()[-len(ROWS) :] == [" | ".join(row) for row in ROWS]


def test_the_cells_of_a_row_stay_apart_where_no_other_row_has_its_columns(tmp_path):
    rows = [["Boat", "", "", "Total"], ["Heron", "36", "41", "77"], ["Punt", "", "", "12"], ["Wherry", "", "7", ""]]
    text = text_of(draw(tmp_path / "a.pdf", draw_lines, rows))
    assert "Heron | 36 | 41 | 77" in text.splitlines()


def test_a_line_parts_what_pdfium_takes_for_one_word(tmp_path):
    rows = [["a", "123", "67825", "9,000"], ["b", "678", "12350", "1,000"], ["c", "444", "44252", "4"]]
    path = draw(tmp_path / "a.pdf", draw_lines, rows, gap=0.3)
    with closing(pypdfium2.PdfDocument(path)) as document:
        assert "12367825" in document[0].get_textpage().get_text_range()
    text = text_of(path)
    assert text.splitlines()[-len(rows) :] == [" | ".join(row) for row in rows]


def test_a_frame_around_a_key_and_a_line_through_a_word_part_nothing(tmp_path):
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(60, 700, "Press Enter to go on, or any other key to stop.")
    canvas.rect(94, 697, 31, 13)
    canvas.line(66, 600, 66, 760)
    canvas.save()
    assert text_of(tmp_path / "a.pdf") == "Press Enter to go on, or any other key to stop.\n"


@pytest.mark.parametrize("grid", [draw_lines, draw_thin_areas, draw_cells])
def test_empty_cells_of_a_grid_keep_their_columns(tmp_path, grid):
    rows = [ROWS[0], ["Heron", "", "41", "1,204.50"], ["Skiff", "144", "", "3.20"], ["Punt", "", "", "7"]]
    text = text_of(draw(tmp_path / "a.pdf", grid, rows=rows))
    assert text.splitlines()[-3:] == ["Heron | | 41 | 1,204.50", "Skiff | 144 | | 3.20", "Punt | | | 7"]
    assert [split_cells(line) for line in text.splitlines()[-2:]] == [
        ["Skiff", "144", "", "3.20"],
        ["Punt", "", "", "7"],
    ]
