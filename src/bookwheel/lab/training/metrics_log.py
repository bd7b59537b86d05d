"""The file of a run's metrics: one JSON record a line, one record a step or evaluation.

What the clock says stands apart under `clock`, so that the rest of two equal runs is equal byte for byte.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from bookwheel.lab.training.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class MetricsLog:
    """Writes `metrics.jsonl` in a run's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "metrics.jsonl"

    def exists(self) -> bool:
        """Tell if a run has begun in the folder."""
        return self._path.exists()

    def has_steps(self) -> bool:
        """Tell if the run in the folder has taken a step: a start that failed may have measured and no more."""
        return self.exists() and any(record["kind"] in ("warm", "step") for record in self._records())

    def create(self) -> None:
        """Create the folder and an empty file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self._path, "")

    def truncate(self, lines: int) -> None:
        """Keep the first `lines` records: a killed run may have written more after its last checkpoint."""
        records = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        write_text(self._path, "".join(records[:lines]))

    def append(self, record: Mapping[str, Any], began: float) -> dict[str, Any]:
        """Write a record with the seconds since `began`, and return it."""
        clock = {"seconds": round(time.perf_counter() - began, 3), "at": round(time.time(), 1)}
        full = {**record, "clock": clock}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(full) + "\n")
        return full

    def accuracies(self) -> list[float]:
        """Return the held-out accuracy of every evaluation."""
        return [record["accuracy"] for record in self._records() if record["kind"] == "evaluation"]

    def _records(self) -> Iterator[dict[str, Any]]:
        text = self._path.read_text(encoding="utf-8")
        # A kill can leave half a line.
        return map(json.loads, text[: text.rfind("\n") + 1].splitlines())
