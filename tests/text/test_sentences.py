"""Sentences tile their text and end where a reader would end them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.sentences import split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("No end", ["No end"]),
        ("Ada lit it. It burned! Why? Rain.", ["Ada lit it.", "It burned!", "Why?", "Rain."]),
        ('He said: "Go." She went.', ['He said: "Go."', "She went."]),
        ("It cost 3.5 million. Dr. Quill paid.", ["It cost 3.5 million.", "Dr. Quill paid."]),
        ("J. Quill signed. The rest did not.", ["J. Quill signed.", "The rest did not."]),
        ("The lamp, i.e. the light. Lit.", ["The lamp, i.e. the light.", "Lit."]),
        ("one of the ... small things. Next.", ["one of the ... small things.", "Next."]),
        ("灯塔建于1871年。守塔人是马拉。", ["灯塔建于1871年。", "守塔人是马拉。"]),
        ("他说：“走吧。”她走了。", ["他说：“走吧。”", "她走了。"]),
        ("A heading\n\nA paragraph over\ntwo lines.", ["A heading", "A paragraph over\ntwo lines."]),
        ("Terms\n- first item\n- second item\n1. third", ["Terms", "- first item", "- second item", "1. third"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(st.sampled_from('aB1. ,。\n!?"-|灯'), max_size=1500))
def test_sentences_tile_the_text(text: str) -> None:
    spans = split_sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= 400 for start, end in spans)


def test_a_long_piece_is_cut_at_a_comma_then_at_a_blank() -> None:
    words = "word " * 50
    spans = split_sentences(f"{words.strip()}, {words}")
    assert [end for _, end in spans] == [251, 501]
    (_, first), *_ = split_sentences("word " * 200)
    assert first == 400
    assert split_sentences("x" * 900) == [(0, 400), (400, 800), (800, 900)]
