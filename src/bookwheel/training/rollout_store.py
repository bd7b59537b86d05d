"""Rollouts kept as readings, so that `bookwheel show` opens them like any other.

    RUN/rollouts.sqlite    a journal: every kept rollout of the reading workflow, step by step
    RUN/rollouts.jsonl     one line a rollout: its reading's id, reward, parts, advantage, outcome, error, and
                           which reinforcement step it is of, counted from 0

The advantage is the one that every token of the rollout was trained with; 0 for groups that were dropped. A run that
was killed may keep a step's rollouts twice: the later line stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from bookwheel.journal import Journal, new_id
from bookwheel.training.errors import CheckpointError
from bookwheel.types import Reading, Status, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bookwheel.plan import Plan
    from bookwheel.training.advantages import Estimator
    from bookwheel.training.rollouts import Rollout, RolloutBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRollout:
    """One line of rollouts.jsonl."""

    step: int
    """Of reinforcement, counted from 0."""
    reading: str | None
    """Its id in rollouts.sqlite; None where nothing was read."""
    rollout: str
    sample: str
    outcome: str
    reward: float | None
    """None where it was not scored."""
    parts: Mapping[str, float] = field(default_factory=dict)
    advantage: float = 0.0
    error: str = ""


def load_rollouts(folder: Path) -> list[StoredRollout]:
    """Every rollout that the run has kept so far, each once; a line that is being written is left out."""
    path = folder / "rollouts.jsonl"
    found: dict[tuple[int, str], StoredRollout] = {}
    try:
        whole = path.read_bytes().split(b"\n")[:-1]
        for line in whole:
            told = json.loads(line)
            one = StoredRollout(**{f.name: told[f.name] for f in fields(StoredRollout) if f.name in told})
            found[one.step, one.rollout] = one
    except OSError as error:
        raise CheckpointError(f"{folder} holds no rollouts: {error}") from error
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} is not a file of rollouts: {error!r}") from error
    return list(found.values())


class RolloutStore:
    """Keeps the rollouts of every so many steps under a run's folder."""

    def __init__(
        self, folder: Path, plan: Plan, estimator: Estimator, *, every: int = 10, way: str = "sequential"
    ) -> None:
        self._folder, self._plan, self._estimator, self._every, self._way = folder, plan, estimator, every, way

    def __call__(self, step: int, found: RolloutBatch) -> None:
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
