"""Pages of a PDF as they look, and where passages stand on them."""

import base64
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdfium2 import PdfDocument
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.children import run_in_child
from bookwheel.documents.readers.pdf_pages import draw_page, find_boxes, find_characters, join_lines, measure_pages
from bookwheel.documents.readers.pdf_sheet import Sheet

LINES = ("The keeper wrote: eleven barrels of", "lamp oil came with the ferry.")


@pytest.fixture
def log(tmp_path):
    canvas = Canvas(str(tmp_path / "log.pdf"), pagesize=(400, 600))
    for number, line in enumerate(LINES):
        canvas.drawString(40, 540 - 15 * number, line)
    canvas.showPage()
    canvas.setPageRotation(90)
    canvas.drawString(40, 340, "A page on its side.")  # 600 wide and 400 high before it is turned
    canvas.save()
    return str(tmp_path / "log.pdf")


def test_pages_have_their_shown_sizes(log):
    assert list(run_in_child(measure_pages, log, name="log.pdf")) == [[400, 600], [400, 600]]


def test_a_page_is_drawn_as_wide_as_it_is_wanted_and_no_picture_is_without_bound(log):
    Image = pytest.importorskip("PIL.Image")  # noqa: N806
    import io

    def draw(page, width):
        return [Image.open(io.BytesIO(base64.b64decode(one))) for one in draw_page(log, page, width)]

    (picture,) = draw(1, 200)
    assert picture.size == (200, 300)
    # What is drawn stands where it was written: dark at the first line, white below.
    assert min(picture.convert("L").crop((20, 25, 100, 35)).tobytes()) < 128
    assert min(picture.convert("L").crop((20, 100, 180, 300)).tobytes()) == 255
    assert draw(1, 10**6)[0].width == 2310
    assert draw(3, 200) == draw(0, 200) == []


def test_a_passage_has_a_box_for_each_of_its_lines(log):
    first, second = find_boxes(log, 1, "eleven barrels of lamp oil")
    assert first[1] < 60 / 600 < first[3] < second[3]
    assert 40 / 400 < first[0] < first[2] < 0.75
    assert second[0] == pytest.approx(40 / 400, abs=0.005)
    assert list(find_boxes(log, 1, "twelve bottles")) == []
    assert list(find_boxes(log, 9, "eleven")) == []


def test_on_a_turned_page_boxes_are_where_the_words_are_seen(log):
    (box,) = find_boxes(log, 2, "on its side")
    assert 0 < box[0] < box[2] < 1
    assert 0 < box[1] < box[1] + (box[2] - box[0]) < box[3] < 1


def test_blanks_hyphens_and_case_of_the_page_do_not_matter():
    text = "The light-\r\nhouse   KEEPER wrote"
    assert "".join(text[at] for at in find_characters(text, "lighthouse keeper")) == "lighthouseKEEPER"


def test_a_passage_over_two_columns_is_found_in_its_halves():
    text = "left column ends here and another thing right column begins here"
    found = find_characters(text, "left column ends here right column begins here")
    assert "another" not in "".join(text[at] for at in found)
    assert len(found) > 30


@given(st.text(), st.text())
def test_places_are_places_of_letters(text, passage):
    found = find_characters(text, passage)
    assert found == sorted(set(found))
    assert all(text[at].isalnum() for at in found)


def test_a_wide_gap_or_another_line_begins_a_new_box():
    letters = [(0.1, 0.1, 0.11, 0.12), (0.11, 0.1, 0.12, 0.12), (0.6, 0.1, 0.61, 0.12), (0.1, 0.13, 0.11, 0.15)]
    assert join_lines(letters) == [(0.1, 0.1, 0.12, 0.12), (0.6, 0.1, 0.61, 0.12), (0.1, 0.13, 0.11, 0.15)]


def test_colours_of_a_drawn_page_are_those_of_the_page(tmp_path):
    Image = pytest.importorskip("PIL.Image")  # noqa: N806
    import io

    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=(100, 100))
    canvas.setFillColorRGB(1, 0, 0)
    canvas.rect(0, 0, 100, 100, stroke=0, fill=1)
    canvas.save()
    (content,) = draw_page(str(tmp_path / "a.pdf"), 1, 100)
    assert Image.open(io.BytesIO(base64.b64decode(content))).getpixel((50, 50)) == (255, 0, 0)
    with closing(PdfDocument(tmp_path / "a.pdf")) as document:
        assert Sheet(document[0]).drawn.getpixel((50, 50)) == (255, 0, 0)
