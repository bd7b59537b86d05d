"""What `read`, `aread` and `resume` take: the options of `ask` by name, and our errors for everything else."""

from __future__ import annotations

import io
import json
from importlib.metadata import version

import pytest

import bookwheel
from bookwheel import Plan, Status, TextDocument, read, resume
from bookwheel.errors import InputError, JournalError
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.reading.structured import format_schema

QUESTION = "Who signed the plan of the mill?"
DOCUMENT = TextDocument("Rain fell on the mill. " * 60 + "Ramelli signed the plan of the mill. " + "Rain fell. " * 120)
SMALL = {"chunk_tokens": 120, "memory_tokens": 60, "question_tokens": 40, "answer_tokens": 40}


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    monkeypatch.setenv("BOOKWHEEL_CONFIG", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "journal.sqlite"


def test_the_version_is_the_package_s() -> None:
    assert bookwheel.__version__ == version("bookwheel")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (io.StringIO("text"), "StringIO is no document.*TextDocument"),
        (io.BytesIO(b"text"), "BytesIO is no document"),
        (b"text", "bytes is no document"),
        (7, "int is no document"),
        (None, "NoneType is no document"),
        ([b"text"], "not bytes"),
        ([], "nothing to read"),
    ],
)
def test_what_is_no_source_is_refused_with_advice(source, says) -> None:
    with pytest.raises(InputError, match=says):
        read(source, QUESTION, model="scripted")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model": 7}, "model must be a name or an object"),
        ({"plan": {"chunk_tokens": 9}}, "plan must be a Plan, not dict"),
        ({"way": 7}, "way must be a name or a function"),
        ({"way": "sequental"}, "did you mean 'sequential'"),
        ({"journal": 7}, "journal must be the path"),
        ({"chunk_token": 9}, "unknown setting 'chunk_token'; did you mean 'chunk_tokens'"),
        ({"chunk_tokens": "9"}, "chunk_tokens must be a whole number"),
        ({"temperature": 9}, "temperature must be at most 2"),
        ({"max_seconds": 0}, "seconds must be above 0"),
        ({"price_in": -1}, "price_in must be at least 0"),
        ({"base_url": 7}, "base_url must be text"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "leave out one"),
        ({"window": 0}, "window must be at least 1"),
        ({"threads": "many"}, "threads must be a whole number"),
        ({"schema": []}, "schema is no JSON Schema"),
        ({"schema": {"type": "thing"}}, r"schema is no JSON Schema: \$.type"),
        ({"preset": "laptop", "plan": Plan()}, "a plan or a preset"),
        ({"preset": "none"}, "no preset 'none'"),
    ],
)
def test_a_wrong_argument_is_an_input_error(settings, says) -> None:
    with pytest.raises(InputError, match=says):
        read(DOCUMENT, QUESTION, **{"model": "scripted", **settings})


def test_a_question_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="question must be text, not NoneType"):
        read(DOCUMENT, None, model="scripted")


def test_flat_settings_reach_the_plan() -> None:
    settings = {"temperature": 0, "seed": 4, "language": "en", "max_tokens_total": 90_000, "price_in": 2.0}
    plan = read(DOCUMENT, QUESTION, model="scripted", **SMALL, **settings).plan
    assert (plan.chunk_tokens, plan.sampling.temperature, plan.sampling.seed, plan.language) == (120, 0, 4, "en")
    assert (plan.budget.tokens, plan.budget.price_in) == (90_000, 2.0)


def test_options_that_the_plan_knows_by_another_name_reach_it() -> None:
    plan = read(DOCUMENT, QUESTION, model="scripted", **SMALL, lang="zh", gate_threshold=0.3).plan
    assert plan.language == "zh"
    assert plan.gate is not None
    assert plan.gate.threshold == 0.3


def test_everything_keeps_the_menu(tmp_path) -> None:
    page = tmp_path / "mill.html"
    page.write_text("<nav><a href='/a'>Products</a> <a href='/b'>Imprint</a></nav><p>Ramelli signed the plan.</p>")
    texts = [
        read(page, QUESTION, model="scripted", everything=everything).document.length for everything in (False, True)
    ]
    assert texts[1] > texts[0]


def test_resume_goes_on_with_the_model_that_began(path) -> None:
    stopped = read(DOCUMENT, QUESTION, model="scripted", **SMALL, max_tokens_total=800)
    assert stopped.status is Status.STOPPED
    seen = []
    ended = resume(stopped.id[:8], watch=seen.append)
    assert ended.status is Status.ANSWERED
    assert ended.steps[: len(stopped.steps)] == stopped.steps
    assert len(seen) == len(ended.steps) - len(stopped.steps) + 1
    assert resume(ended).answer.text == ended.answer.text
    with pytest.raises(InputError, match="unknown setting 'chunk_tokens'"):
        resume(stopped.id, chunk_tokens=9)
    with pytest.raises(InputError, match="not int"):
        resume(7)


