"""Where a text denies something."""

from time import process_time

import pytest

from bookwheel.reading.ways.question_scorer import is_denied
from bookwheel.text.denials import find_denials


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It isn't open, and never on Sundays.", ["n't", "never"]),
        ("Neither is lent, nor sold without a note.", ["Neither", "nor", "without"]),
        ("See no. 5, drill no 7 and the knot; nothing is left.", []),
        ("他没有来，也不打算来。", ["没", "不"]),
        ("无锡非常远，不过未来会近。", []),
        ("未婚妻从南非买来无人机和不锈钢，不动产在不列颠。", []),
    ],
)
def test_denials_are_told_from_words_like_them(text, words):
    assert [found[0] for found in find_denials(text)] == words


@pytest.mark.parametrize(
    ("passage", "span", "is_so"),
    [
        ("Lamps aren't lent on Sundays.", "lent on Sundays", True),
        ("一般周日不开放。", "开放", True),
        ("票价非常低。", "低", False),
        ("Lamps are not new. On Sundays they are lent.", "On Sundays", False),
    ],
)
def test_what_stands_right_behind_a_denial_is_denied(passage, span, is_so):
    assert is_denied("When are lamps lent?", passage, passage.index(span)) is is_so


@pytest.mark.parametrize(("question", "answer"), [("Is it no. 5 that is shut?", "5"), ("Who lacks it?", "Ada")])
def test_what_is_denied_answers_a_question_that_denies(question, answer):
    assert not is_denied(question, f"It is not {answer}.", len("It is not "))


def test_what_is_denied_costs_no_look_at_the_whole_passage():
    passage = "Lamps are lent, and never on Sundays. " * 2_000
    begun = process_time()
    denied = [is_denied("When are lamps lent?", passage, start) for start in range(0, len(passage), 50)]
    assert {*denied} == {True, False}
    assert process_time() - begun < 1


@pytest.mark.parametrize(
    "passage", ["一台无人机飞过", "The knot on Sundays", "Of drill no 7 on Sundays", "用不锈钢制造"]
)
def test_a_word_is_whole_where_a_denial_is_looked_for(passage):
    assert not any(is_denied("When are lamps lent?", passage, start) for start in range(len(passage)))
