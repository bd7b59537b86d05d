"""Calibrations: the threshold at which a model's judgements keep a wanted share of the chunks that matter.

    threshold(recall r) = the highest score that at least r of the chunks that matter reach

A model's plan can carry its gate. For every other model `bookwheel calibrate` measures one and stores it here, in one
JSON file beside the journal, under the model's name.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left, bisect_right
from dataclasses import asdict, dataclass, replace
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from annotated_types import Ge, Gt, Le

from bookwheel.errors import InputError
from bookwheel.plan import GatePlan, Scorer
from bookwheel.schema import check_bounds, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan

VARIABLE: Final = "BOOKWHEEL_CALIBRATIONS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What one model's judgements were measured to be worth."""

    model: str
    scorer: Scorer
    threshold: Annotated[float, Ge(-1e6), Le(1e6)]
    recall: Annotated[float, Gt(0), Le(1)]
    """The share of the chunks that matter which was wanted, and kept on these samples."""
    read: Annotated[float, Ge(0), Le(1)]
    """The share of all chunks that a gate with this threshold lets through."""
    auc: Annotated[float, Ge(0), Le(1)]
    """The probability that a chunk that matters scores above one that does not."""
    chunks: Annotated[int, Ge(1)]
    positives: Annotated[int, Ge(1)]
    """Chunks that matter."""
    command: str
    """What measured it, to measure it again."""

    def __post_init__(self) -> None:
        check_bounds(self)

    @property
    def gate(self) -> GatePlan:
        """The gate to read with."""
        return GatePlan(scorer=self.scorer, threshold=self.threshold)


def find_threshold(scores: Sequence[float], labels: Sequence[bool], recall: float) -> float:
    """Return the highest threshold that keeps this share of the scores whose label is true.

    >>> find_threshold([0.9, 0.8, 0.3, 0.5], [True, True, True, False], recall=0.6)
    0.8
    """
    kept = sorted(score for score, matters in zip(scores, labels, strict=True) if matters)
    if not kept:
        raise InputError("no chunk of the samples matters, so there is no threshold to find: take other samples")
    # The tolerance keeps 0.99 of 100 at one miss, which binary fractions would round to none.
    return kept[min(len(kept) - 1, floor((1 - recall) * len(kept) + 1e-9))]


def measure_auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the probability that a true score is above a false one; ties count half."""
    true = [score for score, label in zip(scores, labels, strict=True) if label]
    false = sorted(score for score, label in zip(scores, labels, strict=True) if not label)
    if not true or not false:
        raise InputError("the samples need chunks that matter and chunks that do not")
    wins = sum((bisect_left(false, score) + bisect_right(false, score)) / 2 for score in true)
    return wins / (len(true) * len(false))


def make_calibration(
    model: str, scorer: Scorer, scores: Sequence[float], labels: Sequence[bool], *, recall: float, command: str
) -> Calibration:
    """Return the calibration that these scores give."""
    threshold = find_threshold(scores, labels, recall)
    return Calibration(
        model=model,
        scorer=scorer,
        threshold=threshold,
        recall=recall,
        read=sum(score >= threshold for score in scores) / len(scores),
        auc=measure_auc(scores, labels),
        chunks=len(scores),
        positives=sum(labels),
        command=command,
    )


def calibration_path() -> Path:
    """Return $BOOKWHEEL_CALIBRATIONS, or calibrations.json in the user's data folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "bookwheel" / "calibrations.json"


def load_calibration(model: str, path: Path | None = None) -> Calibration | None:
    """Return a model's calibration; None if it has none."""
    path = path or calibration_path()
    entry = _load_file(path).get(model)
    return None if entry is None else parse(Calibration, entry, where=str(path), table=model)


def store_calibration(calibration: Calibration, path: Path | None = None) -> Path:
    """Store a calibration in place of the model's older one, and return the file."""
    path = path or calibration_path()
    entries = {**_load_file(path), calibration.model: asdict(calibration)}
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    # Another process sees the old file or the new one, never half of one.
    draft.replace(path)
    return path


def find_known_gate(model: Model, plan: Plan) -> GatePlan | None:
    """Return the gate of the plan, of the model's own plan or of its calibration; None where there is none."""
    if gate := plan.gate or model.plan.gate:
        return gate
    calibration = load_calibration(model.name)
    return calibration.gate if calibration else None


def find_gate(model: Model, plan: Plan | None = None) -> GatePlan:
    """Return the gate of the plan, of the model's own plan or of its calibration; InputError says how to get one."""
    gate = find_known_gate(model, plan or model.plan)
    if gate is None:
        raise InputError(
            f"no threshold is known for the judgements of {model.name}: run `bookwheel calibrate --model {model.name}` "
            f"once, or set one in the plan: gate.threshold (--gate-threshold), from 0, which skips nothing, to 1"
        )
    return gate


def settle_gate(plan: Plan, model: Model, way: str) -> Plan:
    """Return the plan with the gate that the way will use, so that the journal has it; InputError if there is none."""
    return replace(plan, gate=find_gate(model, plan)) if "gated" in way.split("+") else plan


def _load_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}; move it away and calibrate again") from error
    if not isinstance(entries, dict):
        raise InputError(f"{path} is no file of calibrations; move it away and calibrate again")
    return entries
