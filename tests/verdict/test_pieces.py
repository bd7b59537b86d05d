"""An answer that lists statements with semicolons is judged by each of them, and no other semicolon parts anything."""

import pytest

from bookwheel.claims import BORNE_OUT
from bookwheel.documents.opening import TextDocument
from bookwheel.verdict.judge import judge_answer, split_answer

MILL = (
    "The mill was built in 1588 for the monks of Este. Rain fell on the valley. Ada Quill sold 40 apples and 12 pears."
)


def test_what_an_answer_lists_with_semicolons_is_judged_piece_by_piece():
    answer = "Built in 1588 (for monks; of Este); Ada Quill sold 40 apples; 12 crates came by sea."
    assert split_answer(answer) == [
        "Built in 1588 (for monks; of Este);",
        "Ada Quill sold 40 apples;",
        "12 crates came by sea.",
    ]
    _, claims = judge_answer(answer, "What happened?", (), TextDocument(MILL))
    assert claims[1].verdict in BORNE_OUT
    assert claims[2].verdict not in BORNE_OUT


@pytest.mark.parametrize(
    "answer",
    [
        'He said "come in to the warm room; sit down at the old table" and left.',
        "The fees are: a) a deposit that is refundable (see the fourth section; the last page).",
        "Run `make the first target; make the second target now` twice.",
        "The board of the harbour at Holm&amp; Tide pays the fee, and the old firm of Salt&amp; Sons pays the rent of the hall.",
        "The tenant keeps the lamp lit; the keeper writes the log; the board pays.",
        "The tenant keeps the lamp lit all night; the keeper writes the log every evening.",
    ],
)
def test_a_semicolon_that_parts_no_statements_stays(answer):
    assert split_answer(answer) == [answer]


def test_brackets_that_were_never_opened_hide_none_that_were():
    pieces = (
        "a) the harbour board pays the first yearly fee;",
        "b) the tenant (by the old lease; since the second year) pays the second fee;",
        "c) the keeper of the lamp pays the third fee.",
    )
    assert split_answer(" ".join(pieces)) == list(pieces)


def test_the_names_of_a_tables_columns_are_no_sentence():
    table = "| Who | Sum |\n|---|---:|\n| Ada | 12 |\n| Bo | 14 |"
    assert split_answer(table) == ["| Ada | 12 |", "| Bo | 14 |"]
    rent, deposit = "| Rent | 90 crowns |", "| Deposit | 12 crowns |"
    assert split_answer(f"{rent}\n|---|---|\n{deposit}") == [rent, deposit]
    assert split_answer(f"| Chair | Bo Fell |\n|---|---|\n{deposit}") == ["| Chair | Bo Fell |", deposit]
    assert split_answer("Ada -- Bo\n---\nDone.") == ["Ada -- Bo", "---", "Done."]


def test_what_leads_in_a_list_is_not_judged_but_an_answer_that_breaks_off_there_is():
    lead = "The mill was built for the monks of Este:"
    _, claims = judge_answer(f"{lead}\n- Ada Quill sold 40 apples.", "For whom?", (), TextDocument(MILL))
    assert [claim.text for claim in claims] == ["Ada Quill sold 40 apples."]
    _, claims = judge_answer(lead, "For whom?", (), TextDocument(MILL))
    assert [claim.text for claim in claims] == [lead]
