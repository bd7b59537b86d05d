"""Choosing a passage, trained by the reward of the choice: the policy by which the way `quotes` reads.

    s_i = mean log-probability of the question's tokens after passage i + WORDS * share of the question's words in it
    p   = softmax(FOCUS * s)                    the policy: which passage answers
    r_i = 1 where passage i holds the answer's evidence
    L   = -log(sum_i p_i r_i)                   the mean over the questions

Every passage is scored, so nothing is sampled: the expected reward and its gradient are exact.

One passage is no text at all, with the way's `least_gain` on top of its score. Where no other passage answers it is the
right choice. So the policy also learns to say that a document has nothing on the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from bookwheel.reading.prompts import prompts_for
from bookwheel.training.passages import PassageOption, list_passages

if TYPE_CHECKING:
    from torch import Tensor

    from bookwheel.plan import Plan
    from bookwheel.tasks import Sample
    from bookwheel.training.policy_model import PolicyModel
    from bookwheel.training.rows import Row

# Scores of good and bad passages differ by about one: the policy is neither uniform nor certain at the start.
FOCUS: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The passages of one question, as rows whose trained tokens are the question's."""

    rows: tuple[Row, ...]
    passages: tuple[PassageOption, ...]


def choice_loss(scores: Tensor, is_right: Tensor) -> Tensor:
    """Return the negative logarithm of the probability that a right passage is chosen."""
    focused = FOCUS * scores
    return torch.logsumexp(focused, 0) - torch.logsumexp(focused[is_right], 0)


def build_choice(sample: Sample, model: PolicyModel, plan: Plan) -> Choice:
    """Return the choice that a sample's question poses."""
    passages = list_passages(sample, model.tokenizer, plan)
    prompts = prompts_for(plan, sample.question)
    rows = [
        model.build_likelihood_row(prompts.turn("about", question="", section=one.text), sample.question, sample.id)
        for one in passages
    ]
    return Choice(rows=tuple(rows), passages=tuple(passages))
