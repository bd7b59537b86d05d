"""Programs that speak to any OpenAI-compatible server, with the packages that they use: nothing is adapted for ours.

LangChain's agents, LlamaIndex's OpenAI-like models, lm-evaluation-harness, pydantic-ai, the Agents SDK, and the clients of
Anthropic and Ollama are in no extra: the tests skip without them.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from openai import OpenAI

from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan

PLAN = Plan(question_tokens=200, chunk_tokens=100, memory_tokens=40, answer_tokens=60)


class Answering:
    """Read as ever, and give these texts where the answer must fit a schema."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    def __call__(self, messages):
        return self.answers.pop(0) if "<schema>" in messages[-1].content else keyword_reader(messages)


@pytest.fixture
def start(serving):
    def begin(*answers: str):
        return serving(ScriptedModel(Answering(*answers), plan=PLAN, window=600))

    return begin


def langchain_model(up, **settings):
    chat = pytest.importorskip("langchain_openai").ChatOpenAI
    return chat(model="scripted", base_url=f"{up.url}/v1", api_key="none", max_retries=0, **settings)


@pytest.mark.slow
def test_langchain_gets_an_object_of_its_class(start, words) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        """Somebody with an office."""

        name: str
        office: str

    text, question = words
    with start('{"name": "Ada Quill", "office": "harbour master"}') as up:
        model = langchain_model(up).with_structured_output(Person)
        assert model.invoke([("user", text), ("user", question)]) == Person(name="Ada Quill", office="harbour master")


@pytest.mark.slow
def test_an_agent_of_langchain_calls_its_tool_and_then_replies(start, words) -> None:
    create_agent = pytest.importorskip("langchain.agents").create_agent
    text, question = words
    greeted = []

    def greet(name: str) -> str:
        """Greet a person by name."""
        greeted.append(name)
        return f"{name} was greeted"

    call = json.dumps({"tool": "greet", "arguments": {"name": "Ada Quill"}})
    with start(call, '{"reply": "I greeted Ada Quill."}') as up:
        agent = create_agent(langchain_model(up), [greet])
        asked = {"role": "user", "content": f"{text}\n\nGreet her. {question}"}
        said = agent.invoke({"messages": [asked]})
        kept = up.journal.readings()
    assert greeted == ["Ada Quill"]
    assert said["messages"][-1].content == "I greeted Ada Quill."
    # The second call begins with the memory of the first.
    assert [bool(reading.parent) for reading in kept] == [True, False]


@pytest.mark.slow
def test_a_chat_engine_of_llamaindex_goes_on_with_the_memory(start, words) -> None:
    like = pytest.importorskip("llama_index.llms.openai_like").OpenAILike
    from llama_index.core.chat_engine import SimpleChatEngine

    text, question = words
    with start() as up:
        model = like(
            model="scripted", api_base=f"{up.url}/v1", api_key="none", is_chat_model=True, context_window=200_000
        )
        engine = SimpleChatEngine.from_defaults(llm=model, system_prompt="Be brief.")
        first = engine.chat(f"{text}\n\n{question}")
        again = engine.chat("Is Ada Quill the harbour master of Skarholm?")
        streamed = "".join(engine.stream_chat("Who is Ada Quill of Skarholm?").response_gen)
        kept = up.journal.readings()
    assert "Ada Quill" in first.response
    assert "Ada Quill" in again.response
    assert "Ada Quill" in streamed
    assert [bool(reading.parent) for reading in kept] == [True, True, False]


