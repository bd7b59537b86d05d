"""A difference rebuilds both memories, and gives each kind of edit one verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.views.diff import ChangeKind, changed_share, diff_memories, mark_words, split_lines

words = st.sampled_from(["Ada", "ada", "signed", "1588", "1589", "in", "May", "的", "人", "…", "-", "é"])
lines = st.lists(words, max_size=5).map(" ".join)
memories = st.lists(lines, max_size=8).map("\n".join) | st.text(max_size=60)


def kinds(before, after):
    return [(change.kind.value, change.text) for change in diff_memories(before, after)]


@given(memories, memories)
def test_a_difference_rebuilds_both_memories(before, after):
    changes = diff_memories(before, after)
    assert [change.text for change in changes if change.kind is not ChangeKind.GONE] == split_lines(after)
    assert [change.old_text for change in changes if change.kind is not ChangeKind.NEW] == split_lines(before)


@given(memories)
def test_a_memory_that_stayed_the_same_is_kept(memory):
    assert {change.kind for change in diff_memories(memory, memory)} <= {ChangeKind.KEPT}
    assert changed_share(memory, memory) == 0


@given(memories, memories)
def test_the_words_of_a_reworded_line_join_to_it(before, after):
    for change in diff_memories(before, after):
        assert bool(change.words) is (change.kind is ChangeKind.REWORDED)
        assert {run.kind for run in change.words} <= {ChangeKind.KEPT, ChangeKind.NEW, ChangeKind.GONE}
        if change.words:
            assert "".join(run.text for run in change.words if run.kind is not ChangeKind.GONE) == change.text
            assert all(one.kind is not other.kind for one, other in zip(change.words, change.words[1:], strict=False))


@given(memories, memories)
def test_the_share_that_changed_lies_between_nothing_and_all(before, after):
    assert 0 <= changed_share(before, after) <= 1
    assert changed_share(before, after) == pytest.approx(changed_share(after, before))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("signed by ada", "Signed by Ada", [("reworded", "Signed by Ada")]),
        ("signed by Ada.", "signed by Ada!", [("reworded", "signed by Ada!")]),
        ("a b\nc d", "c d\na b", [("new", "c d"), ("kept", "a b"), ("gone", "c d")]),
        ("a b\na b", "a b", [("kept", "a b"), ("gone", "a b")]),
        ("一五八八年建成", "一五八九年建成", [("reworded", "一五八九年建成")]),
        ("", "Ada", [("new", "Ada")]),
        ("Ada", "", [("gone", "Ada")]),
        ("", "", []),
        ("a\n\nb", "a\nb\n", [("kept", "a"), ("kept", "b")]),
        ("rain fell", "Ada signed", [("gone", "rain fell"), ("new", "Ada signed")]),
        ("…", "—", [("gone", "…"), ("new", "—")]),
    ],
)
def test_each_edit_has_its_verdict(before, after, expected):
    assert kinds(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        ("The rent is GBP 7,850 a month.", "The rent is GBP 8,120 a month.", "The rent is GBP [-7,850-]{+8,120+} a month."),
        ("The rate is 2.5 % from 9:30.", "The rate is 2.75 % from 9:45.", "The rate is [-2.5-]{+2.75+} % from [-9:30-]{+9:45+}."),
        ("Write to Mr Desmond Achebe, Leeds.", "Write to Ms Rosa Okafor, Leeds.", "Write to [-Mr Desmond Achebe-]{+Ms Rosa Okafor+}, Leeds."),
        ("It may not be let.", "It may be let.", "It may [-not -]be let."),
        ("租金为7,850元。", "租金为8,120元。", "租金为[-7,850-]{+8,120+}元。"),
        ("其中十八块受损。", "其中二十八块受损。", "其中[-十八-]{+二十八+}块受损。"),
    ],
)  # fmt: skip
def test_numbers_and_names_are_replaced_whole(before, after, marked):
    assert [mark_words(change) for change in diff_memories(before, after)] == [marked]


def test_lines_are_reworded_in_their_order():
    before = "the bridge was built in 1588\nthe tower fell in 1702"
    after = "the bridge was built in 1589\nthe tower burned in 1702\nAda signed"
    assert kinds(before, after) == [
        ("reworded", "the bridge was built in 1589"),
        ("reworded", "the tower burned in 1702"),
        ("new", "Ada signed"),
    ]


def test_a_line_is_paired_with_the_most_similar_one():
    before = "the mill was sold to Odo\nthe mill was sold to Ada in May"
    assert kinds(before, "the mill was sold to Ada in June") == [
        ("gone", "the mill was sold to Odo"),
        ("reworded", "the mill was sold to Ada in June"),
    ]


def test_lines_that_share_less_than_the_least_similarity_are_not_paired():
    # Words in common, twice, over all words: 4 of 9 is below 0.45, 4 of 8 is not.
    assert kinds("a b c d", "a b x y z")[0][0] == "gone"
    assert kinds("a b c d", "a b x y")[0][0] == "reworded"


def test_the_words_of_a_line_are_marked_as_in_a_word_diff():
    (change,) = diff_memories("built in 1588 by monks", "built in 1589 by old monks")
    assert mark_words(change) == "built in [-1588-]{+1589+} by {+old +}monks"
    (change,) = diff_memories("", "{0} and [x]")
    assert mark_words(change) == "{0} and [x]"


def test_the_share_counts_words_and_not_their_order():
    assert changed_share("a b c d", "d c b a") == 0
    assert changed_share("a b c d", "a b c e") == 0.25
    assert changed_share("a b", "c d") == 1
    assert changed_share("", "a") == 1
    assert changed_share(" ", "\n") == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n".join(f"{i} {i + 1} x" for i in range(1300)), "\n".join(f"{i} {i + 2} x" for i in range(5000, 6300))),
        ("\n".join("ab"[i % 2] for i in range(2000)), "\n".join("abb"[i % 3] for i in range(2000))),
        ("的一是不了" * 1200, "的了一不是" * 1200),
        (" ".join(map(str, range(2000))), " ".join(map(str, range(1000, 3000)))),
    ],
)
@pytest.mark.slow
def test_memories_of_4000_tokens_are_compared_whole(before, after):
    changes = diff_memories(before, after)
    new = [change.text for change in changes if change.kind is not ChangeKind.GONE]
    old = [change.old_text for change in changes if change.kind is not ChangeKind.NEW]
    assert (new, old) == (after.splitlines(), before.splitlines())
