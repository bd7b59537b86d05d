"""The choice of a passage: what it is made of, its loss, and that a policy learns it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookwheel.lab.tasks import GoldEvidence, Sample, SampleDocument
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.passages import PassageOption, list_passages
from bookwheel.plan import Plan
from bookwheel.text.tokens import WordTokenizer

WORDS = WordTokenizer()
PLAN = Plan(chunk_tokens=90, memory_tokens=80, prompts="small", least_gain=0.8)
FACT = "The new clock was made in\nHamburg."
TEXT = (
    "The old clock was made in Lyme. Nobody knows when. It was sold.\n\n"
    + "Rain fell on the mole. The gulls were loud. " * 8
    + f"\n\nA boat came at noon. {FACT} It is the best clock on the coast. The town is proud of it.\n\n"
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


def passages(sample: Sample = SAMPLE, plan: Plan = PLAN) -> list[PassageOption]:
    return list_passages(sample, WORDS, plan)


def many() -> list[list[PassageOption]]:
    """The choices of sixty samples that differ in their names alone, and so in what is drawn for them."""
    return [passages(replace(SAMPLE, id=f"clock-{at}")) for at in range(60)]


def test_a_right_passage_holds_the_answer_and_no_wrong_one_does() -> None:
    for choice in many():
        assert all("Hamburg" in one.text for one in choice if one.is_right)
        assert not any("Hamburg" in one.text for one in choice if not one.is_right)
        assert sum(one.is_right for one in choice) <= 1


def test_some_questions_are_shown_no_passage_with_the_answer() -> None:
    unanswered = sum(not any(one.is_right for one in choice) for choice in many())
    assert 3 < unanswered < 25


def test_wrong_passages_are_those_that_share_words_with_the_question() -> None:
    wrong = {one.text for choice in many() for one in choice if not one.is_right}
    assert any("The old clock was made in Lyme." in text for text in wrong)
    assert not any(text.startswith("Rain fell on the mole. The gulls were loud. Rain") for text in wrong)


def test_a_sample_poses_the_same_choice_every_time_and_another_something_else() -> None:
    assert passages() == passages()
    assert any(passages(replace(SAMPLE, id=f"clock-{at}")) != passages() for at in range(2, 20))


def test_a_fact_across_two_chunks_is_chosen_as_its_sentence() -> None:
    choices = [passages(replace(SAMPLE, id=f"clock-{at}"), replace(PLAN, chunk_tokens=8)) for at in range(20)]
    assert " ".join(FACT.split()) in {one.text for choice in choices for one in choice if one.is_right}


def test_a_sample_without_evidence_cannot_teach() -> None:
    with pytest.raises(ConfigError, match="clock-1"):
        passages(replace(SAMPLE, evidence=()))
