"""The packaged documents and their questions, and the task made of them."""

import hashlib
from collections import Counter

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import InfeasibleSample, make_samples
from bookwheel.lab.tasks.documents_qa import KINDS, PARTS, load_documents, load_questions, make_golds
from bookwheel.text.tokens import WordTokenizer

EVERY = [question for part in PARTS for question in load_questions(part)]


def made(**options):
    return list(
        make_samples(
            "documents-qa", **{"tokens": 100_000, "count": 5, "seed": 1, "tokenizer": WordTokenizer()} | options
        )
    )


def test_every_piece_of_evidence_stands_in_its_document():
    texts = load_documents()
    assert all(quote in texts[one.doc].text for one in EVERY for quote in one.evidence)


def test_only_absent_questions_have_no_answer():
    for one in EVERY:
        assert one.kind in KINDS
        assert (one.kind == "absent") == (not one.answers) == (not one.evidence), one
        assert bool(one.items) >= (one.kind in {"list", "rows"}), one


def test_no_question_is_asked_twice_of_a_document():
    assert max(Counter((one.doc, one.question) for one in EVERY).values()) == 1


def test_a_third_of_the_questions_is_kept_for_the_end_and_the_list_is_fixed():
    parts = {name: one.part for name, one in load_documents().items()}
    assert Counter(parts.values()) == {"train": 82, "dev": 22, "test": 50}
    assert [len(load_questions(part)) for part in PARTS] == [1436, 398, 893]
    listed = "\n".join(f"{name} {part}" for name, part in sorted(parts.items()))
    assert hashlib.sha256(listed.encode()).hexdigest()[:16] == "c39d1d6189b82b0f"


def test_a_sample_is_a_whole_document_with_its_evidence():
    for sample in made(count=40):
        assert sample.text == load_documents()[sample.metadata["document"]].text
        assert all(sample.text[one.start : one.end].split() == one.note.split() for one in sample.evidence)
        assert sample.metadata["part"] == "dev"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_perfect_answer_earns_everything_and_an_empty_one_nothing(language):
    for sample in made(count=40, language=language):
        perfect = "; ".join(sample.golds) if sample.metric == "share_of" else sample.golds[0]
        assert sample.score(perfect).score == 1, (sample.question, sample.golds)
        assert sample.score("").score == 0


def test_longer_documents_than_asked_for_are_left_out():
    assert all(sample.tokens <= 1000 for sample in made(tokens=1000))
    with pytest.raises(InfeasibleSample, match="at most 10 tokens"):
        made(tokens=10)


def test_the_kept_third_is_asked_by_name():
    assert {sample.metadata["part"] for sample in made(held_out=True)} == {"test"}


def test_one_kind_can_be_asked_for():
    assert {sample.metadata["kind"] for sample in made(kind="absent")} == {"absent"}
    with pytest.raises(InputError, match="two-places"):
        made(kind="riddle")


@pytest.mark.parametrize("kind", ["how", "why"])
def test_who_is_asked_how_or_why_may_say_it_in_the_words_of_the_one_place(kind):
    asked = [one for one in EVERY if one.kind == kind and len(one.evidence) == 1]
    assert asked
    assert all(make_golds(one) == (*one.answers, *one.evidence) for one in asked)
    assert all(make_golds(one) == one.answers for one in EVERY if one.kind in ("fact", "two-places"))
