"""Figures and footnotes are beside the sentences of a page, not in them."""

from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers.pdf_figures import place_figures, set_figures_aside, set_notes_aside
from bookwheel.documents.readers.pdf_layout import Fragment, TextLine, arrange

PLACE = Fragment("", 100, 300, 500, 700)


def lay(*lines, left=72, top=700, size=10):
    """Return lines one below the other, a few points apart."""
    return [
        Fragment(text, left, left + 5 * len(text), top - 12 * at - size, top - 12 * at) for at, text in enumerate(lines)
    ]


def test_labels_of_a_drawn_figure_stand_before_its_caption():
    inside = lay("Retriever", "Reader", left=150, top=650)
    body = [*lay("The reader is shown in", top=740), *lay("Figure 2: The two parts.", left=100, top=490)]
    rest, figures = set_figures_aside([body[0], *inside, body[1]], [PLACE], lambda _: (None, 1.0))
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


def test_a_drawing_without_a_caption_is_part_of_the_page():
    fragments = lay("Letterhead", left=150, top=650)
    assert set_figures_aside(fragments, [PLACE], lambda _: (None, 1.0)) == (fragments, [])


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
