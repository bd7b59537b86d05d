"""What a run has written so far, summed up for those who look on: no model, no plots, nothing of torch."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from bookwheel.evaluation.statistics import wilson_interval
from bookwheel.training.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Records = list[dict[str, Any]]

_CURVES: Final = ("reward", "accuracy", "loss", "entropy", "gradient", "kl", "clipped", "mismatch", "failed", "dropped")
_MOST_POINTS: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """The accuracy on held-out samples after a step, with its 95 % interval."""

    step: int
    accuracy: float
    low: float
    high: float
    n: int
    failed: int
    warm: bool
    """Whether it was a look at how far the warm start is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One figure of the training steps."""

    name: str
    warm: bool
    """Whether it is of the warm start."""
    every: int
    """How many steps a point is the mean of."""
    points: tuple[tuple[int, float], ...]
    """The last of those steps, and the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a run took."""

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
    """What the run wrote, one record a step or evaluation; a line that is being written is left out."""
    try:
        raw = (folder / "metrics.jsonl").read_bytes()
    except OSError as error:
        raise CheckpointError(f"{folder} holds no run: {error}") from error
    whole = raw[: raw.rfind(b"\n") + 1]
    return [_record(line, folder, number) for number, line in enumerate(whole.splitlines(), start=1)]


def _record(line: bytes, folder: Path, number: int) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(line)
        _ = record["kind"], record["step"], record["clock"]["seconds"]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'metrics.jsonl'}, line {number} is not of a run: {error!r}") from error
    return record


def held_out_scores(records: Sequence[Mapping[str, Any]]) -> list[HeldOut]:
    """Every evaluation, and every look at how far the warm start is."""
    return [_held(one) for one in records if one["kind"] in {"evaluation", "check"}]


def _held(one: Mapping[str, Any]) -> HeldOut:
    found = wilson_interval(one["accuracy"] * one["n"], one["n"])
    return HeldOut(
        step=one["step"],
        accuracy=one["accuracy"],
        low=found.low,
        high=found.high,
        n=one["n"],
        failed=one["failed"],
        warm=one["kind"] == "check",
    )


def curves(records: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """The figures of the warm start and of reinforcement, thinned to what a plot can show."""
    found = []
    for kind in ("warm", "step"):
        steps = [one for one in records if one["kind"] == kind]
        for name in _CURVES:
            points = [(one["step"], float(one[name])) for one in steps if _measured(one.get(name))]
            if points:
                found.append(_curve(name, points, warm=kind == "warm"))
    return found


def _measured(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _curve(name: str, points: Sequence[tuple[int, float]], *, warm: bool) -> Curve:
    every = -(-len(points) // _MOST_POINTS)
    parts = [points[at : at + every] for at in range(0, len(points), every)]
    means = tuple((part[-1][0], fmean(value for _, value in part)) for part in parts)
    return Curve(name=name, warm=warm, every=every, points=means)


def totals(records: Sequence[Mapping[str, Any]]) -> Totals:
    """What the run took so far."""
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
    """The file of the newest checkpoint that holds the run's settings."""
    places = (folder / "checkpoints").glob("*/progress.json")
    whole = [path for path in places if re.fullmatch(r"step-\d+|best", path.parent.name)]
    return max(whole, default=None, key=lambda path: (path.parent.name != "best", path.parent.name))
