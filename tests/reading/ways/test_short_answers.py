"""Short answers: sentences of a passage, and yes or no."""

import pytest

from bookwheel.models.copying import CopiedSpan
from bookwheel.reading.ways.answer_checks import (
    find_date_start,
    find_figure_end,
    is_change,
    is_conditional,
    is_denied,
    is_hearsay,
    is_label,
    is_other_day,
    is_signature,
    lacks_number,
)
from bookwheel.reading.ways.question_scorer import choose_answer, choose_span, find_deciding, is_sure_span
from bookwheel.text.ranking import QuestionWords

PASSAGE = "## Customs … A boat came at noon. The customs men counted sixty-four barrels in the cellar."


@pytest.mark.parametrize(
    "question", ["Did the men count barrels?", "Which things did they count and list?", "How many barrels were there?"]
)
def test_all_but_how_and_why_are_answered_with_the_passage(question):
    assert choose_answer(PASSAGE, QuestionWords(question)) == PASSAGE.partition(" … ")[2]


@pytest.mark.parametrize(
    ("question", "deciding"),
    [
        ("May I keep a dog?", "No dog shall be kept in the flat."),
        ("Is a cat permitted?", "A cat is permitted."),
        ("Are bees welcome here?", ""),
    ],
)
def test_yes_or_no_is_told_by_the_sentence_with_the_questions_words(question, deciding):
    passages = ["5. Animals … No dog shall be kept in the flat. A cat is permitted."]
    assert find_deciding(passages, QuestionWords(question)).strip() == deciding


def test_yes_under_a_condition_that_nobody_asked_about_is_not_sure():
    words = "From October we play on Thursdays, if the hall agrees."
    assert is_conditional(words, "Do we play on Thursdays?")
    assert not is_conditional(words, "Do we play on Thursdays if the hall agrees?")
    assert not is_conditional("From October we play on Thursdays.", "Do we play on Thursdays?")


@pytest.mark.parametrize(
    ("sentence", "after", "is_so"),
    [
        ("Heard at the market that the bridge takes lorries now. ", "", True),
        ("Ida said that the bridge takes lorries. ", "", True),
        ("听说这座桥可以走卡车。", "", True),
        ("The bridge takes lorries now. ", "Maybe not true.", True),
        ("The bridge takes lorries now. ", "It is painted, and perhaps too late.", False),
    ],
)
def test_yes_by_hearsay_is_not_sure(sentence, after, is_so):
    assert is_hearsay(sentence, "Does the bridge take lorries?", sentence + after) is is_so
    assert not is_hearsay(sentence, "What was said and heard of the bridge?", sentence)


def test_another_number_says_neither_yes_nor_no():
    assert lacks_number("Is the bridge 4.2 m wide?", "Measured anew, the bridge is 3.9 m wide.")
    assert not lacks_number("Is the bridge 9 m wide?", "The bridge is nine metres wide.")


@pytest.mark.parametrize(
    ("question", "text", "is_so"),
    [
        ("What was the score?", "10 February", True),
        ("What was the score?", "6-4", False),
        ("When was the match?", "10 February", False),
        ("What is the due date?", "10 February 2026", False),
    ],
)
def test_a_day_is_no_sure_answer_where_none_is_asked_for(question, text, is_so):
    assert is_other_day(question, text) is is_so


def test_the_name_below_a_letter_is_no_answer():
    letter = "Somebody else must lead the rowers. Orla Finn"
    assert is_signature(letter, letter.index("Orla"), len(letter))
    assert not is_signature(letter, letter.index("rowers"), letter.index("."))
    assert not is_signature("The rowers are led by Orla Finn", 23, 31)


@pytest.mark.parametrize(
    ("question", "passage", "is_so"),
    [
        ("What is the yearly rent?", "From Michaelmas the yearly sum is increased by £6,000.", True),
        ("By how much is the rent increased?", "From Michaelmas the yearly sum is increased by £6,000.", False),
        ("How large is the grant?", "It is cut by £6,000.", True),
        ("How large is the grant?", "It is cut to £6,000.", False),
        ("How much is paid?", "The rent is paid by £6,000 at Michaelmas.", False),
        ("房租是多少?", "房租上涨了6,000元。", True),
    ],
)
def test_by_how_much_something_changed_is_not_what_it_is(question, passage, is_so):
    assert is_change(question, passage, min(passage.find(sign) for sign in ("£6", "6,") if sign in passage)) is is_so


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who has the shed key?", "Petra Lunn"),
        ("Who is the chair?", "Malik Osei"),
        ("Who swept the hall?", "Malik Osei"),
    ],
)
def test_a_short_answer_is_not_of_the_sentence_beside_the_one_that_answers(question, answer):
    passage = "I have stepped down; Malik Osei is the chair now. The shed key is with Petra Lunn."
    likeliest = ("Malik Osei", "Petra Lunn")
    spans = [CopiedSpan(at := passage.index(name), at + len(name), -0.8) for name in likeliest]
    found = choose_span(spans, passage, QuestionWords(question))
    assert passage[found.start : found.end] == answer


