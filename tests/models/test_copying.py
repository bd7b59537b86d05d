"""Copies: which spans of a passage there are, and that the search finds the likeliest."""

from __future__ import annotations

import re
from itertools import product

import pytest

np = pytest.importorskip("numpy")

from bookwheel.models import copying  # noqa: E402
from bookwheel.models.copying import find_openings, search  # noqa: E402
from bookwheel.models.forward import Llama  # noqa: E402

from .test_forward import PROMPT, WORDS, make_adapter, make_weights, never  # noqa: E402

END = 0


def encode(text: str) -> tuple[list[int], list[int]]:
    """Give each letter a token."""
    return [1 + ord(letter) % (WORDS - 1) for letter in text], list(range(1, len(text) + 1))


def list_spans(passage: str, gap: str = "") -> set[str]:
    openings = find_openings(passage, encode, gap)
    return {passage[one.place : end] for one in openings for end in one.ends.values()}


def test_spans_are_runs_of_whole_words():
    assert list_spans("Ada paid £14, twice.") == {
        "Ada",
        "Ada paid",
        "Ada paid £14",
        "Ada paid £14, twice",
        "paid",
        "paid £14",
        "paid £14, twice",
        "£14",
        "£14, twice",
        "twice",
    }


@pytest.mark.parametrize(
    "word", ["1,206", "19:17", "sixty-four", "a.b@c.example", "0.56", "60%", "2025-11-27", "don't"]
)
def test_what_is_one_word_is_never_cut(word):
    assert list_spans(f"{word}.") == {word}


def test_cells_of_a_row_are_words_and_every_chinese_character_is_one():
    assert {"Ada Quill", "Nurse", "32"} <= list_spans("Ada Quill,Nurse,32,")
    assert {"老覃", "饭店", "订"} <= list_spans("饭店老覃订")


def test_no_span_goes_over_a_gap():
    assert list_spans("Rent … It is", " … ") == {"Rent", "It", "It is", "is"}


def test_the_search_finds_the_likeliest_spans_in_order():
    passage = "abc de abd"
    openings = find_openings(passage, encode)
    random = np.random.default_rng(3)
    table = {}

    def score(beginnings):
        for one in beginnings:
            row = random.normal(size=WORDS)
            table.setdefault(one.ids, row - np.log(np.exp(row).sum()))
        return np.array([table[one.ids] for one in beginnings])

    found = search(openings, score, END)
    for span in found:
        ids = tuple(encode(passage[span.start : span.end])[0])
        steps = [table[ids[:at]][token] for at, token in enumerate((*ids, END))]
        assert span.logprob == pytest.approx(sum(steps))
    assert [one.logprob for one in found] == sorted((one.logprob for one in found), reverse=True)


@pytest.mark.parametrize("beam", [1, 6])
def test_the_scores_of_copies_are_those_of_the_text_read_in_order(monkeypatch, beam):
    monkeypatch.setattr(copying, "BEAM", beam)
    passage = "ab cd ab ce"
    model = Llama(make_weights(), make_adapter())
    found = model.copy(PROMPT, find_openings(passage, encode), never)
    assert found
    for span in found:
        ids = [*encode(passage[span.start : span.end])[0], END]
        whole = [model.judge([*PROMPT, *ids[:at]], [token], never)[0] for at, token in enumerate(ids)]
        assert span.logprob == pytest.approx(sum(whole), abs=1e-3)


def test_with_room_for_all_beginnings_nothing_likelier_is_missed(monkeypatch):
    monkeypatch.setattr(copying, "BEAM", 99)
    passage = "ab cd ef"
    openings = find_openings(passage, encode)
    model = Llama(make_weights(), make_adapter())
    best = model.copy(PROMPT, openings, never)[0]

    def measure(text: str) -> float:
        ids = [*encode(text)[0], END]
        return sum(model.judge([*PROMPT, *ids[:at]], [token], never)[0] for at, token in enumerate(ids))

    words = re.findall(r"\w+", passage)
    spans = [" ".join(words[first:last]) for first, last in product(range(3), range(1, 4)) if first < last]
    assert best.logprob == pytest.approx(max(map(measure, spans)), abs=1e-3)
