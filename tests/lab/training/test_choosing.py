"""A policy that chooses passages: its loss, its rows, and that training makes it choose better."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from bookwheel.lab.training.choice import build_choice, choice_loss, compute_log_odds, is_chosen_right
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.passages import list_passages
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.step import PolicyOptimizer
from bookwheel.lab.training.toy_records import KEYS, toy_records
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.question_scorer import QuestionScorer


@pytest.fixture
def plan(tmp_path) -> Plan:
    """A plan whose prompts have the turn `answers`, and words for yes and no that the small policy knows."""
    path = tmp_path / "judging.toml"
    path.write_text(
        f"""language = "en"
blank = "none"
answer = "{{memory}} {{question}} answer"
yes = "{KEYS[0]}"
no = "{KEYS[1]}"
[update]
memory-first = "{{question}} {{memory}} {{section}} notes"
[turns]
about = "section {{section}} question"
answers = "section {{section}} question {{question}}"
"""
    )
    return Plan(
        prompts=str(path), language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, judgement_weight=1.0
    )


def test_the_loss_is_that_of_its_formula_and_rewards_right_log_odds() -> None:
    log_odds = torch.tensor([1.5, -0.5, 0.25], dtype=torch.float64)
    is_right = torch.tensor([True, False, False])
    chance, sigmoid = torch.softmax(log_odds, 0), torch.sigmoid(log_odds)
    expected = -chance[0].log() - sigmoid[0].log() / 2 - (1 - sigmoid[1:]).log().mean() / 2
    assert choice_loss(log_odds, is_right).item() == pytest.approx(expected.item())
    # Where none is right there is nothing to compare, and all are to be refused.
    none = torch.tensor([False, False, False])
    assert choice_loss(log_odds, none).item() == pytest.approx(-(1 - sigmoid).log().mean().item() / 2)
    assert choice_loss(log_odds[:1], is_right[:1]).item() == pytest.approx(-sigmoid[0].log().item() / 2)


def test_a_choice_is_right_by_the_best_verdict_or_by_taking_none() -> None:
    right, none = torch.tensor([False, True]), torch.tensor([False, False])
    assert is_chosen_right(torch.tensor([-2.0, -1.0]), right)
    assert not is_chosen_right(torch.tensor([1.0, 0.5]), right)
    assert is_chosen_right(torch.tensor([-2.0, -1.0]), none)
    assert not is_chosen_right(torch.tensor([-2.0, 0.1]), none)


def test_log_odds_are_those_of_the_way_of_reading(still_policy, plan) -> None:
    (sample,) = toy_records(tokens=96, count=1, seed=5)
    model = PolicyModel(still_policy)
    choice = build_choice(sample, model, plan)
    assert choice.passages == tuple(list_passages(sample, model.tokenizer, plan))
    log_odds = compute_log_odds(still_policy.score_frozen(choice.rows))
    scorer = QuestionScorer(model, prompts_for(plan, sample.question), sample.question)
    expected = [asyncio.run(scorer.judge(passage.text)) for passage in choice.passages]
    assert log_odds.tolist() == pytest.approx(expected, abs=1e-5)
    assert len(set(log_odds.tolist())) > 1


def test_training_makes_right_choices_likelier(make_policy, plan) -> None:
    policy = make_policy()
    config = replace(TrainConfig(), samples=4)
    optimizer = PolicyOptimizer(policy, config, lambda _: 3e-3)
    model = PolicyModel(policy)
    choices = [build_choice(sample, model, plan) for sample in toy_records(tokens=96, count=6, seed=5)]
    first = optimizer.choose(choices)
    for _ in range(60):
        last = optimizer.choose(choices)
    assert last["loss"] < 0.25 * first["loss"]
    assert last["accuracy"] == 1.0