@pytest.mark.parametrize(
    ("question", "rival", "is_sure"),
    [
        ("What does a book of ten adult swims cost?", -8.0, True),
        ("What does a book of ten adult swims cost?", -5.0, False),
        ("What does a book of ten junior swims cost?", -8.0, False),
        ("What does a book of ten adult swims cost in all?", -8.0, False),
    ],
)
def test_a_short_answer_is_sure_where_nothing_else_may_be_meant(question, rival, is_sure):
    passage = "Junior swim 2.90, which costs nobody much. A book of ten adult swims is 46 pounds."
    best, other = (
        CopiedSpan(at := passage.index(words), at + len(words), logprob)
        for words, logprob in (("46 pounds", -0.4), ("2.90", rival))
    )
    within = CopiedSpan(best.start, best.end - 7, -1.0)
    spans = [best, within, other]
    assert is_sure_span(best, spans, passage, QuestionWords(question)) is is_sure
    assert not is_sure_span(best, [best, within], passage, QuestionWords(question))


def test_a_number_is_not_of_the_sentence_beside_that_has_some_of_the_question():
    passage = "Of the red jar, the special number is 6810. Of the blue jar, the special number is 4423."
    spans = [CopiedSpan(at := passage.index(number), at + 4, -1.2) for number in ("6810", "4423")]
    for jar, number in (("blue", "4423"), ("red", "6810")):
        found = choose_span(spans, passage, QuestionWords(f"What is the special number of the {jar} jar?"))
        assert passage[found.start : found.end] == number
    # A sentence with hardly more of the question takes nothing from the likeliest span.
    close = QuestionWords("What special number has the blue jar with a lid?")
    assert choose_span(spans, passage, close) == spans[0]
    # Nor does one with less than half of it.
    few = QuestionWords("Which blue lid has a crack?")
    assert (
        choose_span([spans[0], CopiedSpan(start := passage.index("blue"), start + 8, -1.5)], passage, few) == spans[0]
    )


def test_why_keeps_its_sentence():
    passage = "It rained. The pool shrank because nobody mended the dam. Frogs left."
    assert "because nobody mended the dam." in choose_answer(passage, QuestionWords("Why did the pool shrink?"))


@pytest.mark.parametrize(
    ("question", "words", "is_so"),
    [
        ("When may I drill?", "on Sundays", True),
        ("When may I drill?", "from 9 to 12", False),
        ("When may I not drill?", "on Sundays", False),
        ("How many drills are lent?", "more than two", True),
        ("Which drill is it?", "5", False),
    ],
)
def test_what_the_passage_denies_is_no_answer(question, words, is_so):
    passage = "Drilling is allowed from 9 to 12, never on Sundays. We lend no more than two, and drill no 5 is broken."
    assert is_denied(question, passage, passage.index(words)) is is_so


@pytest.mark.parametrize(("words", "is_number"), [("561.1", True), ("561.", True), ("30", False), ("2.5", False)])
def test_the_number_of_a_clause_is_no_answer(words, is_number):
    passage = "561. Bond … 561.1 Within 30 days the Operator pays 2.5 million. 561.2 It is returned."
    at = passage.index(words)
    assert is_label("How many?", passage, at, at + len(words)) is is_number


@pytest.mark.parametrize(
    ("question", "words", "is_time"),
    [
        ("What is the claim number?", "08:20:48Z", True),
        ("What is the claim number?", "H-77120", False),
        ("When did Ana call the insurance?", "2025-08-29", False),
        ("How many boxes came?", "2025-08-29", True),
    ],
)
def test_the_time_of_a_turn_answers_nothing_but_when(question, words, is_time):
    passage = "general … [2025-08-29 08:20:48Z] ana: Insurance, claim no. H-77120, four boxes"
    at = passage.index(words)
    assert is_label(question, passage, at, at + len(words)) is is_time


@pytest.mark.parametrize(
    ("passage", "said", "whole"),
    [
        ("借出11.5万册次", "11.5", "11.5万"),
        ("up 12% a year", "12", "12%"),
        ("24 boats", "24", "24"),
        ("千山万水", "千山", "千山"),
    ],
)
def test_a_figure_keeps_its_power(passage, said, whole):
    at = passage.index(said)
    assert passage[at : find_figure_end(passage, at + len(said))] == whole


@pytest.mark.parametrize(
    ("question", "passage", "said", "whole"),
    [
        ("采样什么时候开始？", "采样由小周负责，4月12日开始。", "12日", "4月12日"),
        ("When does it open?", "It opens on 10 February 2026.", "February 2026", "10 February 2026"),
        ("When does it open?", "It opens on 10 February 2026.", "10 February", "10 February"),
        ("In which year does it open?", "It opens on 10 February 2026.", "2026", "2026"),
    ],
)
def test_half_a_date_is_made_whole_from_its_beginning(question, passage, said, whole):
    at = passage.index(said)
    assert passage[find_date_start(question, passage, at) : at + len(said)] == whole
