"""Rollouts kept as readings, so that `bookwheel show` opens them like any other.

    RUN/rollouts.sqlite    a journal: every kept rollout of the reading workflow, step by step
    RUN/rollouts.jsonl     one line a rollout: its reading's id, reward, parts, advantage, outcome, error, and
                           which reinforcement step it is of, counted from 0

The advantage is the one that every token of the rollout was trained with; 0 for groups that were dropped. A run that
was killed may keep a step's rollouts twice: the later line stands.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bookwheel.journal import Journal, new_id
from bookwheel.types import Reading, Status, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.plan import Plan
    from bookwheel.training.advantages import Estimator
    from bookwheel.training.rollouts import Harvest, Rollout


class RolloutShelf:
    """Keeps the rollouts of every so many steps under a run's folder."""

    def __init__(
        self, folder: Path, plan: Plan, estimator: Estimator, *, every: int = 10, way: str = "sequential"
    ) -> None:
        self._folder, self._plan, self._estimator, self._every, self._way = folder, plan, estimator, every, way

    def __call__(self, step: int, found: Harvest) -> None:
        """Keep a step's rollouts, when it is the step's turn."""
        if not self._every or step % self._every:
            return
        credit = {
            rollout.id: advantage for group in found.groups for rollout, advantage in group.credit(self._estimator)
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        with (
            Journal(self._folder / "rollouts.sqlite") as journal,
            (self._folder / "rollouts.jsonl").open("a", encoding="utf-8") as lines,
        ):
            for rollout in found.rollouts:
                reading = self._reading(journal, rollout)
                told = _told(rollout, credit.get(rollout.id, 0.0))
                lines.write(json.dumps({"step": step, "reading": reading, **told}) + "\n")

    def _reading(self, journal: Journal, rollout: Rollout) -> str | None:
        """The id of the reading that the rollout is kept as; None where it read nothing."""
        if rollout.episode is None or rollout.episode.final is None:
            return None
        document = journal.keep(rollout.sample.document)
        reading = Reading(
            id=new_id(),
            document=document.info,
            question=rollout.sample.question,
            plan=self._plan,
            model="policy",
            way=self._way,
            language=self._plan.language or "en",
            status=Status.ANSWERED,
            answer=rollout.episode.final,
            usage=sum((told.reply.usage for told in rollout.episode.conversations), Usage()),
        )
        journal.begin(replace(reading, steps=rollout.episode.steps))
        return reading.id


def _told(rollout: Rollout, advantage: float) -> dict[str, Any]:
    earned = rollout.earned
    return {
        "rollout": rollout.id,
        "sample": rollout.sample.id,
        "outcome": str(rollout.outcome),
        "reward": earned.score if earned else None,
        "parts": dict(earned.parts) if earned else {},
        "advantage": advantage,
        "error": rollout.error,
    }
