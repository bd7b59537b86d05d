"""The reward of an episode: the sample's own verifier, and optional parts beside it.

    R = answer + boxed * [the answer is boxed] - overlong * o + captured * c + kept * k
    o = the mean over replies of clip((length - (1 - s) L) / (s L), 0, 1)       L the reply's limit, s overlong_share
    c = the share of golds in the memory right after the chunk that their evidence ends in
    k = the share of them in the last memory

The verifier is the one that evaluation uses. The other parts are off by default and reported by name, so that a curve
always shows the reward of the answers alone. `Reward` is any callable of this shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol

from bookwheel.lab.scoring import contains
from bookwheel.lab.tasks import Sample
from bookwheel.lab.training.config import RewardSettings
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.workflows import Episode
from bookwheel.types import Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardResult:
    """A reward and its named parts."""

    score: float
    """The advantage is computed from it."""
    answer: float
    """The verifier's part alone, as in evaluation."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Every part before its weight."""


class Reward(Protocol):
    """Judges an episode. It runs in a thread, so it may be slow."""

    def __call__(self, episode: Episode, sample: Sample) -> RewardResult:
        """Return the episode's reward."""
        ...


def score_episode(reward: Reward, episode: Episode, sample: Sample) -> RewardResult:
    """Return the episode's reward; raise ValueError where it is no number that an advantage can be computed from."""
    result = reward(episode, sample)
    if not (isfinite(result.score) and isfinite(result.answer)):
        raise ValueError(f"the reward is {result.score}, of an answer worth {result.answer}")
    return result


def build_reward(settings: RewardSettings) -> Reward:
    """Return a reward of the sample's verifier and the parts that the settings give a weight."""

    def judge(episode: Episode, sample: Sample) -> RewardResult:
        if not sample.golds:
            raise ConfigError(f"sample {sample.id} has no gold answer to verify by: leave it out")
        answer = sample.score(episode.answer).score
        parts = {"answer": answer}
        if settings.boxed:
            parts["boxed"] = float(bool(episode.conversations) and r"\boxed{" in episode.conversations[-1].reply.text)
        if settings.overlong:
            parts["overlong"] = _mean_overlong(episode, settings.overlong_share)
        if settings.captured or settings.kept:
            parts["captured"], parts["kept"] = _score_recall(episode, sample)
        weights = {name: getattr(settings, name) for name in parts if name != "answer"} | {
            "overlong": -settings.overlong
        }
        score = answer + sum(weights[name] * value for name, value in parts.items() if name != "answer")
        return RewardResult(score=score, answer=answer, parts=parts)

    return judge


def overlong(length: int, limit: int, share: float) -> float:
    """Return 0 up to the last `share` of the limit, 1 at the limit, and a straight line between.

    >>> [overlong(length, 100, 0.2) for length in (50, 80, 90, 100)]
    [0.0, 0.0, 0.5, 1.0]
    """
    soft = share * limit
    return min(1.0, max(0.0, (length - (limit - soft)) / soft)) if soft else float(length >= limit)


def _mean_overlong(episode: Episode, share: float) -> float:
    costs = [
        1.0 if reply.finish is Finish.LENGTH else overlong(reply.usage.completion_tokens, limit, share)
        for reply, limit in zip((one.reply for one in episode.conversations), episode.limits, strict=True)
    ]
    return sum(costs) / len(costs) if costs else 0.0


def _score_recall(episode: Episode, sample: Sample) -> tuple[float, float]:
    """Return the shares of the golds in the evidence that were in the memory when read, and at the end."""
    expected = [
        (gold, evidence.end)
        for evidence in sample.evidence
        for gold in sample.golds
        if contains(evidence.note, [gold]).score
    ]
    if not expected or not episode.steps:
        return 0.0, 0.0
    captured = kept = 0.0
    for gold, end in expected:
        after = next((step.after for step in episode.steps if step.chunk.end >= end), episode.steps[-1].after)
        captured += contains(after.text, [gold]).score
        kept += contains(episode.steps[-1].after.text, [gold]).score
    return captured / len(expected), kept / len(expected)
