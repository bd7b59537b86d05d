"""Texts rank by the rare words that they share: as BM25 is defined, in English and Chinese, by forms of words too."""

import re
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.ranking import QuestionWords, WordIndex, list_words, score_texts, weigh_rarity

WORDY = st.lists(
    st.sampled_from(
        ["lamp", "Lamp.", "lamps", "lamplight", "the", "harbour", "灯", "灯塔", "ada's", "x_lamp", "\n", "ß"]
    ),
    max_size=12,
).map(" ".join)


def spell_out(texts: list[str], words: list[str]) -> list[float]:
    """The formula, word by word."""
    counts = [[re.findall(r"[一-鿿]|[^\W一-鿿]+", text.casefold()).count(word) for word in words] for text in texts]
    mean = sum(len(text.casefold()) for text in texts) / len(texts) or 1
    holders = [sum(row[at] > 0 for row in counts) for at in range(len(words))]
    return [
        sum(
            log(1 + (len(texts) - n + 0.5) / (n + 0.5)) * c / (c + 1.2 * (0.25 + 0.75 * len(text.casefold()) / mean))
            for c, n in zip(row, holders, strict=True)
            if c
        )
        for text, row in zip(texts, counts, strict=True)
    ]


def build_index(texts):
    index = WordIndex()
    for text in texts:
        index.add(list_words(text), len(text))
    return index


@given(st.lists(WORDY, min_size=1, max_size=9))
def test_texts_rank_by_the_formula_of_bm25_however_they_are_counted(texts):
    # Of the question's words, "the" is not looked for.
    ours = score_texts(texts, "Is the lamp in the harbour, 灯, SS?")
    words = ["lamp", "harbour", "灯", "ss"]
    assert ours == pytest.approx(spell_out(texts, words))
    scores = build_index(text.casefold() for text in texts).score(words)
    assert [scores.get(place, 0.0) for place in range(len(texts))] == pytest.approx(ours)


def test_chinese_ranks_by_characters():
    scores = score_texts(["今天下雨。", "水车是朱红色的。", "田里有麦子。"], "水车是什么颜色?")
    assert scores.index(max(scores)) == 1
    assert list_words("水车 No. 7") == ["水", "车", "no", "7"]


@pytest.mark.parametrize("texts", [[], ["one"], ["", "  "], ["alpha", "beta"]])
def test_what_shares_no_word_scores_nothing(texts):
    assert score_texts(texts, "gamma ?") == [0.0] * len(texts)
    assert build_index(texts).score(["gamma"]) == {}


def test_a_word_of_every_text_still_says_a_little():
    assert 0 < weigh_rarity(9, 9) < weigh_rarity(1, 9)


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


def test_texts_come_by_the_rarest_of_their_words_else_in_order() -> None:
    assert QuestionWords(QUESTION).rank([{"man"}, set(), {"man", "barrel"}, {"man"}, set()]) == [2, 0, 3, 1, 4]


WORDS = st.lists(st.lists(st.text(st.characters(exclude_characters="\n"), min_size=1, max_size=3), max_size=5))


@given(WORDS)
def test_an_index_as_bytes_finds_the_same(texts):
    index = WordIndex()
    for words in texts:
        index.add(words, len(words))
    again = WordIndex.from_blocks(index.to_blocks())
    assert (again.words, again.lengths) == (index.words, index.lengths)


def test_a_question_without_words_of_its_own_has_a_share_in_nothing() -> None:
    assert QuestionWords("").share("Rain fell.") == 0
    assert QuestionWords(QUESTION).share("men, barrels, and a count") == 1
