"""What a perfect memory holds after each chunk. What became of the evidence: captured, kept, overwritten, used."""

from itertools import pairwise

import pytest

from bookwheel.lab.tasks import GoldEvidence, MemoryRule, Sample, SampleDocument, ideal_memories, make_samples
from bookwheel.lab.tasks.memories import MemoryOutcome, evidence_depth, needed_evidence, trace_evidence
from bookwheel.text.chunks import split
from bookwheel.types import Chunk, Conversation, Memory, Reply, Step


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


TEXT = "a" * 100 + "The levy is 40 crowns." + "b" * 278
FACT = GoldEvidence(start=100, end=122, note="levy: 40 crowns", key="levy")


def sample(*evidence, golds=("40",), question="What is the levy?", metric="contains"):
    return Sample(
        id="s",
        task="t",
        question=question,
        golds=golds,
        document=SampleDocument("d", [TEXT]),
        metric=metric,
        evidence=evidence or (FACT,),
    )


def steps(*memories, size=100):
    blank = Memory(text="", tokens=0, limit=50)
    texts = [Memory(text=text, tokens=len(text.split()), limit=50) for text in memories]
    return [
        Step(
            chunk=Chunk(index=at, start=at * size, end=(at + 1) * size, text="", tokens=1),
            before=texts[at - 1] if at else blank,
            after=after,
            conversation=Conversation(messages=(), reply=Reply(text=after.text)),
        )
        for at, after in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("memories", "is_right", "outcome", "step"),
    [
        (["", "levy 40", "levy 40", "levy: forty"], True, MemoryOutcome.SUPPORTED, None),
        (["", "levy 40", "levy 40", "levy 40"], False, MemoryOutcome.MISUSED, None),
        (["", "levy 40", "levy 40", "ale"], False, MemoryOutcome.OVERWRITTEN, 3),
        (["", "levy 40", "ale", "ale"], False, MemoryOutcome.OVERWRITTEN, 2),
        (["", "a levy", "a levy", "a levy"], False, MemoryOutcome.NEVER_CAPTURED, 1),
        (["", "a levy", "a levy", "a levy"], True, MemoryOutcome.UNSUPPORTED, None),
        (["", "levy 140", "", ""], False, MemoryOutcome.NEVER_CAPTURED, 1),
    ],
)
def test_each_way_of_failing_has_its_name_and_its_step(memories, is_right, outcome, step):
    found = trace_evidence(sample(), steps(*memories), is_right=is_right)
    assert (found.outcome, found.step) == (outcome, step)


def test_what_was_dropped_and_noted_again_is_kept():
    found = trace_evidence(sample(), steps("", "40", "", "40"), is_right=True)
    assert (found.captured, found.kept, found.outcome) == (1, 1, MemoryOutcome.SUPPORTED)


def test_shares_count_the_pieces():
    clue = GoldEvidence(start=10, end=30, note="the collector is Keziah Marrow of Riga")
    found = trace_evidence(sample(clue, FACT), steps("Keziah Marrow, collector, Riga", "40", "40"), is_right=False)
    assert (found.captured, found.kept) == (1, 0.5)
    assert (found.outcome, found.step) == (MemoryOutcome.OVERWRITTEN, 1)
    # Who has the answer may drop what led to it.
    assert trace_evidence(sample(clue, FACT), steps("", "40", "40"), is_right=True).outcome is MemoryOutcome.SUPPORTED


def test_a_piece_that_a_later_one_replaces_is_not_needed():
    newer = GoldEvidence(start=300, end=320, note="levy: 55", key="levy")
    assert needed_evidence(sample(FACT, newer, golds=("55",))) == [newer]
    other = GoldEvidence(start=300, end=320, note="no levy any more", key="end", replaces=("levy",))
    assert needed_evidence(sample(FACT, other)) == [other]


def test_a_section_that_no_step_read_has_no_step_to_blame():
    found = trace_evidence(sample(), steps("x"), is_right=False)
    assert (found.outcome, found.step) == (MemoryOutcome.NEVER_CAPTURED, None)


def test_nothing_is_said_without_steps_or_evidence():
    assert trace_evidence(sample(), [], is_right=True) is None
    shown = GoldEvidence(start=0, end=3)
    assert trace_evidence(sample(shown), steps("x"), is_right=True) is None
    assert evidence_depth(sample(shown)) is None


def test_depth_is_the_place_of_the_evidence():
    assert evidence_depth(sample()) == pytest.approx(111 / 400)


OWNERS = ("Ada Voss lives at Karr.", "Bram Maas lives at Ost.", "Cleo Quill lives at Bo.")


@pytest.mark.parametrize(
    ("memory", "is_right", "outcome"),
    [
        (" ".join(OWNERS), False, MemoryOutcome.NEVER_CAPTURED),
        (" ".join((*OWNERS, "Bram Maas owns the ship Lark.")), False, MemoryOutcome.MISUSED),
        ("The owner of the Lark lives at Ost.", True, MemoryOutcome.SUPPORTED),
        ("Ost", True, MemoryOutcome.SUPPORTED),
    ],
)
def test_a_memory_of_four_owners_does_not_hold_whose_ship_it_is(memory, is_right, outcome):
    places = [GoldEvidence(start=at, end=at + 1, note=note[:-1], key=note[:4]) for at, note in enumerate(OWNERS)]
    link = GoldEvidence(
        start=8, end=9, note="Bram Maas owns the ship Lark and lives at Ost", replaces=("Ada ", "Bram", "Cleo")
    )
    asked = sample(*places, link, golds=("Ost",), question="Where does the owner of the ship Lark live?")
    assert trace_evidence(asked, steps(memory), is_right=is_right).outcome is outcome


def test_the_name_in_another_piece_is_not_the_piece_that_names_it():
    pieces = (
        GoldEvidence(start=1, end=2, note="Blue Harbour was directed by Jean Renault"),
        GoldEvidence(start=5, end=6, note="Jean Renault was born in Paris"),
    )
    asked = sample(*pieces, golds=("Paris",), question="Where was the director of Blue Harbour born?")
    half = trace_evidence(asked, steps("Jean Renault was born in Paris."), is_right=False)
    assert (half.outcome, half.captured) == (MemoryOutcome.NEVER_CAPTURED, 0.5)
    both = "Jean Renault directed Blue Harbour. He was born in Paris."
    assert trace_evidence(asked, steps(both), is_right=False).outcome is MemoryOutcome.MISUSED
