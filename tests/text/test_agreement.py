"""Two sentences are compared by what they say: each case differs from a true one in one thing."""

import pytest

from bookwheel.text.agreement import Degree, compare
from bookwheel.text.statements import parse_statement

FOUND = [
    ("He sold 40 herrings.", "He sold 40 salted herrings in May."),
    ("It cost 5 dollars.", "It cost $5 in Este."),
    ("Ada signed the contract.", "Bo did not come and Ada signed the contract."),
    ("Ada signed the contract.", "Bo did not come whereas Ada signed the contract."),
    ("The harbour master of Skarholm is Ada Quill.", "Ada Quill, the harbour master of Skarholm, sleeps."),
    ("Twenty-one ships left Este.", "After the storm, 21 ships left Este."),
    ("Ada wrote the letter.", "The letter was written by Ada."),
    ("The letter was written by Ada in 1588.", "In 1588 Ada wrote the letter."),
]
NOT_FOUND = [
    ("He sold 40 herrings.", "He sold 40 barrels, and herrings were dear."),
    ("It cost 5 euros.", "It cost $5 in Este."),
    ("Ada signed the contract.", "It is not true that Ada signed the contract."),
    ("Ada signed the contract.", "The son of Ada signed the contract."),
    ("Ada signed the contract.", "Ada's son signed the contract."),
    ("Ada signed the contract.", "Bo believed that Ada signed the contract."),
    ("Ada signed the contract.", "Ada would sign the contract if Bo paid."),
    ("Ada is the captain.", "Ada met the captain."),
    ("Ada is the captain.", "Ada met Bo, the captain."),
    ("He sold 5 crates.", "He sold more than 5 crates."),
    ("He sold 5 crates.", "He sold 5 or 6 crates."),
    ("Ada left before the flood.", "Ada left after the flood."),
    ("Ada sailed from Rome to Este.", "Ada sailed from Este to Rome."),
    ("Ada left for Rome in 1588.", "Ada stayed in 1588 and Bo left for Rome."),
]


@pytest.mark.parametrize(("claim", "passage"), FOUND)
def test_the_same_in_other_order_or_form_is_found(claim, passage):
    assert compare(parse_statement(claim), parse_statement(passage)).degree is Degree.FOUND


@pytest.mark.parametrize(("claim", "passage"), NOT_FOUND)
def test_what_differs_in_one_thing_is_not(claim, passage):
    assert compare(parse_statement(claim), parse_statement(passage)).degree is not Degree.FOUND
