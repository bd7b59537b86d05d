"""What an episode earns: the sample's own verifier, and optional parts beside it.

    R = answer + boxed * [the answer is boxed] - overlong * o + captured * c + kept * k
    o = the mean over replies of clip((length - (1 - s) L) / (s L), 0, 1)       L the reply's limit, s overlong_share
    c = the share of golds in the memory right after the chunk that their evidence ends in
    k = the share of them in the last memory

The verifier is the one that evaluation uses; the rest is off by default and is reported by name, so that a curve
always shows what the answers alone earned. `Reward` is any callable of this shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bookwheel.scoring import contains
from bookwheel.training.errors import ConfigError
from bookwheel.types import Finish

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.tasks import Sample
    from bookwheel.training.config import RewardSettings
    from bookwheel.training.workflows import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardResult:
    """A reward and its named parts."""

    score: float
    """What the advantage is computed from."""
    answer: float
    """The verifier's part alone: what evaluation would say."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Every part before its weight."""


class Reward(Protocol):
    """Judges an episode; may be slow, for it runs beside the event loop."""

    def __call__(self, episode: Episode, sample: Sample) -> RewardResult:
        """What the episode earned."""
        ...


def verified(settings: RewardSettings) -> Reward:
    """The verifier of the sample, and the parts that the settings give a weight."""

    def judge(episode: Episode, sample: Sample) -> RewardResult:
        if not sample.golds:
            raise ConfigError(f"sample {sample.id} has no gold answer, so nothing can verify it: leave it out")
        answer = sample.score(episode.answer).score
        parts = {"answer": answer}
        if settings.boxed:
            parts["boxed"] = float(bool(episode.conversations) and r"\boxed{" in episode.conversations[-1].reply.text)
        if settings.overlong:
            parts["overlong"] = _overlong(episode, settings.overlong_share)
        if settings.captured or settings.kept:
            parts["captured"], parts["kept"] = _remembered(episode, sample)
        weights = {name: getattr(settings, name) for name in parts if name != "answer"} | {
            "overlong": -settings.overlong
        }
        score = answer + sum(weights[name] * value for name, value in parts.items() if name != "answer")
        return RewardResult(score=score, answer=answer, parts=parts)

    return judge


def overlong(length: int, limit: int, share: float) -> float:
    """0 up to the last `share` of the limit, 1 at the limit, a straight line between.

    >>> [overlong(length, 100, 0.2) for length in (50, 80, 90, 100)]
    [0.0, 0.0, 0.5, 1.0]
    """
    soft = share * limit
    return min(1.0, max(0.0, (length - (limit - soft)) / soft)) if soft else float(length >= limit)


def _overlong(episode: Episode, share: float) -> float:
    costs = [
        1.0 if told.reply.finish is Finish.LENGTH else overlong(told.reply.usage.completion_tokens, limit, share)
        for told, limit in zip(episode.conversations, episode.limits, strict=True)
    ]
    return sum(costs) / len(costs) if costs else 0.0


def _remembered(episode: Episode, sample: Sample) -> tuple[float, float]:
    """How many of the golds that the evidence tells of were noted when read, and how many were there at the end."""
    told = [
        (gold, found.end) for found in sample.evidence for gold in sample.golds if contains(found.note, [gold]).score
    ]
    if not told or not episode.steps:
        return 0.0, 0.0
    captured = kept = 0.0
    for gold, end in told:
        after = next((step.after for step in episode.steps if step.chunk.end >= end), episode.steps[-1].after)
        captured += contains(after.text, [gold]).score
        kept += contains(episode.steps[-1].after.text, [gold]).score
    return captured / len(told), kept / len(told)
