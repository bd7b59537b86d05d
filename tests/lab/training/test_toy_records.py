from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.toy_records import toy_records
from bookwheel.text.chunks import split


def test_the_same_arguments_give_the_same_samples():
    assert toy_records(tokens=96, count=5, seed=1) == toy_records(tokens=96, count=5, seed=1)
    assert toy_records(tokens=96, count=5, seed=1) != toy_records(tokens=96, count=5, seed=2)


def test_the_entry_asked_for_stands_once_and_its_evidence_is_it():
    for sample in toy_records(tokens=400, count=20, seed=3):
        assert sample.text.count(f"{sample.question} ") == 1
        (found,) = sample.evidence
        assert sample.text[found.start : found.end] == f"{sample.question} {sample.golds[0]} .\n"


def test_a_chunk_of_sixteen_tokens_is_four_whole_lines(still_policy):
    tokenizer = PolicyModel(still_policy).tokenizer
    for sample in toy_records(tokens=96, count=5, seed=3):
        chunks = list(split(sample.document, tokenizer, 16))
        assert [chunk.text.count("\n") for chunk in chunks] == [4] * 6
        assert ideal_memories(sample, chunks)[-1] == f"{sample.question} {sample.golds[0]}"
