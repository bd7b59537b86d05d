"""OpenAI's Responses API with its own SDK: short requests pass, long ones are read, by the same rules as in a chat."""

from __future__ import annotations

import asyncio
import io
import json

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseUsage, response_create_params

from bookwheel.errors import Refused
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.openai.responses import ResponsesShape, to_chat_request
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Status

USER = "user"
SMALL = Plan(question_tokens=200, chunk_tokens=100, memory_tokens=40, answer_tokens=60)


def client(up, **settings: object) -> OpenAI:
    return OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0, **settings)


def asked(words: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": USER, "content": text} for text in words]


@pytest.mark.slow
def test_all_fields_that_the_clients_library_knows_are_known() -> None:
    written = (response_create_params.ResponseCreateParamsBase, response_create_params.ResponseCreateParamsStreaming)
    assert {name for one in written for name in one.__annotations__} - set(ResponsesShape.model_fields) == set()


def test_an_agent_may_offer_tools_that_the_server_would_run() -> None:
    # What Codex sends with every request.
    look = {"type": "function", "name": "look", "strict": False, "parameters": {"type": "object"}}
    others = [{"type": "web_search"}, {"type": "namespace", "name": "agents", "tools": [look]}, {"type": "custom"}]
    items = [{"type": "message", "role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    shape = ResponsesShape(model="toy", input=items, tools=[*others, look], client_metadata={"turn_id": "1"})
    chat, sent = to_chat_request(shape)
    assert [message.role for message in chat.messages] == ["system", "user"]
    assert [tool["function"]["name"] for tool in json.loads(sent)["tools"]] == ["look"]
    assert "client_metadata" not in json.loads(sent)
    alone = ResponsesShape(model="toy", input="Hi", tools=others)
    assert "tools" not in json.loads(to_chat_request(alone)[1])


def test_what_fits_the_window_goes_straight_to_the_model(up) -> None:
    with client(up) as ai:
        said = ai.responses.create(model="scripted", input="Hello there", instructions="Be brief.")
    assert [message.content for message in up.model.last_messages] == ["Be brief.", "Hello there"]
    assert (said.status, said.usage.input_tokens) == ("completed", 5)
    # The SDK parses without checking: a field that is missing is missed where it is read.
    assert said.usage == ResponseUsage.model_validate(said.usage.model_dump(), strict=True)
    assert said.output_text
    assert up.journal.readings() == []


@pytest.mark.parametrize("model", ["scripted", "bookwheel/scripted"])
def test_tools_that_the_server_would_run_are_named_in_the_notes(up, words, model: str) -> None:
    asked_for = "Hello there" if model == "scripted" else "\n\n".join(words)
    with client(up) as ai:
        said = ai.responses.create(model=model, input=asked_for, tools=[{"type": "web_search"}])
        plain = ai.responses.create(model=model, input=asked_for)
    assert any("web_search" in note for note in said.model_extra["notes"])
    assert not any("web_search" in note for note in plain.model_extra.get("notes", []))


@pytest.mark.slow
def test_a_long_request_is_read_and_its_usage_is_the_sum(up, words) -> None:
    with client(up) as ai:
        said = ai.responses.create(model="scripted", input=asked(words), instructions="Be brief.")
    kept = up.journal.reading("last")
    assert said.output_text == kept.answer.text
    assert "Ada Quill" in said.output_text
    assert [item.type for item in said.output] == ["reasoning", "message"]
    assert said.output[0].summary[0].text == kept.memory.text
    assert (said.usage.input_tokens, said.usage.output_tokens, said.usage.total_tokens) == (
        kept.usage.prompt_tokens,
        kept.usage.completion_tokens,
        kept.usage.tokens,
    )
    assert (said.model_extra["reading"], kept.status) == (kept.id, Status.ANSWERED)
    assert (kept.question, kept.plan.earlier) == (words[1], "system: Be brief.")


@pytest.mark.slow
def test_a_forced_model_and_one_text_are_read_as_in_a_chat(up, words) -> None:
    with client(up) as ai:
        said = ai.responses.create(model="bookwheel/scripted", input="\n\n".join(words), max_output_tokens=20)
    assert "Ada Quill" in said.output_text
    assert up.journal.reading("last").plan.answer_tokens == 20


@pytest.mark.slow
def test_streamed_memories_are_a_reasoning_summary_and_the_answer_a_text(up, words) -> None:
    with client(up) as ai:
        events = list(ai.responses.create(model="scripted", input=asked(words), stream=True))
    kept = up.journal.reading("last")
    kinds = [event.type.removeprefix("response.") for event in events]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert kinds[:4] == ["created", "in_progress", "output_item.added", "reasoning_summary_part.added"]
    assert kinds.count("reasoning_summary_text.delta") == len(kept.steps)
    after = kinds.index("reasoning_summary_text.done")
    assert kinds[after:] == [
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    summary = "".join(event.delta for event in events if event.type.endswith("summary_text.delta"))
    assert summary == events[after].text
    assert "Ada Quill" in summary
    ended = events[-1].response
    assert (ended.status, ended.output_text, ended.usage.total_tokens) == (
        "completed",
        kept.answer.text,
        kept.usage.tokens,
    )
    assert ended.id == events[0].response.id


@pytest.mark.slow
def test_the_sdks_own_accumulating_stream_and_the_asynchronous_client_work(up, words) -> None:
    with client(up) as ai, ai.responses.stream(model="scripted", input=asked(words)) as stream:
        ended = stream.get_final_response()

    async def ask() -> str:
        async with AsyncOpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
            whole = await ai.responses.create(model="scripted", input=asked(words))
            events = await ai.responses.create(model="scripted", input=asked(words), stream=True)
            return whole.output_text, "".join(
                [event.delta async for event in events if event.type == "response.output_text.delta"]
            )

    assert asyncio.run(ask()) == (ended.output_text, ended.output_text)
    assert "Ada Quill" in ended.output_text


def test_earlier_outputs_are_sent_back_as_input_and_files_are_read(up, words) -> None:
    text, question = words
    with client(up) as ai:
        file = ai.files.create(file=("book.txt", io.BytesIO(text.encode())), purpose="user_data")
        parts = [{"type": "input_file", "file_id": file.id}, {"type": "input_text", "text": question}]
        first = ai.responses.create(model="scripted", input=[{"role": USER, "content": parts}])
        beside = ai.responses.create(model="scripted", input=question, extra_body={"document": text})
        talk = [{"role": USER, "content": "Hello"}, *first.output, {"role": USER, "content": "And now?"}]
        ai.responses.create(model="scripted", input=talk)
    assert "Ada Quill" in first.output_text == beside.output_text
    assert [message.role for message in up.model.last_messages] == ["user", "assistant", "user"]


@pytest.mark.slow
def test_an_endpoint_that_knows_only_chats_is_asked_by_chat(serving, gated, words) -> None:
    with serving(gated(name="far", window=900), folder="behind") as behind:
        model = OpenAIModel(
            name="far",
            base_url=f"{behind.url}/v1",
            window=600,
            plan=behind.model.plan,
            tokenizer=WordTokenizer(),
        )
        with serving(model, folder="front") as front, client(front) as ai:
            short = ai.responses.create(model="far", input="Hello there", temperature=0.5)
            events = list(ai.responses.create(model="far", input="Hello there", stream=True))
            long = ai.responses.create(model="far", input=asked(words))
            with pytest.raises(openai.BadRequestError, match="wizard"):
                ai.responses.create(model="far", input=[{"role": "wizard", "content": "Hi"}, *asked(("a", "b"))])
        with behind.client() as plain:
            told = plain.get("/metrics").text
    assert short.output_text
    assert events[-1].response.output_text == short.output_text
    assert events[-1].response.usage.total_tokens == short.usage.total_tokens > 0
    assert "Ada Quill" in long.output_text
    assert 'bookwheel_requests_total{method="POST",status="404"}' not in told


@pytest.mark.slow
def test_an_answer_that_ran_into_its_limit_is_incomplete(serving, gated) -> None:
    with serving(gated()) as up, client(up) as ai:
        said = ai.responses.create(model="scripted", input="The rent is nine crowns. The rent?", max_output_tokens=1)
        events = list(
            ai.responses.create(
                model="scripted", input="The rent is nine crowns. The rent?", max_output_tokens=1, stream=True
            )
        )
    assert (said.status, said.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert events[-1].type == "response.incomplete"


def test_a_failing_model_is_an_error_or_a_failed_response(serving, words, gated) -> None:
    model = gated(faults={number: Refused("the key was revoked") for number in (2, 5)})
    with serving(model) as up, client(up) as ai:
        with pytest.raises(openai.InternalServerError, match=r"was revoked.*resume"):
            ai.responses.create(model="scripted", input=asked(words))
        last = list(ai.responses.create(model="scripted", input=asked(words), stream=True))[-1]
    assert last.type == "response.failed"
    assert "was revoked" in last.response.error.message


def test_the_same_idempotency_key_is_the_same_reading(up, words) -> None:
    headers = {"Idempotency-Key": "chapter-1"}
    with client(up) as ai:
        first, again = (
            ai.responses.create(model="scripted", input=asked(words), extra_headers=headers) for _ in range(2)
        )
    assert first.id == again.id
    assert len(up.journal.readings()) == 1


GREET = {
    "type": "function",
    "name": "greet",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
}


@pytest.mark.slow
def test_a_function_is_called_and_what_it_gave_is_answered_from(serving, words) -> None:
    said = ['{"tool": "greet", "arguments": {"name": "Ada Quill"}}', '{"reply": "I greeted Ada Quill."}']

    def reply(messages):
        told = messages[-1].content
        return (
            said[0 if "was greeted" not in messages[0].content else 1]
            if "<schema>" in told
            else keyword_reader(messages)
        )

    text, question = words
    body = {"model": "scripted", "tools": [GREET], "include": ["reasoning.encrypted_content"]}
    begun = [{"role": USER, "content": f"{text}\n\nGreet her. {question}"}]
    with serving(ScriptedModel(reply, plan=SMALL, window=600)) as up, client(up) as ai:
        first = ai.responses.create(**body, input=begun)
        with ai.responses.stream(**body, input=begun) as stream:
            kinds = [event.type for event in stream]
            streamed = stream.get_final_response()
        call = first.output[-1]
        gave = {"type": "function_call_output", "call_id": call.call_id, "output": "Ada Quill was greeted"}
        last = ai.responses.create(**body, input=[*begun, *first.output, gave])
    assert (call.type, call.name, call.arguments) == ("function_call", "greet", '{"name": "Ada Quill"}')
    assert (streamed.output[-1].name, streamed.output[-1].arguments) == ("greet", '{"name": "Ada Quill"}')
    assert "response.function_call_arguments.done" in kinds
    assert (first.status, first.tools[0].name) == ("completed", "greet")
    assert last.output_text == "I greeted Ada Quill."


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({}, 400, "input"),
        ({"input": []}, 400, "input"),
        ({"input": 3}, 400, "input"),
        ({"input": " "}, 400, "input"),
        ({"input": [{"role": USER}]}, 400, "input"),
        ({"input": [{"role": USER, "content": ["Hi"]}]}, 400, "input"),
        ({"input": [{"role": USER, "content": [IMAGE]}]}, 400, "input"),
        ({"input": [{"role": USER, "content": [{"type": "input_audio"}]}]}, 400, "input"),
        ({"input": [{"role": USER, "content": [{"type": "input_file", "file_data": "x"}]}]}, 400, "input"),
        ({"input": [{"type": "function_call_output", "output": 3, "call_id": "1"}]}, 400, "input"),
        ({"input": [{"type": "item_reference", "id": "1"}]}, 400, "input"),
        ({"input": "Hi", "model": "gpt-9"}, 404, "model"),
        ({"input": "Hi", "previous_response_id": "resp_1"}, 404, "previous_response_id"),
        ({"input": "Hi", "conversation": "conv_1"}, 400, "conversation"),
        ({"input": "Hi", "background": True}, 400, "background"),
        ({"input": "Hi", "truncation": "auto"}, 400, "truncation"),
        ({"input": "Hi", "tools": [{"type": "function"}]}, 400, "tools"),
        ({"input": "Hi", "tools": [GREET], "tool_choice": {"type": "mcp"}}, 400, "tool_choice"),
        ({"input": "Hi", "include": ["message.output_text.logprobs"]}, 400, "include"),
        ({"input": "Hi", "max_output_tokens": 0}, 400, "max_output_tokens"),
        ({"input": "Hi", "text": {"format": {"type": "json_object"}}}, 400, "text"),
        ({"input": "Hi", "no_such_thing": 1}, 400, "no_such_thing"),
    ],
)
def test_what_cannot_be_honoured_is_refused_in_openais_shape(up, body: dict, status: int, param: str) -> None:
    with up.client() as plain:
        answer = plain.post("/v1/responses", json={"model": "scripted", **body})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"].partition(".")[0]) == (status, param), error
    assert set(error) == {"message", "type", "param", "code"}
    assert up.model.calls == 0
