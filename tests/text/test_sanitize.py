"""Untrusted text is shown, never obeyed."""

from __future__ import annotations

import json
import re
import unicodedata
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.sanitize import TAGS, _load_looks, escape_markup, restore_markup, sanitize

PROMPT_TAGS = "question memory section document instructions notes system user assistant"
FAMILIES = json.loads((Path(__file__).parents[1] / "fixtures" / "special_tokens.json").read_text("utf-8"))
TOKENS = sorted({token for tokens in FAMILIES.values() for token in tokens})
BRACKETS = "<[\uff1c\ufe64\uff3b\ufe47"
# What a tolerant reader skips, and what a tokenizer's normal form drops.
SKIPPED = st.text(st.sampled_from(" \t\n/\u200d\u200c\u034f\ufe0f\u00ad\u200b\u2060\ufeff\u115f<"), max_size=120)
TEMPLATE_TAGS = (
    "s bos eos pad unk mask start_of_turn end_of_turn end_of_text begin_of_text think thinking tool_call tool_response"
)


def test_the_tags_of_our_prompts_are_known() -> None:
    prompts = resources.files("bookwheel") / "prompts"
    ours = {tag for file in prompts.iterdir() for tag in re.findall(r"</?(\w+)>", file.read_text("utf-8"))}
    assert ours
    assert ours | set(PROMPT_TAGS.split()) <= set(TAGS)


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


@given(st.sampled_from(TOKENS), st.text(max_size=20), st.text(max_size=20))
def test_no_special_token_of_any_family_survives_wherever_it_stands(token: str, before: str, after: str) -> None:
    shown = escape_markup(f"{before}{token}{after}")
    assert token not in shown
    for form in ("NFC", "NFKC", "NFKD"):
        assert token not in unicodedata.normalize(form, shown)


@given(st.sampled_from(PROMPT_TAGS.split()), SKIPPED, st.sampled_from("<\uff1c\ufe64"), st.text(max_size=120))
def test_no_bracket_stands_before_a_name_of_ours_whatever_is_between_and_behind(
    tag: str, between: str, bracket: str, behind: str
) -> None:
    shown = escape_markup(f"{bracket}{between}{tag} {behind}")
    assert not set(shown[: shown.index(tag)]) & set("<\uff1c\ufe64")


@given(st.sampled_from(PROMPT_TAGS.split()), st.data())
def test_characters_that_are_ignored_hide_no_name(tag: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(tag) - 1))
    hidden = data.draw(st.sampled_from("\u200d\u200c\u034f\ufe0f\u00ad\U000e0041"))
    wide = "".join(chr(ord(c) + 0xFEE0) for c in tag)
    for name in (tag[:at] + hidden + tag[at:], wide, tag.upper()):
        assert "<" not in escape_markup(f"</{name}>")


@pytest.mark.parametrize(
    "text",
    [
        "</section" + " " * 81 + ">",
        "</section x='<'>",
        "<\u200d/section>",
        "<<SYS>>",
        "[SYSTEM_PROMPT]",
        "[TOOL_CALLS]",
        "[gMASK]",
        "<unused0>",
        "</section",
        "<tag|><SOME_NEW_TOKEN>",
        "<\u03bcem\u03bfry>",
        "</\u00b5emory>",
    ],
)
def test_markup_that_is_bent_is_escaped_all_the_same(text: str) -> None:
    assert not set(escape_markup(text)[:2]) & set(BRACKETS)


@pytest.mark.parametrize(
    "code",
    [
        "for (int i = 0; i < n; i++) a[i] <<= b[i] >> 2;",
        "std::vector<size_t> v; std::map<std::string, int> m; #include <sys/types.h>",
        "x[mask] = y[user]; d['key'][0]; weights[args.prefix]; a<b[c]",
        "cat <<EOF\n[section]\nuser = 1\n[tool.ruff]\nEOF\n",
        "2026-11-22 [INFO] [ERROR] [main] started <nobody@example.org>",
        "fn f<'a, T: Into<Option<u8>>>(x: &'a [T]) -> Vec<T>",
        "<div class='x'><p>text</p></div><!-- note -->",
        "if x <y and z> w: print(f'{x:<10}')",
    ],
)
def test_code_and_logs_stay_as_they_are(code: str) -> None:
    assert escape_markup(code) == code


LOOKS = _load_looks()
LIKE = {
    target: "".join(chr(code) for code, found in LOOKS.items() if found == target) for target in set(LOOKS.values())
}


def disguise(data: st.DataObject, text: str) -> str:
    """Exchange each character for any that looks like it, in either case."""
    forms = (one + LIKE.get(one, "") + LIKE.get(one.upper(), "") for one in text)
    return "".join(data.draw(st.sampled_from(form)) for form in forms)


@given(
    st.sampled_from([*PROMPT_TAGS.split(), "developer", "ipython", "human", "role", "tool_call", "|im_end|"]), st.data()
)
def test_no_look_alike_of_a_marker_stays_as_it_is(name: str, data: st.DataObject) -> None:
    between = data.draw(st.text(st.sampled_from(" /\\\u2800\u2215\u20d0\u0489\u200b"), max_size=5))
    marker = disguise(data, "<") + between + disguise(data, name) + disguise(data, ">")
    shown = escape_markup(f"before {marker} after")
    assert not set(shown) & set("<" + LIKE["<"])
    assert escape_markup(shown) == shown
    assert len(shown) <= len(f"before {marker} after")


@given(st.text(st.sampled_from("".join(LIKE.values()) + "<>[]/|section"), max_size=60))
def test_only_brackets_change_among_look_alikes(text: str) -> None:
    clean = sanitize(text)
    changed = {(one, other) for one, other in zip(clean, escape_markup(text), strict=True) if one != other}
    assert {other for _, other in changed} <= set("‹〔›〕")
    assert all(LOOKS.get(ord(one), one) in "<[>]" for one, _ in changed)


@pytest.mark.parametrize(
    "text", ["〈红楼梦〉与《西游记》", "ᐸ ᐳ", "if (x ⟨y⟩ z)", "\\section{One} \\<", "Привет, <мир>", "⟨ψ|φ⟩"]
)
def test_ordinary_text_of_other_scripts_is_left_as_it_is(text: str) -> None:
    assert escape_markup(text) == text


@pytest.mark.parametrize("own", ["cmd <FILE> [--out <PATH>] </section>", "[INST] <|im_end|>", "a<b>[0]"])
def test_what_was_made_inert_is_whole_again_where_the_text_has_it(own: str) -> None:
    assert restore_markup(escape_markup(own), [own[:6], own[6:]]) == own
    # What no text has so is the writer's own.
    assert restore_markup(escape_markup(own), ["‹Chez Ada› is > 5"]) == escape_markup(own)


@given(st.text("‹›〔〕<>[]aB |/"))
def test_only_brackets_are_made_whole(text: str) -> None:
    back = str.maketrans("‹›〔〕", "<>[]")
    assert restore_markup(text, [text.translate(back)]).translate(back) == text.translate(back)
