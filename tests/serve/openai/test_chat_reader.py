"""Conversations of chat clients through a real server: follow-ups, titles, formats, tools, whatever role the text has."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from loopback_server import FACT, QUESTION
from openai import APIStatusError, OpenAI

from bookwheel.errors import WindowExceeded
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.engine.settings import ServerSettings
from bookwheel.types import Status

USER, ASSISTANT = "user", "assistant"
PLAN_OF_TURNS = Plan(question_tokens=60, chunk_tokens=60, memory_tokens=40, answer_tokens=30)
OTHER = "The lamp of Skarholm is lit by Bo Fell. "
LAMP = "Who lights the lamp of Skarholm?"
BIRD = "Which bird circles over the pier?"
AGAIN = "What is the name of the harbour master of Skarholm?"


def read_newest(messages):
    """Read for the newest turn, as a model does: the words of the turns before it are no part of the question."""
    *before, last = messages
    question, end, rest = last.content.partition("</question>")
    start, tag, turns = question.rpartition("<question>")
    newest = f"{start}{tag}{turns.rpartition('user: ')[2]}{end}{rest}"
    return keyword_reader([*before, replace(last, content=newest)])


@pytest.fixture
def model(gated):
    model = gated()
    model._script = read_newest
    return model


@pytest.fixture
def up(serving, model):
    with serving(model) as server:
        yield server


@pytest.fixture
def ai(up):
    with OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def ask(ai, *messages, **more):
    shaped = [{"role": role, "content": content} for role, content in messages]
    return ai.chat.completions.create(model="scripted", messages=shaped, **more)


def content(said):
    return said.choices[0].message.content


def test_a_follow_up_is_answered_from_the_finished_memory(up, ai, words) -> None:
    text, question = words
    first = ask(ai, (USER, f"{text}\n\n{question}"))
    calls = up.model.calls
    said = ask(ai, (USER, f"{text}\n\n{question}"), (ASSISTANT, content(first)), (USER, AGAIN))
    assert "Ada Quill" in content(said)
    assert up.model.calls == calls + 1
    assert f"From the memory of reading {first.reading}" in said.choices[0].message.reasoning_content
    kept = up.journal.reading(said.reading)
    assert kept.parent == first.reading
    # What was typed is the question; the turns before it are told beside it.
    assert kept.question == AGAIN
    assert kept.plan.earlier == f"user: {question}\n\nassistant: {content(first)}"
    assert kept.steps[-1].flags[-1] is Flag.CARRIED
    assert kept.usage.calls == 1
    assert said.usage.total_tokens == kept.usage.tokens


@pytest.mark.slow
def test_what_the_memory_cannot_answer_is_read_again_and_said_so(up, ai, words) -> None:
    text, question = words[0] + OTHER * 2, words[1]
    asked = (USER, f"{text}\n\n{question}")
    first = ask(ai, asked)
    calls, steps = up.model.calls, len(up.journal.reading(first.reading).steps)
    said = ask(ai, asked, (ASSISTANT, content(first)), (USER, BIRD))
    assert "Gulls circle" in content(said)
    assert up.model.calls == calls + steps + 2
    reasoning = said.choices[0].message.reasoning_content
    assert "read again" in reasoning
    kept = up.journal.reading(said.reading)
    assert [step.chunk.index for step in kept.steps] == list(range(2 * steps))
    assert kept.steps[steps].before.text == ""
    assert kept.usage.calls == steps + 2


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"document": "file-abc"}, 404, "no file file-abc here: upload it"),
        ({"way": "diagonal"}, 400, "diagonal"),
        ({"plan": {"chunk": 3}}, 400, "chunk"),
    ],
)
def test_a_wrong_field_of_a_chat_that_fits_is_named(ai, fields, status, words) -> None:
    with pytest.raises(APIStatusError, match=words) as refused:
        ask(ai, (USER, "Good morning!"), extra_body=fields)
    assert refused.value.status_code == status


def test_a_plan_that_is_too_large_for_the_window_is_told_by_how_much(ai, words) -> None:
    with pytest.raises(APIStatusError, match=r"the plan needs [0-9]+ tokens .* Lower"):
        ask(ai, (USER, "\n\n".join(words)), extra_body={"plan": {"chunk_tokens": 50_000}})


def test_a_chat_that_its_budget_stops_is_told_in_words_of_http_how_it_goes_on(up, ai, words) -> None:
    with pytest.raises(APIStatusError) as stopped:
        ask(ai, (USER, "\n\n".join(words)), extra_body={"plan": {"budget": {"tokens": 1}}})
    message = stopped.value.body["message"]
    assert "the limit of 1. What was read is kept" in message
    assert '{"plan": {"budget": {"tokens": NUMBER}}}' in message
    assert "--" not in message


@pytest.mark.slow
def test_a_streamed_follow_up_names_the_memory_only_where_it_answers(up, ai, words) -> None:
    text, question = words
    asked = (USER, f"{text}\n\n{question}")
    first = ask(ai, asked)
    for newest, is_read in ((AGAIN, False), (BIRD, True)):
        pieces = list(ask(ai, asked, (ASSISTANT, content(first)), (USER, newest), stream=True))
        deltas = [piece.choices[0].delta for piece in pieces if piece.choices]
        reasoning = [text for delta in deltas if (text := getattr(delta, "reasoning_content", None))]
        assert reasoning[0].startswith("From the memory of reading") is not is_read
        assert len(reasoning) == (len(up.journal.reading(first.reading).steps) if is_read else 1)
        assert any("[1] 0–" in text and "read again" in text for text in reasoning) is is_read


@pytest.mark.slow
def test_a_new_chat_on_the_same_document_and_a_question_about_all_of_it_are_read(up, ai, words) -> None:
    text, question = words
    ask(ai, (USER, f"{text}\n\n{question}"))
    for chat in (
        [(USER, f"{text}\n\n{AGAIN}")],
        [(USER, f"{text}\n\n{question}"), (ASSISTANT, "Ada Quill."), (USER, "How many harbour masters has Skarholm?")],
    ):
        assert up.journal.reading(ask(ai, *chat).reading).parent == ""


@pytest.mark.slow
def test_reading_again_can_be_asked_for_by_the_request_or_the_server(serving, up, ai, words) -> None:
    text, question = words
    chat = [(USER, f"{text}\n\n{question}"), (ASSISTANT, "Ada Quill."), (USER, AGAIN)]
    ask(ai, chat[0])
    assert up.journal.reading(ask(ai, *chat, extra_body={"follow_up": "read"}).reading).parent == ""
    assert up.journal.reading(ask(ai, *chat).reading).parent
    with (
        serving(folder="other", settings=ServerSettings(follow_up="read")) as other,
        OpenAI(base_url=f"{other.url}/v1", api_key="none", max_retries=0) as client,
    ):
        ask(client, chat[0])
        assert other.journal.reading(ask(client, *chat).reading).parent == ""
        assert other.journal.reading(ask(client, *chat, extra_body={"follow_up": "memory"}).reading).parent


@pytest.mark.slow
def test_a_follow_up_that_was_interrupted_goes_on_where_it_stood(serving, model, words) -> None:
    text, question = words
    chat = [(USER, f"{text}\n\n{question}"), (ASSISTANT, "Ada Quill."), (USER, BIRD)]
    with serving(model) as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as client:
        first = ask(client, chat[0])
        steps = len(up.journal.reading(first.reading).steps)
        model.after(model.seen + 4)
        headers = {"Idempotency-Key": "birds"}
        with pytest.raises(Exception, match="timed out"):
            ask(client.with_options(timeout=1.0), *chat, extra_headers=headers)
        # The server notices some time later that nobody waits.
        while any(reading.status is Status.READING for reading in up.journal.readings()):
            time.sleep(0.01)
        model.after(10**9)
        said = ask(client, *chat, extra_headers=headers)
        kept = up.journal.reading(said.reading)
    assert "Gulls" in content(said)
    assert len(kept.steps) == 2 * steps
    # One more than were answered: the call that was cut off.
    assert kept.usage.calls == steps + 3


def test_a_long_system_message_is_the_document(up, ai, words) -> None:
    said = ask(ai, ("system", words[0]), (USER, words[1]))
    assert "Ada Quill" in content(said)
    assert up.journal.document_of(said.reading).length == len(words[0])


@pytest.mark.slow
def test_a_chat_that_outgrew_the_window_goes_on(up, ai) -> None:
    turns = [("user", "My boat is the Kittiwake of Skarholm."), (ASSISTANT, "A fine name.")]
    for number in range(60):
        turns += [(USER, f"Day {number}: rain and a west wind."), (ASSISTANT, "So it was yesterday.")]
    said = ask(ai, *turns, (USER, "Which boat is of Skarholm?"))
    assert "Kittiwake" in content(said)
    assert up.journal.document_of(said.reading).slice(0, 5) == "user:"


def test_a_title_is_made_of_the_newest_turns_without_a_reading(up, ai, words) -> None:
    text, question = words
    task = (
        "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
        f"### Chat History:\n<chat_history>\nUSER: {text}\n\n{question}\nASSISTANT: Ada Quill.\n</chat_history>"
    )
    for model in ("scripted", "bookwheel/scripted"):
        calls = up.model.calls
        ai.chat.completions.create(model=model, messages=[{"role": USER, "content": task}])
        assert up.model.calls == calls + 1
        sent = up.model.last_messages[-1].content
        assert "concise, 3-5 word title" in sent
        assert "Ada Quill." in sent
        assert len(sent) < len(text)
    assert up.journal.readings() == []


@pytest.mark.parametrize(("more", "expected"), [({}, 512), ({"max_tokens": 1000}, 1000)])
@pytest.mark.parametrize("rules", [1, 3000], ids=["fits", "outgrown"])
def test_a_title_has_a_limit(serving, rules, more, expected) -> None:
    limits = []

    class Limited(ScriptedModel):
        async def reply(self, messages, *, limit, sampling):
            limits.append(limit)
            return await super().reply(messages, limit=limit, sampling=sampling)

    task = "### Task:\nGenerate a title as JSON.\n<chat_history>\nUSER: Hello\nASSISTANT: Hello.\n</chat_history>"
    task += "Mind the rules. " * rules
    model = Limited(keyword_reader, window=8192)
    with serving(model) as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as client:
        ask(client, (USER, task), **more)
    assert limits == [expected]


def test_a_greeting_to_a_model_that_reads_gets_a_reply(up, ai) -> None:
    ai.chat.completions.create(model="bookwheel/scripted", messages=[{"role": USER, "content": "Hello there"}])
    assert up.model.calls == 1
    assert up.journal.readings() == []


class Answering:
    """A script that reads as ever and gives a set text where a schema is in the prompt."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, messages):
        if "<schema>" in messages[-1].content:
            self.prompts.append("\n".join(message.content for message in messages))
            return self.answers.pop(0)
        return keyword_reader(messages)


