"""What a question compares: the most or the least, and the two that it names."""

import pytest

from bookwheel.text.comparatives import find_alternatives, find_order


@pytest.mark.parametrize(
    ("question", "two"),
    [
        ("Which is older, the mill or the chapel?", ("the mill", "the chapel")),
        ("Was the roof or the boiler cheaper?", ("the roof", "the boiler")),
        ("Which is older, the boiler in the cellar or the pump?", ("the boiler in the cellar", "the pump")),
        ("Do more of them live in Low Stavelock or in the town?", ("in Low Stavelock", "in the town")),
        ("Who was born first, Ada Quill or Tom Rook?", ("Ada Quill", "Tom Rook")),
        ("Do they pay the hall or the den for more?", ("the hall", "the den")),
        ("Was it ended by Ada or by Tom sooner?", ("by Ada", "by Tom")),
        ("Was Ada Quill or Tom Rook born first?", ("Ada Quill", "Tom Rook")),
        ("bigger: the north shed or the south one", ("the north shed", "the south one")),
        ("哪个更贵，木桶还是铁桶？", ("木桶", "铁桶")),
        ("木桶和铁桶哪个便宜？", ("木桶", "铁桶")),
        ("Is the gate open or not?", ()),
        ("If it rains or snows, who clears the path?", ()),
        ("On Saturday or Sunday, when does the museum open?", ()),
        ("When an owner or tenant dies, how long may the family stay?", ()),
        ("How many chairs or tables are there?", ()),
        ("Who is the owner or manager?", ()),
        ("What is the price of the red or blue one?", ()),
        ("张三和李四在哪里工作？", ()),
        (" " * 10_000, ()),
        ("Are there ten or more sheds?", ()),
        ("Which of red or blue or green is it?", ()),
        ("Is it the red one or cheaper?", ()),
        ("Is it the red one or dearest of all?", ()),
        ("Which is older, the mill or the chapel or the pump?", ()),
        ("Who wound the clock?", ()),
    ],
)
def test_the_two_of_a_question(question, two):
    found = find_alternatives(question)
    assert (found.names if found else ()) == two


@pytest.mark.parametrize(
    ("question", "is_least", "group", "takes_least"),
    [
        ("Which is older?", False, "day", True),
        ("Which is older?", False, "time", False),
        ("Which has been here longer?", False, "day", True),
        ("Which is longer?", False, "measure", False),
        ("Which is faster?", False, "time", True),
        ("Which is slower?", True, "time", False),
        ("Which is slower?", True, "measure", True),
        ("哪个更慢？", True, "time", False),
        ("谁最年轻？", True, "day", False),
        ("Which opens later?", False, "day", False),
    ],
)
def test_of_some_figures_the_order_is_the_other_way_round(question, is_least, group, takes_least):
    order = find_order(question)
    assert order is not None
    assert (order.is_least, order.takes_least(group)) == (is_least, takes_least)


@pytest.mark.parametrize(
    "question", ["Which is longer or shorter?", "How long is it?", "Which is safer?", "谁是老师？"]
)
def test_else_there_is_no_order(question):
    assert find_order(question) is None