def test_lm_evaluation_harness_scores_answers_of_readings(start, words, tmp_path) -> None:
    lm_eval = pytest.importorskip("lm_eval")
    text, question = words
    (tmp_path / "samples.json").write_text(json.dumps([{"text": text, "question": question, "answer": "Ada Quill"}]))
    (tmp_path / "lamp.yaml").write_text(
        "task: lamp\ndataset_path: json\n"
        f"dataset_kwargs:\n  data_files:\n    test: {tmp_path / 'samples.json'}\n"
        "output_type: generate_until\ntest_split: test\n"
        'doc_to_text: "{{text}}\\n\\n{{question}}"\ndoc_to_target: "{{answer}}"\n'
        "generation_kwargs:\n  until: []\n  max_gen_toks: 40\n"
        "process_results: !function judge.judge\n"
        "metric_list:\n  - metric: has_answer\n    aggregation: mean\n    higher_is_better: true\n"
    )
    (tmp_path / "judge.py").write_text(
        "def judge(doc, results):\n    return {'has_answer': float(doc['answer'] in results[0])}\n"
    )
    with start() as up:
        args = f"model=scripted,base_url={up.url}/v1/chat/completions,num_concurrent=1,tokenized_requests=False"
        result = lm_eval.simple_evaluate(
            model="local-chat-completions",
            model_args=args,
            tasks=["lamp"],
            task_manager=lm_eval.tasks.TaskManager(include_path=str(tmp_path), include_defaults=False),
            apply_chat_template=True,
        )
        assert len(up.journal.readings()) == 1
    assert result["results"]["lamp"]["has_answer,none"] == 1.0


@pytest.mark.slow
def test_the_openai_sdk_parses_a_structured_answer_and_streams_a_tool(start, words) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str

    text, question = words
    messages = [{"role": "user", "content": f"{text}\n\n{question}"}]
    call = '{"tool": "greet", "arguments": {"name": "Ada Quill"}}'
    tool = {"type": "function", "function": {"name": "greet", "parameters": Person.model_json_schema()}}
    with start('{"name": "Ada Quill"}', call) as up, OpenAI(base_url=f"{up.url}/v1", api_key="x", max_retries=0) as ai:
        parsed = ai.chat.completions.parse(model="scripted", messages=messages, response_format=Person)
        with ai.chat.completions.stream(model="scripted", messages=messages, tools=[tool]) as stream:
            final = stream.get_final_completion()
    assert parsed.choices[0].message.parsed == Person(name="Ada Quill")
    assert final.choices[0].message.tool_calls[0].function.name == "greet"


@pytest.mark.slow
def test_anthropics_client_gets_an_answer_whole_and_in_pieces(start, words) -> None:
    client_of = pytest.importorskip("anthropic").Anthropic
    text, question = words
    asked = {"model": "bookwheel/scripted", "max_tokens": 100}
    asked["messages"] = [{"role": "user", "content": f"{text}\n\n{question}"}]
    with start() as up, client_of(base_url=up.url, api_key="none", max_retries=0) as client:
        whole = client.messages.create(**asked).content[0].text
        with client.messages.stream(**asked) as stream:
            pieces = "".join(stream.text_stream)
    assert whole.strip() == pieces.strip()
    assert "Ada Quill" in whole


@pytest.mark.slow
def test_anthropics_tool_runner_calls_a_tool_and_then_replies(start, words) -> None:
    anthropic = pytest.importorskip("anthropic")
    beta_tool = getattr(anthropic, "beta_tool", None) or pytest.skip("needs a newer anthropic")
    text, question = words
    greeted = []

    @beta_tool
    def greet(name: str) -> str:
        """Greet a person by name."""
        greeted.append(name)
        return f"{name} was greeted"

    asked = [{"role": "user", "content": f"{text}\n\nGreet her. {question}"}]
    call = json.dumps({"tool": "greet", "arguments": {"name": "Ada Quill"}})
    with (
        start(call, '{"reply": "I greeted Ada Quill."}') as up,
        anthropic.Anthropic(base_url=up.url, api_key="none", max_retries=0) as client,
    ):
        said = client.beta.messages.tool_runner(
            model="bookwheel/scripted", max_tokens=100, tools=[greet], messages=asked
        ).until_done()
    assert greeted == ["Ada Quill"]
    assert said.content[0].text == "I greeted Ada Quill."


@pytest.mark.slow
def test_ollamas_client_lists_the_models_and_gets_an_answer(start, words) -> None:
    client_of = pytest.importorskip("ollama").Client
    text, question = words
    messages = [{"role": "user", "content": f"{text}\n\n{question}"}]
    with start() as up, client_of(host=up.url) as client:
        assert "bookwheel/scripted" in [one.model for one in client.list().models]
        whole = client.chat(model="bookwheel/scripted", messages=messages).message.content
        pieces = client.chat(model="bookwheel/scripted", messages=messages, stream=True)
        assert "".join(one.message.content or "" for one in pieces).strip() == whole.strip()
    assert "Ada Quill" in whole


