"""The results file: JSON lines, one for each run and one for each sample, only ever appended.

A sample whose content changed under the same name is read again, and its newer record replaces the older one.

Each line is flushed at once, so a killed evaluation loses no result; against a power cut the file is synced once a
second. An unfinished last line is removed when the file is opened again. Only one run may write at a time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic_core import from_json

from bookwheel.journal.files import LockTaken, hold_lock
from bookwheel.lab.evaluation.records import Record, ResultsError
from bookwheel.lab.evaluation.settings import describe_differences
from bookwheel.schema import from_plain

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# A sync takes milliseconds on a disk; once a second it costs nothing and little can be lost.
_SYNC_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """One start of an evaluation: its command and its settings."""

    command: str
    created: str
    version: str
    fixed: Mapping[str, Any]
    """The settings that all numbers of the file share."""
    models: Mapping[str, Mapping[str, Any]]
    """By label: the settings that all numbers of that model share."""
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    """Sentences about questions that the data have and the samples do not."""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """Hashes, versions, machine and models (`bookwheel.lab.evaluation.manifest`); empty in files of older versions."""

    def to_line(self) -> dict[str, Any]:
        return {"kind": "run", **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The content of a results file."""

    runs: tuple[EvaluationRun, ...]
    records: tuple[Record, ...]
    """The newest record of each key, in the order of the samples; they end in another one."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file; an unfinished last line is ignored."""
        lines = _read_lines(path)
        records = {line.key: line for line in lines if isinstance(line, Record)}
        runs = tuple(line for line in lines if isinstance(line, EvaluationRun))
        return cls(runs=runs, records=_sort_by_sample(records.values(), runs))


def _sort_by_sample(records: Collection[Record], runs: Sequence[EvaluationRun]) -> tuple[Record, ...]:
    """Sort by task and length in the order of the newest run's settings, then file by file, each in its own order.

    Results of versions that kept no place stand first, as they ended. Ways, models and repeats stay as they ended.
    """
    named = [*(runs[-1].settings.get("tasks", ()) if runs else ()), *(record.task for record in records)]
    files = {file: rank for rank, file in enumerate(dict.fromkeys(record.file for record in records if record.file))}
    tasks = {task: rank for rank, task in enumerate(dict.fromkeys(named))}

    def rank(record: Record) -> tuple[int, int, int, int]:
        if record.place < 0:
            return (-1, 0, 0, 0)
        if record.file:
            return (1, files[record.file], 0, record.place)
        return (0, tasks[record.task], record.length, record.place)

    return tuple(sorted(records, key=rank))


class ResultsFile:
    """A results file, open for one run."""

    def __init__(self, path: Path, run: EvaluationRun) -> None:
        """Open the file for appending. ResultsError when another run holds it or its settings differ."""
        self._resources = ExitStack()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._resources.enter_context(hold_lock(path.with_name(f"{path.name}.lock")))
        except LockTaken as taken:
            raise ResultsError(f"{path} is being written by process {taken}; wait for it, or name another") from None
        with self._resources:
            self.results = Results.load(path) if path.exists() else Results(runs=(), records=())
            _check_same_settings(path, self.results.runs, run)
            _finish_last_line(path)
            self._file = self._resources.enter_context(path.open("a", encoding="utf-8"))
            self._synced = time.monotonic()
            self._append(run.to_line())
            self._resources = self._resources.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._resources.close()

    def add(self, record: Record) -> None:
        """Append one sample's result."""
        self._append(record.to_line())

    def _append(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()


_KINDS: Final[Mapping[str, type[EvaluationRun | Record]]] = {"run": EvaluationRun, "sample": Record}


def _read_lines(path: Path) -> list[EvaluationRun | Record]:
    """Return the lines. Only the last line may be damaged: a kill can leave it unfinished."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"the results {path} cannot be read: {error}") from error
    *lines, rest = raw.split(b"\n")
    values = [_parse_line(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]
    return [*values, *_parse_last_line(rest)]


# As `ResultsFile` writes it.
_SAMPLE_LINE: Final = b'{"kind": "sample", '


@cache
def _record_schema() -> TypeAdapter[Record]:
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def _parse_line(line: bytes, path: Path, number: int) -> EvaluationRun | Record:
    # Nearly all lines begin so. The schema parses them three times as fast as the steps below, which also take what
    # other versions wrote and say what is wrong.
    if line.startswith(_SAMPLE_LINE):
        with suppress(ValueError):
            return _record_schema().validate_json(line)
    try:
        try:
            values = from_json(line)
        except ValueError:
            # Half of a surrogate pair, which a model can write, is no text to the faster parser.
            values = json.loads(line)
        return from_plain(_KINDS[values["kind"]], values)
    except (ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{path}, line {number} is not a line of a results file: {error!r}") from error


def _parse_last_line(rest: bytes) -> list[EvaluationRun | Record]:
    """Return the last line, which has no line end, if it is complete."""
    try:
        values = json.loads(rest) if rest.strip() else None
    except ValueError:
        return []
    return [from_plain(_KINDS[values["kind"]], values)] if values else []


def _finish_last_line(path: Path) -> None:
    """Give a complete last line its line end; remove an incomplete one."""
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
    """Raise ResultsError when the file's results were made with other settings than this run's."""
    for old in runs:
        changes = describe_differences(old.fixed, run.fixed)
        for label in sorted(old.models.keys() & run.models.keys()):
            changes += describe_differences(old.models[label], run.models[label], f"{label}: ")
        if changes:
            raise ResultsError(
                f"{path} holds results of another configuration: {'; '.join(changes[:5])}. "
                f"Nothing was changed; give another --out, or the settings that it was made with"
            )
