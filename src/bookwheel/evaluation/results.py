"""The results file: one JSON line a run, one a sample, only ever appended to.

A line is handed to the operating system before the next sample's result is taken, so a killed evaluation loses none
that it had; against a power cut the file is made safe once a second. A line that a kill left unfinished is taken off
when the file is opened again. While a run writes, no other may.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from bookwheel.evaluation.errors import ResultsError
from bookwheel.evaluation.settings import describe_differences
from bookwheel.journal.locks import LockTaken, hold_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

_SYNC_SECONDS: Final = 1.0
"""Seconds."""


class SampleOutcome(StrEnum):
    """How a sample went. Everything but SCORED counts as wrong."""

    SCORED = "scored"
    FAILED = "failed"
    """The model or the reading failed."""
    STOPPED = "stopped"
    """A budget ended the reading before an answer."""
    REFUSED = "refused"
    """The way does not read such a sample: it does not fit."""


RecordKey = tuple[str, int, str, str, str]
"""Task, length, sample, way, model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One sample read in one way by one model, and how it was judged."""

    fingerprint: str
    """Of all settings that the number depends on."""
    task: str
    length: int
    """The column it belongs to."""
    sample: str
    way: str
    model: str
    outcome: SampleOutcome
    score: float
    metric: str
    reason: str = ""
    """Of the score."""
    official: float | None = None
    """By the published judge; None without an answer, which that judge left out."""
    question: str = ""
    answer: str = ""
    golds: tuple[str, ...] = ()
    error: str = ""
    reading: str = ""
    """Its name in the journal."""
    tokens: int = 0
    """Of the document."""
    seed: int = 0
    language: str = "en"
    steps: int = 0
    flags: Mapping[str, int] = field(default_factory=dict)
    """How many steps and answers bear each flag."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """From start to answer; with several samples under way they share the machine."""
    cost: float = 0.0

    @property
    def key(self) -> RecordKey:
        """What makes it the same measurement."""
        return (self.task, self.length, self.sample, self.way, self.model)

    @property
    def truncated(self) -> bool:
        """Whether a reply ran into its token limit."""
        return "truncated" in self.flags

    def to_line(self) -> dict[str, Any]:
        """As the file has it."""
        return {"kind": "sample", **asdict(self), "golds": list(self.golds)}

    @classmethod
    def from_line(cls, values: Mapping[str, Any]) -> Self:
        """The record of such a line."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        return cls(**{**known, "outcome": SampleOutcome(known["outcome"]), "golds": tuple(known.get("golds", ()))})


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """One start of an evaluation: what it was told, and what its numbers have in common."""

    command: str
    created: str
    version: str
    fixed: Mapping[str, Any]
    """What every number of the file has in common."""
    models: Mapping[str, Mapping[str, Any]]
    """By label: what every number of that model has in common."""
    settings: Mapping[str, Any]

    def to_line(self) -> dict[str, Any]:
        """As the file has it."""
        return {"kind": "run", **asdict(self)}

    @classmethod
    def from_line(cls, values: Mapping[str, Any]) -> Self:
        """The run of such a line."""
        return cls(**{f.name: values[f.name] for f in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a results file holds."""

    runs: tuple[EvaluationRun, ...]
    records: tuple[Record, ...]
    """The newest of each key, in the order in which the keys came."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file; an unfinished last line is left out."""
        return cls.of(_read_lines(path))

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, Any]]) -> Self:
        """Sort the lines of a file."""
        runs: list[EvaluationRun] = []
        records: dict[RecordKey, Record] = {}
        for line in lines:
            if line["kind"] == "run":
                runs.append(EvaluationRun.from_line(line))
            else:
                record = Record.from_line(line)
                records[record.key] = record
        return cls(runs=tuple(runs), records=tuple(records.values()))


class ResultsFile:
    """A results file that one run writes to."""

    def __init__(self, path: Path, run: EvaluationRun) -> None:
        """Take the file up where it stands. ResultsError when it is of another configuration or another run has it."""
        self._held = ExitStack()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._held.enter_context(hold_lock(path.with_name(f"{path.name}.lock")))
        except LockTaken as taken:
            raise ResultsError(f"{path} is being written by process {taken}; wait for it, or name another") from None
        with self._held:
            self.results = Results.load(path) if path.exists() else Results(runs=(), records=())
            _check_same_settings(path, self.results.runs, run)
            _finish_last_line(path)
            self._file = self._held.enter_context(path.open("a", encoding="utf-8"))
            self._safe = time.monotonic()
            self._append(run.to_line())
            self._held = self._held.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._held.close()

    def add(self, record: Record) -> None:
        """Append one sample's result."""
        self._append(record.to_line())

    def _append(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if time.monotonic() - self._safe > _SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._safe = time.monotonic()


_KINDS: Final = {"run": EvaluationRun.from_line, "sample": Record.from_line}


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """The file's lines; one that cannot be read is an error unless it is the last and unfinished."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"the results {path} cannot be read: {error}") from error
    *whole, rest = raw.split(b"\n")
    found = [_parse_line(line, path, number) for number, line in enumerate(whole, start=1) if line.strip()]
    return [*found, *_parse_last_line(rest)]


def _parse_line(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        values = json.loads(line)
        _KINDS[values["kind"]](values)
    except (ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{path}, line {number} is not a line of a results file: {error!r}") from error
    return dict(values)


def _parse_last_line(rest: bytes) -> list[dict[str, Any]]:
    """A last line without its end counts when it is complete all the same."""
    try:
        return [json.loads(rest)] if rest.strip() else []
    except ValueError:
        return []


def _finish_last_line(path: Path) -> None:
    """End a complete last line, take off one that a kill left in the middle."""
    if not path.exists():
        return
    raw = path.read_bytes()
    rest = raw.rpartition(b"\n")[2]
    if not rest:
        return
    with path.open("r+b") as file:
        if _parse_last_line(rest):
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        else:
            file.truncate(len(raw) - len(rest))


def _check_same_settings(path: Path, runs: Iterable[EvaluationRun], run: EvaluationRun) -> None:
    """Raise ResultsError when the file's numbers were made otherwise than this run's will be."""
    for old in runs:
        found = describe_differences(old.fixed, run.fixed)
        for label in sorted(old.models.keys() & run.models.keys()):
            found += describe_differences(old.models[label], run.models[label], f"{label}: ")
        if found:
            raise ResultsError(
                f"{path} holds results of another configuration: {'; '.join(found[:5])}. "
                f"Nothing was changed; give another --out, or the settings that it was made with"
            )
