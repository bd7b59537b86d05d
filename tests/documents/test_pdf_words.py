"""The lines of a page are read by all of their words at once, and are what they are word by word."""

from contextlib import closing

import pypdfium2
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.readers.pdf_calls import calls
from bookwheel.documents.readers.pdf_words import PageWords, read_fragments

WORDS = st.sampled_from(
    ["the", "lamp", "12", "x2", "7th", "of\xad", "ﬁre", "灯", "\x01\x02\x03", "\ufeff", "....", ".", "\xa0"]
)
# Of the usual size on one line; raised, small, of another font, or of another line.
USUAL, OTHERS = (0.0, 10.0), [(0.0, 9.0), (4.0, 10.0), (4.0, 12.0), (0.0, 0.05), (-20.0, -10.0)]
GAPS = [-30.0, 0.0, 10.9, 11.0, 11.5, 40.0]


@st.composite
def draw_lines(draw):
    words = draw(st.lists(WORDS, min_size=1, max_size=6))
    words[-1] += draw(st.sampled_from(["", "", "\x02", "\ufffe"]))
    usual, spans = draw(st.sampled_from([USUAL, USUAL, (0.0, 0.05)])), range(2 * len(words))
    odd = draw(st.dictionaries(st.sampled_from(spans), st.sampled_from(OTHERS), max_size=2))
    wide = draw(st.dictionaries(st.sampled_from(spans), st.sampled_from(GAPS), max_size=1))
    sides, right = [], 0.0
    for at in spans:
        left = right + wide.get(at, 0.0 if at % 2 else 1.0)
        right = left + 5.0
        bottom, top = odd.get(at, usual)
        sides.append((left, bottom, right, top))
    return PageWords(words, tuple(map(list, zip(*sides, strict=True)))), len(words)


@settings(max_examples=500)
@given(draw_lines())
def test_a_line_at_once_is_the_line_word_by_word(line):
    words, count = line
    assert list(words.read_line(0, count)) == list(words.read_uneven(0, count))


def test_two_letters_of_each_word_are_asked_for_once_its_words_are_known(tmp_path, monkeypatch):
    canvas = Canvas(str(tmp_path / "log.pdf"))
    lines = ["The keeper counted eleven barrels of lamp oil,", "and the keeper wrote their number down."]
    for at, line in enumerate(lines):
        canvas.drawString(72, 720 - 14 * at, line)
    canvas.save()
    asked, ask = [], calls.FPDFText_GetLooseCharBox
    monkeypatch.setitem(calls.__dict__, "FPDFText_GetLooseCharBox", lambda *a: asked.append(a[1]) or ask(*a))
    known = set()
    with closing(pypdfium2.PdfDocument(tmp_path / "log.pdf")) as document:
        for count in (2 * 15 + sum(map(len, ("keeper", "counted", "eleven", "barrels", "number"))), 2 * 15):
            asked.clear()
            fragments, _ = read_fragments(document[0], known)
            assert [f.text for f in fragments] == lines
            assert len(asked) == count


def test_a_raised_number_has_its_sign_and_is_no_part_of_another_number(tmp_path):
    canvas = Canvas(str(tmp_path / "a.pdf"))
    lines = [
        ("From 3.1 × 10", "6", " to 2 × 10", "−3", " per h", "-1", " of A. Reed", "1,2", " and M."),
        ("It took 106 days in H", "", "2", "", "O, by May-06."),
        ("The keeper wrote it.", "12", ""),
    ]
    for at, pieces in enumerate(lines):
        text = canvas.beginText(72, 720 - 30 * at)
        for place, piece in enumerate(pieces):
            text.setFont("Helvetica", 7 if place % 2 else 11)
            text.setRise(4 if place % 2 else 0)
            text.textOut(piece.replace("−", "-"))
        canvas.drawText(text)
    # Higher, and of the same size; written upwards.
    text = canvas.beginText(72, 600)
    for rise, piece in ((0, "Step"), (4, "7")):
        text.setRise(rise)
        text.textOut(piece)
    canvas.drawText(text)
    canvas.rotate(60)
    canvas.drawString(300, 100, "Dec-06")
    canvas.save()
    with closing(pypdfium2.PdfDocument(tmp_path / "a.pdf")) as document:
        fragments, _ = read_fragments(document[0], set())
    told = " / ".join(f.text for f in fragments)
    assert "From 3.1 × 10^6 to 2 × 10^-3 per h^-1 of A. Reed^1,2 and M." in told
    assert "It took 106 days in H2O, by May-06." in told
    assert "The keeper wrote it.^12" in told
    assert told.count("^") == 5
