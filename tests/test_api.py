"""`read` and `aread` from Python: a way of the user's own, with journal and resume."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bookwheel import Plan, TextDocument, aread, read
from bookwheel.errors import InputError, Overloaded
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.reading import loop
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.runner import run_reading
from bookwheel.record import reading_to_json
from bookwheel.text.chunks import split
from bookwheel.types import Memory, Status

QUESTION = "Who signed the plan of the mill?"
DOCUMENT = TextDocument("Rain fell on the mill. " * 60 + "Ramelli signed the plan of the mill. " + "Rain fell. " * 120)
PLAN = Plan(chunk_tokens=120, memory_tokens=60, question_tokens=40, answer_tokens=40)


async def until_noted(document, question, model, plan, done=()):
    """A way of the user's own: it stops at the first chunk that changes the memory."""
    prompts = prompts_for(plan, question)
    memory, start = (done[-1].after, done[-1].chunk.end) if done else (Memory.blank(plan.memory_tokens), 0)
    for chunk in split(document, model.tokenizer, plan.chunk_tokens, start=start, index=len(done)):
        step = await loop.update(question, memory, chunk, model, plan, prompts)
        memory = step.after
        yield step
        if memory.text:
            break
    yield await loop.answer(question, memory, model, plan, prompts)


def test_a_function_is_a_way_and_its_name_is_recorded(tmp_path):
    model, path = ScriptedModel(keyword_reader), tmp_path / "journal.sqlite"
    reading = read(DOCUMENT, QUESTION, model=model, plan=PLAN, way=until_noted, journal=path)
    assert (reading.status, reading.way) == (Status.ANSWERED, "until_noted")
    assert "Ramelli" in reading.answer.text
    assert reading.steps[-1].chunk.end < reading.document.length
    with Journal(path) as journal:
        assert journal.reading(reading.id).way == "until_noted"


def test_a_name_and_its_function_read_the_same(tmp_path):
    model, path = ScriptedModel(keyword_reader), tmp_path / "journal.sqlite"

    async def both():
        options = {"model": model, "plan": PLAN, "journal": path}
        return [await aread(DOCUMENT, QUESTION, way=way, **options) for way in ("sequential", loop.read)]

    named, passed = asyncio.run(both())
    assert named.memory == passed.memory
    assert named.answer.text == passed.answer.text


def stopped_reading(path):
    """One step and no answer."""
    budget = {"tokens": 600}
    reading = read(DOCUMENT, QUESTION, model="scripted", plan=PLAN, way=until_noted, journal=path, budget=budget)
    assert reading.status is Status.STOPPED
    assert reading.steps
    return reading


def test_a_reading_by_a_function_is_resumed_with_the_function(tmp_path):
    path, model = tmp_path / "journal.sqlite", ScriptedModel(keyword_reader)
    stopped = stopped_reading(path)
    with Journal(path) as journal:
        kept = journal.reading(stopped.id)
        reading = replace(kept, plan=PLAN)
        document = journal.document_of(stopped.id)
        work = run_reading(reading, document, model, way=until_noted, journal=journal)
        ended = asyncio.run(work)
    assert ended.status is Status.ANSWERED
    assert ended.steps[: len(kept.steps)] == kept.steps


def test_the_command_line_says_how_to_resume_a_way_that_it_does_not_know(tmp_path, command):
    path = tmp_path / "journal.sqlite"
    stopped = stopped_reading(path)
    for words in (["resume", stopped.id], ["edit", stopped.id, "--step", "0", "--memory", "m"]):
        code, _, error = command(*words, "--model", "scripted", "--journal", path)
        assert code == 2
        assert "'until_noted', which is not registered" in error
        assert "bookwheel.ways" in error
        assert "way=FUNCTION" in error
    with Journal(path) as journal:
        assert [reading.id for reading in journal.readings()] == [stopped.id]


def test_a_function_may_not_take_the_name_of_a_registered_way(tmp_path):
    async def whole(document, question, model, plan, done=()):
        yield await loop.answer(question, Memory.blank(plan.memory_tokens), model, plan, prompts_for(plan, question))

    with pytest.raises(InputError, match="another name"):
        read(DOCUMENT, QUESTION, model="scripted", way=whole, journal=tmp_path / "journal.sqlite")


def test_read_works_inside_a_running_event_loop(tmp_path):
    async def notebook():
        return read(DOCUMENT, QUESTION, model="scripted", plan=PLAN, journal=tmp_path / "journal.sqlite")

    assert "Ramelli" in asyncio.run(notebook()).answer.text


