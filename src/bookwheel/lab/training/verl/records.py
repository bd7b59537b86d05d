"""The records of a run on verl: `metrics.jsonl` as every run has it, for the page, the model card and the curves."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.lab.training.metrics_log import MetricsLog
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.verl.credit import session_rewards

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_FIGURES: Final = {
    "loss": "actor/loss",
    "entropy": "actor/entropy",
    "gradient": "actor/grad_norm",
    "kl": "actor/kl_loss",
    "clipped": "actor/pg_clipfrac",
    "optimizer_steps": "actor/optimizer_steps",
    "learning_rate": "actor/lr",
}
"""Names in a record, and verl's."""
_EVICTED: Final = "training/filter_groups/evicted_samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Sums and means over the rows of one step."""

    reward: float
    """The mean over all rollouts; a failed one counts as 0."""
    accuracy: float
    rollouts: int
    failed: int
    groups: int
    conversations: int
    prompt_tokens: int
    reply_tokens: int


def count_rows(
    rewards: Mapping[str, float], answers: Mapping[str, float], tags: Sequence[Mapping[str, Any]], *, expected: int
) -> RowCounts:
    """Return the counts of a step's rows, of which each has a tag; `expected` rollouts were begun."""
    by_reward, by_answer = session_rewards(rewards), session_rewards(answers)
    sessions = sum(map(len, by_reward.values()))
    rollouts = max(expected, sessions)
    return RowCounts(
        reward=sum(sum(one.values()) for one in by_reward.values()) / rollouts,
        accuracy=sum(sum(one.values()) for one in by_answer.values()) / rollouts,
        rollouts=rollouts,
        failed=rollouts - sessions,
        groups=len(by_reward),
        conversations=len(rewards),
        prompt_tokens=sum(int(tag["prompt_len"]) for tag in tags),
        reply_tokens=sum(int(tag["response_len"]) for tag in tags),
    )


class RunRecords:
    """Writes the records of a run."""

    def __init__(self, folder: Path) -> None:
        self.counts: RowCounts | None = None
        """Of the present step."""
        self._folder = folder
        self._log = MetricsLog(folder)
        # A resumed run goes on in its file.
        if not self._log.exists():
            self._log.create()

    def keep_before(self, step: int) -> None:
        """Drop the records of this step and later ones."""
        self._log.truncate(sum(record["step"] < step for record in load_records(self._folder)))

    def add_step(self, step: int, figures: Mapping[str, Any], seconds: float) -> None:
        """Write a step's record from its counts and verl's figures."""
        counts = asdict(self.counts) if self.counts else {}
        named = {name: float(figures[key]) for name, key in _FIGURES.items() if key in figures}
        dropped = int(figures.get(_EVICTED, 0))
        record = {"kind": "step", "step": step, **counts, **named, "dropped": dropped}
        if "gradient" not in named:
            record["skipped"] = True
        self._log.append(record, time.perf_counter() - seconds)

    def add_evaluation(self, step: int, answers: Sequence[float], samples: int, seconds: float) -> None:
        """Write an evaluation's record; samples without an answer failed, and count as wrong."""
        accuracy, failed = sum(answers) / samples, samples - len(answers)
        record = {"kind": "evaluation", "step": step, "accuracy": accuracy, "n": samples, "failed": failed}
        self._log.append(record, time.perf_counter() - seconds)
