"""The words of a question, and the order in which texts that have them come."""

from bookwheel.reading.ways.question_words import QuestionWords
from bookwheel.types import Chunk

QUESTION = "Did the men count a barrel?"


def test_the_windows_with_the_rarest_words_come_first() -> None:
    windows = [f"The men came on day {day}." for day in range(9)]
    windows[6] = "The men counted the barrels."
    windows[2] = "A barrel fell."
    assert QuestionWords(QUESTION).choose(windows, 4)[:2] == [windows[6], windows[2]]
    assert len(QuestionWords(QUESTION).choose(windows, 4)) == 4


def test_no_window_is_left_out_where_none_has_a_word() -> None:
    windows = ["Rain fell.", "Gulls flew."]
    assert QuestionWords("Why?").choose(windows, 1) == windows
    assert QuestionWords(QUESTION).choose(windows, 1) == windows


def test_chinese_words_are_pairs_of_characters() -> None:
    windows = ["天气很好。", "海关官员数出六十四桶。"]
    assert QuestionWords("海关数出多少桶？").choose(windows, 1) == [windows[1]]


def test_chunks_come_by_their_rarest_words_else_in_order_and_without_their_texts() -> None:
    texts = ["The men rest.", "It rained.", "A barrel of the men.", "The men sing.", "Gulls."]
    chunks = [Chunk(index=at, start=at, end=at + 1, text=text, tokens=3) for at, text in enumerate(texts)]
    ranked = QuestionWords(QUESTION).rank(iter(chunks))
    assert [chunk.index for chunk in ranked] == [2, 0, 3, 1, 4]
    assert {chunk.text for chunk in ranked} == {""}


def test_a_question_without_words_of_its_own_has_a_share_in_nothing() -> None:
    assert QuestionWords("").share("Rain fell.") == 0
    assert QuestionWords(QUESTION).share("men, barrels, and a count") == 1
