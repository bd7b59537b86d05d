"""Choosing a passage, trained by the reward of the choice: the policy by which the way `quotes` reads.

    surprise_i = - mean log-probability of the question's tokens after passage i; passage 0 is no text
    gain_i     = 1 - surprise_i / surprise_0 + WORDS * share of the question's words in passage i
    p          = softmax(FOCUS * gain)          the policy: which passage answers
    r_i        = 1 where passage i holds the answer's evidence
    L          = -log(sum_i p_i r_i)            the mean over the questions

Every passage is measured, so nothing is sampled: the expected reward and its gradient are exact.

No text has the least gain that the way wants of an answer. Where no passage answers it is the right choice. So the
policy also learns to say that a document has nothing on the question.
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

# Gains of good and bad passages differ by about a fifth: the policy is neither uniform nor certain at the start.
FOCUS: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The passages of one question, the first no text, as rows whose trained tokens are the question's."""

    rows: tuple[Row, ...]
    passages: tuple[PassageOption, ...]


def compute_gains(choice: Choice, surprises: Tensor) -> Tensor:
    """Return the gain of each passage; the first is no text."""
    bonuses = torch.tensor([one.bonus for one in choice.passages], device=surprises.device)
    return 1 - surprises / surprises[0] + bonuses


def choice_loss(gains: Tensor, is_right: Tensor) -> Tensor:
    """Return the negative logarithm of the probability that a right passage is chosen."""
    focused = FOCUS * gains
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