def test_a_reading_in_progress_keeps_its_model_when_another_is_named(path) -> None:
    stopped = read(DOCUMENT, QUESTION, model="scripted", **SMALL, max_tokens_total=800)
    with Journal(path) as journal:
        address = journal.address_of(stopped.id)
        other = ScriptedModel(keyword_reader, name="another")
        with journal.claim(stopped.id), pytest.raises(JournalError, match="being read"):
            resume(stopped.id, model=other)
        assert journal.address_of(stopped.id) == address


def test_resume_takes_the_function_of_a_way_of_the_caller_s(path) -> None:
    from bookwheel.reading.loop import read as loop

    async def patient(document, question, model, plan, done=()):
        async for event in loop(document, question, model, plan, done):
            yield event

    stopped = read(DOCUMENT, QUESTION, model="scripted", way=patient, **SMALL, max_tokens_total=800)
    with pytest.raises(InputError, match="patient"):
        resume(stopped)
    assert resume(stopped, way=patient).status is Status.ANSWERED


def test_a_document_that_fits_the_window_is_read_in_one_call_unless_the_plan_is_given() -> None:
    model = ScriptedModel(keyword_reader, window=8192)
    assert read(DOCUMENT, QUESTION, model=model).way == "whole"
    assert read(DOCUMENT, QUESTION, model=model, chunk_tokens=120).way == "sequential"
    assert read(DOCUMENT, QUESTION, model=model, plan=Plan()).way == "sequential"
    assert read(DOCUMENT, QUESTION, model=ScriptedModel(keyword_reader)).way == "sequential"
    small = ScriptedModel(keyword_reader, window=1500, plan=Plan(chunk_tokens=500, memory_tokens=99, answer_tokens=99))
    assert read(TextDocument(DOCUMENT.text * 4), QUESTION, model=small).way == "sequential"


SIGNER = {"type": "object", "properties": {"signer": {"type": "string"}}, "required": ["signer"]}


def structuring(*replies):
    """A model that reads by keywords and gives these replies to the turn that asks for JSON."""
    left = list(replies)
    return ScriptedModel(
        lambda messages: left.pop(0) if any("<schema>" in one.content for one in messages) else keyword_reader(messages)
    )


def test_an_answer_fits_its_schema_after_as_many_tries_as_it_takes(path) -> None:
    model = structuring("Ramelli", '{"name": "Ramelli"}', '```json\n{"signer": "Ramelli"}\n```')
    reading = read(DOCUMENT, QUESTION, model=model, schema=SIGNER)
    assert json.loads(reading.answer.text) == {"signer": "Ramelli"}
    assert "'signer' is a required property" in model.last_messages[-1].content
    with Journal(path) as journal:
        assert json.loads(journal.reading(reading.id).plan.schema) == SIGNER


def test_an_answer_that_never_fits_its_schema_fails_with_the_answer_in_words(path) -> None:
    reading = read(DOCUMENT, QUESTION, model=structuring(*["no"] * 99), schema=SIGNER)
    assert reading.status is Status.FAILED
    assert "no JSON that fits the schema" in reading.error
    assert "Ramelli signed the plan" in reading.error


@pytest.mark.parametrize(
    "reference", ["https://example.org/s.json", "other.json", "#/$defs/none", "#none", "#/anyOf/2"]
)
def test_a_schema_is_complete_in_itself(reference) -> None:
    with pytest.raises(InputError, match="must lead to a part of the same file"):
        read(DOCUMENT, QUESTION, model="scripted", schema={"properties": {"a": {"$ref": reference}}})


@pytest.mark.parametrize(
    "part",
    [
        {"$ref": "#/$defs/a"},
        {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]},
        {"allOf": [{"not": {"$ref": "#/$defs/a"}}]},
        {"oneOf": [{"$ref": "#/$defs/b"}]},
    ],
)
def test_a_schema_that_leads_back_to_itself_in_the_same_place_is_refused(part) -> None:
    with pytest.raises(InputError, match="leads back to itself before any property or item"):
        format_schema({"properties": {"v": {"$ref": "#/$defs/a"}}, "$defs": {"a": part, "b": {"$ref": "#/$defs/a"}}})


def test_a_schema_may_hold_itself() -> None:
    whole = {"anyOf": [{"type": "string"}, {"items": {"$ref": "#/$defs/json"}}]}
    schema = {"allOf": [{"$ref": "#/$defs/json"}, {"$ref": "#/$defs/json"}], "$defs": {"json": whole}}
    assert json.loads(format_schema(schema)) == schema


@pytest.mark.parametrize("reference", ["#", "#name", "#/anyOf/1", "#/$defs/a%20b", "#/$defs/c~1d"])
def test_a_schema_may_refer_to_any_part_of_itself(reference) -> None:
    parts = {"a b": {"$anchor": "name", "type": "string"}, "c/d": {"type": "string"}}
    schema = {
        "$defs": parts,
        "anyOf": [{"type": "object"}, {"type": "string"}],
        "properties": {"a": {"$ref": reference}},
    }
    assert json.loads(format_schema(schema)) == schema
