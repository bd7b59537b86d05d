"""A value that the document puts off elsewhere is called contradicted, by the sentence that puts it off."""

import pytest

from bookwheel.claims import BORNE_OUT, Fit, Verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.verdict.judge import judge_answer

MINUTES = """The kiln is hired until 31 March 2027. The store holds about 42,000 tiles. Mr Aldous has the key.

Clay is delivered on 15 April. Racks 2 and 3 are swept.

1. The words "until 31 March 2027" are replaced by "until 30 September 2028".
2. The tiles were counted again: 46,500, not 42,000.
3. Clay comes by 20 March instead of 15 April. The words "racks 2 and 3" are replaced by "racks 2, 3 and 5".
4. The key is with Ms Brandt, no longer with Mr Aldous.

窑炉由陶艺社管理，押金为4000元。押金不是4000元，而是5000元。联系人由柳青禾改为段若川。已烧掉 41.2%。“已烧掉41.2%”应为 42.1%。
展示会は白浜ではなく小樽で開く。

The drill planned for Tuesday at 10 has been moved to Thursday at 11."""


def judge(question, answer, text=MINUTES):
    """Return the verdict on a sentence, and what is shown against it."""
    evidence, (claim,) = judge_answer(answer, question, (), TextDocument(text))
    return claim.verdict, [evidence[number].quote for number in claim.against]


@pytest.mark.parametrize(
    ("question", "answer", "against"),
    [
        ("Until when is the kiln hired?", "The kiln is hired until 31 March 2027.", "30 September 2028"),
        ("How many tiles are there?", "About 42,000 tiles", "46,500"),
        ("When does the clay come?", "15 April", "20 March"),
        ("押金是多少？", "押金为4000元。", "5000元"),
        ("联系人是谁？", "柳青禾", "段若川"),
        ("已烧掉百分之几？", "41.2%", "42.1%"),
        ("展示会はどこで開く？", "白浜", "小樽"),
        ("When is the drill?", "Tuesday at 10", "Thursday"),
    ],
)
def test_a_value_that_is_put_off_is_contradicted_by_what_puts_it_off(question, answer, against):
    verdict, shown = judge(question, answer)
    assert verdict is Verdict.CONTRADICTED
    assert against in shown[0]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Until when is the kiln hired?", "It is hired until 30 September 2028."),
        ("How many tiles are there?", "46,500, not 42,000."),
        ("When did the clay come at first?", "On 15 April, which 20 March replaces."),
        # The one that holds now has the value too.
        ("Which racks are swept?", "Racks 2, 3 and 5"),
        ("联系人是谁？", "段若川"),
        ("联系人以前是谁？", "柳青禾改为段若川"),
        ("展示会はどこで開く？", "小樽"),
        ("谁管理窑炉？", "陶艺社"),
    ],
)
def test_what_tells_both_or_the_newer_value_is_not(question, answer):
    assert judge(question, answer)[0] is not Verdict.CONTRADICTED


def test_a_bound_or_another_thing_is_not_put_off():
    text = "The hall seats 120 people. Not more than 120 may stand in the yard. The fee is 30 euros, not 120 dollars."
    assert judge("How many people does the hall seat?", "The hall seats 120 people.", text)[0] is Verdict.QUOTED
    text = "2027年预算应为203万元。裙子不是真丝绸的。上衣是真丝绸的。"
    assert judge("预算是哪年的？", "2027年预算为203万元。", text)[0] is not Verdict.CONTRADICTED
    assert judge("上衣用什么做？", "真丝绸", text)[0] is not Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("question", "fit"), [("What did Norris Roofing quote?", Fit.DOUBTFUL), ("What do Bramble ask on top?", Fit.YES)]
)
def test_a_short_answer_of_somebody_else_may_not_answer(question, fit):
    text = "The quote of Norris Roofing came in May.\n\nBramble ask 1,150 pounds on top of the quote."
    _, (claim,) = judge_answer("1,150 pounds", question, (), TextDocument(text), is_copied=True)
    assert claim.answers is fit


STRUCK = (
    "1. Notice is ~~six months~~ nine months.\n\n2. ~~The tenant pays for the lift.~~\n\n3. The roof is the owner's."
)


@pytest.mark.parametrize(
    ("question", "answer", "is_borne_out"),
    [
        ("Who pays for the lift?", "The tenant pays for the lift.", False),
        ("How long is the notice?", "Notice is six months.", False),
        ("How long is the notice?", "Notice is nine months.", True),
        ("Whose is the roof?", "The roof is the owner's.", True),
    ],
)
def test_what_is_struck_out_bears_nothing_out(question, answer, is_borne_out):
    assert (judge(question, answer, STRUCK)[0] in BORNE_OUT) is is_borne_out


@pytest.mark.parametrize(
    ("question", "answer", "verdict"),
    [
        ("Who builds the set?", "Lucy", Verdict.PARTLY),
        ("Who builds the set?", "Owen Tregear", Verdict.SUPPORTED),
        ("Who designs the posters?", "Priya", Verdict.SUPPORTED),
    ],
)
def test_of_two_names_in_a_clause_the_nearer_one_is_meant(question, answer, verdict):
    text = "The set is built by Owen Tregear and painted by Lucy. Posters: Priya designs them, Sam prints them."
    _, (claim,) = judge_answer(answer, question, (), TextDocument(text), is_copied=True)
    assert claim.verdict is verdict


@pytest.mark.parametrize(
    ("last", "fit"),
    [
        ("Jo hands the shed keys to Rhoda.", Fit.DOUBTFUL),
        ("Rhoda left.", Fit.YES),
        ("Jo Pell keeps the shed keys, says Rhoda.", Fit.YES),
    ],
)
def test_what_a_later_sentence_tells_of_another_may_hold_no_longer(last, fit):
    text = f"Keys to the shed are with Jo Pell.\n\nThe water is on from 7 to 9.\n\n{last}"
    _, (claim,) = judge_answer("Jo Pell", "Who has the shed keys?", (), TextDocument(text), is_copied=True)
    assert (claim.verdict, claim.answers) == (Verdict.SUPPORTED, fit)
