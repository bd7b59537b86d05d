"""Places and verdicts in words."""

from __future__ import annotations

import pytest

from bookwheel.views.verdicts import describe_pages


@pytest.mark.parametrize(
    ("pages", "words"),
    [((), ""), ((4,), "p. 4"), ((4, 5), "p. 4–5"), ((9, 4, 5, 6, 6), "p. 4–6, 9"), ((1, 3, 5), "p. 1, 3, 5")],
)
def test_pages_in_a_row_are_told_by_their_ends(pages: tuple[int, ...], words: str) -> None:
    assert describe_pages(pages) == words
