"""Rollouts kept as readings, so that `bookwheel show` can open them.

    RUN/rollouts.sqlite    a journal: every kept rollout of the reading workflow, step by step
    RUN/rollouts.jsonl     one line a rollout: its reading's id, reward, parts, advantage, outcome, error, and
                           which reinforcement step it is of, counted from 0

The advantage is the one that every token of the rollout was trained with; 0 for groups that were dropped. A killed run
may keep a step's rollouts twice: the later line counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - the schema reads annotations at run time
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING

from bookwheel.journal import Journal, new_id
from bookwheel.lab.training.config import ROLLOUT
from bookwheel.lab.training.errors import CheckpointError
from bookwheel.types import Reading, Status, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.lab.training.advantages import Estimator
    from bookwheel.lab.training.rollouts import Rollout, RolloutBatch
    from bookwheel.plan import Plan


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
    """Return every rollout that the run has kept so far, each once, without a line that is still being written."""
    path = folder / "rollouts.jsonl"
    stored: dict[tuple[int, str], StoredRollout] = {}
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
        for line in lines:
            values = json.loads(line)
            rollout = StoredRollout(**{f.name: values[f.name] for f in fields(StoredRollout) if f.name in values})
            stored[rollout.step, rollout.rollout] = rollout
    except OSError as error:
        raise CheckpointError(f"{folder} holds no rollouts: {error}") from error
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} is not a file of rollouts: {error!r}") from error
    return list(stored.values())


class RolloutStore:
    """Keeps the rollouts of every so many steps under a run's folder."""

    def __init__(
        self, folder: Path, plan: Plan, estimator: Estimator, *, every: int = 10, way: str = "sequential"
    ) -> None:
        self._folder, self._estimator, self._every, self._way = folder, estimator, every, way
        # Rollouts are not sampled as the plan says, and a kept reading states how it came about.
        self._plan = replace(plan, sampling=ROLLOUT)

    def __call__(self, step: int, batch: RolloutBatch) -> None:
        """Keep a step's rollouts, if the step is a multiple of `every`."""
        if not self._every or step % self._every:
            return
        credit = {
            rollout.id: advantage for group in batch.groups for rollout, advantage in group.credit(self._estimator)
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        with (
            Journal(self._folder / "rollouts.sqlite") as journal,
            (self._folder / "rollouts.jsonl").open("a", encoding="utf-8") as lines,
        ):
            for rollout in batch.rollouts:
                result = rollout.result
                stored = StoredRollout(
                    step=step,
                    reading=self._keep_reading(journal, rollout),
                    rollout=rollout.id,
                    sample=rollout.sample.id,
                    outcome=str(rollout.outcome),
                    reward=result.score if result else None,
                    parts=dict(result.parts) if result else {},
                    advantage=credit.get(rollout.id, 0.0),
                    error=rollout.error,
                )
                lines.write(json.dumps(asdict(stored)) + "\n")

    def _keep_reading(self, journal: Journal, rollout: Rollout) -> str | None:
        """Keep the rollout as a reading and return its id; None where it read nothing."""
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
            usage=sum((conversation.reply.usage for conversation in rollout.episode.conversations), Usage()),
        )
        journal.begin(replace(reading, steps=rollout.episode.steps))
        return reading.id
