"""Variable tracking."""

import re

from bookwheel.lab.tasks import make_samples


def made(tokenizer, **options):
    return next(make_samples("vt", tokens=1500, count=1, seed=6, tokenizer=tokenizer, **options))


def solved(text, value):
    """All names that hold the value, by running the assignments."""
    held = {}
    for name, source in re.findall(r"LET (\w+) = (\w+)", text):
        held[name] = held.get(source, source)
    return {name for name, found in held.items() if found == value}


def test_the_chain_has_four_hops_and_running_it_gives_the_golds(tokenizer):
    sample = made(tokenizer)
    value = re.search(r"\d{5}", sample.question)[0]
    assert len(sample.golds) == 5
    assert solved(sample.text, value) == set(sample.golds)
    assert sample.text.count("LET ") == 5


def test_other_chains_are_there_and_not_asked_for(tokenizer):
    sample = made(tokenizer, hops=2, chains=3)
    value = re.search(r"\d{5}", sample.question)[0]
    assert sample.text.count("LET ") == 9
    assert solved(sample.text, value) == set(sample.golds)
    assert len(sample.golds) == len(sample.evidence) == 3
