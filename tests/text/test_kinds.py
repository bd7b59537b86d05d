"""The kinds of answers: how they are asked for, what shows them, and what is compared of them."""

import pytest

from bookwheel.text.figures import FigureGroup
from bookwheel.text.kinds import AnswerKind, _load_table, choose_figures, find_kind, list_order_words, shows_kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How long may the van stay?", AnswerKind.DURATION),
        ("How long ago was it built?", None),
        ("How old is the floor?", AnswerKind.AGE),
        ("What was the interest rate on the loan?", AnswerKind.PERCENT),
        ("How much does a day on the lake cost?", AnswerKind.MONEY),
        ("deposit amount?", AnswerKind.AMOUNT),
        ("opening hours on Sunday?", AnswerKind.HOURS),
        ("By what time must they be back?", AnswerKind.CLOCK),
        ("Within what time does the desk reply?", AnswerKind.DURATION),
        ("From what day do the new fares hold?", AnswerKind.DAY),
        ("Since when has the key been missing?", AnswerKind.WHEN),
        ("How often is the tank cleaned?", AnswerKind.COUNT),
        ("Who keeps the key?", AnswerKind.PERSON),
        ("Where is the key kept?", AnswerKind.PLACE),
        ("渡船几点开？", AnswerKind.CLOCK),
        ("门票多少钱？", AnswerKind.MONEY),
        ("谁保管钥匙？", AnswerKind.PERSON),
        # The first question word says what is asked for.
        ("What wood did he take when the oak was gone?", None),
        ("Which function tells how long to sleep?", None),
        ("What do guests get who arrive late?", None),
    ],
)
def test_the_kind_is_that_of_the_first_question_word(question, kind):
    assert find_kind(question) is kind


def test_a_passage_shows_a_person_by_a_name_and_a_choice_by_nothing():
    assert shows_kind(AnswerKind.PERSON, "the clock was wound by Amos Thorne")
    assert not shows_kind(AnswerKind.PERSON, "the clock was wound at noon")
    assert shows_kind(None, "anything")
    assert all(shows_kind(AnswerKind.PLACE, place) for place in ("春游改去云溪谷。", "我们往老桥走", "去白鹿坡玩"))
    common = "我到底记住了，马叫红海。", "过去的山寨", "去年的市场", "他到底什么立场", "我去看电影", "从小到大"
    assert not any(shows_kind(AnswerKind.PLACE, words) for words in common)


@pytest.mark.parametrize(
    ("question", "figures"),
    [
        ("Which is older?", [["day", "time"]]),
        ("Which opens first?", [["day"]]),
        ("Which is cheaper?", [["money"], ["number"]]),
        ("Who has the higher wage?", [["money"], ["number"]]),
        ("Which has the lower rate?", [["percent"]]),
        ("Which is heavier?", [["measure"], ["number"]]),
        ("Which is faster?", [["time", "number", "percent", "measure"]]),
        ("Which is ranked higher?", []),
        ("Which is higher?", None),
    ],
)
def test_the_figures_are_those_of_what_is_compared(question, figures):
    assert choose_figures([word.kind for word in list_order_words(question)], question) == figures


def test_the_table_names_the_groups_of_figures():
    named = {
        group
        for form in _load_table().values()
        for of in ("figures", "turned")
        for group in form.get(of, "").replace("|", " ").split()
    }
    assert named == {group.value for group in FigureGroup}
