"""Evaluations and training runs below one folder, which is only read.

Each run has an id made from its place. A request's id is compared with those of the runs found in the folder, so no
part of a request becomes part of a path. Links are not followed, and too large files are not opened.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from bookwheel.errors import InputError
from bookwheel.serve.engine.errors import ApiError, not_found

_MOST_DEPTH: Final = 6
_MOST_FOLDERS: Final = 20_000
_MOST_RUNS: Final = 1000
# Files are read whole, in the server's memory.
_MOST_BYTES: Final = 64 << 20


class RunKind(StrEnum):
    """The kind of a run."""

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
    """Its path below the directory's root."""
    folder: Path

    @property
    def records(self) -> Path:
        return self.folder / _RECORDS[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A version of a file. Results computed from it hold until the file has another one."""

    path: Path
    changed: float
    size: int

    @classmethod
    def read(cls, path: Path) -> FileState:
        stat = path.stat()
        return cls(path=path, changed=stat.st_mtime, size=stat.st_size)

    @property
    def seconds_unchanged(self) -> float:
        """The time since the file was last written."""
        return max(0.0, time.time() - self.changed)

    @property
    def etag(self) -> str:
        return f'"{self.changed:.6f}-{self.size}"'


class RunDirectory:
    """The runs below a folder. Without a folder there are none."""

    def __init__(self, root: Path | None) -> None:
        """Raise InputError where `root` is not a folder."""
        if root is not None and not root.is_dir():
            raise InputError(f"{root} is not a folder, so there are no runs to show in it")
        self._root = root.resolve() if root else None

    def list_runs(self) -> list[RunFolder]:
        """Return all runs, the newest first."""
        if self._root is None:
            raise ApiError(404, "this server shows no runs: start it with --runs FOLDER", kind="no_runs")
        runs = [(FileState.read(run.records).changed, run) for run in _find_runs(self._root)]
        return [run for _, run in sorted(runs, key=lambda dated: (-dated[0], dated[1].name))]

    def get_run(self, id_: str) -> RunFolder:
        if self._root is None:
            raise not_found("run of that name")
        run = next((run for run in _find_runs(self._root) if run.id == id_), None)
        if run is None:
            raise not_found("run of that name")
        return run

    def check_file(self, path: Path | None) -> FileState | None:
        """Return the state of a run's file, or None where there is none. ApiError where it is too large to read."""
        if path is None or not _is_regular_file(path):
            return None
        state = FileState.read(path)
        if state.size > _MOST_BYTES:
            size = f"{path.name} has {state.size >> 20} MiB, and the server reads at most {_MOST_BYTES >> 20}; "
            raise ApiError(422, size + "`bookwheel eval --report` lays out any number of results", kind="too_large")
        return state

    def find_journal(self, run: RunFolder) -> Path | None:
        """Return the path of the run's own journal, or None where there is none."""
        path = run.folder / _JOURNALS[run.kind]
        # SQLite opens these by their names, so none of them may be a link.
        beside = [path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm", "-journal")]
        return path if _is_regular_file(path) and not any(file.is_symlink() for file in beside) else None

    def describe_error(self, error: Exception) -> str:
        """Return the message of an error, without the path of the root."""
        return str(error).replace(f"{self._root}{os.sep}", "")


def _find_runs(root: Path) -> Iterator[RunFolder]:
    runs = 0
    for here, subfolders, files in islice(os.walk(root, followlinks=False), _MOST_FOLDERS):
        folder = Path(here)
        if runs >= _MOST_RUNS:
            return
        is_deep = len(folder.relative_to(root).parts) >= _MOST_DEPTH
        subfolders[:] = (
            [] if is_deep else sorted(name for name in subfolders if name != "checkpoints" and not name.startswith("."))
        )
        for kind, name in _RECORDS.items():
            if name in files and _is_regular_file(folder / name):
                runs += 1
                yield _make_run(root, folder, kind)


def _make_run(root: Path, folder: Path, kind: RunKind) -> RunFolder:
    place = folder.relative_to(root)
    digest = hashlib.sha256(os.fsencode(place) + kind.encode()).hexdigest()[:16]
    return RunFolder(id=digest, kind=kind, name=place.as_posix() if place.parts else root.name, folder=folder)


def _is_regular_file(path: Path) -> bool:
    """Return whether this is a regular file and no part of its path is a link."""
    return path.is_file() and path.resolve() == path
