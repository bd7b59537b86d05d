"""The way that chooses a way: by window, length, abilities, calibration and question."""

import asyncio
from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_likelihood, keyword_reader
from bookwheel.plan import GatePlan, Plan, Scorer
from bookwheel.reading.ways.auto import choose_parts
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import Answer

QUESTION = "What is the colour of the wheel?"
PLAN = Plan(question_tokens=60, chunk_tokens=100, memory_tokens=60, answer_tokens=60, language="en")
GATED = replace(PLAN, gate=GatePlan())
BY_LIKELIHOOD = replace(PLAN, gate=GatePlan(scorer=Scorer.LIKELIHOOD, threshold=0.1))
ALL = "How many wheels are there?"
LONG = TextDocument("The colour of the wheel is vermilion.\n" + "Page by page it tells of harvests.\n" * 400)
SHORT = TextDocument("The colour of the wheel is vermilion.\n" + "Page by page it tells of harvests.\n" * 20)


def choose(document=LONG, question=QUESTION, plan=GATED, window=900, **abilities):
    abilities = abilities or {"judge": keyword_judge}
    model = ScriptedModel(keyword_reader, window=window, **abilities)
    return asyncio.run(choose_parts(document, question, model, plan)).way


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ({}, "ranked+edits"),
        ({"plan": PLAN}, "ranked+edits"),
        ({"question": ALL}, "gated+edits"),
        ({"question": ALL, "plan": PLAN}, "edits"),
        ({"judge": None}, "edits"),
        ({"judge": None, "likelihood": keyword_likelihood}, "edits"),
        ({"judge": None, "likelihood": keyword_likelihood, "plan": BY_LIKELIHOOD}, "gated+edits"),
        ({"question": ALL, "plan": BY_LIKELIHOOD}, "edits"),
        ({"document": SHORT}, "whole"),
        ({"document": SHORT, "window": None}, "sequential"),
        ({"plan": replace(GATED, prompts="small")}, "sequential"),
    ],
)
def test_the_choice(given, way, monkeypatch, tmp_path):
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(tmp_path / "none.json"))
    assert choose(**given) == way


def test_the_choice_is_the_first_step_and_a_resumed_reading_keeps_it():
    model = ScriptedModel(keyword_reader, judge=keyword_judge, window=900)

    def read(plan, done=()):
        async def gather():
            return [event async for event in load_way("auto")(LONG, QUESTION, model, plan, done)]

        return asyncio.run(gather())

    *steps, answer = read(GATED)
    assert isinstance(answer, Answer)
    assert "vermilion" in answer.text
    assert steps[0].choice.way == "ranked+edits"
    assert steps[0].conversation.reply.text == f"ranked+edits: {steps[0].choice.reason}"
    assert (steps[0].chunk.start, steps[0].chunk.end, steps[0].conversation.reply.usage.calls) == (0, 0, 0)
    assert [step.chunk.index for step in steps] == list(range(len(steps)))
    # The chosen way goes on although the question would now be read otherwise.
    *rest, again = read(GATED, done=steps[:2])
    assert again.text == answer.text
    assert [step.chunk for step in rest] == [step.chunk for step in steps[2:]]
