"""The shelf: evaluations and training runs below one folder, looked at and never changed.

A run is asked for by a name made from its place, which is found by going through the folder: no part of a request
becomes part of a path. Links are not followed, and a file beyond a bound is not opened.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.serve.engine.errors import ApiError, not_found

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST: Final = 6
_MOST_FOLDERS: Final = 20_000
_MOST_RUNS: Final = 1000
_MOST_BYTES: Final = 32 << 20
"""Of a file that is read whole."""


class RunKind(StrEnum):
    """What a folder holds."""

    EVALUATION = "evaluation"
    TRAINING = "training"


_RECORDS: Final = {RunKind.EVALUATION: "results.jsonl", RunKind.TRAINING: "metrics.jsonl"}
_JOURNALS: Final = {RunKind.EVALUATION: "journal.sqlite", RunKind.TRAINING: "rollouts.sqlite"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """One evaluation or training run."""

    id: str
    kind: RunKind
    name: str
    """Its place below the shelf's folder."""
    folder: Path

    @property
    def records(self) -> Path:
        """The file that it is known by."""
        return self.folder / _RECORDS[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A file as it stands, so that what was made of it can be known to be still true."""

    path: Path
    changed: float
    size: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """How the file stands now."""
        told = path.stat()
        return cls(path=path, changed=told.st_mtime, size=told.st_size)

    @property
    def quiet(self) -> float:
        """Seconds since it was last written to."""
        return max(0.0, time.time() - self.changed)

    @property
    def tag(self) -> str:
        """For ETag."""
        return f"{self.changed:.6f}-{self.size}"


class RunDirectory:
    """What stands below a folder; without one, nothing."""

    def __init__(self, root: Path | None) -> None:
        """InputError when the folder is none."""
        if root is not None and not root.is_dir():
            raise InputError(f"{root} is not a folder, so there are no runs to show in it")
        self._root = root.resolve() if root else None

    def runs(self) -> list[RunFolder]:
        """All that is found, the newest first."""
        if self._root is None:
            raise ApiError(404, "this server shows no runs: start it with --runs FOLDER", kind="no_runs")
        found = [(FileState.of(run.records).changed, run) for run in _found(self._root)]
        return [run for _, run in sorted(found, key=lambda one: (-one[0], one[1].name))]

    def run(self, id_: str) -> RunFolder:
        """The run of this name."""
        if self._root is None:
            raise not_found("run of that name")
        run = next((run for run in _found(self._root) if run.id == id_), None)
        if run is None:
            raise not_found("run of that name")
        return run

    def file(self, path: Path | None) -> FileState | None:
        """A regular file of a run as it stands, or None where there is none; Declined where it is too large to read."""
        if path is None or not _inside(path):
            return None
        state = FileState.of(path)
        if state.size > _MOST_BYTES:
            told = f"{path.name} has {state.size >> 20} MiB and at most {_MOST_BYTES >> 20} are shown here; "
            raise ApiError(422, told + "`bookwheel eval --report` lays out any number of results", kind="too_large")
        return state

    def journal(self, run: RunFolder) -> Path | None:
        """The run's own journal; SQLite opens the files beside it by their names, so these are looked at too."""
        path = run.folder / _JOURNALS[run.kind]
        beside = [path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm", "-journal")]
        return path if _inside(path) and not any(one.is_symlink() for one in beside) else None

    def told(self, error: Exception) -> str:
        """What an error says, without where the folder lies."""
        return str(error).replace(f"{self._root}{os.sep}", "")


def _found(root: Path) -> Iterator[RunFolder]:
    runs = 0
    for here, inner, files in islice(os.walk(root, followlinks=False), _MOST_FOLDERS):
        folder = Path(here)
        if runs >= _MOST_RUNS:
            return
        deep = len(folder.relative_to(root).parts) >= _DEEPEST
        inner[:] = [] if deep else sorted(name for name in inner if name != "checkpoints" and not name.startswith("."))
        for kind, name in _RECORDS.items():
            if name in files and _inside(folder / name):
                runs += 1
                yield _run(root, folder, kind)


def _run(root: Path, folder: Path, kind: RunKind) -> RunFolder:
    place = folder.relative_to(root)
    seal = hashlib.sha256(os.fsencode(place) + kind.encode()).hexdigest()[:16]
    return RunFolder(id=seal, kind=kind, name=place.as_posix() if place.parts else root.name, folder=folder)


def _inside(path: Path) -> bool:
    """Whether it is a regular file at that very place: no link leads there, neither the last nor one before it."""
    return path.is_file() and path.resolve() == path
