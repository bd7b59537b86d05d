"""Figures and footnotes are beside the sentences of a page, not in them."""

import io
import sys
from dataclasses import replace

import pytest
from conversion import convert
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers import charts, ocr, pdf_sheet
from bookwheel.documents.readers.pdf_drawings import Drawing
from bookwheel.documents.readers.pdf_figures import place_figures, set_figures_aside, set_notes_aside
from bookwheel.documents.readers.pdf_layout import Fragment, TextLine, arrange

PLACE = Drawing(Fragment("", 100, 300, 500, 700), is_figure=False, is_form=True)


def set_aside(fragments, drawings):
    return set_figures_aside(fragments, drawings, lambda _: (None, 1.0), lambda _, text: text)


def lay(*lines, left=72, top=700, size=10):
    """Return lines one below the other, a few points apart."""
    return [
        Fragment(text, left, left + 5 * len(text), top - 12 * at - size, top - 12 * at) for at, text in enumerate(lines)
    ]


def test_labels_of_a_drawn_figure_stand_before_its_caption():
    inside = lay("Retriever", "Reader", left=150, top=650)
    body = [*lay("The reader is shown in", top=740), *lay("Figure 2: The two parts.", left=100, top=490)]
    rest, figures = set_aside([body[0], *inside, body[1]], [PLACE])
    assert rest == body
    assert [one.text for one in figures] == ["Retriever\nReader"]
    lines = place_figures(arrange(rest), figures, rest)
    assert [line.text for line in lines] == [
        "The reader is shown in",
        "Retriever",
        "Reader",
        "Figure 2: The two parts.",
    ]
    assert [line.begins_paragraph for line in lines] == [False, True, False, True]


def test_the_numbers_of_a_drawn_figure_are_paired_once(monkeypatch):
    read, pair = [], charts._read_pieces
    monkeypatch.setattr(charts, "_read_pieces", lambda *pieces: read.append(pieces) or pair(*pieces))
    body = lay("Figure 2: The two parts.", left=100, top=490)
    set_aside([*lay("Retriever 12", "Reader 30", left=150, top=650), *body], [PLACE])
    assert len(read) == 1


def test_a_drawing_without_a_caption_is_part_of_the_page():
    fragments = lay("Letterhead", left=150, top=650)
    assert set_aside(fragments, [PLACE]) == (fragments, [])


@pytest.mark.parametrize("read", ["", "[page 1, figure 1]", "[page 1, figure 1]\nTank B\nSluice"])
def test_the_few_labels_of_a_drawing_stand_once_whatever_is_read_in_its_picture(read):
    drawing = replace(PLACE, is_figure=True)
    labels = lay("Valve opens at 5 bar", "Tank B", left=150, top=650)
    caption = lay("Figure 2: The tanks.", left=100, top=490)

    def show(_, text):
        return read if text is None else text

    rest, (figure,) = set_figures_aside([*labels, *caption], [drawing], lambda _: (None, 1.0), show)
    assert rest == caption
    assert set(figure.text.split("\n")) == {*filter(None, read.split("\n")), "Valve opens at 5 bar", "Tank B"}
    assert figure.text.count("Tank B") == 1
    rest, (figure,) = set_figures_aside(labels, [drawing], lambda _: (None, 1.0), show)
    assert (rest, figure.text) == (labels, "")


def test_a_figure_without_a_caption_cuts_no_sentence():
    lines = [
        TextLine("It was kept."),
        TextLine("The lamp was lit by", begins_paragraph=True),
        TextLine("the keeper and"),
    ]
    placed = place_figures(lines, [Fragment("[page 1, figure 1]\nDues", 0, 9, 0, 9)], [])
    assert [line.text for line in placed][:3] == ["It was kept.", "[page 1, figure 1]", "Dues"]


def test_footnotes_of_both_columns_follow_the_text_and_the_sentence_goes_on_in_the_next_column():
    left = [*lay("The lamp was lit by the old", top=300), *lay("1 See the log of the pier.", top=120, size=8)]
    right = [*lay("keeper every night.", left=320, top=700), *lay("* Both wrote it.", left=320, top=120, size=8)]
    number = lay("17", left=290, top=60)
    body, notes = set_notes_aside([*left, *right, *number], 800)
    assert [f.text for f in notes] == ["1 See the log of the pier.", "* Both wrote it."]
    lines = arrange(body)
    assert [(line.text, line.begins_paragraph) for line in lines[:2]] == [
        ("The lamp was lit by the old", False),
        ("keeper every night.", False),
    ]


