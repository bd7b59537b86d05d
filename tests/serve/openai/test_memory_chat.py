"""OpenAI's own SDK talks with a lasting memory, which keeps what it was told."""

from __future__ import annotations

from dataclasses import replace

import openai
import pytest
from loopback_server import running
from openai import OpenAI
from value_notes import PLAN, note_values

from bookwheel.models.scripted import ScriptedModel, keyword_reader

MODEL = "bookwheel/memory/ada"


@pytest.fixture
def server(tmp_path):
    with running(tmp_path, ScriptedModel(note_values, plan=PLAN)) as up, up.client() as client:
        client.post("/memories", json={"name": "ada", "about": "Everything about Ada"})
        yield up


@pytest.fixture
def say(server):
    client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)

    def say(*turns: str, model: str = MODEL, **more: str) -> str:
        roles = ("user", "assistant")
        messages = [{"role": roles[at % 2], "content": turn} for at, turn in enumerate(turns)]
        return (
            client.chat.completions.create(model=model, messages=messages, extra_body=more).choices[0].message.content
        )

    return say


def texts(server) -> list[str]:
    with server.client() as client:
        client.post("/memories/ada/texts", json={"text": "end = 1", "source": "test"})  # reads all that waits
        log = client.get("/memories/ada/log").json()
    return [source["source"] for source in log["sources"]]


def test_what_is_told_is_noted_and_answered_in_another_chat(server, say) -> None:
    assert say("room = 12") == "Noted."
    assert "12" in say("Which room = room ?")
    assert texts(server) == ["chat", "chat", "test"]


def test_an_answer_of_a_memory_has_its_verdict_in_a_chat_too(server, say) -> None:
    client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    assert say("room = 4711") == "Noted."
    messages = [{"role": "user", "content": "room?"}]
    whole = client.chat.completions.create(model=MODEL, messages=messages)
    streamed = list(client.chat.completions.create(model=MODEL, messages=messages, stream=True))
    for told in (whole, streamed[-1]):
        # By words: how much of it is borne out hangs on figures of the time above it too.
        assert told.verdict in {"quoted", "supported", "partly"}
        assert told.sign in {"green", "amber"}


def test_a_conversation_that_is_sent_again_is_read_once(server, say) -> None:
    say("room = 12")
    say("room = 12", "Noted.", "door = 7")
    answer = say("room = 12", "Noted.", "door = 7", "Noted.", "What is the door ?")
    assert "7" in answer
    assert texts(server).count("chat") == 3


def test_what_is_said_again_after_something_else_holds_again(server, say) -> None:
    turns = ["lamp = on"]
    for said in ("lamp = off", "lamp = on", "Is the lamp on ?"):
        say(*turns)
        turns += ["Noted.", said]
    assert "lamp = on" in say(*turns)
    assert texts(server) == ["chat", "chat", "chat#2", "chat", "test"]


def test_a_chat_about_the_past_is_answered_as_of_then_and_read_by_nobody(server, say) -> None:
    with server.client() as client:
        for day, room in ((1, 12), (9, 31)):
            text = {"text": f"room = {room}", "source": "mail", "at": f"2026-05-{day:02}"}
            client.post("/memories/ada/texts", json=text)
    assert "31" in say("Which room = room ?")
    assert "12" in say("Which room = room ?", as_of="2026-05-02")
    assert texts(server).count("chat") == 1
    with pytest.raises(openai.BadRequestError):
        say("Which room = room ?", as_of="yesterday")


def test_a_question_that_was_asked_before_is_no_answer(tmp_path) -> None:
    with running(tmp_path, ScriptedModel(keyword_reader)) as up, up.client() as client:
        client.post("/memories", json={"name": "ada", "about": "The bakery"})
        text = {"text": "The lease of the bakery costs 1990 a month.", "source": "mail"}
        client.post("/memories/ada/texts", json=text)
        body = {"model": MODEL, "messages": [{"role": "user", "content": "What does the lease of the bakery cost?"}]}
        for _ in range(3):
            said = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
            assert "1990" in said


def test_turns_that_the_memory_has_not_seen_count_for_the_answer(say) -> None:
    assert "31" in say("room = 31", "I see.", "And the room ?")


def test_what_was_said_a_moment_ago_is_in_the_memory_and_the_turns_before_the_question(tmp_path) -> None:
    asked = []

    def listen(messages):
        prompt = messages[-1].content
        asked.append(prompt)
        return "- Greta lives in Riga" if prompt.endswith("New memory:") else "\\boxed{In Riga}"

    turns = ("Greta has moved to Riga.", "Noted.", "And where does she live?")
    messages = [{"role": ("user", "assistant")[at % 2], "content": turn} for at, turn in enumerate(turns)]
    plan = replace(PLAN, question_tokens=400)
    with running(tmp_path, ScriptedModel(listen, plan=plan)) as up, up.client() as client:
        client.post("/memories", json={"name": "ada", "about": "Friends"})
        said = client.post("/v1/chat/completions", json={"model": MODEL, "messages": messages}).json()
    assert said["choices"][0]["message"]["content"] == "In Riga"
    first = next(prompt for prompt in asked if "And where does she live?" in prompt)
    assert "<memory>\n- Greta lives in Riga\n</memory>" in first
    assert "user: Greta has moved to Riga.\n\nassistant: Noted." in first


def test_memories_are_among_the_models_and_a_wrong_name_is_a_404(server, say) -> None:
    client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    assert MODEL in [model.id for model in client.models.list()]
    assert client.models.retrieve(MODEL).id == MODEL
    with pytest.raises(openai.NotFoundError):
        say("hello", model="bookwheel/memory/bo")
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("bookwheel/memory/bo")


def test_a_stream_has_the_same_words(server, say) -> None:
    say("room = 12")
    client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    messages = [{"role": "user", "content": "room ?"}]
    chunks = client.chat.completions.create(model=MODEL, messages=messages, stream=True)
    assert "12" in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_a_full_memory_is_said_in_the_next_answer(server, say) -> None:
    many = "\n".join(f"key{number} = {number}" for number in range(60))
    say(many)
    texts(server)
    with server.client() as client:  # two lines more than fit
        client.post("/memories/ada/texts", json={"text": "abc = 1\nabd = 2", "source": "test"})
    assert "The memory is full" in say("And the key7 ?")
