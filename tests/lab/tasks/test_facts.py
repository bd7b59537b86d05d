"""Tasks that a search for the question's words does not pass."""

import re

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import make_samples
from bookwheel.text.lexicon import FUNCTION_WORDS
from bookwheel.text.normalization import words


def make(name, data, tokenizer, *, count=5, **options):
    return list(make_samples(name, tokens=900, count=count, seed=3, tokenizer=tokenizer, data=data, **options))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_one_asked_for_shares_no_word_with_the_question(language, data, tokenizer):
    common = set(words("的 在 有")) | FUNCTION_WORDS | {"person"}
    for sample in make("association", data, tokenizer, language=language):
        (evidence,) = sample.evidence
        quote = sample.document.slice(evidence.start, evidence.end)
        assert sample.golds[0] in quote
        if language == "en":
            assert not set(words(quote)) & set(words(sample.question)) - common
        else:
            trade = re.search("应当是(.+?)？", sample.question)[1]
            assert trade not in sample.text


def test_people_have_different_trades_and_their_number_is_bounded(data, tokenizer):
    (sample,) = make("association", data, tokenizer, count=1, people=12)
    assert len(re.findall(r"In the house of|Whoever called on", sample.text)) == 12
    with pytest.raises(InputError, match="at most 8 in zh"):
        make("association", data, tokenizer, language="zh", people=9)
    with pytest.raises(InputError, match="at most 12"):
        make("association", data, tokenizer, people=13)


ROADS = (
    r"From (?P<a>\w+) the (?P<r>\w+) road leads to (?P<b>\w+)\.",
    r"Who takes the (?P<r>\w+) road out of (?P<a>\w+) comes to (?P<b>\w+)\.",
    r"The (?P<r>\w+) road from (?P<a>\w+) ends at (?P<b>\w+)\.",
)


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_the_walk_ends_where_its_roads_lead_and_nowhere_else(steps, data, tokenizer):
    for sample in make("walk", data, tokenizer, steps=steps):
        found = [match for form in ROADS for match in re.finditer(form, sample.text)]
        roads = {(match["a"], match["r"]): match["b"] for match in found}
        place = re.search(r"starts at (\w+)", sample.question)[1]
        taken = re.findall(r"the (\w+) road", sample.question)
        assert len(taken) == steps
        for road in taken:
            others = [end for (start, name), end in roads.items() if start == place and name != road]
            assert others
            place = roads[place, road]
        assert (place,) == sample.golds