def test_the_models_of_the_caller_stay_open(tmp_path):
    class Watched(ScriptedModel):
        is_closed = False

        async def aclose(self):
            self.is_closed = True

    model = Watched(keyword_reader)
    read(DOCUMENT, QUESTION, model=model, plan=PLAN, journal=tmp_path / "journal.sqlite")
    assert not model.is_closed


@pytest.mark.parametrize("minutes", [-1, "long", float("nan")])
def test_patience_is_a_number_of_minutes(tmp_path: Path, minutes: object) -> None:
    with pytest.raises(InputError, match="patience"):
        read(TextDocument("words"), "Why?", model="scripted", journal=tmp_path / "j.sqlite", patience=minutes)


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize(("minutes", "status"), [(0, Status.FAILED), (1, Status.ANSWERED)])
def test_a_fault_is_waited_out_as_long_as_patience_says(tmp_path: Path, minutes: float, status: Status) -> None:
    model = ScriptedModel(keyword_reader, faults={0: Overloaded("busy", retry_after=0)})
    document = TextDocument("The keeper is Ada Quill. " * 9)
    ended = read(document, "Who is the keeper?", model=model, journal=tmp_path / "j.sqlite", patience=minutes)
    assert ended.status is status


def test_several_questions_get_a_reading_each(tmp_path):
    from bookwheel import aread

    text = "".join(f"Page {n} tells of harvests, tolls and rain.\n" for n in range(80))
    text += "The colour of the wheel is vermilion.\nThe keeper of the lamp was Ada Quill.\n"
    questions = ["What is the colour of the wheel?", "Who was the keeper of the lamp?"]
    work = aread(
        TextDocument(text),
        questions,
        model="scripted",
        way="edits",
        chunk_tokens=100,
        memory_tokens=60,
        journal=tmp_path / "journal.sqlite",
    )
    readings = asyncio.run(work)
    assert [reading.question for reading in readings] == questions
    assert "vermilion" in readings[0].answer.text
    assert "Ada Quill" in readings[1].answer.text
    assert len({reading.id for reading in readings}) == 2


def test_the_package_lists_what_it_offers() -> None:
    import bookwheel

    assert {"read", "aread", "collect", "LastingMemory", "TextDocument", "Plan"} <= {*dir(bookwheel)}
    assert all(getattr(bookwheel, name) is not None for name in dir(bookwheel))


def test_a_lasting_memory_keeps_to_its_limits_and_tells_what_changed(tmp_path: Path) -> None:
    from bookwheel import LastingMemory

    settings = {
        "about": "Bo Fell and the lamp of the tower",
        "model": "scripted",
        "journal": tmp_path / "j.sqlite",
        "max_characters": 60,
    }
    update = LastingMemory("bo", **settings).read("Bo Fell lights the lamp of the tower.", source="mail-1")
    assert (update.steps, [line.text for line in update.changes]) == (1, ["Bo Fell lights the lamp of the tower."])
    with pytest.raises(InputError, match="may hold 60 characters"):
        LastingMemory("bo", **settings).read("Bo Fell has a boat, a cat and a hat.", source="mail-2")


def test_an_async_watch_is_awaited(tmp_path: Path) -> None:
    seen = []

    async def watch(event) -> None:
        await asyncio.sleep(0)
        seen.append(type(event).__name__)

    document = TextDocument("The keeper is Ada Quill. " * 60)
    read(document, "Who?", model="scripted", journal=tmp_path / "j.sqlite", chunk_tokens=100, watch=watch)
    assert seen[-1] == "Answer"
    assert seen.count("Step") == len(seen) - 1 > 1


def test_an_answer_of_a_schema_is_a_value(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"keeper": {"type": "string"}}, "required": ["keeper"]}

    def reply(messages) -> str:
        return '{"keeper": "Ada Quill"}' if "JSON" in messages[-1].content else "Ada Quill"

    document, journal = TextDocument("The keeper is Ada Quill. " * 9), tmp_path / "j.sqlite"
    reading = read(document, "Who?", model=ScriptedModel(reply), journal=journal, schema=schema)
    assert reading.value == {"keeper": "Ada Quill"}
    assert reading_to_json(reading)["value"] == {"keeper": "Ada Quill"}
    plain = read(document, "Who?", model="scripted", journal=journal)
    assert plain.value is None
    assert "value" not in reading_to_json(plain)


def test_a_text_in_place_of_a_path_is_a_short_error(tmp_path: Path) -> None:
    for text in ("The keeper is Ada Quill.\n" * 3, "The keeper is Ada Quill. " * 900):
        with pytest.raises(InputError, match="TextDocument") as raised:
            read(text, "Who?", model="scripted", journal=tmp_path / "j.sqlite")
        assert len(str(raised.value)) < 250
