"""What a perfect memory holds after each chunk."""

from itertools import pairwise

import pytest

from bookwheel.lab.tasks import GoldEvidence, MemoryRule, Sample, SampleDocument, ideal_memories, make_samples
from bookwheel.text.chunks import split
from bookwheel.types import Chunk


def chunks_of(text, *cuts):
    bounds = [0, *cuts, len(text)]
    return [
        Chunk(index=at, start=begin, end=end, text=text[begin:end], tokens=1)
        for at, (begin, end) in enumerate(pairwise(bounds))
    ]


def sample_of(text, *evidence, memory=MemoryRule.NOTES):
    return Sample(
        id="s",
        task="t",
        question="q",
        golds=("g",),
        metric="exact",
        document=SampleDocument("d", [text]),
        evidence=evidence,
        memory=memory,
    )


def test_the_last_value_wins():
    sample = sample_of(
        "x" * 40,
        GoldEvidence(start=2, end=5, note="levy: 40", key="levy"),
        GoldEvidence(start=12, end=15, note="bell: 3", key="bell"),
        GoldEvidence(start=22, end=25, note="levy: 55", key="levy"),
    )
    assert ideal_memories(sample, chunks_of(sample.text, 10, 20, 30)) == [
        "levy: 40",
        "levy: 40\nbell: 3",
        "levy: 55\nbell: 3",
        "levy: 55\nbell: 3",
    ]


def test_evidence_that_a_boundary_cuts_is_noted_when_it_has_been_read():
    sample = sample_of("x" * 30, GoldEvidence(start=8, end=12, note="n"))
    assert ideal_memories(sample, chunks_of(sample.text, 10, 20)) == ["", "n", "n"]
    assert ideal_memories(sample, chunks_of(sample.text, 12, 20)) == ["n", "n", "n"]


def test_candidates_are_kept_until_the_fact_that_settles_it():
    sample = sample_of(
        "x" * 30,
        GoldEvidence(start=1, end=2, note="A lives at X", key="A"),
        GoldEvidence(start=3, end=4, note="B lives at Y", key="B"),
        GoldEvidence(start=15, end=16, note="B owns the ship and lives at Y", replaces=("A", "B")),
    )
    assert ideal_memories(sample, chunks_of(sample.text, 10)) == [
        "A lives at X\nB lives at Y",
        "B owns the ship and lives at Y",
    ]


def test_a_tally_counts_whole_words_across_boundaries():
    text = "ab ab cd ... ab cd ef"
    sample = sample_of(text, memory=MemoryRule.TALLY)
    for cut in range(1, len(text)):
        assert ideal_memories(sample, chunks_of(text, cut))[-1] == "ab: 3\ncd: 2\nef: 1"
    assert ideal_memories(sample, chunks_of(text, 4))[0] == "ab: 1"


@pytest.mark.slow
def test_notes_come_in_with_the_chunk_that_holds_them(tokenizer):
    (sample,) = make_samples("count", tokens=3000, count=1, seed=8, tokenizer=tokenizer)
    chunks = list(split(sample.document, tokenizer, 250))
    for chunk, memory in zip(chunks, ideal_memories(sample, chunks), strict=True):
        read = sum(found.end <= chunk.end for found in sample.evidence)
        expected = {0: "", 1: "seen once"}.get(read, f"seen {read} times")
        assert expected in memory
        assert bool(memory) == bool(read)
