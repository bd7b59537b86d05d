"""The toy tasks: the facts of a sample decide its answer, nothing else says anything of the thing that is asked about."""

import re

import pytest

from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.toys import TOYS, toy_samples, vocabulary
from bookwheel.text.chunks import split
from bookwheel.text.tokens import WordTokenizer

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def solve(task: str, question: str, text: str) -> str:
    """Answer as somebody who reads the lines from the first to the last."""
    key = question.split(" ", 1)[0]
    facts = re.findall(r"^(\w+) (has|at|adds|near) (\w+) \.$", text, re.MULTILINE)
    said = [(verb, what) for who, verb, what in facts if who == key]
    if task == "toy-ledger":
        return NUMBERS[sum(NUMBERS.index(what) for _, what in said)]
    if task == "toy-bridge":
        ((_, middle),) = said
        (answer,) = [what for who, verb, what in facts if (who, verb) == (middle, "has")]
        return answer
    return said[-1][1]


@pytest.mark.parametrize("task", TOYS)
@pytest.mark.parametrize("tokens", [64, 640])
def test_the_gold_answer_follows_from_the_lines_and_each_word_is_known(task, tokens):
    known = set(vocabulary(task))
    for sample in toy_samples(task, tokens=tokens, count=30, seed=3):
        assert solve(task, sample.question, sample.text) == sample.golds[0]
        assert WordTokenizer().count(sample.text) == tokens
        assert {*sample.text.split(), *sample.question.split(), *sample.golds} <= known


@pytest.mark.parametrize("task", TOYS)
def test_the_ideal_memory_grows_with_the_facts_and_ends_with_the_answer(task):
    for sample in toy_samples(task, tokens=64, count=20, seed=1):
        chunks = list(split(sample.document, WordTokenizer(), 16))
        memories = ideal_memories(sample, chunks)
        assert memories[-1].split()[-1] == sample.golds[0]
        assert all(len(memory.split()) <= 6 for memory in memories)
        # Each line of a memory is said by what was read so far; of a ledger the sum is.
        read = "".join(chunk.text for chunk in chunks[:2])
        if task != "toy-ledger":
            assert all(line in read for line in memories[1].splitlines())


def test_the_links_of_a_bridge_stand_in_their_order():
    for sample in toy_samples("toy-bridge", tokens=64, count=20, seed=2):
        first, second = sample.evidence
        assert " near " in sample.text[first.start : first.end]
        assert " has " in sample.text[second.start : second.end]
        assert first.end <= second.start


def test_the_same_arguments_give_the_same_samples_and_another_seed_others():
    assert toy_samples("toy-ledger", tokens=64, count=5, seed=1) == toy_samples(
        "toy-ledger", tokens=64, count=5, seed=1
    )
    assert toy_samples("toy-ledger", tokens=64, count=5, seed=1) != toy_samples(
        "toy-ledger", tokens=64, count=5, seed=2
    )


@pytest.mark.parametrize(
    ("task", "least"), [("toy-records", 4), ("toy-whereabouts", 12), ("toy-ledger", 12), ("toy-bridge", 8)]
)
def test_a_sample_too_short_for_its_facts_says_how_many_tokens_it_needs(task, least):
    assert toy_samples(task, tokens=least, count=1, seed=0)
    with pytest.raises(ConfigError, match=rf"{task} needs {least} tokens or more"):
        toy_samples(task, tokens=least - 1, count=1, seed=0)
