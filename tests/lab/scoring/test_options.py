"""The options of a multiple choice."""

import pytest

from bookwheel.lab.scoring import choice

OPTIONS = "Which town? A. Ost  B. Bo  C. Karr"


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("The correct answer is (B).", True),
        ("(B) Bo", True),
        ("B. Bo", True),
        ("Answer: B", True),
        ("**B**", True),
        ("Bo", True),
        ("a", False),
        ("A", False),
        ("The answer is C, not B.", False),
        ("It was Bo, and not Karr.", True),
        ("A or B", False),
        ("B, C", False),
        ("B/A", False),
        ("B、C", False),
        ("B, Bo", True),
        ("Bo, or perhaps Karr", False),
        ("", False),
    ],
)
def test_an_option_is_picked_by_its_letter_or_its_text(answer, right):
    assert choice(answer, ["B", "Bo"], OPTIONS).score == right