@pytest.mark.slow
def test_pydantic_ai_gets_an_answer_an_object_and_calls_a_tool(start, words) -> None:
    ai = pytest.importorskip("pydantic_ai")
    from openai import AsyncOpenAI
    from pydantic import BaseModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Person(BaseModel):
        """Somebody with an office."""

        name: str

    text, question = words
    greeted = []

    def greet(name: str) -> str:
        """Greet a person by name."""
        greeted.append(name)
        return f"{name} was greeted"

    async def converse(address: str) -> list[object]:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            model = OpenAIChatModel("bookwheel/scripted", provider=OpenAIProvider(openai_client=client))
            reader, parser = ai.Agent(model), ai.Agent(model, output_type=ai.NativeOutput(Person))
            asked = f"{text}\n\n{question}"
            greeter = ai.Agent(model, tools=[greet])
            return [(await agent.run(asked)).output for agent in (reader, parser, greeter)]

    call = json.dumps({"tool": "greet", "arguments": {"name": "Ada Quill"}})
    with start('{"name": "Ada Quill"}', call, '{"reply": "I greeted Ada Quill."}') as up:
        plain, person, said = asyncio.run(converse(up.url))
    assert "Ada Quill" in plain
    assert person == Person(name="Ada Quill")
    assert greeted == ["Ada Quill"]
    assert said == "I greeted Ada Quill."


@pytest.mark.slow
@pytest.mark.parametrize("door", ["chat", "responses"])
def test_the_agents_sdk_calls_its_tool_and_then_replies(start, words, door) -> None:
    agents = pytest.importorskip("agents")
    from openai import AsyncOpenAI

    text, question = words
    greeted = []

    @agents.function_tool
    def greet(name: str) -> str:
        """Greet a person by name."""
        greeted.append(name)
        return f"{name} was greeted"

    agents.set_tracing_disabled(disabled=True)
    model_of = agents.OpenAIChatCompletionsModel if door == "chat" else agents.OpenAIResponsesModel

    async def converse(address: str) -> list[str]:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            model = model_of(model="bookwheel/scripted", openai_client=client)
            greeter = agents.Agent(name="greeter", instructions="Be brief.", model=model, tools=[greet])
            reader = agents.Agent(name="reader", instructions="Be brief.", model=model)
            asked = [(greeter, f"{text}\n\nGreet her. {question}"), (reader, f"{text}\n\n{question}")]
            return [(await agents.Runner.run(agent, wanted)).final_output for agent, wanted in asked]

    call = json.dumps({"tool": "greet", "arguments": {"name": "Ada Quill"}})
    with start(call, '{"reply": "I greeted Ada Quill."}') as up:
        said, answer = asyncio.run(converse(up.url))
    assert greeted == ["Ada Quill"]
    assert said == "I greeted Ada Quill."
    assert "Ada Quill" in answer


@pytest.mark.slow
def test_an_agent_goes_on_from_its_last_response_without_the_document(start, words) -> None:
    agents = pytest.importorskip("agents")
    from openai import AsyncOpenAI

    agents.set_tracing_disabled(disabled=True)
    text, question = words

    async def converse(address: str) -> list[str]:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            model = agents.OpenAIResponsesModel(model="bookwheel/scripted", openai_client=client)
            reader = agents.Agent(name="reader", model=model)
            first = await agents.Runner.run(reader, f"{text}\n\n{question}")
            further = "Is Ada Quill the harbour master of Skarholm?"
            again = await agents.Runner.run(reader, further, previous_response_id=first.last_response_id)
            return [first.final_output, again.final_output]

    with start() as up:
        said = asyncio.run(converse(up.url))
        kept = up.journal.readings()
    assert all("Ada Quill" in one for one in said)
    assert [bool(reading.parent) for reading in kept] == [True, False]
