"""RULER's needles, by its definitions. Variable tracking."""

import re

import pytest

from bookwheel.lab.tasks import make_samples
from bookwheel.lab.tasks.needles import VARIANTS

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


def made(name, tokenizer, data, language="en", seed=3):
    return next(make_samples(name, tokens=3000, count=1, seed=seed, language=language, tokenizer=tokenizer, data=data))


@pytest.mark.parametrize("name", list(VARIANTS))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_needles_of_each_kind_are_as_many_as_defined(name, language, tokenizer, data):
    sample = made(name, tokenizer, data, language)
    kind = VARIANTS[name]
    assert len(sample.golds) == kind.values * kind.queries == len(set(sample.golds))
    value = UUID if kind.uuid_values else r"\d{7}"
    assert all(re.fullmatch(value, gold) for gold in sample.golds)
    assert all(sample.text.count(gold) == 1 for gold in sample.golds)
    in_text = len(set(re.findall(value, sample.text)))
    if kind.haystack == "needles":
        assert in_text > 50
    else:
        assert in_text == kind.keys * kind.values


def test_four_queries_have_four_keys_and_four_values_have_one(tokenizer, data):
    assert len(made("niah_multiquery", tokenizer, data).metadata["keys"]) == 4
    assert len(made("niah_multivalue", tokenizer, data).metadata["keys"]) == 1


def test_the_haystack_is_named(tokenizer, data):
    assert made("niah_single_1", tokenizer, data).metadata["haystack"] == "noise"
    assert made("niah_single_2", tokenizer, data).metadata["haystack"] == "essay"
    assert made("niah_single_2", tokenizer, data.parent).metadata["haystack"] == "prose"
    assert made("niah_multikey_2", tokenizer, data).metadata["haystack"] == "needles"


def test_needles_lie_at_all_depths_and_in_several_wordings(tokenizer, data):
    samples = list(make_samples("niah_single_1", tokens=2000, count=60, seed=1, tokenizer=tokenizer, data=data))
    depths = [sample.evidence[0].start / sample.document.length for sample in samples]
    assert min(depths) < 0.15
    assert max(depths) > 0.85
    wordings = {
        sample.document.slice(sample.evidence[0].start, sample.evidence[0].end)
        .replace(sample.golds[0], "V")
        .replace(sample.metadata["keys"][0], "K")
        for sample in samples
    }
    assert len(wordings) >= 4


def test_keys_never_repeat_among_distractors(tokenizer, data):
    sample = made("niah_multikey_2", tokenizer, data)
    assert (
        sample.text.count(f"{sample.metadata['keys'][0]} ") + sample.text.count(f"{sample.metadata['keys'][0]},") == 1
    )


def made_chain(tokenizer, **options):
    return next(make_samples("vt", tokens=1500, count=1, seed=6, tokenizer=tokenizer, **options))


def solved(text, value):
    """All names that hold the value, by running the assignments."""
    held = {}
    for name, source in re.findall(r"LET (\w+) = (\w+)", text):
        held[name] = held.get(source, source)
    return {name for name, found in held.items() if found == value}


def test_the_chain_has_four_hops_and_running_it_gives_the_golds(tokenizer):
    sample = made_chain(tokenizer)
    value = re.search(r"\d{5}", sample.question)[0]
    assert len(sample.golds) == 5
    assert solved(sample.text, value) == set(sample.golds)
    assert sample.text.count("LET ") == 5


def test_other_chains_are_there_and_not_asked_for(tokenizer):
    sample = made_chain(tokenizer, hops=2, chains=3)
    value = re.search(r"\d{5}", sample.question)[0]
    assert sample.text.count("LET ") == 9
    assert solved(sample.text, value) == set(sample.golds)
    assert len(sample.golds) == len(sample.evidence) == 3
