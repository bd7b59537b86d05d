"""A session: one rollout of a sample, as the rows that the engine stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwheel.lab.training.rows import rows_of

if TYPE_CHECKING:
    from bookwheel.lab.training.rewards import RewardResult
    from bookwheel.lab.training.workflows import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One conversation as the engine stores it."""

    prompt: list[int]
    response: list[int]
    """From the first sampled id on."""
    mask: list[int]
    """1 for ids of the response that the policy sampled, 0 for those of a tool."""
    logprobs: list[float]
    """One for each id of the response; 0 where the mask is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSession:
    """One rollout of a sample."""

    rows: list[SessionRow]
    result: RewardResult


def build_rows(episode: Episode) -> list[SessionRow]:
    """Return the rows of an episode, in order."""
    rows = []
    for row in rows_of(episode.conversations, advantage=0.0, rollout=""):
        start = row.trained.index(True)
        logprobs = iter(row.logprobs)
        mask = row.trained[start:]
        rows.append(
            SessionRow(
                prompt=list(row.ids[:start]),
                response=list(row.ids[start:]),
                mask=[int(is_trained) for is_trained in mask],
                logprobs=[next(logprobs) if is_trained else 0.0 for is_trained in mask],
            )
        )
    return rows
