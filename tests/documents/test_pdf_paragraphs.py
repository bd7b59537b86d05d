"""Where paragraphs of a PDF begin, however far apart its lines stand."""

import pytest
from conversion import text_of
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import Paragraph, SimpleDocTemplate

CLAUSES = """
2.1 The Authority grants the Operator priority at the berth during the term. Priority is not exclusivity, so the \
Authority may let other ships lie at the berth between calls, provided that it is free in time, as is told below.
2.2 The Authority keeps the depth alongside at 7.8 metres below chart datum, as Karin Holm has measured it and as \
the captains of all of the ferries that call at the berth have been told in writing since the spring.
2.3 The linkspan carries loads of 13 tonnes.
Signed by
K. Holm, harbour master""".strip().splitlines()


def write(path, paragraphs, **style):
    settings = {"fontName": "Helvetica", "fontSize": 12, "leading": 28, **style}
    body = ParagraphStyle("body", **settings)
    SimpleDocTemplate(str(path)).build([Paragraph(text, body) for text in paragraphs])
    return path


def paragraphs_of(path):
    return [" ".join(one.split()) for one in text_of(path).split("\n\n")]


@pytest.mark.parametrize(
    "style",
    [
        {"leading": 14, "spaceAfter": 12},
        {"spaceAfter": 12},
        {"leading": 40, "spaceAfter": 20},
        {"firstLineIndent": 36},
        {},  # only the room at the end of a line tells
    ],
)
def test_paragraphs_are_the_same_whatever_the_leading(tmp_path, style):
    assert paragraphs_of(write(tmp_path / "a.pdf", CLAUSES, **style)) == CLAUSES


def test_lines_of_a_wide_list_stay_apart(tmp_path):
    items = [
        "rope, for the work that was done in the yard",
        "lamp oil, for the lamp of the pier and for the lights of the quay",
        "tar, of which there was less than we thought",
        "brushes, which were used for the hull and are no longer good",
        "oil",
        "paint, white, from what was left of last year",
        "sandpaper, for the deck and the doors and all that is of wood",
    ]
    assert paragraphs_of(write(tmp_path / "a.pdf", items)) == items


def test_a_full_last_line_does_not_join_paragraphs_that_stand_apart(tmp_path):
    full = [
        f"{number}. The ferry to the island of Almsund leaves at dawn on all the days of {number}." for number in "123"
    ]
    assert paragraphs_of(write(tmp_path / "a.pdf", full, leading=14, spaceAfter=14)) == full


def test_widely_spaced_chinese_is_joined(tmp_path):
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    texts = ["灯塔看守人每天晚上点灯，并且把油的数量记在本子上，" * 8 + "没有例外。", "渡船在早晨离开。"]
    path = write(tmp_path / "a.pdf", texts, fontName="STSong-Light", wordWrap="CJK")
    assert ["".join(one.split()) for one in text_of(path).split("\n\n")] == texts


def test_lines_within_a_chinese_sentence_are_joined_without_a_blank_and_lines_of_their_own_are_not(tmp_path):
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    signed = ["甲方（签字）：陈国栋", "乙方（签字）：陈国梁"]
    clause = (
        "乙方应于二〇二六年四月二十五日前补缴押金叁仟肆佰陆拾肆元整，逾期一日，按应付金额的万分之三支付违约金，" * 4
    )
    style = {"fontName": "STSong-Light", "wordWrap": "CJK", "leading": 14}
    path = write(tmp_path / "a.pdf", [f"{clause}直至付清。", *signed], **style)
    assert text_of(path).split("\n")[0] == f"{clause}直至付清。"
    assert text_of(path).split()[1:] == signed
