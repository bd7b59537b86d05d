"""Bounded patterns leave out exactly the paths that pathspec's own leave out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from bookwheel.documents.ignore_rules import parse_rules

NAMES = st.text("ab.", min_size=1, max_size=4)
PIECES = st.one_of(st.text("ab.*?", min_size=1, max_size=6), st.sampled_from(["**", "[ab]", "[!a]*b", "*a*b*"]))
PATTERNS = st.builds(
    lambda sign, start, pieces, end: sign + start + "/".join(pieces) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PIECES, min_size=1, max_size=6),
    st.sampled_from(["", "", "/"]),
)


@given(st.lists(PATTERNS, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=7), st.sampled_from(["", "/"]))
def test_the_same_paths_are_ignored(patterns: list[str], names: list[str], end: str) -> None:
    path = "/".join(names) + end
    bounded, own = parse_rules(patterns), GitIgnoreSpec.from_lines(patterns)
    assert bounded.check_file(path).include == own.check_file(path).include


def test_a_line_that_is_no_pattern_is_left_out() -> None:
    assert parse_rules(["/", "!", "", "# a remark", "*.log"]).check_file("a.log").include is True
