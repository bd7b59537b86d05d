"""The outcomes of a batch so far, beside its output: one line of JSON a row, so that it can go on after a kill."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from bookwheel.batch.rows import RowOutcome
from bookwheel.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


class BatchLedger:
    """The outcomes of rows by their keys; each is on disk before the next one is counted."""

    def __init__(self, output: Path) -> None:
        self.path = output.with_name(f"{output.name}.progress")
        self.outcomes: dict[str, RowOutcome] = {}
        self._load()

    def _load(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path} cannot be read: {error}; delete it to begin anew") from error
        for line in text.splitlines():
            try:
                values: dict[str, Any] = json.loads(line)
                key = values.pop("row")
                self.outcomes[key] = RowOutcome(**values)
            except (ValueError, TypeError, KeyError):
                # A kill in the middle of a line: that row is read again.
                continue

    def forget_failed(self) -> None:
        """Let rows that failed be read again."""
        self.outcomes = {key: outcome for key, outcome in self.outcomes.items() if outcome.status != "failed"}

    def add(self, key: str, outcome: RowOutcome) -> None:
        """Record the outcome of a row."""
        self.outcomes[key] = outcome
        line = json.dumps({"row": key, **outcome.to_json()})
        try:
            with self.path.open("a", encoding="utf-8") as file:
                # A line that a kill has cut must not swallow this one.
                file.write(f"\n{line}\n" if file.tell() else f"{line}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(f"{self.path} cannot be written: {error.strerror or error}") from error
