"""What a question asks for: the style of its answer, and what can be one."""

import pytest

from bookwheel.text.questions import Style, asks_for_all, asks_for_list, can_answer, find_style


@pytest.mark.parametrize(
    ("question", "style"),
    [
        ("Is it open?", Style.POLAR),
        ("Was the hall open?", Style.POLAR),
        ("Was it sold?", Style.POLAR),
        ("Was rent paid?", Style.POLAR),
        ("Was kostet der Hof?", Style.SPAN),
        ("Was hat Herr Otto unterschrieben?", Style.SPAN),
        ("Was sind die Kosten?", Style.SPAN),
        ("Is it open or not?", Style.POLAR),
        ("Are dogs or cats allowed?", Style.POLAR),
        ("Are more than two dogs or cats allowed?", Style.POLAR),
        ("May I bring a larger bag or a suitcase?", Style.POLAR),
        ("Is the first or second floor open?", Style.POLAR),
        ("Is the roof or the boiler dearer?", Style.SPAN),
        ("Is the mill or the quay safer?", Style.SPAN),
        ("Is the last bus or tram cancelled?", Style.POLAR),
        ("Did more people vote for May or June?", Style.SPAN),
        ("专项资金批下来没有?", Style.POLAR),
        ("他吃了没", Style.POLAR),
        ("报价含不含消防？", Style.POLAR),
        ("为什么没有？", Style.SENTENCE),
        ("谁没有签字", Style.SPAN),
        ("Why is it open?", Style.SENTENCE),
        ("For what reason is it open?", Style.SENTENCE),
        ("What's the point of opening it?", Style.SENTENCE),
        ("What made them open it?", Style.SENTENCE),
        ("By what means is it kept open?", Style.SENTENCE),
        ("What make of gate is it?", Style.SPAN),
        ("What is the point of contact?", Style.SPAN),
        ("What made the noise?", Style.SPAN),
        ("What led the parade?", Style.SPAN),
        ("By what means of transport did they come?", Style.SPAN),
        ("What reason code is on the form?", Style.SPAN),
        ("Please tell me why it is open.", Style.SENTENCE),
        ("开门是什么缘故？", Style.SENTENCE),
        ("How many are open?", Style.SPAN),
        ("Which boats are open?", Style.LIST),
        ("Which boats are open, Otter or Teal?", Style.SPAN),
        ("开门了吗？", Style.POLAR),
        ("为什么开门？", Style.SENTENCE),
        ("有哪些船？", Style.LIST),
    ],
)
def test_styles_are_told_by_the_question(question, style):
    assert find_style(question) is style


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("How long had Mr Wren been ill?", "six weeks", "1999"),
        ("How many minutes does it take?", "eighteen", "the north shed"),
        ("From what day do the new fares hold?", "1 October", "7 h 20 min"),
        ("How old is the floor?", "40 years", "310 square metres"),
        ("What was the interest rate?", "4.5 %", "the savings union"),
        ("What will the extra journey cost?", "4,390", "35 days"),
        ("What rent is due in May?", "£1,110", "4.1"),
        ("When did it open?", "in spring", "the pier"),
        ("Who wound the clock?", "the keeper", "48,172"),
        ("网管要多少钱？", "199元", "2.4G频段"),
        ("多久能送到？", "10天", "付款方式"),
    ],
)
def test_a_few_words_answer_if_they_have_the_kind(question, right, wrong):
    assert can_answer(question, right)
    assert not can_answer(question, wrong)


def test_what_only_repeats_the_question_answers_nothing_but_a_choice():
    assert not can_answer("Which company paid for the lift advert?".replace("Which", "What"), "the lift advert")
    assert can_answer("Which is newer, the pantry or the lift?", "the lift")


def test_lists_and_counts_are_asked_of_all_that_there_is():
    assert all(map(asks_for_list, ("List the fees.", "How many fees are due?", "Which boats are blue?", "哪些费用？")))
    assert not asks_for_list("What was the last fee?")
    assert [asks_for_list(f"Which {one} had the tank?") for one in ("receipts", "receipt number")] == [True, False]
    assert all(map(asks_for_all, ("What was the last fee?", "Summarise the minutes.", "总共多少钱？")))
    assert not asks_for_all("Who wound the clock?")


@pytest.mark.parametrize(
    ("question", "words", "is_answer"),
    [
        ("In which drawer is the handover sheet?", "the drawer", False),
        ("In which drawer is the handover sheet?", "the left one", True),
        ("Which boat is longer, the Heron or the Teal?", "the Heron", True),
        ("What colour is the door?", "colour", False),
        ("Which of the two doors is open, front or back?", "front", True),
        ("Where is the fee computed?", "it", False),
        ("Who wound the clock?", "she", False),
    ],
)
def test_the_thing_that_is_asked_for_is_no_answer(question, words, is_answer):
    assert can_answer(question, words) is is_answer
