from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.lab.training.workflows import calculator, compute, reading, single
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan

TEXT = "The mill stands by the weir. " * 30 + "The miller is Ada Quill. " + "Nothing else happened. " * 30


def sample(question="Who is the miller?", golds=("Ada Quill",)):
    return Sample(
        id="s", task="t", question=question, golds=golds, document=SampleDocument("d", [TEXT]), metric="contains"
    )


def test_reading_is_the_common_loop_and_leaves_every_conversation():
    plan = Plan(chunk_tokens=60, memory_tokens=40, answer_tokens=30)
    episode = asyncio.run(reading(plan)(ScriptedModel(keyword_reader), sample()))
    assert sample().score(episode.answer).score == 1.0
    assert len(episode.conversations) == len(episode.steps) + 1 == len(episode.limits)
    assert "".join(step.chunk.text for step in episode.steps) == TEXT
    assert episode.limits[-1] == 30
    assert set(episode.limits[:-1]) == {40}


def test_reading_takes_any_way():
    async def blind(document, question, model, plan, done=()):
        from bookwheel.reading.loop import answer
        from bookwheel.reading.prompts import prompts_for
        from bookwheel.types import Memory

        yield await answer(question, Memory.blank(plan.memory_tokens), model, plan, prompts_for(plan, question))

    episode = asyncio.run(reading(Plan(), way=blind)(ScriptedModel(keyword_reader), sample()))
    assert episode.steps == ()
    assert len(episode.conversations) == 1


def test_under_a_brief_the_question_is_seen_when_all_is_read_and_no_turn_is_asked_in_vain():
    asked = []

    def note(messages):
        asked.append(messages[-1].content)
        return keyword_reader(messages)

    plan = Plan(chunk_tokens=60, memory_tokens=40, answer_tokens=30)
    brief = "Keep who works where: the miller, the smith."
    episode = asyncio.run(reading(plan, brief=brief)(ScriptedModel(note), sample()))
    *updates, last = asked
    assert len(asked) == len(episode.conversations) == len(episode.steps) + 1
    assert all(brief in one and sample().question not in one for one in updates)
    assert sample().question in last
    assert brief not in last
    assert episode.steps[-1].after.text in last
    assert episode.limits[-1] == plan.answer_tokens


def test_a_single_turn_sees_the_question_alone():
    model = ScriptedModel(lambda messages: r"So \boxed{4}")
    episode = asyncio.run(single(Plan())(model, sample("2 + 2?", ("4",))))
    assert episode.answer == "4"
    assert [message.content for message in model.last_messages] == ["2 + 2?"]


def test_the_calculator_answers_between_turns():
    says = iter(["calc(6 * 7)", "calc(42 + 1)", r"\boxed{43}"])
    model = ScriptedModel(lambda messages: next(says))
    episode = asyncio.run(calculator(Plan())(model, sample("6 * 7 + 1?", ("43",))))
    assert episode.answer == "43"
    assert len(episode.conversations) == 3
    assert [m.content for m in model.last_messages[1:]] == ["calc(6 * 7)", "42", "calc(42 + 1)", "43"]


def test_the_calculator_is_asked_only_so_often():
    episode = asyncio.run(calculator(Plan(), turns=2)(ScriptedModel(lambda messages: "calc(1)"), sample()))
    assert len(episode.conversations) == 2


@given(st.integers(-999, 999), st.integers(-999, 999), st.sampled_from("+-*"))
def test_the_calculator_computes_like_arithmetic(left, right, sign):
    expected = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert compute(f"{left} {sign} ({right})") == str(expected)


@given(st.text(max_size=60))
def test_whatever_is_computed_some_words_come_back(expression):
    assert isinstance(compute(expression), str)


@pytest.mark.parametrize(
    "expression", ["__import__('os')", "2 ** 9999", "'a' * 9", "1e308 * 10", "(" * 150, "True + 1"]
)
def test_the_calculator_takes_numbers_only(expression):
    assert "calc takes" in compute(expression)


def test_division_by_zero_is_told():
    assert compute("1 / (2 - 2)") == "division by zero"


@pytest.mark.parametrize(("said", "answer"), [(r"\boxed{1} at first. Then \boxed{ 2 }", "2"), (" plain ", "plain")])
def test_the_last_box_is_the_answer(said, answer):
    episode = asyncio.run(single(Plan())(ScriptedModel(lambda messages: said), sample()))
    assert episode.answer == answer