@pytest.fixture
def answering(serving):
    def start(*answers: str):
        script = Answering(*answers)
        plan = Plan(question_tokens=60, chunk_tokens=60, memory_tokens=40, answer_tokens=30)
        return script, serving(ScriptedModel(script, plan=plan, window=400))

    return start


def test_a_format_applies_to_the_answer(answering, words) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    format_ = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema}}
    script, started = answering('{"name": "Ada Quill"}')
    with started as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
        said = ask(ai, (USER, words[0]), (USER, words[1]), response_format=format_)
    assert json.loads(content(said)) == {"name": "Ada Quill"}
    assert '"name"' in script.prompts[0]


def test_a_tool_is_called_and_its_result_leads_to_the_reply(answering, words) -> None:
    tool = {"type": "function", "function": {"name": "greet", "parameters": {"type": "object"}}}
    _, started = answering('{"tool": "greet", "arguments": {"name": "Ada Quill"}}', '{"reply": "Greeted Ada Quill."}')
    text, question = words
    with started as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
        chat = [{"role": USER, "content": text}, {"role": USER, "content": f"Greet somebody. {question}"}]
        called = ai.chat.completions.create(model="scripted", messages=chat, tools=[tool])
        (call,) = called.choices[0].message.tool_calls
        assert called.choices[0].finish_reason == "tool_calls"
        assert (call.function.name, json.loads(call.function.arguments)) == ("greet", {"name": "Ada Quill"})
        # It states nothing, so nothing of it is judged.
        assert (called.verdict, called.sign, called.claims) == (None, "grey", [])
        chat += [
            called.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "done"},
        ]
        said = ai.chat.completions.create(model="scripted", messages=chat, tools=[tool])
        assert [bool(reading.parent) for reading in up.journal.readings()] == [True, False]
    assert content(said) == "Greeted Ada Quill."


