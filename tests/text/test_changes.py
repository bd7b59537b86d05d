"""Words of change are counted once each, in several languages; only the sure ones let a newer line stand."""

import pytest

from bookwheel.text.changes import find_changes, tells_change


@pytest.mark.parametrize(
    "line",
    [
        "We go a week later than planned.",
        "Mr Sandhu stands in her place.",
        "They put the closing back by a week.",
        "Das Fest entfällt.",
        "La réunion est reportée.",
        "会议推迟到九号。",
    ],
)
def test_a_sentence_that_changes_something_has_a_word_for_it(line):
    assert find_changes(line)


def test_a_word_counts_once_and_other_words_not_at_all():
    assert find_changes("Later, later and LATER.") == {"later"}
    assert find_changes("The lamp stands on the pier.") == set()
    assert find_changes("Only three, and a week later.") == {"only", "later"}


def test_a_hint_alone_is_no_change():
    assert tells_change("From 3 March, ask Ada instead.")
    assert not tells_change("Only three, and a week later.")