def test_small_print_amid_a_page_and_numbered_lines_of_the_usual_size_are_no_footnotes():
    small = lay("1 See the log.", top=300, size=8)
    assert set_notes_aside([*small, *lay("And so it went on.", top=200)], 800)[1] == []
    assert set_notes_aside(lay("1 Light the lamp", "2 Write it down", top=120), 800)[1] == []


def test_a_page_with_a_drawn_chart_has_its_rows_before_the_caption_and_its_note_at_the_end(tmp_path):
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.setFont("Times-Roman", 11)
    canvas.drawString(72, 760, "The passengers are counted each year at the three harbours, by")
    canvas.setFont("Times-Roman", 8)
    canvas.drawString(72, 90, "1 Children are not counted.")
    canvas.beginForm("chart", 0, 0, 300, 200)
    canvas.setFont("Helvetica", 9)
    canvas.setFillColorRGB(0, 0, 0)
    for at in range(4):
        canvas.drawRightString(20, 20 + 40 * at, str(20 * at))
    for at, (name, value) in enumerate((("Aldby", 41), ("Corrin", 65), ("Munk", 13))):
        canvas.setFillColorRGB(0.3, 0.5, 0.8)
        canvas.rect(50 + 80 * at, 22, 40, 2 * value, stroke=0, fill=1)
        canvas.setFillColorRGB(0, 0, 0)
        canvas.drawCentredString(70 + 80 * at, 26 + 2 * value, str(value))
        canvas.drawCentredString(70 + 80 * at, 4, name)
    canvas.endForm()
    canvas.saveState()
    canvas.translate(100, 500)
    canvas.doForm("chart")
    canvas.restoreState()
    canvas.setFont("Times-Roman", 11)
    canvas.drawString(100, 480, "Figure 1: Passengers in thousands.")
    canvas.drawString(72, 440, "The keeper adds them up.")
    canvas.save()
    text = "".join(part.text for part in open_document([tmp_path / "a.pdf"]).parts())
    rows = "| Aldby | 41 |\n| Corrin | 65 |\n| Munk | 13 |"
    assert rows in text
    assert text.index(rows) < text.index("Figure 1") < text.index("The keeper") < text.index("1 Children")


class Page:
    """A page of a PDF with words above and below what is drawn on it."""

    def __init__(self, path):
        self.path = path
        self.canvas = Canvas(str(path), pagesize=(595, 842))
        self.write(72, 780, "The passengers are counted each year at the three harbours of the island.")

    def write(self, x, y, words):
        self.canvas.setFont("Times-Roman", 11)
        self.canvas.setFillColorRGB(0, 0, 0)
        self.canvas.drawString(x, y, words)

    def box(self, x, y, wide, high, shade=0.7, *, is_filled=True):
        self.canvas.setFillColorRGB(0.3, shade, 0.8)
        self.canvas.rect(x, y, wide, high, stroke=not is_filled, fill=is_filled)

    def read(self, ocr=""):
        self.write(72, 140, "The keeper adds them up when the winter comes and the boats are laid up.")
        self.canvas.save()
        (part,), _ = convert(self.path, ocr=ocr)
        return part


def draw_bars(page):
    for at, (name, value) in enumerate((("Aldby", 41), ("Corrin", 65), ("Munk", 13))):
        page.box(150 + 80 * at, 420, 40, 2 * value)
        page.write(160 + 80 * at, 426 + 2 * value, str(value))
        page.write(153 + 80 * at, 406, name)
    page.canvas.line(140, 420, 380, 420)


def draw_curve(page):
    for at in range(5):
        page.canvas.line(140, 420 + 40 * at, 144, 420 + 40 * at)
        page.write(112, 417 + 40 * at, f"{at}.5")
    page.canvas.line(140, 420, 140, 600)
    page.canvas.line(140, 420, 380, 420)
    path = page.canvas.beginPath()
    path.moveTo(140, 430)
    for at in range(12):
        path.lineTo(160 + 20 * at, 430 + (at * 37) % 150)
    page.canvas.drawPath(path)


def draw_diagram(page):
    for at, name in enumerate(("Gate", "Sluice", "Basin")):
        page.box(120 + 120 * at, 430, 70, 40, is_filled=False)
        page.write(132 + 120 * at, 446, name)
        if at:
            x = 120 + 120 * at
            page.canvas.line(x - 50, 450, x, 450)
            path = page.canvas.beginPath()
            path.moveTo(x, 450)
            path.lineTo(x - 8, 454)
            path.lineTo(x - 8, 446)
            page.canvas.drawPath(path, fill=1)


