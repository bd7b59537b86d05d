"""A model that only quotes is not asked for titles and tags: the chat's own words make them."""

from __future__ import annotations

import json

import pytest
from chat_prompts import BOOK, CHAT, COMPLETE, FOLLOW, NEXT, TAGS, TITLE, shapes
from openai import OpenAI

from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.openai.task_answers import answer_from_words

QUERIES = TITLE.replace('{ "title": "your title" }', '{ "queries": ["query1", "query2"] }')


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
