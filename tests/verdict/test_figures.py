"""A figure that stands in the document is trusted where it is what was asked for, and nowhere else."""

from __future__ import annotations

import pytest

from bookwheel.claims import BORNE_OUT, Fit, Sign, choose_sign, sum_up_fits, sum_up_verdicts
from bookwheel.documents.opening import TextDocument
from bookwheel.verdict.judge import examine, judge_answer
from bookwheel.verdict.sources import PlacedParts

CONTRACT = """# Service Agreement

## 1. Fees

The Customer shall pay the Contractor a monthly fee of EUR 14,250, excluding value added tax. Invoices fall due within \
30 days. Late payment bears interest at 8 percent a year.

## 2. Warranty

The Contractor warrants its work for twelve months from acceptance. Parts carry the warranty of their maker.

## 3. Liability

The aggregate liability of the Contractor shall not exceed EUR 500,000. The Contractor keeps an insurance of at least \
EUR 2,000,000 and shows the policy on request.

## 4. Confidentiality

Each party keeps confidential what it learns of the other for five years.
"""


def sign_of(question: str, answer: str) -> Sign:
    _, claims = judge_answer(answer, question, (), TextDocument(CONTRACT), is_copied=True)
    return choose_sign(sum_up_verdicts(claims), sum_up_fits(claims))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much is the monthly fee?", "14,250"),
        ("How much is the monthly fee?", "EUR 14,250"),
        ("What interest does late payment bear?", "8 percent a year"),
    ],
)
def test_a_figure_that_was_asked_for_is_green(question, answer) -> None:
    assert sign_of(question, answer) is Sign.GREEN


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much is the monthly fee?", "30"),
        ("How much is the monthly fee?", "EUR 500,000"),
        ("What is the cap on liability?", "EUR 2,000,000"),
        ("How high is the insurance?", "EUR 500,000"),
        ("How long is the warranty?", "five years"),
        ("How much is the interest on late payment?", "EUR 14,250"),
    ],
)
def test_the_figure_of_another_place_is_not_green(question, answer) -> None:
    assert sign_of(question, answer) is not Sign.GREEN


def test_a_figure_with_two_places_is_a_price_where_no_currency_is_written():
    receipt = TextDocument("Flat white            3.80\nTea                   2.40\n")
    _, claims = judge_answer("3.80", "What did the flat white cost?", (), receipt, is_copied=True)
    assert sum_up_fits(claims) is Fit.YES


@pytest.mark.parametrize(
    ("answer", "is_green"),
    [
        ("236 a month", True),
        ("The mooring fee is 236 a month.", True),
        ("1997", False),
        ("3 March", False),
        ("12", False),
    ],
)
def test_of_the_figures_around_it_that_is_green_whose_clause_has_the_most_of_the_question(answer, is_green):
    text = "Boats of 12 m lie at the west pier. The mooring fee is 236 a month, payable by 3 March, as it was in 1997."
    _, claims = judge_answer(answer, "What is the mooring fee?", (), TextDocument(text), is_copied=True)
    assert (choose_sign(sum_up_verdicts(claims), sum_up_fits(claims)) is Sign.GREEN) == is_green


