"""The real package, with an environment of its own documentation's kind."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

vf = pytest.importorskip("verifiers")
datasets = pytest.importorskip("datasets")

from bookwheel.lab.training.errors import ConfigError  # noqa: E402
from bookwheel.lab.training.toys import toy_samples  # noqa: E402
from bookwheel.lab.training.workflows import Episode  # noqa: E402
from bookwheel.lab.verifiers import (  # noqa: E402
    PolicyClient,
    ReadingEnvironment,
    environment_reward,
    environment_workflow,
    list_samples,
)
from bookwheel.models.scripted import ScriptedModel  # noqa: E402
from bookwheel.plan import Plan  # noqa: E402
from bookwheel.text.tokens import WordTokenizer  # noqa: E402

ROWS = [
    {"prompt": [{"role": "user", "content": "What is 2+2?"}], "answer": "4"},
    {"prompt": [{"role": "user", "content": "What is 3*5?"}], "answer": "15"},
]


async def correct_answer(completion, answer):
    return 1.0 if answer in completion[-1].content else 0.0


def toy(**more):
    rubric = vf.Rubric(funcs=[correct_answer])
    return vf.SingleTurnEnv(dataset=datasets.Dataset.from_list(ROWS), rubric=rubric, **more)


class Guessing(vf.MultiTurnEnv):
    """Says higher until the answer comes."""

    async def env_response(self, messages, state, **kwargs):
        return [vf.UserMessage(content="higher")]


def run(environment, reply, place=0):
    sample = list_samples(environment)[place]
    workflow = environment_workflow(environment, limit=16)
    return sample, asyncio.run(workflow(ScriptedModel(reply), sample))


def test_a_data_set_becomes_samples():
    assert [(one.question, one.golds) for one in list_samples(toy())] == [
        ("What is 2+2?", ("4",)),
        ("What is 3*5?", ("15",)),
    ]
    assert len(list_samples(toy(), 1)) == 1


def test_the_rubric_of_the_environment_is_the_reward():
    for place, score in ((0, 0.0), (1, 1.0)):
        sample, episode = run(toy(), lambda messages: "It is 15.", place)
        result = environment_reward(episode, sample)
        assert (result.score, result.answer, result.parts["correct_answer"]) == (score, score, score)
        assert [one.messages[-1].content for one in episode.conversations] == [sample.question]


def test_a_system_prompt_of_the_environment_reaches_the_model():
    _, episode = run(toy(system_prompt="Answer in one word."), lambda messages: "4")
    assert [(one.role, one.content) for one in episode.conversations[0].messages] == [
        ("system", "Answer in one word."),
        ("user", "What is 2+2?"),
    ]


def test_several_turns_are_conversations_that_continue_each_other():
    environment = Guessing(
        dataset=datasets.Dataset.from_list(ROWS), rubric=vf.Rubric(funcs=[correct_answer]), max_turns=3
    )
    _, episode = run(environment, lambda messages: str(len(messages)))
    assert [len(one.messages) for one in episode.conversations] == [1, 3, 5]
    assert [one.content for one in episode.conversations[1].messages] == ["What is 2+2?", "1", "higher"]
    assert episode.limits == (16, 16, 16)


def test_an_error_of_the_model_is_the_rollouts_own():
    def broken(messages):
        raise TimeoutError("no reply")

    with pytest.raises(TimeoutError, match="no reply"):
        run(toy(), broken)


def test_tools_of_the_api_are_refused():
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    environment = vf.ToolEnv(tools=[add], dataset=datasets.Dataset.from_list(ROWS), rubric=vf.Rubric())
    with pytest.raises(ConfigError, match="tool 'add'"):
        run(environment, lambda messages: "4")


def test_an_episode_of_another_workflow_has_no_reward_here():
    with pytest.raises(ConfigError, match="environment_workflow"):
        environment_reward(Episode(conversations=(), answer="", limits=()), list_samples(toy())[0])


def test_a_reading_is_an_environment_whose_steps_are_its_conversations():
    plan = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=9)
    samples = toy_samples(tokens=48, count=2, seed=1)
    environment = ReadingEnvironment(samples, plan, WordTokenizer())
    limits = []

    # The answer has a limit of its own.
    model = ScriptedModel(lambda messages: samples[1].golds[0] if limits[-1] == plan.answer_tokens else "same")
    plain = model.reply

    async def counted(messages, *, limit, sampling):
        limits.append(limit)
        return await plain(messages, limit=limit, sampling=sampling)

    model.reply = counted
    row = environment.get_dataset()[1]

    async def roll():
        state = await environment.rollout(row, PolicyClient(model, 64), "policy", {})
        await environment.rubric.score_rollout(state)
        return state

    state = asyncio.run(roll())
    assert state.get("error") is None
    assert limits == [8, 8, 8, 9]
    assert len(state["trajectory"]) == 4
    assert [len(step["prompt"]) for step in state["trajectory"]] == [1] * 4
    assert state["reward"] == samples[1].score(state["answer_read"]).score == 1.0
    assert environment._readings == {}


def test_an_environment_is_loaded_by_its_name():
    environment = vf.load_environment("bookwheel.lab.verifiers", task="whereabouts", tokens=600, count=3)
    assert len(environment.get_dataset()) == 3


def test_a_reading_that_fails_ends_its_rollout_with_the_reason():
    plan = Plan(prompts="tiny", language="en", question_tokens=8, chunk_tokens=16, memory_tokens=8, answer_tokens=8)
    (sample,) = toy_samples(tokens=16, count=1, seed=1)
    environment = ReadingEnvironment([replace(sample, question="oak has " * 9)], plan, WordTokenizer())
    client = PolicyClient(ScriptedModel(lambda messages: "same"), 64)
    state = asyncio.run(environment.rollout(environment.get_dataset()[0], client, "policy", {}))
    assert "question" in str(state["error"])