TOOL = {"type": "function", "function": {"name": "greet", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_writes_no_json_answers_in_words_where_tools_are_offered(up, ai, words, stream) -> None:
    said = ask(ai, (USER, words[0]), (USER, words[1]), tools=[TOOL], stream=stream)
    if stream:
        *pieces, last = said
        text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
        finish, notes = last.choices[0].finish_reason, last.notes
    else:
        text, finish, notes = content(said), said.choices[0].finish_reason, said.notes
    assert ("Ada Quill" in text, finish) == (True, "stop")
    assert any("no tool was called" in note for note in notes)


def test_tools_that_do_not_fit_the_window_are_not_offered_to_the_model(answering, words) -> None:
    script, started = answering()
    wide = {"type": "function", "function": {"name": "greet", "description": "long " * 500}}
    with started as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
        assert "Ada Quill" in content(ask(ai, (USER, words[0]), (USER, words[1]), tools=[wide]))
    assert script.prompts == []


@pytest.mark.parametrize("more", [{"tool_choice": "required"}, {"response_format": {"type": "json_object"}}])
def test_a_call_or_a_format_that_must_be_is_never_left_out(up, ai, words, more) -> None:
    with pytest.raises(APIStatusError, match="no JSON that fits"):
        ask(ai, (USER, words[0]), (USER, words[1]), tools=[TOOL], **more)


def test_a_streamed_call_of_a_tool_comes_whole(answering, words) -> None:
    tool = {"type": "function", "function": {"name": "greet"}}
    _, started = answering('{"tool": "greet", "arguments": {}}')
    with started as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
        pieces = list(ask(ai, (USER, words[0]), (USER, words[1]), tools=[tool], stream=True))
    calls = [call for piece in pieces if piece.choices for call in piece.choices[0].delta.tool_calls or ()]
    assert [(call.index, call.function.name) for call in calls] == [(0, "greet")]
    assert pieces[-1].choices[0].finish_reason == "tool_calls"


def test_fields_that_are_not_used_are_named_in_the_notes(up, ai, words) -> None:
    said = ask(ai, (USER, words[0]), (USER, words[1]), frequency_penalty=0.5, extra_body={"top_k": 40})
    assert any("frequency_penalty, top_k" in note for note in said.notes)


def test_more_tokens_than_fit_are_a_limit_that_is_never_reached(up, ai, words) -> None:
    said = ask(ai, (USER, words[0]), (USER, words[1]), max_tokens=4096)
    assert "Ada Quill" in content(said)
    assert 30 < up.journal.reading(said.reading).plan.answer_tokens < 400


def test_a_question_over_its_budget_takes_room_from_the_chunk(up, ai, words) -> None:
    said = ask(ai, (USER, words[0]), (USER, f"{words[1]} " + "Please do look well. " * 12))
    plan = up.journal.reading(said.reading).plan
    assert "Ada Quill" in content(said)
    assert plan.question_tokens > 60
    assert plan.question_tokens + plan.chunk_tokens == 120


def test_rules_that_do_not_fit_beside_the_question_are_left_out_and_told(up, ai, words) -> None:
    rules = "### Task:\n" + "- Cite each source by its number in brackets, and by nothing else.\n" * 20
    said = ask(ai, (USER, f"{rules}\n<context>\n{words[0]}\n</context>\n\n{words[1]}"))
    assert up.journal.reading(said.reading).question == words[1]
    assert any("before the question, taken for instructions, did not fit" in note for note in said.notes)


@pytest.mark.parametrize(("question", "is_alone"), [(LAMP, True), ("And when, please?", False)])
def test_a_model_that_quotes_is_asked_what_was_typed_last_alone(serving, words, question, is_alone) -> None:
    model = ScriptedModel(keyword_reader, plan=replace(PLAN_OF_TURNS, prompts="small"), window=700)
    with serving(model) as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as client:
        said = ask(client, (USER, f"{words[0]}{OTHER}\n\n{words[1]}"), (ASSISTANT, "Ada Quill."), (USER, question))
        asked = up.journal.reading(said.reading).question
    assert (asked == question) is is_alone
    assert any("only looks for passages" in note for note in said.notes) is is_alone


def test_a_chat_that_the_endpoint_finds_too_long_is_read(serving, gated, words) -> None:
    class Full(type(gated())):
        async def reply(self, messages, *, limit, sampling):
            if len(messages) > 1 and messages[0].content == "Be brief.":
                raise WindowExceeded("the server counts otherwise")
            return await super().reply(messages, limit=limit, sampling=sampling)

    with serving(Full()) as up, OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai:
        said = ask(ai, ("system", "Be brief."), (USER, f"{FACT}\n\n{QUESTION}"))
        assert said.reading
