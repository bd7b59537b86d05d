"""Another question begins with the memory of a finished reading, and reads again only if that cannot answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookwheel import TextDocument
from bookwheel.configuration import Connection
from bookwheel.flags import Flag
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan, VerdictMode
from bookwheel.reading import loop
from bookwheel.reading.follow_up import (
    asks_for_more,
    carry_steps,
    continue_way,
    count_carried,
    follow_up,
    reread,
    tell_parent,
)
from bookwheel.reading.runner import run_reading
from bookwheel.session import open_session
from bookwheel.types import Answer, DocumentInfo, Reading, Step

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


def model_that_begins_with(said):
    first = []

    def script(messages):
        if not first:
            first.append(1)
            return said
        return keyword_reader(messages)

    return model_of(script)


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


def test_a_memory_about_something_else_is_asked_once_and_the_document_read_from_its_beginning(finished):
    model = model_of()
    *steps, answer = run(follow_up(loop.read), OTHER, model, finished)
    assert "Bo Fell" in answer.text
    assert [step.chunk.index for step in steps] == list(range(len(finished), 2 * len(finished)))
    assert (steps[0].chunk.start, steps[-1].chunk.end) == (0, len(TEXT))
    assert steps[0].before.text == ""
    paid = sum(event.conversation.reply.usage.calls for event in (*steps, answer))
    assert paid == model.calls == len(steps) + 2


def test_the_memory_is_asked_whatever_the_words_of_the_question_are(finished):
    model, seen = model_of(lambda messages: seen.append(messages[-1].content) or "\\boxed{Ada Quill}"), []
    (answer,) = run(follow_up(loop.read), "And was she alone at the lamp?", model, finished)
    assert answer.text == "Ada Quill"
    assert "for another question than this one" in seen[0]


def test_what_was_asked_and_answered_before_is_told_within_the_room_for_a_question(finished):
    said = Answer(text="Ada Quill", conversation=finished[-1].conversation)
    info = DocumentInfo(id="", name="", length=0)
    old = Reading(id="0", document=info, question=QUESTION, plan=PLAN, model="m", answer=said)
    plan = asyncio.run(tell_parent(old, "And since when?", model_of(), replace(PLAN, question_tokens=120)))
    assert plan.earlier == f"user: {QUESTION}\n\nassistant: Ada Quill"
    small = replace(PLAN, question_tokens=60)
    tokens = model_of().tokenizer.count(asyncio.run(tell_parent(old, "And since when?", model_of(), small)).earlier)
    assert tokens <= 60
    quoting = replace(plan, earlier="", prompts="small")
    assert asyncio.run(tell_parent(old, "And since when?", model_of(), quoting)) is quoting


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (QUESTION, False),
        (SAME, False),
        (OTHER, True),
        ("Who works beside Ada Quill at the lamp?", True),
        ("And in French, please?", False),
        ("Who is the boss there?", False),
        ("Who lit the lamps?", True),
        # A frequent word alone says nothing, unless nothing else is known.
        ("Does Ada Quill look after the gulls?", False),
        ("What do the gulls do?", True),
        # Of a chat, only what was typed last counts.
        (f"user: {OTHER}\n\nassistant: Bo Fell.\n\nuser: {SAME}\n\ntool: the lamp is lit", False),
        (f"system: Cite.\n\nuser: ### Task\n\n{OTHER}", True),
    ],
)
def test_a_question_about_what_stands_in_the_document_alone_asks_for_more(question, expected):
    book = TextDocument(TEXT.replace("Gulls circle over the pier. ", "Gulls circle over the pier. " * 20), "book")
    assert asks_for_more(question, "The harbour master of Skarholm is Ada Quill.", book) is expected


def test_a_chinese_question_about_something_else_asks_for_more():
    text = (
        "海鸥在码头上空盘旋，什么也没有发生。" * 200 + "港务长叫艾达。" + "雨落在屋顶上。" * 200 + "塔上的灯由波点亮。"
    )
    asks = [asks_for_more(one, "港务长叫艾达。", TextDocument(text)) for one in ("港务长叫什么？", "谁点亮塔上的灯？")]
    assert asks == [False, True]


@pytest.mark.parametrize(
    "said",
    ["\\boxed{The document does not say.}", "\\boxed{It is Edda Stone, in 1742.}", ""],
    ids=["absent", "names that stand nowhere", "empty"],
)
def test_what_does_not_stand_is_read_for(finished, said):
    model = model_that_begins_with(said)
    events = run(follow_up(loop.read), SAME, model, finished)
    assert len(events) == len(finished) + 1
    paid = sum(event.conversation.reply.usage.calls for event in events)
    assert paid == model.calls == len(events) + 1


@pytest.mark.parametrize(("denied", "is_read"), [("Yes", True), ("No", False)])
def test_what_the_judge_finds_contradicted_is_read_for_and_no_judgement_is_paid_twice(finished, denied, is_read):
    prompts = list[str]()

    def script(messages):
        prompts.append(messages[-1].content)
        if len(prompts) == 1:
            return "\\boxed{Bo Fell is the harbour master of Skarholm.}"
        if "<answer>" not in prompts[-1]:
            return keyword_reader(messages)
        is_asked_of_all = "Do the passages say everything" in prompts[-1]
        return "No" if is_asked_of_all else denied if "wrong by what the passages say" in prompts[-1] else "Yes"

    model = model_of(script)
    plan = replace(PLAN, verdict=VerdictMode.MODEL)
    reading = Reading(
        id="r", document=DocumentInfo(id="d", name="book", length=len(TEXT)), question=SAME, plan=plan, model=model.name
    )
    reading = replace(reading, steps=finished)
    ended = asyncio.run(run_reading(reading, DOCUMENT, model, way=follow_up(loop.read)))
    assert (len(ended.steps) > len(finished)) is is_read
    assert ("Ada Quill" in ended.answer.text) is is_read
    judged = [one for one in prompts if "<answer>" in one]
    assert len(set(judged)) == len(judged)


def test_a_memory_of_quotes_is_not_asked_and_the_document_is_read(finished):
    model = model_of()
    plan = replace(PLAN, prompts="small")
    *steps, _ = run(follow_up(loop.read), SAME, model, finished, plan)
    assert (steps[0].chunk.start, steps[-1].chunk.end) == (0, len(TEXT))
    assert model.calls == len(steps) + 1


def test_it_goes_on_after_an_interruption_without_asking_the_memory_again(finished):
    model = model_that_begins_with("\\boxed{The document does not say.}")
    whole = run(follow_up(loop.read), SAME, model, finished)
    part = tuple(event for event in whole[:2] if isinstance(event, Step))
    again = model_of()
    rest = run(follow_up(loop.read), SAME, again, (*finished, *part))
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


def test_a_further_question_has_the_one_before_it_where_there_is_no_memory_to_ask(tmp_path):
    prompts = []

    def script(messages):
        prompts.append(messages[-1].content)
        return "\\boxed{Ada Quill}"

    async def main():
        with Journal(tmp_path / "j.sqlite") as journal:
            model = ScriptedModel(script, window=8000)
            async with open_session(Connection(), journal, model=model) as session:
                kept, plan = await session.keep(DOCUMENT), session.build_plan({})
                (first,) = await session.run(await session.prepare(kept, [QUESTION], plan))
                again = await session.prepare(kept, ["And since when?"], plan, finished=first, follows=first)
                return first.way, await session.run(again)

    way, (second,) = asyncio.run(main())
    assert (way, second.way, second.parent, len(prompts)) == ("whole", "whole", "", 2)
    assert f"user: {QUESTION}\n\nassistant: Ada Quill\n\nAsked now:\nAnd since when?" in prompts[1]


def test_a_section_that_is_read_again_is_shown_below_what_it_begins_in():
    document = TextDocument("# The lighthouse\n\n## Oil\n\n" + "Nine barrels came. " * 20)
    model, plan = ScriptedModel(keyword_reader), replace(PLAN, chunk_tokens=80)

    async def collect(way, done=()):
        return [event async for event in way(document, QUESTION, model, plan, done)]

    *steps, first, _ = asyncio.run(collect(loop.read))
    kept = replace(first, flags=(Flag.KEPT_EMPTY,), chunk=replace(first.chunk, text="", lead=""))
    again, _ = asyncio.run(collect(reread, (*steps, kept)))
    assert first.chunk.lead == "# The lighthouse\n## Oil\n[…]\n"
    assert again.chunk.shown == first.chunk.shown
    assert again.chunk.tokens == first.chunk.tokens
