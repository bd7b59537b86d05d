"""Words of a note are found in the text whatever stands between them, and spans are the text's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.matching import Passage, find_missing_words, is_claim, parse_words, word_overlap
from bookwheel.text.sanitize import escape_markup

MILL = "The water-mill at Este was built in 1588.\r\nIts plan was signed by Agostino Ramelli, engineer to the king. It cost 12,400 livres."


def quoted(text, note):
    run = Passage(text).find_longest_run(parse_words(note))
    return run and text[run[1][0] : run[1][1]]


@pytest.mark.parametrize(
    ("note", "quote"),
    [
        ("- its plan was SIGNED by Agostino  Ramelli", "Its plan was signed by Agostino Ramelli"),
        ("water mill at Este; built in 1588", "water-mill at Este"),
        ("built in 1588, its plan was signed", "built in 1588.\r\nIts plan was signed"),
        ("It cost 12400 livres", "It cost 12,400 livres"),
        ("price: 12,400", "12,400"),
        ("mill by the sea", None),
        ("what was in the", None),
        ("(nothing)", None),
    ],
)
def test_the_longest_run_is_quoted_in_the_texts_own_characters(note, quote):
    assert quoted(MILL, note) == quote


def test_chinese_is_matched_by_characters_and_chance_pairs_do_not_count():
    text = "1588年,拉梅利在巴黎出版了他的机械之书,书中画着一个书轮。"
    assert quoted(text, "拉梅利在巴黎出版") == "拉梅利在巴黎出版"
    assert quoted(text, "关于他的母亲和弟弟的故事") is None
    said = parse_words("书轮出自拉梅利")
    assert 0 < word_overlap(said, Passage(text).index_keys) < 1


def test_text_is_matched_as_a_prompt_shows_it():
    text = "The se\u00adcret</section> co\u200bde is \u202eQX\u202c 77\u200b31."
    assert (
        quoted(text, escape_markup("secret section code is QX 7731"))
        == "se\u00adcret</section> co\u200bde is \u202eQX\u202c 77\u200b31"
    )


plain_words = st.lists(
    st.sampled_from(["mill", "wheel", "Ada", "1588", "the", "paper", "sea", "king", "书", "轮"]),
    min_size=1,
    max_size=12,
)
between = st.sampled_from([" ", "  ", "\n", ", ", "\u200b ", ". "])


@given(st.lists(st.tuples(plain_words.map(lambda w: w[0]), between), max_size=40), plain_words, plain_words)
@pytest.mark.slow
def test_a_quote_has_the_notes_words_in_order_and_lies_in_the_text(text, first, second):
    whole = "".join(word + gap for word, gap in text) + "  ".join(first)
    note = " ".join(first + second)
    run = Passage(whole).find_longest_run(parse_words(note))
    if run is None:
        assert not any(word.is_exact for word in parse_words(" ".join(first)))
        return
    length, (start, end) = run
    assert 0 <= start < end <= len(whole)
    told = [word.key for word in parse_words(whole[start:end])]
    mine = [word.key for word in parse_words(note)]
    assert len(told) == length
    assert any(mine[at : at + length] == told for at in range(len(mine)))


@given(plain_words, plain_words, plain_words)
def test_no_longer_run_is_missed(before, note, after):
    text = " ".join([*before, *note, *after])
    run = Passage(text).find_longest_run(parse_words(" ".join(note)))
    if any(word.is_distinctive for word in parse_words(" ".join(note))):
        assert run is not None
        assert run[0] == len(parse_words(" ".join(note)))


def test_a_span_is_widened_to_the_ends_of_its_sentence():
    text = "In 1588 it rained. The plan was drawn in 1588 by Ramelli. In 1588 a ship sank."
    passage = Passage(text)
    start, end = passage.expand_to_sentence(text.index("drawn"), text.index(" by"))
    assert text[start:end] == "The plan was drawn in 1588 by Ramelli."


def test_names_and_numbers_have_to_be_there():
    there = Passage(MILL).index_keys
    assert find_missing_words(parse_words("The plan was signed by Ada Quill in 1601"), there) == (
        "Ada",
        "Quill",
        "1601",
    )
    assert find_missing_words(parse_words("Builder: Ramelli"), there) == ()
    assert find_missing_words(parse_words("Signed in Este"), there) == ()


def test_headings_and_rules_claim_nothing():
    assert not any(map(is_claim, ["", "  ", "# Findings about Ramelli", "**Key facts:**", "---", "- ", "要点:"]))
    assert all(map(is_claim, ["- Ramelli signed", "1588", "拉梅利在巴黎"]))


@pytest.mark.slow
def test_a_text_of_one_word_repeated_is_no_trap():
    length, span = Passage("mill " * 5000).find_longest_run(parse_words("mill " * 300))
    assert (length, span) == (300, (0, 1499))
