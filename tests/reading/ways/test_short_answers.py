"""Short answers: spans of a passage."""

import pytest

from bookwheel.reading.ways.short_answers import choose_answer, find_polarity, find_spans, find_style
from bookwheel.text.ranking import QuestionWords

PASSAGE = "## Customs … A boat came at noon. The customs men counted sixty-four barrels in the cellar."


def test_the_answer_to_a_fact_is_a_span_of_the_passage_without_its_heading():
    answer = choose_answer(PASSAGE, QuestionWords("How many barrels did the customs men count?"))
    assert "sixty-four" in answer
    assert answer in PASSAGE
    assert "##" not in answer


def test_a_span_that_is_not_far_ahead_gives_its_place_to_the_passage():
    passage = "Seven came on Monday, nine on Tuesday, four on Friday and twelve on Sunday."
    assert choose_answer(passage, QuestionWords("What about it?")) == passage


@pytest.mark.parametrize("question", ["Did the men count barrels?", "Which things did they count and list?"])
def test_yes_or_no_and_lists_are_answered_with_the_passage(question):
    assert choose_answer(PASSAGE, QuestionWords(question)) == PASSAGE.partition(" … ")[2]


@pytest.mark.parametrize(
    ("question", "is_so"),
    [
        ("May I keep a dog?", False),
        ("Is a cat permitted?", True),
        ("Are bees welcome here?", None),
    ],
)
def test_yes_or_no_is_told_by_a_denial_in_the_sentence_with_the_questions_words(question, is_so):
    passages = ["5. Animals … No dog shall be kept in the flat. A cat is permitted."]
    assert find_polarity(passages, QuestionWords(question)) is is_so


def test_why_keeps_its_sentence():
    passage = "It rained. The pool shrank because nobody mended the dam. Frogs left."
    assert "because nobody mended the dam." in choose_answer(passage, QuestionWords("Why did the pool shrink?"))


def test_styles_are_told_by_the_question():
    styles = {
        "Is it open?": "polar",
        "Why is it open?": "sentence",
        "How many are open?": "span",
        "开门了吗？": "polar",
        "为什么开门？": "sentence",
    }
    assert {question: find_style(question) for question in styles} == styles


def test_spans_are_pieces_of_the_text_at_their_places():
    text = "Paid on 3 May 2026: £1,200.50 to Ada Quill (by post)."
    spans = list(find_spans(text))
    assert all(text[one.start : one.end] == one.text for one in spans)
    assert {"3 May 2026", "£1,200.50", "Ada Quill", "by post"} <= {one.text for one in spans}
