"""Another question begins with the memory of a finished reading, and reads again only if that cannot answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookwheel import TextDocument
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading import loop
from bookwheel.reading.follow_up import carry_steps, continue_way, count_carried, follow_up
from bookwheel.reading.reread import reread
from bookwheel.types import Answer, Flag, Step

PLAN = Plan(question_tokens=60, chunk_tokens=60, memory_tokens=60, answer_tokens=30)
TEXT = (
    "Gulls circle over the pier. " * 30
    + "The harbour master of Skarholm is Ada Quill. "
    + "Rain fell on the roofs. " * 30
    + "Bo Fell lights the lamp of the tower."
)
DOCUMENT = TextDocument(TEXT, "book")
QUESTION, SAME, OTHER = (
    "Who is the harbour master of Skarholm?",
    "What is the name of the harbour master?",
    "Who lights the lamp of the tower?",
)


def run(way, question, model, done=(), plan=PLAN):
    async def collect():
        return [event async for event in way(DOCUMENT, question, model, plan, done)]

    return asyncio.run(collect())


def model_of(script=keyword_reader):
    return ScriptedModel(script, plan=PLAN, window=400)


@pytest.fixture(scope="module")
def finished():
    *steps, _ = run(loop.read, QUESTION, model_of())
    return carry_steps(steps)


def test_the_last_step_is_marked_once(finished):
    assert count_carried(finished) == len(finished)
    assert [Flag.CARRIED in step.flags for step in finished[-2:]] == [False, True]
    longer = carry_steps((*finished, replace(finished[-1], chunk=replace(finished[-1].chunk, index=len(finished)))))
    assert count_carried(longer) == len(longer) == sum(1 for _ in longer)
    assert sum(Flag.CARRIED in step.flags for step in longer) == 1
    assert count_carried(()) == 0


def test_a_memory_that_answers_takes_one_call(finished):
    model = model_of()
    (answer,) = run(follow_up(loop.read), SAME, model, finished)
    assert "Ada Quill" in answer.text
    assert model.calls == 1


def test_a_memory_that_does_not_answer_is_paid_for_and_the_document_read_from_its_beginning(finished):
    model = model_of()
    *steps, answer = run(follow_up(loop.read), OTHER, model, finished)
    assert "Bo Fell" in answer.text
    assert [step.chunk.index for step in steps] == list(range(len(finished), 2 * len(finished)))
    assert (steps[0].chunk.start, steps[-1].chunk.end) == (0, len(TEXT))
    assert steps[0].before.text == ""
    paid = sum(event.conversation.reply.usage.calls for event in (*steps, answer))
    assert paid == model.calls == len(steps) + 2


@pytest.mark.parametrize(
    "said",
    ["\\boxed{The document does not say.}", "\\boxed{It is Edda Stone, in 1742.}", ""],
    ids=["absent", "names that stand nowhere", "empty"],
)
def test_what_does_not_stand_is_read_for(finished, said):
    first = []

    def script(messages):
        if not first:
            first.append(1)
            return said
        return keyword_reader(messages)

    events = run(follow_up(loop.read), SAME, model_of(script), finished)
    assert len(events) == len(finished) + 1


def test_a_memory_of_quotes_is_not_asked_and_the_document_is_read(finished):
    model = model_of()
    plan = replace(PLAN, prompts="small")
    *steps, _ = run(follow_up(loop.read), SAME, model, finished, plan)
    assert (steps[0].chunk.start, steps[-1].chunk.end) == (0, len(TEXT))
    assert model.calls == len(steps) + 1


def test_it_goes_on_after_an_interruption_without_asking_the_memory_again(finished):
    model = model_of()
    whole = run(follow_up(loop.read), OTHER, model, finished)
    part = tuple(event for event in whole[:2] if isinstance(event, Step))
    again = model_of()
    rest = run(follow_up(loop.read), OTHER, again, (*finished, *part))
    assert again.calls == model.calls - 1 - len(part)
    assert next(event.chunk.index for event in rest if isinstance(event, Step)) == len(finished) + len(part)
    assert isinstance(rest[-1], Answer)


def test_a_reading_goes_on_in_its_own_way_unless_steps_say_otherwise(finished):
    plain = tuple(replace(step, flags=()) for step in finished)
    flagged = replace(plain[-1], flags=(Flag.REREAD,))
    assert continue_way(plain, loop.read) is loop.read
    assert continue_way((), loop.read) is loop.read
    assert continue_way((*plain, flagged), loop.read) is reread
    assert continue_way((*finished, flagged), loop.read) is reread
    # A section that the finished reading had read again does not make the new one do so.
    assert continue_way(carry_steps((*plain, flagged)), loop.read) not in (reread, loop.read)
