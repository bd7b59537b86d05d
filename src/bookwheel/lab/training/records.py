"""The records that a run has written so far, and their summaries. Nothing here imports torch."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.training.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Records = list[dict[str, Any]]

_CURVES: Final = ("reward", "accuracy", "loss", "entropy", "gradient", "kl", "clipped", "mismatch", "failed", "dropped")
_MOST_POINTS: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutScore:
    """The accuracy on held-out samples after a step, with its 95 % interval."""

    step: int
    accuracy: float
    low: float
    high: float
    n: int
    failed: int
    warm: bool
    """True for a check during the warm start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One metric over the training steps."""

    name: str
    warm: bool
    """True for the steps of the warm start."""
    every: int
    """Each point is the mean of so many steps."""
    points: tuple[tuple[int, float], ...]
    """Pairs of the last of those steps and the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The steps, rollouts, tokens and seconds of a run so far."""

    warm: int
    """Supervised steps."""
    steps: int
    """Steps of reinforcement."""
    rollouts: int
    failed: int
    tokens: int
    """Read and written in rollouts."""
    seconds: float


def load_records(folder: Path) -> Records:
    """Return the run's records, one a step or evaluation, without a line that is still being written."""
    try:
        raw = (folder / "metrics.jsonl").read_bytes()
    except OSError as error:
        raise CheckpointError(f"{folder} holds no run: {error}") from error
    complete = raw[: raw.rfind(b"\n") + 1]
    return [_parse_record(line, folder, number) for number, line in enumerate(complete.splitlines(), start=1)]


def _parse_record(line: bytes, folder: Path, number: int) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(line)
        _ = record["kind"], record["step"], record["clock"]["seconds"]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{folder / 'metrics.jsonl'}, line {number} is not a training record: {error!r}"
        ) from error
    return record


def held_out_scores(records: Sequence[Mapping[str, Any]]) -> list[HeldOutScore]:
    """Return the scores of all evaluations and of all checks during the warm start."""
    return [_build_score(record) for record in records if record["kind"] in {"evaluation", "check"}]


def _build_score(record: Mapping[str, Any]) -> HeldOutScore:
    interval = wilson_interval(record["accuracy"] * record["n"], record["n"])
    return HeldOutScore(
        step=record["step"],
        accuracy=record["accuracy"],
        low=interval.low,
        high=interval.high,
        n=record["n"],
        failed=record["failed"],
        warm=record["kind"] == "check",
    )


def curves(records: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """Return the metrics of the warm start and of reinforcement, thinned to what a plot can show."""
    built = []
    for kind in ("warm", "step"):
        steps = [one for one in records if one["kind"] == kind]
        for name in _CURVES:
            points = [(one["step"], float(one[name])) for one in steps if _is_finite(one.get(name))]
            if points:
                built.append(_build_curve(name, points, warm=kind == "warm"))
    return built


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _build_curve(name: str, points: Sequence[tuple[int, float]], *, warm: bool) -> Curve:
    every = -(-len(points) // _MOST_POINTS)
    parts = [points[at : at + every] for at in range(0, len(points), every)]
    means = tuple((part[-1][0], fmean(value for _, value in part)) for part in parts)
    return Curve(name=name, warm=warm, every=every, points=means)


def totals(records: Sequence[Mapping[str, Any]]) -> Totals:
    """Return what the run took so far."""
    steps = [one for one in records if one["kind"] == "step"]
    return Totals(
        warm=sum(one["kind"] == "warm" for one in records),
        steps=len(steps),
        rollouts=sum(one["rollouts"] for one in steps),
        failed=sum(one["failed"] for one in steps),
        tokens=sum(one["prompt_tokens"] + one["reply_tokens"] for one in steps),
        seconds=sum(one["clock"]["seconds"] for one in records),
    )


def newest_progress(folder: Path) -> Path | None:
    """Return the file of the newest checkpoint that holds the run's settings."""
    places = (folder / "checkpoints").glob("*/progress.json")
    complete = [path for path in places if re.fullmatch(r"step-\d+|best", path.parent.name)]
    return max(complete, default=None, key=lambda path: (path.parent.name != "best", path.parent.name))
