"""Titles, tags and follow-up questions are asked about the chat: its newest turns answer them, or its own words."""

from __future__ import annotations

import json

import pytest
from chat_prompts import BOOK, CHAT, COMPLETE, FOLLOW, NEXT, TAGS, TITLE, shapes
from openai import OpenAI

from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.openai.chat_tasks import answer_from_words, is_chat_task, shorten_chat

QUERIES = TITLE.replace('{ "title": "your title" }', '{ "queries": ["query1", "query2"] }')


def count(text):
    return len(text.split())


@pytest.mark.parametrize("task", [TITLE, TAGS, FOLLOW, NEXT, COMPLETE])
def test_a_prompt_with_the_chat_inside_is_a_task(task):
    assert is_chat_task(shapes(("user", task)))


@pytest.mark.parametrize(
    "task",
    [
        "Provide a concise, 5-word-or-less title for the conversation, using its same language.",
        "Generate three tags for this chat.",
        "Suggest follow-up questions the user could ask in this conversation.",
        "请为这段对话生成一个标题",
    ],
)
def test_an_instruction_after_the_chat_is_a_task(task):
    assert is_chat_task(shapes(*CHAT, ("user", task)))
    # With no answer there is no chat: the message before may be a document.
    assert not is_chat_task(shapes(("user", BOOK), ("user", task)))


@pytest.mark.parametrize(
    "messages",
    [
        (("user", "Who keeps the pier?"),),
        (*CHAT, ("user", "What is the title of the book?")),
        (*CHAT, ("user", "Who spoke in the conversation on the pier?")),
        (("user", f"Suggest a title for this article:\n\n{BOOK}"),),
        (("user", f"<chat_history>\n{BOOK}\n</chat_history>\nWho keeps the pier?"),),
        (*CHAT, ("assistant", "Generate a title for this chat.")),
    ],
)
def test_other_messages_are_not(messages):
    assert not is_chat_task(shapes(*messages))


def test_of_a_chat_inside_the_newest_turns_are_kept_and_the_instruction_whole():
    (short,) = shorten_chat([{"role": "user", "content": TITLE}], count, 300)
    assert short["content"].startswith("### Task:\nGenerate a concise")
    assert "ASSISTANT: Ada Quill keeps it." in short["content"]
    assert "Who keeps the pier?" in short["content"]
    assert "[…]" in short["content"]
    assert short["content"].endswith("</chat_history>")
    assert count(short["content"]) <= 300


def test_old_turns_go_where_there_is_no_room():
    (short,) = shorten_chat([{"role": "user", "content": TITLE}], count, 70)
    assert "Gulls" not in short["content"]
    assert "Ada Quill" in short["content"]


def test_of_a_chat_before_the_newest_turns_are_kept_with_their_roles():
    messages = [{"role": role, "content": text} for role, text in (*CHAT, ("user", "Generate a title for this chat."))]
    short = shorten_chat(messages, count, 30)
    assert [message["role"] for message in short] == ["user", "assistant", "user"]
    assert short[-1] == messages[-1]
    assert [message["role"] for message in shorten_chat(messages, count, 10_000)] == [
        "user",
        "user",
        "assistant",
        "user",
    ]


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (TITLE, {"title": "Who keeps the pier?"}),
        (TAGS.replace('"title"', '"tags"'), {"tags": []}),
        (FOLLOW.replace('"title"', '"follow_ups"'), {"follow_ups": []}),
        (NEXT, {"follow_ups": []}),
        (QUERIES, {"queries": ["Who keeps the pier?"]}),
        (COMPLETE.replace("JSON format", 'JSON format: { "text": "…" }'), {"text": ""}),
    ],
)
def test_a_prompt_for_json_is_answered_with_its_key(task, answer):
    assert json.loads(answer_from_words(shapes(("user", task)))) == answer


def test_a_prompt_for_a_title_in_words_gets_the_question():
    asked = "Provide a concise title for the conversation."
    chat = (
        ("user", f"{BOOK}\n\nWho keeps the pier of Skarholm, and since when has the keeper kept it there?"),
        CHAT[2],
    )
    assert (
        answer_from_words(shapes(*chat, ("user", asked))) == "Who keeps the pier of Skarholm, and since when has the…"
    )


@pytest.mark.parametrize("task", ["Summarise this conversation.", "Generate a title for this chat."])
def test_what_has_no_words_of_the_chat_to_be_made_of_is_for_the_model(task):
    assert answer_from_words(shapes(("assistant", "Good day."), ("user", task))) is None


@pytest.mark.parametrize(("prompts", "calls"), [("small", 0), ("standard", 1)])
@pytest.mark.parametrize("stream", [False, True])
def test_only_a_model_that_quotes_is_left_out(serving, prompts, calls, stream):
    model = ScriptedModel(keyword_reader, plan=Plan(prompts=prompts), window=8192)
    with serving(model) as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as client:
        said = client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": TITLE}], stream=stream
        )
        texts = [part.choices[0].delta.content or "" for part in said] if stream else [said.choices[0].message.content]
    assert model.calls == calls
    assert ("Who keeps the pier?" in "".join(texts)) is (calls == 0)
