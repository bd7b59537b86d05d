"""Which of the two that a question names has the more of something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.alternatives import Alternative, choose_alternative
from bookwheel.text.comparatives import find_alternatives
from bookwheel.text.figures import list_figures

QUILL = "Ada Quill (3 May 1902 – 8 June 1980) kept the lamp at Sallow Point for thirty years."
ROOK = "Tom Rook, born on 12 April 1899 in Brill, was a cooper. He died in 1984 at Stowe."
VOTES = "Of those who signed, 402 live in Low Stavelock, 655 in the town; nobody came from Brill."


def choose(question: str, passages: list[str]) -> Alternative | None:
    two = find_alternatives(question)
    return two and choose_alternative(two, passages)


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
    found = choose(question, passages)
    assert (found.text, found.is_sure) == (answer, is_sure)


@pytest.mark.parametrize(
    ("question", "passage", "answer"),
    [
        ("Which costs less, the ring or the watch?", "The ring costs €1.2 million, the watch €900,000.", "the watch"),
        ("Who earns more, Ada or Tom?", "Ada earns £3k a month, Tom £2,500 a month.", "Ada"),
        ("Who earns more, Ada or Tom?", "Ada earns £2,000 a month. Tom earns £18,000 a year.", None),
        ("老楼和新楼哪个更贵？", "老楼9800元，新楼1.2万元。", "新楼"),
        (
            "Which is cheaper, bus or train?",
            "The bus takes 3 hours and costs £12. The train takes 2 hours and costs £30.",
            "bus",
        ),
        (
            "Which is cheaper, the ring or the cup?",
            "The ring costs 1500 euros and weighs 5 g, the cup 900 euros and 80 g.",
            "the cup",
        ),
        ("Which is faster, the bus or the tram?", "The bus takes 40 minutes, the tram 25 minutes.", "the tram"),
        ("公交和电车哪个更慢？", "公交40分钟，电车25分钟。", "公交"),
        ("Who finished last, Ada or Tom?", "Ada finished in 52 minutes, Tom in 58 minutes.", "Tom"),
        ("Who came first, Ada or Tom?", "Ada came in after 52 seconds, Tom after 58 seconds.", "Ada"),
        ("Who was born first, Ada or Tom?", "Ada is 42 years old. Tom is 39 years old.", None),
        ("Who scored better, Ada or Tom?", "Ada scored 90%, Tom 70%.", "Ada"),
        ("Which has the worse score, Bo or Karr?", "Bo has a score of 3. Karr has a score of 12.", "Bo"),
        ("Which has the worse delay, Bo or Karr?", "Bo has a delay of 30 minutes. Karr has one of 5 minutes.", None),
        ("Which place is warmer, Oslo or Bergen?", "Oslo had 12 °C, Bergen 3 °C.", "Oslo"),
        (
            "Which came last, the roof or the lift?",
            "The roof came on 22 May with 12 tiles, the lift on 8 August.",
            "the lift",
        ),
        ("Which loan has the lower rate, A or B?", "Loan A: €10,000 at 4.5%. Loan B: €9,000 at 5.1%.", "A"),
        ("Who won more games, Ada or Tom?", "Ada lost 12 games and won 3. Tom lost 2 games and won 10.", "Tom"),
        ("Which is ranked higher, Bo or Karr?", "Bo is ranked 3. Karr is ranked 12.", None),
        (
            "Which finished higher, Bo or Karr?",
            "Bo finished 2nd with 30 points. Karr finished 5th with 28 points.",
            "Bo",
        ),
        ("Who has the higher salary, Ada or Tom?", "Ada, 52, earns £2,500 a month. Tom, 61, earns £2,100.", None),
        ("Who has the higher salary, Ada or Tom?", "Ada, 52, earns £2,500. Tom, 61, earns £2,100.", "Ada"),
        ("Which was colder, March or May?", "It was minus 12 degrees in March and 3 degrees in May.", "March"),
        ("Was it warmer in Oslo or in Bergen?", "It was -12 °C in Oslo and -3 °C in Bergen.", "in Bergen"),
        (
            "Which sank later, the Otter or the Heron?",
            "The Otter, built in 1901, sank in 1930. The Heron, built in 1905, sank in 1920.",
            "the Otter",
        ),
        (
            "Which ends later, the lease or the loan?",
            "The lease runs from 1 May 2020 to 30 April 2025. The loan runs from 1 May 2021 to 30 April 2024.",
            "the lease",
        ),
        (
            "Which shop closes later, the bakery or the butcher?",
            "The bakery, since 1920, closes at 18:30. The butcher, since 1931, closes at 17:00.",
            "the bakery",
        ),
        (
            "Which opens first, the pool or the gym?",
            "The pool (built 1998) opens at 6 am and the gym (built 1990) at 7 am.",
            "the pool",
        ),
        (
            "Which is open later, the bakery or the butcher?",
            "The bakery is open 9:00-17:30. The butcher is open 10:00-17:00.",
            "the bakery",
        ),
        (
            "Which of them is shown until a later day, the ship or the gate?",
            "The ship is shown from 1 May to 9 August. The gate is shown from 1 June to 7 July.",
            "the ship",
        ),
        ("Whose death was later, Ada or Tom?", "Ada (1900-1970) and Tom (1905-1960).", "Ada"),
        ("Who is older, Ada or Tom?", "Ada is 42 years old. Tom is 39 years old.", "Ada"),
        (
            "Which is older, the temple or the gate?",
            "The temple dates from 1200 BC, the gate from 1050 BC.",
            "the temple",
        ),
        (
            "Which holds more, the tank or the barrel?",
            "The tank holds 1800 litres and the barrel 900 litres. The tank has 2 taps, the barrel 3 taps.",
            "the tank",
        ),
    ],
)
def test_a_figure_of_another_kind_decides_nothing(question, passage, answer):
    found = choose(question, [passage])
    assert (found and found.text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # Behind the other name a figure is the other's.
        ("The mill was built beside the chapel in 1820. The chapel dates from 1794.", None),
        # What a sentence says before a stop is of something else, what the next one says less likely of the name.
        ("The shed is from 1750. The mill stands; the chapel was built in 1794.", None),
        (
            "Since 1790 on this side of the river: the mill. 1950 was wet. Since 1800 on this side: the chapel.",
            "the mill",
        ),
        # One sentence has both figures on the same side of the names.
        ("In 1790 the mill, but in 1800 the chapel, 1780 the barn.", "the mill"),
        # A hundred characters on nobody knows whose it is.
        (f"The mill has {'a very long roof and ' * 6} 1790 on its door. The chapel is of 1800.", None),
        (
            "The chapel is of 1800. The mill was built of oak from the woods of Brill by Amos Thorne in 1790.",
            "the mill",
        ),
    ],
)
def test_distance_tells_whose_a_figure_is(text, answer):
    found = choose("Which is older, the mill or the chapel?", [text])
    assert (found and found.text) == answer


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (
            "Who was born first, Ada Quill or Tom Rook?",
            "Born in 1902, Ada Quill kept the lamp until the year 1980. Tom Rook, born in 1950, was a cooper.",
            "Ada Quill",
        ),
        (
            "Who was born first, Ada Quill or Tom Rook?",
            "Ada of the Mole Quill was born in 1902. Tom Rook was born in 1899.",
            "Tom Rook",
        ),
        # Of a name every word has to stand there, of a thing its last; where more of them stand, it is meant.
        ("Who was born first, Ada Quill or Tom Rook?", "Ada Brook was born in 1700. Tom Rook was born in 1800.", None),
        ("Which is older, the old boiler or the pump?", "The old gate is of 1700. The pump is of 1800.", None),
        (
            "Which is older, the boiler in the cellar or the pump?",
            "The boiler, 1700, of the school. The boiler in the cellar is of the year 1900. The pump is of 1800.",
            "the pump",
        ),
    ],
)
def test_a_name_is_found_by_its_words(question, text, answer):
    found = choose(question, [text])
    assert (found and found.text) == answer


def test_long_passages_take_no_longer_than_their_length():
    choose("Which has more pegs, the mill or the chapel?", ["the mill 12 pegs, the chapel 13 pegs. " * 100])
    list_figures("1" * 10_000)
    assert len(list_figures("12 " * 3_000)) == 3_000


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        # One of them has no figure; they are equal; nothing is compared; of two passages who knows what is counted.
        ("Who was born first, Ada Quill or Tom Rook?", [QUILL]),
        ("Which is older, the mill or the chapel?", ["The mill was built in 1820, the chapel in 1820."]),
        ("Who wrote the minutes, Ada Quill or Tom Rook?", [QUILL, ROOK]),
        ("Is the mill or the chapel bigger?", ["The mill has 12 rooms.", "The chapel has 8 rooms."]),
        ("Which is heavier, the mill or the chapel?", ["The mill has 12 rooms.", "The chapel seats 80 people."]),
        # Days are asked for, and there is another figure alone.
        ("Which is older, the mill or the chapel?", ["The mill has 12 rooms and the chapel 3."]),
    ],
)
def test_else_nothing_is_told(question, passages):
    assert choose(question, passages) is None


@pytest.mark.parametrize(
    ("question", "is_sure"),
    [
        ("Which is older, Low Tide or High Water?", True),
        ("Which has the director who is older, Low Tide or High Water?", False),
        ("Which is older by whose age, Low Tide or High Water?", False),
    ],
)
def test_a_day_of_somebody_else_is_not_sure(question, is_sure):
    found = choose(question, ["Low Tide (1931) came out.", "High Water (1935) came out."])
    assert (found.text, found.is_sure) == ("Low Tide", is_sure)


BILLS = "The tenants pay electricity and the council tax. The landlord pays the water. Both may inspect the roof."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who pays the council tax, the landlord or the tenants?", "the tenants"),
        ("Who pays the water, the landlord or the tenants?", "the landlord"),
        ("Who keeps and pays the water, the landlord or the tenants?", "the landlord"),
        ("Who signs the inventory and pays the water in June, the landlord or the tenants?", None),
        # Named together, both alike, with too little of the question, or compared.
        ("Who may inspect the roof, Ada or Tom?", None),
        ("Who pays, the landlord or the tenants?", None),
        ("Who signs the inventory in June, the landlord or the tenants?", None),
        ("Who pays more for the water, the landlord or the tenants?", None),
        ("Who pays the water?", None),
        ("Who does not pay the water, the landlord or the tenants?", None),
    ],
)
def test_a_sentence_that_names_one_of_them_tells(question, answer):
    found = choose(question, ["Rain fell. It was late.", BILLS])
    assert (found and found.text) == answer
    assert found is None or (found.passages, found.is_sure) == ((1,), False)


def test_a_denial_names_neither():
    text = "The desk does not hold the key. Look in the drawer."
    assert choose("Which holds the key, the desk or the drawer?", [text]) is None


@given(st.integers(1000, 2099), st.integers(1000, 2099))
def test_the_order_of_names_makes_no_difference(one, other):
    text = [f"The mill was built in {one}. The chapel was built in {other}."]
    found = {choose(f"Which is older, {pair}?", text) for pair in ("the mill or the chapel", "the chapel or the mill")}
    assert found == {None} if one == other else {("the mill" if one < other else "the chapel", (0,), True)} == found


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_is_taken(question, passages):
    choose(f"Which is older, {question} or the mill?", passages)
