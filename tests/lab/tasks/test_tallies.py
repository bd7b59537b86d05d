"""Common and frequent words, by counting them."""

import re
from collections import Counter

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import make_samples


def counted(name, tokens, tokenizer, data, **options):
    sample = next(make_samples(name, tokens=tokens, count=1, seed=2, tokenizer=tokenizer, data=data, **options))
    return sample, Counter(re.findall(r"[a-z]+", sample.text))


def test_ten_words_stand_thirty_times_and_the_others_three(tokenizer, tmp_path):
    sample, counts = counted("cwe", 6000, tokenizer, tmp_path)
    assert {counts[gold] for gold in sample.golds} == {30}
    others = [count for word, count in counts.items() if word not in sample.golds]
    assert max(others) == 3
    assert sum(count == 3 for count in others) >= len(others) - 1


def test_in_a_short_text_the_counts_are_six_and_one(tokenizer, data):
    sample, counts = counted("cwe", 500, tokenizer, data)
    assert {counts[gold] for gold in sample.golds} == {6}
    assert max(count for word, count in counts.items() if word not in sample.golds) == 1


def test_counts_grow_together_when_the_vocabulary_is_used_up(tokenizer, data, tmp_path):
    sample, counts = counted("cwe", 100_000, tokenizer, tmp_path)
    often = {counts[gold] for gold in sample.golds}
    assert len(often) == 1
    assert often.pop() == 10 * max(count for word, count in counts.items() if word not in sample.golds) > 30


def test_the_list_is_numbered_through(tokenizer, data):
    sample, _ = counted("cwe", 700, tokenizer, data)
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", sample.text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_frequencies_follow_a_zeta_distribution_of_alpha_two(tokenizer, data):
    sample, counts = counted("fwe", 20_000, tokenizer, data)
    dots = sample.text.split().count("...")
    ranked = [count for _, count in counts.most_common(5)]
    assert [word for word, _ in counts.most_common(3)] == list(sample.golds)
    for rank, count in enumerate([dots, *ranked], start=1):
        assert count == pytest.approx(dots / rank**2, rel=0.02, abs=1)


def test_the_three_words_stand_apart_from_the_fourth_even_in_the_shortest_text(tokenizer, data):
    with pytest.raises(InputError, match="needs at least") as error:
        counted("fwe", 10, tokenizer, data)
    least = int(re.search(r"at least (\d+)", str(error.value))[1])
    sample, counts = counted("fwe", least, tokenizer, data)
    third, fourth = (counts.most_common(4)[at][1] for at in (2, 3))
    assert third > fourth + 1
    assert set(sample.golds) == {word for word, _ in counts.most_common(3)}


@pytest.mark.parametrize("alpha", [0, 1, 9, "steep"])
def test_an_alpha_that_makes_no_distribution_is_an_error(alpha, tokenizer, data):
    with pytest.raises(InputError, match="alpha"):
        counted("fwe", 2000, tokenizer, data, alpha=alpha)


@pytest.mark.parametrize("alpha", [1.1, 3.5])
def test_another_alpha_can_be_asked_for(alpha, tokenizer, data):
    sample, counts = counted("fwe", 8000, tokenizer, data, alpha=alpha)
    assert [word for word, _ in counts.most_common(3)] == list(sample.golds)
