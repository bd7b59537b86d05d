"""Filling a document up to a budget."""

import random
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import SourcePassage, assemble, count_tokens, cut_unit, draw_filler, join
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.material import write_prose
from bookwheel.text.tokens import WordTokenizer

TOKENIZER = WordTokenizer()
UNITS = st.lists(st.text("ab .\n钟灯", min_size=1, max_size=30), min_size=1, max_size=8)


@given(UNITS, st.integers(0, 60))
def test_what_is_drawn_is_a_beginning_of_the_filler_within_the_budget(units, budget):
    made = draw_filler(iter(units), budget, TOKENIZER)
    drawn = made.units
    assert made.tokens <= budget
    assert TOKENIZER.count("".join(drawn)) <= made.tokens + made.seams
    assert drawn[:-1] == units[: max(0, len(drawn) - 1)]
    assert sum(map(TOKENIZER.count, drawn)) <= budget + len(drawn)


@given(st.text("abc  钟,", max_size=60), st.integers(0, 20))
def test_a_cut_unit_is_within_its_tokens_and_keeps_its_end(body, tokens):
    for piece in cut_unit(body + "\n\n", tokens, TOKENIZER):
        assert TOKENIZER.count(piece) <= tokens
        assert piece.endswith("\n\n")
        assert body.startswith(piece.rstrip())


@pytest.mark.parametrize(
    ("unit", "tokens", "kept"),
    [
        ("the wheel turns again\n", 4, ["the wheel turns\n"]),
        ("钟灯钟灯", 3, ["钟灯钟"]),
    ],
)
def test_a_cut_falls_between_words_and_anywhere_in_chinese(unit, tokens, kept):
    assert cut_unit(unit, tokens, WordTokenizer()) == kept


def test_a_word_that_a_tokenizer_would_part_is_left_out_whole(byte_tokenizer):
    (piece,) = cut_unit("the trealvoondering", byte_tokenizer.count("the trealvoon"), byte_tokenizer)
    assert piece == "the"


@given(st.lists(st.floats(0, 1), max_size=5), st.integers(40, 200))
def test_evidence_is_where_it_says_wherever_passages_go(places, tokens):
    passages = [
        SourcePassage(text=f"Lamp {at}. ", evidence=(GoldEvidence(start=0, end=7, note=str(at)),), place=place)
        for at, place in enumerate(places)
    ]
    made = assemble(repeat("The wheel turns. "), passages, tokens=tokens, tokenizer=TOKENIZER, task="t")
    text = "".join(made.pieces)
    assert sorted(found.note for found in made.evidence) == sorted(map(str, range(len(places))))
    for found in made.evidence:
        assert text[found.start : found.end] == f"Lamp {found.note}."
    assert min(0.98 * tokens, tokens - 2) <= TOKENIZER.count(text) <= tokens


def test_filler_that_runs_out_is_said_so():
    with pytest.raises(InputError, match="has material for 5 tokens and 100"):
        assemble(["one two three"] * 2, [], tokens=100, tokenizer=TOKENIZER, task="t")


def test_passages_that_do_not_fit_say_the_least():
    with pytest.raises(InputError, match="needs at least 3 tokens and 2"):
        assemble(repeat("x "), [SourcePassage(text="a b c")], tokens=2, tokenizer=TOKENIZER, task="t")


def test_a_long_text_is_never_counted_for_less_than_it_has():
    texts = ["The wheel turns again. "] * 40_000
    whole = TOKENIZER.count("".join(texts))
    assert whole <= count_tokens(texts, TOKENIZER) <= 1.001 * whole


def test_joining_keeps_everything():
    made = join(["a ", "b "], [SourcePassage(text="X ", place=0.5)], TOKENIZER)
    assert "".join(made.pieces) == "a X b "


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["byte_tokenizer", "prefix_tokenizer"])
def test_a_long_document_is_counted_once_and_still_never_above_its_budget(kind, request):
    counts = []

    class Counting:
        name, exact = "counting", True

        def __init__(self, inner):
            self.inner = inner

        def count(self, text):
            counts.append(len(text))
            return self.inner.count(text)

        def fit(self, text, limit):
            return self.inner.fit(text, limit)

    inner = request.getfixturevalue(kind)
    rng = random.Random(3)
    passages = [SourcePassage(text=f"Lamp {at} is lit. ", place=at / 10) for at in range(10)]
    made = assemble(write_prose("en", rng), passages, tokens=150_000, tokenizer=Counting(inner), task="t")
    text = "".join(made.pieces)
    assert 0.98 * 150_000 <= inner.count(text) <= made.tokens <= 150_000
    assert sum(counts) < 1.2 * len(text)
