"""Every prompt of a reading has what was said before its question, and the fields that its answer must fill."""

from __future__ import annotations

import json
from dataclasses import replace
from unittest.mock import DEFAULT, Mock

import pytest

from bookwheel.plan import Layout, Plan
from bookwheel.reading import inquiry
from bookwheel.reading.inquiry import describe_fields
from bookwheel.reading.prompts import prompts_for
from bookwheel.types import Answer, Chunk, Conversation, DocumentInfo, Memory, Reading, Reply

QUESTION = "And who signed it?"
CHUNK, MEMORY = Chunk(index=0, start=0, end=4, text="Text", tokens=1), Memory.blank(20)
EARLIER = "user: When does the lease end?\n\nassistant: In May 2031."
SCHEMA = {
    "type": "object",
    "properties": {
        "who": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "kind": {"enum": ["lease", "sale", None]},
        "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "description": "The last day."},
        "paid": {"$ref": "#/$defs/sum"},
    },
    "$defs": {"sum": {"type": "number", "description": "Euros."}},
}
LINES = """\
- who (list)
  - name (text)
- kind (one of lease, sale)
- due (text, date): The last day.
- paid (number): Euros."""


def list_prompts(plan, question=QUESTION):
    prompts = prompts_for(plan, question)
    turns = [prompts.update(question, MEMORY, CHUNK, layout) for layout in Layout if layout in prompts.updates]
    asked = {"question": question, "memory": "notes", "section": "Text"}
    turns += [prompts.answer(question, MEMORY), prompts.turn("whole", **asked), prompts.turn("judge", **asked)]
    return [turn[-1].content for turn in turns]


def test_what_was_said_before_and_the_fields_stand_in_every_prompt():
    for language, question in (("en", QUESTION), ("zh", "谁签的字?")):
        plan = Plan(language=language, earlier=EARLIER, schema=json.dumps(SCHEMA))
        for prompt in list_prompts(plan, question):
            before, _, after = prompt.partition(question)
            assert EARLIER in before
            assert LINES in after
            assert len(prompt) > len(list_prompts(Plan(language=language), question)[0]) // 2


def test_a_question_alone_is_asked_as_ever_and_another_one_is_not_completed():
    plan = Plan(earlier=EARLIER)
    assert prompts_for(Plan(), QUESTION).inquiry is None
    assert prompts_for(replace(plan, prompts="small"), QUESTION).inquiry is None
    asked = prompts_for(plan, QUESTION).turn("judge", question="Who else?", memory="", section="Text")
    assert EARLIER not in asked[-1].content
    # What is counted as the template's has them too.
    assert all(EARLIER in turn[-1].content for turn in prompts_for(plan, QUESTION).empty(Layout.MEMORY_FIRST))


def test_a_list_is_asked_for_as_a_list():
    rates = {"type": "array", "items": {"type": "object", "properties": {"rate": {"type": "number"}}}}
    assert describe_fields(json.dumps(rates), 400) == "- list, of each item:\n  - rate (number)"
    assert describe_fields(json.dumps({"type": "array", "items": {"type": "string"}}), 400) == ""


def test_fields_that_are_too_many_lose_first_what_they_are_about():
    described = {"properties": {f"field{n}": {"type": "string", "description": "words " * 9} for n in range(20)}}
    text = json.dumps(described)
    assert "words" in describe_fields(text, 2000)
    assert "- field19 (text)" in describe_fields(text, 200)
    assert "words" not in describe_fields(text, 200)
    assert describe_fields(text, 20) == ""


def test_parts_that_refer_to_one_another_are_listed_only_as_far_as_there_is_room(monkeypatch):
    names = [f"field{n}" for n in range(40)]
    parts = {f"p{n}": {"properties": {name: {"$ref": f"#/$defs/p{n + 1}"} for name in names}} for n in range(5)}
    # Each of these parts may be any of them, and none has a field.
    choices = {f"c{n}": {"anyOf": [{"$ref": f"#/$defs/c{other}"} for other in range(9)]} for n in range(9)}
    for defs, first in ((parts, "p0"), (choices, "c0")):
        root = {"$defs": {**defs, "p5": {}}, "$ref": f"#/$defs/{first}"}
        calls = Mock(wraps=inquiry.resolve, side_effect=[DEFAULT] * 20_000)  # More of them are an error.
        monkeypatch.setattr(inquiry, "resolve", calls)
        assert inquiry.describe_fields(json.dumps(root), 1024) == ""
        monkeypatch.undo()


def test_a_part_within_itself_is_named_once():
    tree = {"properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
    anything = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/anything"}}]}
    root = {"allOf": [{"$ref": "#/$defs/tree"}], "properties": {"value": {"$ref": "#/$defs/anything"}}}
    told = describe_fields(json.dumps({**root, "$defs": {"tree": tree, "anything": anything}}), 400)
    assert told == "- value (text, list)\n- name (text)\n- parts (list)"


def test_what_a_field_is_about_stands_on_its_line():
    told = describe_fields('{"properties": {"fee": {"description": "Euros.\\n- rent (text)"}}}', 400)
    assert told == "- fee: Euros. - rent (text)"


def test_tools_are_told_by_what_they_do():
    call = {"description": "A call of the tool add", "properties": {"tool": {"const": "add"}, "arguments": SCHEMA}}
    reply = {"description": "The reply.", "properties": {"reply": {"type": "string"}}}
    told = describe_fields(json.dumps({"anyOf": [reply, call], "$defs": SCHEMA["$defs"]}), 400)
    assert told.startswith("- The reply.\n  - reply (text)\n- A call of the tool add\n  - arguments\n    - who (list)")
    assert "tool (" not in told


def read(question, answer, earlier=""):
    said = Answer(text=answer, conversation=Conversation(messages=(), reply=Reply(text=answer)))
    info = DocumentInfo(id="", name="", length=0)
    return Reading(id="0", document=info, question=question, plan=Plan(earlier=earlier), model="m", answer=said)


@pytest.mark.parametrize(
    ("question", "doubt"), [("What is the fee?", "an answer in it may"), ("费用多少?", "其中的回答可能")]
)
def test_answers_of_before_are_doubted_and_instructions_are_not(question: str, doubt: str) -> None:
    for earlier, is_doubted in (("system: Answer in one sentence.", False), ("user: The fee?\n\nassistant: 40.", True)):
        message = prompts_for(Plan(earlier=earlier), question).answer(question, Memory.blank(10))[-1].content
        assert (doubt in message) is is_doubted
        assert earlier.removeprefix("system: ") in message


def test_a_field_may_refer_to_a_part_by_its_anchor_or_to_the_whole() -> None:
    day = {"$anchor": "day", "type": "string", "description": "The last day."}
    schema = {"properties": {"due": {"$ref": "#day"}, "next": {"$ref": "#"}}, "$defs": {"day": day}}
    assert describe_fields(json.dumps(schema), 99) == "- due (text): The last day.\n- next"
