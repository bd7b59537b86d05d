"""A reply that repeats itself is told from one whose rows or words are alike."""

import pytest

from bookwheel.models.repetition import is_looping

SENTENCE = "The keeper wrote that the winter store held nine barrels of oil, and that the boat came late. "


@pytest.mark.parametrize(
    "text",
    [
        "A beginning of its own. " + "The cat sat.\n" * 200,
        SENTENCE * 20,
        "x" * 1700,
        "".join(f"{at}. The cat sat on the mat.\n" for at in range(1, 90)),
        f"{SENTENCE}\n{SENTENCE}And then some.\n\n" * 9,
    ],
)
def test_one_passage_over_and_over_is_a_loop(text):
    assert is_looping(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-" * 1500,
        "| 0 | 0 | open |\n" * 90,
        SENTENCE * 8,
        "The cat sat.\n" * 200 + SENTENCE,
        "".join(f"| 2026-03-{at:02d} | {at * 317} | open |\n" for at in range(1, 150)),
        "".join(f"word{at} " for at in range(900)),
    ],
)
def test_equal_rows_and_a_passage_said_some_times_are_none(text):
    assert not is_looping(text)
