"""Which of the two that a question names has the more of something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.alternatives import choose_alternative, find_alternatives, name_alternative

QUILL = "Ada Quill (3 May 1902 – 8 June 1980) kept the lamp at Sallow Point for thirty years."
ROOK = "Tom Rook, born on 12 April 1899 in Brill, was a cooper. He died in 1984 at Stowe."
VOTES = "Of those who signed, 402 live in Low Stavelock, 655 in the town; nobody came from Brill."


@pytest.mark.parametrize(
    ("question", "two"),
    [
        ("Which is older, the mill or the chapel?", ("the mill", "the chapel")),
        ("Was the roof or the boiler cheaper?", ("the roof", "the boiler")),
        ("Do more of them live in Low Stavelock or in the town?", ("in Low Stavelock", "in the town")),
        ("Who was born first, Ada Quill or Tom Rook?", ("Ada Quill", "Tom Rook")),
        ("Was Ada Quill or Tom Rook born first?", ("Ada Quill", "Tom Rook")),
        ("bigger: the north shed or the south one", ("the north shed", "the south one")),
        ("哪个更贵，木桶还是铁桶？", ("木桶", "铁桶")),
        ("木桶和铁桶哪个便宜？", ("木桶", "铁桶")),
        ("Is the gate open or not?", ()),
        ("Are there ten or more sheds?", ()),
        ("Which of red or blue or green is it?", ()),
        ("Who wound the clock?", ()),
    ],
)
def test_the_two_of_a_question(question, two):
    assert find_alternatives(question) == two


@pytest.mark.parametrize(
    ("question", "passages", "answer", "is_sure"),
    [
        (
            "Which is nearer, the pub or the shop?",
            ["The shop is 1.4 km away, the pub about 900 metres."],
            "the pub",
            False,
        ),
        (
            "What was ended first, the lift or the roof?",
            ["The roof is done on 22 May, the lift on 8 August."],
            "the roof",
            False,
        ),
        ("Who was born first, Ada Quill or Tom Rook?", [QUILL, ROOK], "Tom Rook", True),
        ("Who is older, Ada Quill or Tom Rook?", [QUILL, ROOK], "Tom Rook", True),
        ("Who is younger, Tom Rook or Ada Quill?", [ROOK, QUILL], "Ada Quill", True),
        ("Who died first, Ada Quill or Tom Rook?", [QUILL, ROOK], "Ada Quill", False),
        ("Do more of them live in Low Stavelock or in the town?", [VOTES], "in the town", False),
        ("Do fewer of them live in Low Stavelock or in the town?", [VOTES], "in Low Stavelock", False),
        ("Was the roof or the boiler cheaper?", ["The roof cost £4,200 and the boiler £3,950."], "the boiler", False),
        (
            "Which is kept longer, a case or a bill?",
            ["A case is kept for 6 years, a bill for 18 months."],
            "a case",
            False,
        ),
        ("哪个更贵，木桶还是铁桶？", ["木桶每只85元，铁桶每只120元。"], "铁桶", False),
        ("木桶和铁桶哪个便宜？", ["木桶每只85元。铁桶每只120元。"], "木桶", False),
    ],
)
def test_figures_beside_the_names_tell(question, passages, answer, is_sure):
    found = choose_alternative(question, passages)
    assert (found.text, found.is_sure) == (answer, is_sure)


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        # One of them has no figure; they are equal; nothing is compared; of two passages who knows what is counted.
        ("Who was born first, Ada Quill or Tom Rook?", [QUILL]),
        ("Which is older, the mill or the chapel?", ["The mill was built in 1820, the chapel in 1820."]),
        ("Who wrote the minutes, Ada Quill or Tom Rook?", [QUILL, ROOK]),
        ("Which is heavier, the mill or the chapel?", ["The mill has 12 rooms.", "The chapel seats 80 people."]),
        # Days are asked for, and there is another figure alone.
        ("Which is older, the mill or the chapel?", ["The mill has 12 rooms and the chapel 3."]),
    ],
)
def test_else_nothing_is_told(question, passages):
    assert choose_alternative(question, passages) is None


def test_a_day_of_somebody_else_is_not_sure():
    question = "Which film has the director who died first, Low Tide or High Water?"
    passages = ["Low Tide is a film of 1931.", "High Water came out in 1935. Its director died in 1950."]
    found = choose_alternative(question, passages)
    assert found is None or not found.is_sure


BILLS = "The tenants pay electricity and the council tax. The landlord pays the water. Both may inspect the roof."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who pays the council tax, the landlord or the tenants?", "the tenants"),
        ("Who pays the water, the landlord or the tenants?", "the landlord"),
        # Named together, both alike, with too little of the question, or compared.
        ("Who may inspect the roof, Ada or Tom?", None),
        ("Who pays, the landlord or the tenants?", None),
        ("Who signs the inventory in June, the landlord or the tenants?", None),
        ("Who pays more for the water, the landlord or the tenants?", None),
        ("Who pays the water?", None),
    ],
)
def test_a_sentence_that_names_one_of_them_tells(question, answer):
    found = name_alternative(question, ["Rain fell. It was late.", BILLS])
    assert (found and found.text) == answer
    assert found is None or (found.passages, found.is_sure) == ((1,), False)


@given(st.integers(1000, 2099), st.integers(1000, 2099))
def test_the_order_of_names_makes_no_difference(one, other):
    text = [f"The mill was built in {one}. The chapel was built in {other}."]
    found = {
        choose_alternative(f"Which is older, {pair}?", text)
        for pair in ("the mill or the chapel", "the chapel or the mill")
    }
    assert found == {None} if one == other else {("the mill" if one < other else "the chapel", (0,), True)} == found


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_is_taken(question, passages):
    choose_alternative(f"Which is older, {question} or the mill?", passages)