@pytest.mark.parametrize(
    ("question", "text", "answer", "is_borne_out"),
    [
        ("Who won the race?", "Ingrid Solheim won the race, ahead of Marta Kovac.", "Marta Kovac", False),
        ("Who won the race?", "Ingrid Solheim won the race, ahead of Marta Kovac.", "Ingrid Solheim", True),
        ("Which version was expected?", "The job stopped: expected version 12, found 15.", "15", False),
        ("Which version was expected?", "The job stopped: expected version 12, found 15.", "12", True),
        (
            "Who is the treasurer?",
            "The treasurer, Colm Farrell, reported a balance of 3,812 dollars.",
            "Colm Farrell",
            True,
        ),
        ("Who winds the clock?", "Colm Farrell reported a balance of 3,812 dollars.", "Colm Farrell", False),
        ("How is the rent paid?", "The rent is paid by transfer in the first week of May.", "by gold transfer", False),
        ("How is the rent paid?", "The rent is paid by transfer in the first week of May.", "by transfer", True),
    ],
)
def test_a_name_or_figure_out_of_another_clause_of_the_sentence_is_not_borne_out(question, text, answer, is_borne_out):
    _, claims = judge_answer(answer, question, (), TextDocument(text), is_copied=True)
    assert (sum_up_verdicts(claims) in BORNE_OUT) == is_borne_out


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Part two (1984) opens the series.", "Part two (1985) opens the series."),
        ("The current is 3 metres per hour.", "The current is 3 kilometres per hour."),
        ("Diesel costs €1.599 a litre.", "Diesel costs €1,599 a litre."),
    ],
)
def test_another_number_in_brackets_or_of_another_size_is_not_borne_out(text, answer):
    _, claims = judge_answer(answer, "What does it say?", (), TextDocument(text), is_copied=True)
    assert sum_up_verdicts(claims) not in BORNE_OUT


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("How many litres does the boiler hold?", "The boiler holds 16 litres.", "16 litres"),
        ("热水器是多少升的？", "热水器我自己去苏宁买好了，燃气的，16升，2,699块。", "16升"),
    ],
)
def test_what_is_counted_may_be_a_unit(question, text, answer):
    _, claims = judge_answer(answer, question, (), TextDocument(text), is_copied=True)
    assert sum_up_fits(claims) is not Fit.NO


def test_an_amount_of_money_answers_how_much_in_chinese() -> None:
    text = TextDocument("餐饮商户每平方米每月补贴四十五元，海风咖啡每月补贴2700元。")
    _, claims = judge_answer("2700元", "海风咖啡每月能拿到多少补贴？", (), text, is_copied=True)
    assert sum_up_fits(claims) is not Fit.NO


def test_the_day_of_a_date_is_no_count() -> None:
    rows = TextDocument("id,date,what,status\nW-044,2026-05-11,crane,done\nW-045,2026-05-12,pump,open\n")
    _, counted = judge_answer("11", "How many crane orders are done?", (), rows, is_copied=True)
    assert sum_up_verdicts(counted) not in BORNE_OUT
    _, dated = judge_answer("11", "On which day of May was the crane repaired?", (), rows, is_copied=True)
    assert sum_up_verdicts(dated) in BORNE_OUT


@pytest.mark.parametrize(
    ("document", "answer", "missing"),
    [
        ("合同价款为人民币壹仟壹佰玖拾伍万元整。", "合同价款为 1195 万元。", ()),
        ("合同价款为人民币壹仟壹佰玖拾伍万元整。", "合同价款为 1196 万元。", ("1196",)),
        ("合同期限至二〇三〇年四月三十日。", "合同到 2030年4月30日。", ()),
        ("预算为0.18亿元。", "预算为 1800 万元。", ()),
        ("El precio es de 1,02 millones de euros, antes 1,2.", "El precio es de 1.02 millones, antes 1.2.", ()),
        ("The rent is 20 crowns.", "The rent is 30 crowns a month, says Odo.", ("30", "Odo")),
    ],
)
def test_a_number_in_another_spelling_stands_in_the_document(document, answer, missing):
    _, (claim,) = judge_answer(answer, "", (), TextDocument(document))
    assert claim.missing == missing


BOND = "投标保证金（bid bond）为人民币贰拾万元，须于开标之前交纳，逾期无效，不予退还。"


def test_names_in_letters_are_not_missed_in_a_text_of_signs():
    answer, text = "Die Bietungsgarantie (bid bond) beträgt 200.000 Yuan.", BOND
    assert examine(answer, "", PlacedParts(TextDocument(text)))[0].missing == ()
    assert "Odo" in examine("押金由 Odo 付。", "", PlacedParts(TextDocument("The rent is 20 crowns.")))[0].missing
