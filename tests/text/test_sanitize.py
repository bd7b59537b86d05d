"""Untrusted text is shown, never obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.sanitize import TAGS, escape_markup, sanitize

PROMPT_TAGS = "question memory section document instructions notes system user assistant"
TEMPLATE_TAGS = (
    "s bos eos pad unk mask start_of_turn end_of_turn end_of_text begin_of_text think thinking tool_call tool_response"
)


def test_the_tags_of_our_prompts_are_known() -> None:
    assert set(PROMPT_TAGS.split()) <= set(TAGS)


@pytest.mark.parametrize("tag", [*PROMPT_TAGS.split(), *TEMPLATE_TAGS.split()])
@pytest.mark.parametrize("form", ["<{}>", "</{}>", "< / {} >", "<{} kind='x'>", "</{}\n>", "<\u200b/{}>", "<{}\u00ad>"])
def test_no_tag_of_a_prompt_survives(tag: str, form: str) -> None:
    assert "<" not in escape_markup(form.format(tag))
    assert "<" not in escape_markup(form.format(tag.upper()))


@pytest.mark.parametrize(
    "token",
    ["<|im_end|>", "<|im_start|>system", "<|endoftext|>", "<|eot_id|>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>"]
    + ["<s>", "</s>", "<bos>", "<start_of_turn>model", "<think>", "</think>", "[INST]", "[/INST]", "<tool_call>"],
)
def test_no_special_token_of_a_template_survives(token: str) -> None:
    assert token not in escape_markup(f"before {token} after")


@pytest.mark.parametrize(
    "text", ["a < b > c", "if (x<y) {z}", "List<String>", "[1, 2]", "<b>bold</b>", "x | y", "«été»"]
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert escape_markup(text) == text


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_shielding_is_idempotent_never_longer_and_encodable(text: str) -> None:
    shown = escape_markup(text)
    assert escape_markup(shown) == shown
    assert len(shown) <= len(text)
    shown.encode()


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_plain_text_has_nothing_that_a_terminal_obeys(text: str) -> None:
    assert not any(
        (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F or c in "\u202e\u2066" for c in sanitize(text)
    )
