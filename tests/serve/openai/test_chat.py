"""OpenAI's own SDK, unmodified: short requests pass, long ones are read."""

from __future__ import annotations

import asyncio
import io
import threading

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from bookwheel.errors import Overloaded, Refused
from bookwheel.types import Status

USER = "user"


def client(up, **settings: object) -> OpenAI:
    return OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0, **settings)


def asked(words: tuple[str, str]) -> list[dict[str, str]]:
    text, question = words
    return [
        {"role": "system", "content": "Be brief."},
        {"role": USER, "content": text},
        {"role": USER, "content": question},
    ]


def waited(condition) -> None:
    for _ in range(12_000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it did not come to that")


def hang_up(up, words: tuple[str, str], condition, **more: object) -> None:
    """Ask for a whole reply and close the connection when the condition holds."""

    async def run() -> None:
        async with AsyncOpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
            call = asyncio.create_task(ai.chat.completions.create(model="scripted", messages=asked(words), **more))
            await asyncio.to_thread(waited, condition)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    asyncio.run(run())


@pytest.mark.slow
def test_what_fits_the_window_goes_straight_to_the_model(up) -> None:
    with client(up) as ai:
        said = ai.chat.completions.create(model="scripted", messages=[{"role": USER, "content": "Hello there"}])
    assert up.model.calls == 1
    assert up.model.last_messages[0].content == "Hello there"
    assert said.usage.prompt_tokens == 2
    assert up.journal.readings() == []


def test_a_forced_model_reads_even_what_fits(up) -> None:
    messages = [{"role": USER, "content": "The rent is nine crowns."}, {"role": USER, "content": "What is the rent?"}]
    with client(up) as ai:
        said = ai.chat.completions.create(model="bookwheel/scripted", messages=messages)
        kept = up.journal.reading("last")
    assert "nine crowns" in said.choices[0].message.content
    # It has a reading, with a verdict, like any other; the whole text fits one call.
    assert (kept.way, up.model.calls) == ("whole", 1)


@pytest.mark.slow
def test_a_long_request_is_read_and_its_usage_is_the_sum(up, words) -> None:
    with client(up) as ai:
        said = ai.chat.completions.create(model="scripted", messages=asked(words))
    kept = up.journal.reading("last")
    assert "Ada Quill" in said.choices[0].message.content
    assert kept.status is Status.ANSWERED
    assert (said.usage.prompt_tokens, said.usage.completion_tokens) == (
        kept.usage.prompt_tokens,
        kept.usage.completion_tokens,
    )
    assert (kept.question, kept.plan.earlier) == (words[1], "system: Be brief.")
    # An instruction is nothing that was said about the document.
    told = up.model.last_messages[-1].content
    assert f"Follow these instructions in the answer:\n\nBe brief.\n\nAsked now:\n{words[1]}" in told
    assert "Said before" not in told
    assert up.journal.document_of(kept.id).length == len(words[0])


def test_one_long_message_has_its_question_in_the_last_paragraph(up, words) -> None:
    with client(up) as ai:
        said = ai.chat.completions.create(model="scripted", messages=[{"role": USER, "content": "\n\n".join(words)}])
    assert "Ada Quill" in said.choices[0].message.content
    assert up.journal.reading("last").question == words[1]


def test_streaming_gives_memories_as_reasoning_and_the_answer_as_content(up, words) -> None:
    with client(up) as ai:
        pieces = list(
            ai.chat.completions.create(
                model="scripted", messages=asked(words), stream=True, stream_options={"include_usage": True}
            )
        )
    deltas = [piece.choices[0].delta for piece in pieces if piece.choices]
    reasoning = [text for delta in deltas if (text := getattr(delta, "reasoning_content", None))]
    kept = up.journal.reading("last")
    assert len(reasoning) == len(kept.steps)
    assert "Ada Quill" in "".join(reasoning)
    assert "".join(delta.content or "" for delta in deltas) == kept.answer.text
    assert pieces[-2].choices[0].finish_reason == "stop"
    assert pieces[-1].usage.total_tokens == kept.usage.tokens


def test_a_stream_says_that_the_model_is_away_once_a_try_and_goes_on_when_it_is_back(
    serving, gated, words, monkeypatch
) -> None:
    monkeypatch.setattr("bookwheel.models.patience._choose_wait", lambda _state: 0.05)
    away = dict.fromkeys(range(1, 3), Overloaded("the model is away", retry_after=0))
    with serving(gated(faults=away)) as up, client(up) as ai:
        pieces = list(ai.chat.completions.create(model="scripted", messages=asked(words), stream=True))
    deltas = [piece.choices[0].delta for piece in pieces if piece.choices]
    said = [text for delta in deltas if (text := getattr(delta, "reasoning_content", None)) and "try" in text]
    assert [text.partition(" (")[0] for text in said] == ["The model does not answer"] * 2
    assert [f"try {number}," in text for number, text in enumerate(said, 1)] == [True, True]
    assert all(text.endswith("and is asked again: the model is away\n\n") for text in said)
    assert "Ada Quill" in "".join(delta.content or "" for delta in deltas)


def test_the_asynchronous_client_streams_too(up, words) -> None:
    async def ask() -> str:
        async with AsyncOpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
            stream = await ai.chat.completions.create(model="scripted", messages=asked(words), stream=True)
            return "".join([piece.choices[0].delta.content or "" async for piece in stream if piece.choices])

    assert "Ada Quill" in asyncio.run(ask())


@pytest.mark.slow
def test_a_document_can_be_given_beside_the_messages_or_uploaded_before(up, words) -> None:
    text, question = words
    messages = [{"role": USER, "content": question}]
    with client(up) as ai:
        beside = ai.chat.completions.create(model="scripted", messages=messages, extra_body={"document": text})
        file = ai.files.create(file=("../../etc/book.txt", io.BytesIO(text.encode())), purpose="user_data")
        by_id = ai.chat.completions.create(model="scripted", messages=messages, extra_body={"document": file.id})
        part = {"type": "file", "file": {"file_id": file.id}}
        content = [part, {"type": "text", "text": question}]
        by_part = ai.chat.completions.create(model="scripted", messages=[{"role": USER, "content": content}])
        with pytest.raises(openai.NotFoundError):
            ai.chat.completions.create(model="scripted", messages=messages, extra_body={"document": f"file-{'0' * 64}"})
    assert file.filename == "book.txt"
    assert {said.choices[0].message.content for said in (beside, by_id, by_part)} == {beside.choices[0].message.content}
    assert "Ada Quill" in beside.choices[0].message.content


def test_models_are_listed_with_their_reading_twins(up) -> None:
    with client(up) as ai:
        assert [model.id for model in ai.models.list()] == ["scripted", "bookwheel/scripted"]
        assert ai.models.retrieve("bookwheel/scripted").id == "bookwheel/scripted"


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_hangs_up_stops_its_reading_which_is_kept(serving, gated, words, stream: bool) -> None:
    model = gated()
    model.after(3)
    with serving(model) as up, up.client() as plain:
        body = {"model": "scripted", "messages": asked(words), "stream": stream}
        if stream:
            with plain.stream("POST", "/v1/chat/completions", json=body) as answer:
                lines = answer.iter_lines()
                for _ in range(3):
                    next(line for line in lines if "reasoning_content" in line)
        else:
            hang_up(up, words, lambda: model.seen == 3 and up.journal.progress("last")[0] == 3)
        waited(lambda: up.journal.readings()[0].status is Status.CANCELLED)
        assert up.journal.progress("last")[0] == 3
    assert model.seen == 3


def test_the_same_idempotency_key_goes_on_with_what_hung_up(serving, gated, words) -> None:
    model, headers = gated(), {"Idempotency-Key": "chapter-1"}
    model.after(3)
    with serving(model) as up, client(up) as ai:
        hang_up(up, words, lambda: model.seen == 3 and up.journal.progress("last")[0] == 3, extra_headers=headers)
        waited(lambda: up.journal.readings()[0].status is Status.CANCELLED)
        model.after(10**9)
        said = ai.chat.completions.create(model="scripted", messages=asked(words), extra_headers=headers)
        again = ai.chat.completions.create(model="scripted", messages=asked(words), extra_headers=headers)
        kept = up.journal.readings()
    assert said.choices == again.choices
    assert len(kept) == 1
    # Also the call that was under way when the client hung up, if one was.
    assert kept[0].usage.calls == model.asked


@pytest.mark.slow
def test_two_readers_take_turns(serving, gated, words) -> None:
    from bookwheel.serve.engine.settings import Limits, ServerSettings

    model = gated(seconds_per_call=0.001)
    model.after(0)
    with serving(model, settings=ServerSettings(limits=Limits(calls=1))) as up:
        ids = [up.begin()["reading"] for _ in range(3)]
        model.after(9)
        waited(lambda: sum(up.journal.progress(id_)[0] for id_ in ids) == 9)
        assert [up.journal.progress(id_)[0] for id_ in ids] == [3, 3, 3]
        model.after(10**9)


def refusal(up, **body: object) -> tuple[int, dict]:
    with up.client() as plain:
        answer = plain.post("/v1/chat/completions", json={"model": "scripted", **body})
    return answer.status_code, answer.json().get("error", {})


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
NO_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
WORDS = {"type": "text", "text": "What does it say?"}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "invalid_request"),
        ({"messages": []}, 400, "invalid_request"),
        ({"messages": "Hello"}, 400, "invalid_request"),
        ({"messages": [{"role": "user"}]}, 400, "no_user_message"),
        ({"messages": [{"role": "system", "content": "Hello"}]}, 400, "no_user_message"),
        ({"messages": [{"role": "user", "content": " "}], "document": "x"}, 400, "no_user_message"),
        ({"messages": [{"role": "user", "content": [PICTURE]}]}, 400, "no_user_message"),
        ({"messages": [{"role": "user", "content": [PICTURE, WORDS]}]}, 400, "invalid_request"),
        ({"messages": [{"role": "user", "content": [PICTURE, WORDS]}], "document": "x"}, 400, "invalid_request"),
        ({"messages": [{"role": "user", "content": [NO_PICTURE, WORDS]}]}, 400, "invalid_request"),
        ({"messages": [{"role": "user", "content": [SOUND, WORDS]}]}, 400, "unsupported_content"),
        ({"messages": [{"role": "user", "content": "Hi"}], "model": "gpt-9"}, 404, "model_not_found"),
        ({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 0}, 400, "invalid_request"),
        ({"messages": [{"role": "user", "content": "Hi"}], "temperature": "hot"}, 400, "invalid_request"),
        (
            {"messages": [{"role": "wizard", "content": "Hi"}, {"role": "user", "content": "Hi"}]},
            400,
            "invalid_request",
        ),
        ({"messages": [{"role": "user", "content": "Hi?"}], "document": "x", "n": 2}, 400, "unsupported_parameter"),
        (
            {"messages": [{"role": "user", "content": "Hi?"}], "document": "x", "functions": [{}]},
            400,
            "unsupported_parameter",
        ),
        (
            {"messages": [{"role": "user", "content": "Hi?"}], "document": "x", "tools": [{}]},
            400,
            "invalid_request",
        ),
        ({"messages": [{"role": "user", "content": "Hi?"}], "document": " "}, 400, "source_error"),
        (
            {"messages": [{"role": "user", "content": "Hi?"}], "document": "x", "plan": {"budget": {"tokens": 0}}},
            400,
            "plan_error",
        ),
        (
            {"messages": [{"role": "user", "content": "Hi?"}], "document": "x", "plan": {"budget": {"tokens": 9}}},
            400,
            "budget_reached",
        ),
    ],
)
def test_refusals_have_openais_shape_and_the_right_status(up, body: dict, status: int, code: str) -> None:
    got, error = refusal(up, **body)
    assert (got, error["code"]) == (status, code), error
    assert set(error) == {"message", "type", "param", "code"}
    assert up.model.calls == 0


@pytest.mark.slow
def test_a_failing_model_is_a_server_error_that_no_client_repeats(serving, words, gated) -> None:
    model = gated(faults={number: Refused("the key was revoked") for number in (2, 5)})
    with serving(model) as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=2) as ai:
        with pytest.raises(openai.InternalServerError, match=r"was revoked.*resume"):
            ai.chat.completions.create(model="scripted", messages=asked(words))
        assert len(up.journal.readings()) == 1
        stream = ai.chat.completions.create(model="bookwheel/scripted", messages=asked(words), stream=True)
        with pytest.raises(openai.APIError, match="was revoked"):
            list(stream)


@pytest.mark.slow
def test_langchain_reads_through_its_own_openai_client(up, words) -> None:
    chat = pytest.importorskip("langchain_openai").ChatOpenAI
    model = chat(model="scripted", base_url=f"{up.url}/v1", api_key="none", max_retries=0)
    text, question = words
    said = model.invoke([(USER, text), (USER, question)])
    assert "Ada Quill" in said.content
    assert said.usage_metadata["total_tokens"] == up.journal.reading("last").usage.tokens
    assert "Ada Quill" in "".join(piece.content for piece in model.stream([(USER, text), (USER, question)]))
