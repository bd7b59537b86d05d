"""Two sentences are compared by what they say: each case differs from a true one in one thing."""

import pytest

from bookwheel.verdict.agreement import Degree, compare
from bookwheel.verdict.statements import parse_statement

FOUND = [
    ("He sold 40 herrings.", "He sold 40 salted herrings in May."),
    ("It cost 5 dollars.", "It cost $5 in Este."),
    ("Ada signed the contract.", "Bo did not come and Ada signed the contract."),
    ("Ada signed the contract.", "Bo did not come whereas Ada signed the contract."),
    ("The harbour master of Skarholm is Ada Quill.", "Ada Quill, the harbour master of Skarholm, sleeps."),
    ("Twenty-one ships left Este.", "After the storm, 21 ships left Este."),
    ("Ada wrote the letter.", "The letter was written by Ada."),
    ("The letter was written by Ada in 1588.", "In 1588 Ada wrote the letter."),
    ("The plan was signed by Ada.", "The plan signed by Ada lies here."),
    ("Ada Quill is the captain.", "Ada Quill, the captain, sleeps."),
    ("Ada is the captain.", "Ada as the captain signed the plan."),
    # A phrase with a joint of its own, moved to either side.
    ("Bo sold herrings in the old market and hall.", "In the old market and hall Bo sold herrings."),
    ("In the market and hall Bo sold herrings.", "Bo sold herrings in the market and hall."),
    ("Ada is the captain.", "In May Ada was the captain of Rome."),
    # What stands behind a joint or a comma is said of something else.
    ("Ada signed.", "Ada signed and did not sleep."),
    ("Ada signed.", "Ada signed, not Bo."),
    ("Ada sold pears to Bo.", "Ada sold pears, 40 apples and 12 plums to Bo."),
    # Half of a stretch that is the claim's own words is enough, a third is not.
    ("Gulls circled.", "Gulls slowly, softly circled."),
    ("Gulls circled.", "Gulls slowly, softly, sweetly circled."),
    ("Gulls circled.", "Rain fell, dogs slept, cats ran, gulls circled."),
    ("Ada sold 40 apples.", "Ada sold 40 apples and 12 pears."),
    ("Ada sold 12 pears.", "Ada sold 40 apples and 12 pears."),
    ("雨落在屋顶上", "雨落在老屋顶上"),
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
    ("Bo left for Rome in 1588.", "Ada stayed in 1588 and Bo left for Rome."),
    ("In 1588 Ada left.", "Ada left and Bo came in 1588."),
    ("Ada left the flood.", "Ada left before the flood."),
    ("He sold 5 crates.", "He sold under 5 crates."),
    ("Gulls ate the bread.", "Gulls ate fish or the bread."),
    ("Ada, in Rome, slept.", "The son of Ada, in Rome, slept."),
    ("Ada of Rome slept.", "The son of Ada of Rome slept."),
    ("Gulls circled.", "Gulls slowly, softly, sweetly, gently circled."),
    ("Ada signed.", "Ada signed not the contract but the letter."),
    ("Ada signed the contract.", "Ada signed not the contract today."),
    # Four signs stand beside each other, here only two pairs of them.
    ("雨落屋顶", "雨落老屋顶"),
    ("Gulls circled.", "Gulls sleep, ships sail, dogs bark, rain falls, winds blow and herons circled."),
    # A negation behind the words, in front of them within three words, but not beyond.
    ("Ada signed the contract.", "Ada signed the contract never."),
    ("Ada signed the contract.", "Not even old Ada signed the contract."),
    ("Ada signed the contract.", "The son of old Ada signed the contract."),
    ("He sold 5 crates.", "He sold at most 5 crates."),
    ("The mill is Ada's.", "The mill met Ada's cat."),
    ("雨落在屋顶上", "雨落在老屋的山顶之上"),
    ("王芳买船", "王芳的儿子买船"),
    ("Bo left.", "Bo and 12 left."),
    ("He paid 12 livres.", "He paid 5 crowns, 7 sous or 12 livres."),
]


CONFLICT = [
    ("Ada Quill signed the contract in 1588.", "Bo Reed signed the contract in 1588."),
    ("Ada signed the plan.", "Ada never signed the contract."),
    ("Ada Quill paid Bo Reed.", "Bo Reed paid Ada Quill."),
    ("He sold 40 herrings.", "He sold 12 herrings."),
    ("Yesterday Ada paid Bo.", "Yesterday Bo paid Ada."),
    ("张伟付给王芳", "王芳付给张伟"),
    ("张伟付给IBM", "IBM付给张伟"),
    ("The miller saw Ada pay Bo.", "The miller saw Bo pay Ada."),
]
PARTLY = [
    ("Ada signed the long contract.", "Ada signed the contract."),
    ("Dogs bite cats.", "Cats bite dogs."),
    ("Ada met Bo. Ada met Bo.", "Bo met Ada and Bo."),
]


@pytest.mark.parametrize(("claim", "passage"), FOUND)
def test_the_same_in_other_order_or_form_or_among_details_is_found(claim, passage):
    assert compare(parse_statement(claim), parse_statement(passage)).degree is Degree.FOUND


@pytest.mark.parametrize(("claim", "passage"), NOT_FOUND)
def test_what_differs_in_one_thing_or_stands_otherwise_is_not(claim, passage):
    assert compare(parse_statement(claim), parse_statement(passage)).degree is not Degree.FOUND


@pytest.mark.parametrize(("claim", "passage"), CONFLICT)
def test_another_name_number_or_order_contradicts(claim, passage):
    assert compare(parse_statement(claim), parse_statement(passage)).degree is Degree.CONFLICT


@pytest.mark.parametrize(("claim", "passage"), PARTLY)
def test_other_words_do_not_contradict(claim, passage):
    assert compare(parse_statement(claim), parse_statement(passage)).degree is Degree.PARTLY


def test_words_about_the_document_need_not_stand_in_it():
    claim = parse_statement("The document says that Ada signed the contract.")
    assert compare(claim, parse_statement("Ada signed the contract.")).degree is Degree.FOUND
    claim = parse_statement("The Document Bureau says that Ada signed the contract.")
    assert compare(claim, parse_statement("Ada signed the contract.")).degree is not Degree.FOUND


def test_the_span_is_that_of_the_matched_words():
    passage = "Rain fell. Ada signed the contract in 1588 at noon."
    for claim in ("Ada signed the contract.", "Ada signed the contract and left."):
        agreement = compare(parse_statement(claim), parse_statement(passage))
        assert passage[agreement.start : agreement.end] == "Ada signed the contract"
    none = compare(parse_statement("Gulls circled."), parse_statement(passage))
    assert (none.start, none.end, none.matched) == (0, 0, frozenset())


def test_a_claim_of_very_many_words_is_partly_at_most():
    words = " ".join(f"word{'abcdefghij'[at // 10]}{'abcdefghij'[at % 10]}" for at in range(61))
    for count, degree in ((60, Degree.FOUND), (61, Degree.PARTLY)):
        text = " ".join(words.split()[:count])
        assert compare(parse_statement(text), parse_statement(text)).degree is degree
