"""Samples and their documents."""

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.tasks import Sample, SampleDocument

PIECES = st.lists(st.text(max_size=12), max_size=6)


@given(PIECES, st.integers(0, 40))
def test_parts_are_the_text_from_anywhere_on(pieces, start):
    document = SampleDocument("doc", pieces)
    text = "".join(pieces)
    assert "".join(part.text for part in document.parts(start)) == text[start:]
    assert document.text == text
    assert document.length == len(text)


@given(PIECES, st.integers(0, 40), st.integers(0, 40))
def test_a_quote_is_a_slice(pieces, start, length):
    document = SampleDocument("doc", pieces)
    assert document.slice(start, start + length) == document.text[start : start + length]


def test_documents_are_equal_when_their_texts_are():
    assert SampleDocument("doc", ["ab", "c"]) == SampleDocument("doc", ["a", "bc"])
    assert SampleDocument("doc", ["ab", "c"]) != SampleDocument("doc", ["a", "bd"])
    assert SampleDocument("doc", ["abc"]) != SampleDocument("other", ["abc"])


def test_a_sample_judges_by_its_own_metric_and_counts_a_missing_answer_as_wrong():
    sample = Sample(
        id="s", task="own", question="?", golds=("a", "b"), metric="share_of", document=SampleDocument("d", ["x"])
    )
    assert sample.score("b").score == 0.5
    assert sample.score(None).score == 0
    assert "no answer" in sample.score(None).reason