@pytest.mark.parametrize("draw", [draw_bars, draw_curve, draw_diagram])
@pytest.mark.parametrize("caption", ["", "Figure 1: Passengers in thousands."])
def test_what_is_drawn_on_a_page_with_words_is_a_picture_with_its_place(tmp_path, draw, caption):
    page = Page(tmp_path / "a.pdf")
    draw(page)
    page.write(140, 380, caption)
    part = page.read()
    (picture,) = part.pictures
    assert (picture.page, picture.label, picture.lines) == (1, "page 1, figure 1", ())
    assert part.text.startswith("The passengers")
    assert caption in part.text[part.text.index(picture.mark) :]
    left, top, right, bottom = picture.box
    assert 100 / 595 < left < 150 / 595
    assert 340 / 595 < right < 460 / 595
    assert 0.2 < top < bottom < 0.54
    with Image.open(io.BytesIO(picture.content)) as shown:
        colours = {colour for _, colour in shown.convert("RGB").getcolors(1 << 20)}
    assert min(min(colour) for colour in colours) < 60
    if draw is draw_bars:
        assert "| Aldby | 41 |\n| Corrin | 65 |\n| Munk | 13 |" in part.text


def test_labels_of_a_drawn_chart_are_read_where_no_package_measures_pictures(tmp_path, monkeypatch):
    for package in ("numpy", "cv2", "rapidocr"):
        monkeypatch.setitem(sys.modules, package, None)
    for module in (ocr, pdf_sheet):
        monkeypatch.setattr(module, "has_recogniser", lambda: False)
    page = Page(tmp_path / "a.pdf")
    draw_bars(page)
    page.write(140, 380, "Figure 1: Passengers in thousands.")
    text = page.read().text
    assert all(label in text for label in ("Aldby", "65", "Figure 1"))


def draw_table(page):
    for row, cells in enumerate((("Harbour", "Boats"), ("Aldby", "41"), ("Corrin", "65"), ("Munk", "13"))):
        page.box(120, 500 - 20 * row, 100, 20, 0.9 - 0.1 * (row % 2))
        page.box(220, 500 - 20 * row, 80, 20, 0.9 - 0.1 * (row % 2))
        for column, cell in enumerate(cells):
            page.write(125 + 100 * column, 505 - 20 * row, cell)
    for row in range(5):
        page.canvas.line(120, 520 - 20 * row, 300, 520 - 20 * row)


def draw_frame(page):
    page.canvas.roundRect(100, 400, 300, 120, 12)
    for row in range(4):
        page.write(115, 495 - 20 * row, "A box with words in it that say what")


def draw_marked_lines(page):
    for row, words in enumerate(
        ("the lamp was lit by the keeper", "and then the boats", "came in with the tide of noon")
    ):
        page.box(120, 496 - 20 * row, 5 * len(words), 14, 0.9)
        page.write(120, 500 - 20 * row, words)


@pytest.mark.parametrize("draw", [draw_table, draw_frame, draw_marked_lines])
def test_a_table_a_frame_and_marked_lines_are_no_figures(tmp_path, draw):
    page = Page(tmp_path / "a.pdf")
    draw(page)
    part = page.read()
    assert part.pictures == ()
    assert "[page" not in part.text


def test_a_page_of_many_figures_is_drawn_once_and_shown_as_one(tmp_path, monkeypatch):
    drawn = []
    draw = pdf_sheet.Sheet.drawn.func
    monkeypatch.setattr(pdf_sheet.Sheet.drawn, "func", lambda sheet: drawn.append(1) or draw(sheet))
    for count, shown in ((4, 4), (12, 1)):
        page = Page(tmp_path / f"{count}.pdf")
        for at in range(count):
            x, y = 80 + 150 * (at % 3), 640 - 120 * (at // 3)
            for bar in range(4):
                page.box(x + 20 * bar, y, 14, 20 + 15 * ((bar + at) % 4))
        drawn.clear()
        assert len(page.read().pictures) == shown
        assert len(drawn) == 1


def test_without_reading_pictures_a_drawn_figure_has_no_mark(tmp_path):
    page = Page(tmp_path / "a.pdf")
    draw_bars(page)
    part = page.read("off")
    assert part.pictures == ()
    assert "| Aldby | 41 |" in part.text
    assert "[page" not in part.text


def test_a_page_of_more_shapes_than_are_looked_at_is_read(tmp_path):
    page = Page(tmp_path / "a.pdf")
    for at in range(21_000):
        page.canvas.line(100 + at % 300, 200 + at // 300, 101 + at % 300, 200.5 + at // 300)
    assert "The keeper" in page.read().text
