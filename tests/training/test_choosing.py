"""A policy that chooses passages: its loss, its rows, and that training makes it choose better."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.quotes import QuestionScorer
from bookwheel.training.choice import FOCUS, build_choice, choice_loss, compute_gains
from bookwheel.training.config import TrainConfig
from bookwheel.training.passages import list_passages
from bookwheel.training.policy_model import PolicyModel
from bookwheel.training.step import PolicyOptimizer
from bookwheel.training.toy_records import toy_records

PLAN = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, question_tokens=8)


def test_the_loss_is_of_the_chance_of_a_right_choice_and_its_gradient_is_exact() -> None:
    scores = torch.tensor([-1.0, -0.5, -2.0], dtype=torch.float64, requires_grad=True)
    is_right = torch.tensor([True, False, True])
    loss = choice_loss(scores, is_right)
    chance = torch.softmax(FOCUS * scores.detach(), 0)
    assert loss.item() == pytest.approx(-torch.log(chance[is_right].sum()).item())
    loss.backward()
    among_right = chance * is_right / chance[is_right].sum()
    assert torch.allclose(scores.grad, FOCUS * (chance - among_right))


def test_a_choices_rows_are_scored_as_the_way_of_reading_scores_them(still_policy) -> None:
    (sample,) = toy_records(tokens=96, count=1, seed=5)
    model = PolicyModel(still_policy)
    choice = build_choice(sample, model, PLAN)
    assert choice.passages == tuple(list_passages(sample, model.tokenizer, PLAN))
    scored = still_policy.score_frozen(choice.rows).split([row.tokens for row in choice.rows])
    prompts = prompts_for(PLAN, sample.question)
    for logprobs, passage in zip(scored, choice.passages, strict=True):
        messages = prompts.turn("about", question="", section=passage.text)
        expected = asyncio.run(model.likelihood(messages, sample.question))
        assert logprobs.mean().item() == pytest.approx(expected.mean, abs=1e-5)


def test_gains_are_those_of_the_way_of_reading(still_policy) -> None:
    (sample,) = toy_records(tokens=96, count=1, seed=5)
    model = PolicyModel(still_policy)
    choice = build_choice(sample, model, PLAN)
    scored = still_policy.score_frozen(choice.rows).split([row.tokens for row in choice.rows])
    gains = compute_gains(choice, torch.stack([-part.mean() for part in scored]))
    scorer = QuestionScorer(model, prompts_for(PLAN, sample.question), sample.question)
    expected = [asyncio.run(scorer.gain(passage.text)) for passage in choice.passages[1:]]
    assert gains[1:].tolist() == pytest.approx(expected, abs=1e-4)
    assert gains[0].item() == pytest.approx(choice.passages[0].bonus)


def test_training_makes_right_choices_likelier(make_policy) -> None:
    policy = make_policy()
    config = replace(TrainConfig(), samples=4)
    optimizer = PolicyOptimizer(policy, config, lambda _: 3e-3)
    model = PolicyModel(policy)
    # The words of the question say nothing here, so that the likelihood has to.
    choices = [build_choice(sample, model, PLAN) for sample in toy_records(tokens=96, count=6, seed=5)]
    plain = [replace(one, passages=tuple(replace(text, bonus=0.0) for text in one.passages)) for one in choices]
    assert all(one.passages[0].text == "" for one in choices)
    first = optimizer.choose(plain)
    for _ in range(60):
        last = optimizer.choose(plain)
    assert last["loss"] < 0.25 * first["loss"]
    assert last["accuracy"] == 1.0
