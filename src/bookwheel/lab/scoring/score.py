"""A score, and the functions that give one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score of an answer.

    >>> Score(score=1.0, reason='holds "Ada Quill"')
    Score(score=1.0, reason='holds "Ada Quill"', parts={})
    """

    score: float
    """From 0 to 1."""
    reason: str = ""
    """An explanation for people who look at a single sample."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The parts of the score, if it has any: one for each gold, or precision and recall."""


class Metric(Protocol):
    """A function that scores an answer."""

    def __call__(self, answer: str, golds: Sequence[str]) -> Score:
        """Return the score of `answer`. The golds are alternatives or parts, as the metric says."""
        ...


class QuestionMetric(Protocol):
    """A metric of ours that also looks at the question."""

    def __call__(self, answer: str, golds: Sequence[str], question: str = "") -> Score: ...


NOTHING: Final = Score(score=0.0, reason="the answer is empty")
