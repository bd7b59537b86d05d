"""Calibrations: the thresholds that were measured for models, in one JSON file beside the journal.

A model's plan can carry its threshold. For every other model `bookwheel calibrate` measures one and stores it here,
under the model's name.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from annotated_types import Ge, Gt, Le

from bookwheel.errors import InputError
from bookwheel.plan import GatePlan, Scorer
from bookwheel.schema import check_bounds, parse

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
