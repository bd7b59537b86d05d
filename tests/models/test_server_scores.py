"""Judgements and likelihoods from servers of every kind, and from those that promise and do not deliver."""

from __future__ import annotations

import asyncio

import pytest

from bookwheel.errors import BudgetReached, InputError, MissingAbility, ModelError, Rejected
from bookwheel.models.base import Ability, find_abilities
from bookwheel.models.patience import Patience, PatientModel
from bookwheel.plan import Budget
from bookwheel.reading.budget import BudgetedModel
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Message

TALK = (Message(role="user", content="Is the lamp lit?"),)
VLLM = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]}
LLAMA = {"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}]}
OTHER = {"data": [{"id": "m", "owned_by": "somebody"}]}


def listed(**logprobs: float):
    entries = [{"token": token.replace("_", " "), "logprob": value} for token, value in logprobs.items()]
    return {"logprobs": {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": entries}]}}


def run(model, act):
    async def work():
        try:
            return await act(model)
        finally:
            await model.aclose()

    return asyncio.run(work())


def test_a_judgement_is_one_token_of_reply_with_the_most_listed_tokens(server, model, acts):
    server.plays(acts.sends(acts.completion("Yes", choice=listed(Yes=-0.2, _No=-2.5, Maybe=-3.0))))
    judgement = run(model(), lambda m: m.judge(TALK, ("Yes", "No")))
    assert judgement.logprobs == (-0.2, -2.5)
    assert (judgement.usage.calls, judgement.usage.prompt_tokens, judgement.usage.completion_tokens) == (1, 7, 3)
    (body,) = server.bodies()
    assert {name: body[name] for name in ("max_tokens", "logprobs", "top_logprobs", "temperature")} == {
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 20,
        "temperature": 0,
    }


@pytest.mark.parametrize(
    ("tokens", "options", "logprobs"),
    [
        ({"Ke": -0.3, "Sk": -1.0}, ("Keep", "Skip"), (-0.3, -1.0)),
        ({"Keep": -0.3, "Other": -4.0}, ("Keep", "Skip"), (-0.3, -4.0)),
        ({"S": -0.1, "Sk": -1.0, "Sa": -2.0}, ("Skip", "Same"), (-1.0, -2.0)),
        ({"_Yes": -3.0, "Yes": -1.0, "No": -2.0}, ("Yes", "No"), (-1.0, -2.0)),
    ],
)
def test_an_option_is_known_by_the_token_that_begins_it_alone(server, model, acts, tokens, options, logprobs):
    server.plays(acts.sends(acts.completion("x", choice=listed(**tokens))))
    assert run(model(), lambda m: m.judge(TALK, options)).logprobs == logprobs


def test_a_judgement_costs_what_we_sent_whatever_the_server_says(server, model, acts):
    server.plays(acts.sends(acts.completion("Yes", usage=(290, 1), choice=listed(Yes=-0.2, No=-2.5))))
    long = [Message(role="user", content="a, b. " * 75)]
    judgement = run(model(tokenizer=WordTokenizer()), lambda m: m.judge(long, ("Yes", "No")))
    assert judgement.usage.prompt_tokens == 300


@pytest.mark.parametrize("choice", [{}, {"logprobs": None}, {"logprobs": {"content": []}}, listed()])
def test_a_server_that_ignores_logprobs_cannot_judge(server, model, acts, choice):
    server.plays(acts.sends(acts.completion("Yes", choice=choice)))
    with pytest.raises(Rejected, match="--way"):
        run(model(), lambda m: m.judge(TALK, ("Yes", "No")))


@pytest.mark.parametrize(
    ("served", "plays", "abilities"),
    [
        (VLLM, None, set(Ability)),
        (LLAMA, None, set(Ability)),
        (OTHER, "judges", {Ability.JUDGE}),
        (OTHER, "ignores", set()),
        (OTHER, "rejects", set()),
    ],
)
def test_a_server_is_asked_once_what_it_offers_by_those_who_ask_together_and_one_pays(
    server, model, acts, served, plays, abilities
):
    server.plays(acts.sends(served), route="/v1/models")
    reply = acts.completion("Yes", choice=listed(Yes=-0.2, No=-2.5))
    server.plays(
        {
            "judges": acts.sends(reply),
            "ignores": acts.sends(acts.completion("Yes")),
            "rejects": acts.fault(400, "logprobs is not supported"),
            None: acts.fault(500, "nobody should ask"),
        }[plays]
    )

    async def ask(m):
        readings = [BudgetedModel(m, Budget()) for _ in range(3)]
        found = await asyncio.gather(*(find_abilities(PatientModel(one, Patience())) for one in readings))
        assert {*found, await m.abilities()} == {frozenset(abilities)}
        return sum(one.spent.calls for one in readings)

    # A call that is refused costs nothing.
    assert run(model(), ask) == (plays in {"judges", "ignores"})
    assert len(server.bodies()) == (0 if plays is None else 1)


def test_what_a_server_offers_is_not_tried_without_a_budget_for_it(server, model, acts):
    server.plays(acts.sends(OTHER), route="/v1/models")
    with pytest.raises(BudgetReached):
        run(model(), lambda m: find_abilities(BudgetedModel(m, Budget(tokens=9))))
    assert server.bodies() == []


@pytest.mark.parametrize(("served", "has_setting"), [(VLLM, True), (LLAMA, True), (OTHER, False)])
def test_a_model_is_asked_not_to_think_before_it_judges_where_the_server_knows_how(
    server, model, acts, served, has_setting
):
    server.plays(acts.sends(served), route="/v1/models")
    server.plays(acts.sends(acts.completion("Yes", choice=listed(Yes=-0.2, No=-2.5))))

    async def judge(m):
        await m.abilities()
        await m.judge(TALK, ("Yes", "No"))

    run(model(), judge)
    assert ("chat_template_kwargs" in server.bodies()[-1]) is has_setting


def vllm_scores(*logprobs: float):
    entries = [
        None,
        {"1": {"logprob": -9.0}},
        *({str(50 + at): {"logprob": value}} for at, value in enumerate(logprobs)),
    ]
    return {"prompt_logprobs": entries}


def test_vllm_scores_the_end_of_the_prompt(server, model, acts):
    server.plays(acts.sends(VLLM), route="/v1/models")
    server.plays(acts.sends({"tokens": [50, 51, 52]}), route="/tokenize")
    server.plays(acts.sends(acts.completion("x", **vllm_scores(-1.0, -2.0, -0.5))))
    likelihood = run(model(), lambda m: m.likelihood(TALK, "It is lit."))
    assert likelihood.logprobs == (-1.0, -2.0, -0.5)
    assert likelihood.usage.prompt_tokens == 7
    (body,) = server.bodies()
    assert body["messages"][-1] == {"role": "assistant", "content": "It is lit."}
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)


@pytest.mark.parametrize("more", [{}, {"prompt_logprobs": [None]}, vllm_scores(-1.0, -2.0)])
def test_scores_of_another_text_are_no_likelihood(server, model, acts, more):
    server.plays(acts.sends(VLLM), route="/v1/models")
    server.plays(acts.sends({"tokens": [60, 61]}), route="/tokenize")
    server.plays(acts.sends(acts.completion("x", **more)))
    with pytest.raises(Rejected):
        run(model(), lambda m: m.likelihood(TALK, "It is lit."))


def test_llama_cpp_is_made_to_write_the_text(server, model, acts):
    server.plays(acts.sends(LLAMA), route="/v1/models")
    server.plays(acts.sends({"prompt": "<user>Is the lamp lit?<bot>"}), route="/apply-template")
    server.plays(acts.sends({"tokens": [1, 2, 3]}), acts.sends({"tokens": [50, 51]}), route="/tokenize")
    entries = [{"id": 50, "logprob": -1.5}, {"id": 51, "logprob": -0.5}]
    server.plays(acts.sends({"completion_probabilities": entries, "content": "It is"}), route="/completion")
    likelihood = run(model(), lambda m: m.likelihood(TALK, "It is"))
    assert likelihood.mean == -1.0
    assert (likelihood.usage.prompt_tokens, likelihood.usage.completion_tokens) == (3, 2)
    (body,) = server.bodies("/completion")
    assert (body["prompt"], body["n_predict"], body["grammar"]) == ([1, 2, 3], 2, "root ::= <[50]> <[51]>")


@pytest.mark.parametrize("entries", [[], [{"id": 50, "logprob": -1.5}, {"id": 99, "logprob": -0.5}]])
def test_a_text_that_was_not_written_has_no_likelihood(server, model, acts, entries):
    server.plays(acts.sends(LLAMA), route="/v1/models")
    server.plays(acts.sends({"prompt": "p"}), route="/apply-template")
    server.plays(acts.sends({"tokens": [50, 51]}), route="/tokenize")
    server.plays(acts.sends({"completion_probabilities": entries}), route="/completion")
    with pytest.raises(Rejected, match=r"llama\.cpp did not"):
        run(model(), lambda m: m.likelihood(TALK, "It is"))


def echo(pairs, text=""):
    listed = {"text_offset": [offset for offset, _ in pairs], "token_logprobs": [logprob for _, logprob in pairs]}
    return {"choices": [{"text": text, "logprobs": listed}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}


# The prompt is "Is the lamp lit?\n\nIt is lit.", and one token follows that the server writes.
ECHO = [(0, None), (3, -9.0), (18, -1.0), (20, -2.0), (23, -0.5), (28, -7.0)]


def test_a_server_that_echoes_prompts_scores_the_end_of_one(server, model, acts):
    server.plays(acts.sends(OTHER), route="/v1/models")
    server.plays(acts.sends(echo(ECHO)), route="/v1/completions")
    likelihood = run(model(), lambda m: m.likelihood(TALK, "It is lit."))
    assert likelihood.logprobs == (-1.0, -2.0, -0.5)
    assert (likelihood.usage.calls, likelihood.usage.prompt_tokens) == (1, 9)
    (body,) = server.bodies("/v1/completions")
    assert (body["prompt"], body["echo"]) == ("Is the lamp lit?\n\nIt is lit.", True)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"text": "Yes"}]},
        {"choices": [{"text": "Yes", "logprobs": None}]},
        {"choices": []},
        echo([(0, -1.0)]),
        echo([(0, None), (17, -1.0), (20, -2.0)]),
        echo([(0, None), (18, None)]),
    ],
    ids=["plain", "null", "empty", "no echo", "over the seam", "without scores"],
)
def test_a_server_that_does_not_echo_cannot_score_a_given_text(server, model, acts, body):
    server.plays(acts.sends(OTHER), route="/v1/models")
    server.plays(acts.sends(body), route="/v1/completions")
    with pytest.raises(MissingAbility):
        run(model(), lambda m: m.likelihood(TALK, "It is lit."))


def test_a_server_without_plain_completions_cannot_score_a_given_text(server, model, acts):
    server.plays(acts.sends(OTHER), route="/v1/models")
    for act in (acts.fault(404, "This is a chat model"), acts.fault(400, "echo is not supported"), None):
        if act:
            server.plays(act, route="/v1/completions")
        with pytest.raises(MissingAbility):
            run(model(), lambda m: m.likelihood(TALK, "It is"))
    with pytest.raises(InputError, match="empty"):
        run(model(), lambda m: m.likelihood(TALK, ""))


def test_a_server_that_echoes_offers_likelihoods(server, model, acts):
    server.plays(acts.sends(OTHER), route="/v1/models")
    server.plays(acts.sends(acts.completion("Yes")))
    server.plays(acts.sends(echo([(0, None), (37, -1.0), (40, -2.0)])), route="/v1/completions")
    assert run(model(), lambda m: m.abilities()) == {Ability.LIKELIHOOD}


def test_a_failing_server_fails_a_judgement_like_a_reply(server, model, acts):
    server.plays(acts.fault(401, "wrong key"))
    with pytest.raises(ModelError, match="key"):
        run(model(), lambda m: m.judge(TALK, ("Yes", "No")))
