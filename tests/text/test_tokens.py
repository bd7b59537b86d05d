"""Tokenizers count and fit consistently."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import TokenizerError
from bookwheel.text.tokens import EstimatingTokenizer, FileTokenizer, WordTokenizer


@given(text=st.text(max_size=200), limit=st.integers(1, 60))
def test_words_that_fit_are_within_the_limit_and_no_more_would_fit(text: str, limit: int) -> None:
    words = WordTokenizer()
    fit = words.fit(text, limit)
    assert words.count(text[:fit]) <= limit
    assert fit == len(text) or words.count(text[:fit]) == limit


@given(text=st.text(max_size=200), limit=st.integers(0, 60))
def test_the_estimate_fits_what_it_says(text: str, limit: int) -> None:
    estimate = EstimatingTokenizer()
    fit = estimate.fit(text, limit)
    assert estimate.count(text[:fit]) <= limit
    assert fit == len(text) or estimate.count(text[: fit + 1]) > limit


def test_the_estimate_is_above_what_english_and_chinese_really_have() -> None:
    english = "The keeper of the light wrote a long entry about the storm and the ships that passed before dawn. "
    assert EstimatingTokenizer().count(english) >= len(english.split()) * 1.3
    assert EstimatingTokenizer().count("灯塔看守人") == 5


def test_a_file_that_is_no_tokenizer_says_so(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        FileTokenizer(path)


@given(text=st.text(alphabet="aé😀 .\n", max_size=80), limit=st.integers(0, 60), scale=st.floats(0.4, 2.5))
def test_a_calibrated_estimate_fits_what_it_says(text: str, limit: int, scale: float) -> None:
    estimate = EstimatingTokenizer(scale)
    fit = estimate.fit(text, limit)
    assert estimate.count(text[:fit]) <= limit
    assert fit == len(text) or estimate.count(text[: fit + 1]) > limit
