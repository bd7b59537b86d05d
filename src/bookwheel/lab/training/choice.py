"""Choosing a passage: the policy that tells the way `quotes` which passage answers a question, or that none does.

    z_i = log P(Yes) - log P(No)                    after passage i and the question, in the turn `answers`
    L   = -log(sum over right i of softmax(z)_i)    which passage; 0 where none answers
        + 1/2 mean over right i of -log sigmoid(z_i) + 1/2 mean over wrong i of -log sigmoid(-z_i)

The first part compares the passages of one question. The second gives 0 a meaning: without it a question that no
passage answers would get its best wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import softplus

from bookwheel.lab.training.passages import PassageOption, list_passages
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from torch import Tensor

    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.policy_model import PolicyModel
    from bookwheel.lab.training.rows import Row
    from bookwheel.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The passages of one question, each as two rows: one is trained on Yes, the next on No."""

    rows: tuple[Row, ...]
    passages: tuple[PassageOption, ...]


def compute_log_odds(logprobs: Tensor) -> Tensor:
    """Return `z` for each passage, from the log-probabilities of its two rows."""
    pairs = logprobs.reshape(-1, 2)
    return pairs[:, 0] - pairs[:, 1]


def choice_loss(log_odds: Tensor, is_right: Tensor) -> Tensor:
    """Return the loss of one choice."""
    right, wrong = log_odds[is_right], log_odds[~is_right]
    loss = softplus(wrong).mean() / 2 if wrong.numel() else log_odds.new_zeros(())
    if right.numel():
        loss = loss + torch.logsumexp(log_odds, 0) - torch.logsumexp(right, 0) + softplus(-right).mean() / 2
    return loss


def is_chosen_right(log_odds: Tensor, is_right: Tensor) -> bool:
    """Return whether the best passage is a right one, or none is taken where none is right."""
    return bool(is_right[log_odds.argmax()]) if is_right.any() else bool((log_odds < 0).all())


def build_choice(sample: Sample, model: PolicyModel, plan: Plan) -> Choice:
    """Return the choice that a sample's question poses."""
    passages = list_passages(sample, model.tokenizer, plan)
    prompts = prompts_for(plan, sample.question)
    rows = [
        row
        for one in passages
        for row in model.build_judgement_rows(
            prompts.turn("answers", question=sample.question, section=one.text), prompts.options, sample.id
        )
    ]
    return Choice(rows=tuple(rows), passages=tuple(passages))
