"""A response that a later request goes on from: the conversation of both, the memory first, each key for itself."""

from __future__ import annotations

import openai
import pytest
from openai import OpenAI

from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.engine.access import Key, KeyRing, hash_secret
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.kept_responses import KeptResponses

SMALL = Plan(question_tokens=200, chunk_tokens=100, memory_tokens=40, answer_tokens=60)
FURTHER = "Is Ada Quill the harbour master of Skarholm?"


def client(up, key: str = "none") -> OpenAI:
    return OpenAI(base_url=f"{up.url}/v1", api_key=key, max_retries=0)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.mark.slow
@pytest.mark.parametrize("streams", [False, True])
def test_a_further_question_sends_no_document_again_and_begins_with_the_memory(up, words, streams) -> None:
    text, question = words
    asked = {"model": "scripted", "input": f"{text}\n\n{question}"}
    with client(up) as ai:
        if streams:
            with ai.responses.stream(**asked) as stream:
                list(stream)
                first = stream.get_final_response()
        else:
            first = ai.responses.create(**asked)
        calls = up.model.calls
        again = ai.responses.create(model="scripted", input=FURTHER, previous_response_id=first.id)
        kept = up.journal.readings()
        third = ai.responses.create(model="scripted", input="And who is Ada Quill?", previous_response_id=again.id)
    assert (first.store, again.previous_response_id) == (True, first.id)
    assert "Ada Quill" in again.output_text
    assert up.model.calls - calls < calls
    assert [bool(reading.parent) for reading in kept] == [True, False]
    assert "Ada Quill" in third.output_text


@pytest.mark.slow
def test_what_a_function_gave_goes_on_from_its_call(serving, words) -> None:
    def reply(messages):
        if "<schema>" not in messages[-1].content:
            return keyword_reader(messages)
        is_done = "was greeted" in messages[-1].content
        return '{"reply": "Done."}' if is_done else '{"tool": "greet", "arguments": {"name": "Ada Quill"}}'

    text, question = words
    greet = {"type": "function", "name": "greet", "parameters": {"type": "object", "properties": {}}}
    body = {"model": "scripted", "tools": [greet]}
    with serving(ScriptedModel(reply, plan=SMALL, window=600)) as up, client(up) as ai:
        first = ai.responses.create(**body, input=f"{text}\n\nGreet her. {question}")
        gave = {"type": "function_call_output", "call_id": first.output[-1].call_id, "output": "Ada Quill was greeted"}
        last = ai.responses.create(**body, input=[gave], previous_response_id=first.id)
    assert last.output_text == "Done."


@pytest.mark.slow
def test_a_short_chat_goes_on_too_and_what_is_not_to_be_stored_is_not(up) -> None:
    with client(up) as ai:
        first = ai.responses.create(model="scripted", input="My name is Odo.", instructions="Be brief.")
        ai.responses.create(model="scripted", input="And again?", previous_response_id=first.id)
        sent = [message.content for message in up.model.last_messages]
        unkept = ai.responses.create(model="scripted", input="Hello there", store=False)
        with pytest.raises(openai.NotFoundError, match="send the earlier messages") as refused:
            ai.responses.create(model="scripted", input="And?", previous_response_id=unkept.id)
    # The instructions are those of each request alone.
    assert sent == ["My name is Odo.", first.output_text, "And again?"]
    assert refused.value.code == "previous_response_not_found"


@pytest.mark.slow
def test_a_response_is_nobody_elses_and_goes_with_what_is_deleted(serving, words) -> None:
    text, question = words
    keys = KeyRing([Key(name=name, sha256=hash_secret(name * 8)) for name in ("ada", "eve")])
    with serving(keys=keys) as up, client(up, "ada" * 8) as ada, client(up, "eve" * 8) as eve:
        first = ada.responses.create(model="scripted", input=f"{text}\n\n{question}")
        with pytest.raises(openai.NotFoundError):
            eve.responses.create(model="scripted", input=FURTHER, previous_response_id=first.id)
        with up.client(headers={"Authorization": f"Bearer {'ada' * 8}"}) as plain:
            assert plain.delete(f"/readings/{first.model_extra['reading']}").is_success
        with pytest.raises(openai.NotFoundError):
            ada.responses.create(model="scripted", input=FURTHER, previous_response_id=first.id)


def test_a_response_can_be_got_and_dropped_by_who_made_it(up) -> None:
    with client(up) as ai:
        first = ai.responses.create(model="scripted", input="Hello there")
        assert ai.responses.retrieve(first.id) == first
        assert ai.responses.retrieve(first.id).output_text
        ai.responses.delete(first.id)
        for ask in (ai.responses.retrieve, ai.responses.delete):
            with pytest.raises(openai.NotFoundError, match="any more"):
                ask(first.id)


def test_the_newest_are_kept_and_a_chain_with_a_gap_is_none() -> None:
    def keep(number: str, previous: str, text: str) -> None:
        kept.keep("", previous, said(text), {"id": number, "output": [{"said": "yes"}]})

    kept = KeptResponses(most=3, most_characters=600)
    for number in range(4):
        keep(f"resp_{number}", f"resp_{number - 1}" if number else "", f"turn {number}")
    with pytest.raises(ApiError):  # the first turn is gone
        kept.list_items("", "resp_3")
    kept.clear()
    keep("resp_0", "", "turn 0")
    keep("resp_1", "resp_0", "turn 1")
    keep("resp_2", "resp_0", "turn 2")
    output = {"said": "yes"}
    assert kept.list_items("", "resp_2") == [*said("turn 0"), output, *said("turn 2"), output]
    keep("large", "", "x" * 600)
    with pytest.raises(ApiError):
        kept.list_items("", "large")
    assert kept.list_items("", "") == []
