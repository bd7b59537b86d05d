"""Tokenizers count and fit consistently; counts by words are the tokenizer's own, by every kind of tokenizer."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Encoding, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from bookwheel.errors import TokenizerError
from bookwheel.text import tokens
from bookwheel.text.tokens import (
    CountedWords,
    EstimatingTokenizer,
    FileTokenizer,
    WordCounter,
    WordTokenizer,
    are_possible,
    least_tokens,
)

# The patterns of the published tokenizers.
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN = LLAMA_3.replace("{1,3}", "")
GPT_4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "The keeper of the light wrote in the log every night; it's 1,204 men, he'd said.\n\nThe boat was gone.",
    "灯塔看守人每晚都写日志。 the boat 7 of them.",
    "x = {'a': 1, 'the': \"light\"}  # don't\n\tif x: return",
]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "the",
                " the",
                " keeper's",
                " The",
                " 1204",
                ", ",
                ".",
                "...",
                "\n\n",
                "  ",
                " ",
                "灯塔",
                "。",
                "e\u0301",
                "'s",
                '"',
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=16,
).map("".join)


def by(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


SPLITTERS = {
    "gpt-2": (lambda: pre_tokenizers.ByteLevel(add_prefix_space=False), None),
    "llama-3": (lambda: by(LLAMA_3), None),
    "qwen": (lambda: by(QWEN), normalizers.NFC),
    "gpt-4o": (lambda: by(GPT_4O), None),
    "nfkc": (lambda: pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFKC),
    "prefix": (lambda: pre_tokenizers.ByteLevel(add_prefix_space=True), None),
    "metaspace": (lambda: pre_tokenizers.Metaspace(prepend_scheme="first"), None),
    "bert": (pre_tokenizers.BertPreTokenizer, normalizers.BertNormalizer),
}


def train(pre_tokenizer: pre_tokenizers.PreTokenizer | None, normalizer: normalizers.Normalizer | None) -> Tokenizer:
    made = Tokenizer(models.BPE(unk_token="?"))
    if pre_tokenizer is not None:
        made.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        made.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=450, initial_alphabet=alphabet, special_tokens=["?"], show_progress=False)
    made.train_from_iterator(CORPUS, trainer)
    made.encode_special_tokens = True
    return made


def find(made: Tokenizer) -> WordCounter | None:
    return WordCounter.find(made, lambda text: made.encode(text, add_special_tokens=False))


@pytest.fixture(scope="module", params=SPLITTERS)
def made(request: pytest.FixtureRequest) -> Tokenizer:
    build, normalizer = SPLITTERS[request.param]
    return train(build(), normalizer() if normalizer else None)


@given(text=TEXTS, data=st.data())
def test_every_beginning_of_a_text_has_the_count_and_fit_of_the_whole(
    made: Tokenizer, text: str, data: st.DataObject
) -> None:
    def encode(part: str) -> Encoding:
        return made.encode(part, add_special_tokens=False)

    counter, text = find(made), tokens.replace_surrogates(text)
    assert counter is not None
    words, whole = counter.scan(text), tokens._EncodedText(text, encode, is_local=False)
    end, limit = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(encode(text)) + 1))
    assert words.count(end) == len(encode(text[:end]))
    assert words.fit(limit) == whole.fit(limit)


@pytest.mark.parametrize(
    ("pre_tokenizer", "normalizer"),
    [
        (None, None),
        (None, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])),
        (pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", "▁")),
        (pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), None),
        (pre_tokenizers.Metaspace(prepend_scheme="always", split=False), None),
        (pre_tokenizers.Split(Regex(r"[a-z]+ [a-z]+"), "isolated"), None),
    ],
    ids=["none", "llama-2", "gemma", "unsplit", "metaspace", "pairs"],
)
def test_a_tokenizer_that_does_not_split_at_words_is_told_apart(pre_tokenizer, normalizer) -> None:
    assert find(train(pre_tokenizer, normalizer)) is None


@pytest.mark.parametrize(
    "token", [AddedToken("the boat"), AddedToken("<b>", lstrip=True), AddedToken("<b>", rstrip=True)]
)
def test_an_added_token_that_may_reach_over_two_words_forbids_counting_by_words(token: AddedToken) -> None:
    made = train(pre_tokenizers.ByteLevel(add_prefix_space=False), None)
    assert find(made) is not None
    made.add_tokens([token])
    assert find(made) is None


def test_a_special_token_is_plain_text_and_forbids_nothing() -> None:
    made = train(pre_tokenizers.ByteLevel(add_prefix_space=False), None)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    counter = find(made)
    assert counter is not None
    text = "the boat <mask> was gone"
    assert counter.scan(text).count(len(text)) == len(made.encode(text, add_special_tokens=False))


def test_a_word_is_tokenized_once() -> None:
    made, asked = train(pre_tokenizers.ByteLevel(add_prefix_space=False), None), []

    def encode(text: str):
        asked.append(text)
        return made.encode(text, add_special_tokens=False)

    counter = WordCounter.find(made, encode)
    asked.clear()
    counter.scan("The boat was the boat, and the boat was gone." * 50)
    assert len(asked) == len(set(asked)) < 12


def test_a_text_that_is_not_made_of_words_is_tokenized_whole(tmp_path) -> None:
    train(pre_tokenizers.ByteLevel(add_prefix_space=False), None).save(str(tmp_path / "tokenizer.json"))
    tokenizer = FileTokenizer(tmp_path / "tokenizer.json")
    for text, kind in product(["the boat was gone. " * 30, "灯塔看守人" * 60, ""], [str]):
        scanned = tokenizer.scan(kind(text))
        assert isinstance(scanned, CountedWords) == ("灯" not in text)
        assert scanned.count(len(text)) == tokenizer.count(text)


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


@given(st.lists(st.text("ab -\n.=阿达é", max_size=60), max_size=3), st.integers(0, 60))
def test_a_count_is_possible_where_it_is_not_below_the_least(texts, count):
    assert are_possible(count, texts) == (count >= least_tokens(texts))
