"""Chat completions, made of texts."""

from __future__ import annotations

import pytest

from bookwheel.serve.openai.completions import cut_at_stop


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (None, "one. two. three"),
        ([], "one. two. three"),
        ("", "one. two. three"),
        ([""], "one. two. three"),
        ("four", "one. two. three"),
        (".", "one"),
        (["three", "two"], "one. "),
        (["four", ". t", ""], "one"),
        ("one", ""),
        ("three", "one. two. "),
    ],
)
def test_a_text_is_cut_at_the_first_stop_sequence(stop, expected):
    assert cut_at_stop("one. two. three", stop) == expected
