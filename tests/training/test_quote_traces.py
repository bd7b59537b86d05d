"""What the way `quotes` is taught: the question after the evidence, the answer from passages, and "not found"."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.tasks import GoldEvidence, Sample, SampleDocument
from bookwheel.text.tokens import WordTokenizer
from bookwheel.training.errors import ConfigError
from bookwheel.training.quote_traces import quote_trace

WORDS = WordTokenizer()
PLAN = Plan(chunk_tokens=90, memory_tokens=80, prompts="reader")
FACT = "The new clock was made in\nHamburg."
TEXT = (
    "The old clock was made in Lyme. Nobody knows when. It was sold.\n\n"
    + "Rain fell on the mole. The gulls were loud. " * 8
    + f"\n\nA boat came at noon. {FACT} It is the best clock on the coast.\n\n"
    + "Rain fell again. The clock of the church stood still. " * 6
)
START = TEXT.index(FACT)
SAMPLE = Sample(
    id="clock-1",
    task="mine",
    question="Where was the new clock made?",
    golds=("Hamburg", "in Hamburg"),
    document=SampleDocument("mine", [TEXT]),
    metric="contains",
    length=300,
    tokens=300,
    seed=1,
    evidence=(GoldEvidence(start=START, end=START + len(FACT), note=FACT),),
)
FLAT = " ".join(FACT.split())


def exchanges(sample: Sample = SAMPLE) -> list[tuple[str, str]]:
    return [(" ".join(messages[-1].content.split()), reply) for messages, reply in quote_trace(sample, WORDS, PLAN)]


def many() -> list[tuple[str, str]]:
    """The conversations of forty samples that differ in their names alone, and so in what is drawn for them."""
    return [one for at in range(40) for one in exchanges(replace(SAMPLE, id=f"clock-{at}"))]


def test_the_question_follows_section_window_and_sentence_with_the_evidence() -> None:
    about = {shown for shown, reply in many() if reply == SAMPLE.question}
    assert all(FLAT in shown for shown in about)
    assert {len(shown) for shown in about} >= {len(f"{FLAT} Write one question that the text above answers.")}
    assert len({len(shown) for shown in about}) >= 3
    assert not any(SAMPLE.question in shown for shown in about)


def test_the_answer_follows_the_right_passage_and_not_the_wrong_ones() -> None:
    not_found = prompts_for(PLAN, SAMPLE.question).not_found
    answered = {shown for shown, reply in many() if reply == "Hamburg"}
    refused = {shown for shown, reply in many() if reply == not_found}
    assert all(FLAT in shown for shown in answered)
    assert refused
    assert not any("Hamburg" in shown for shown in refused)
    assert any("The old clock was made in Lyme." in shown for shown in refused)
    # Alone, and among wrong passages.
    assert {"Lyme" in shown or "church" in shown for shown in answered} == {True, False}


def test_a_sample_teaches_the_same_every_time_and_another_something_else() -> None:
    assert exchanges() == exchanges()
    assert any(exchanges(replace(SAMPLE, id=f"clock-{at}")) != exchanges() for at in range(2, 9))


def test_a_fact_across_two_chunks_is_taught_as_its_sentence() -> None:
    plan = replace(PLAN, chunk_tokens=8)
    shown = [messages[-1].content for messages, reply in quote_trace(SAMPLE, WORDS, plan) if reply == SAMPLE.question]
    assert any(FLAT in one for one in shown)


def test_a_sample_without_evidence_cannot_teach() -> None:
    with pytest.raises(ConfigError, match="clock-1"):
        exchanges(replace(SAMPLE, evidence=()))
