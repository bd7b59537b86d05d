"""What is told of an evaluation or a training run, from the functions that made its report."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BookwheelError
from bookwheel.evaluation.layout import build_sections
from bookwheel.evaluation.numbers import report_to_json
from bookwheel.evaluation.report import build_report
from bookwheel.evaluation.results import Results
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.runs.run_directory import RunKind
from bookwheel.training.records import curves, held_out_scores, load_records, newest_progress, totals
from bookwheel.training.rollout_store import load_rollouts

if TYPE_CHECKING:
    from bookwheel.serve.runs.run_directory import FileState, RunDirectory, RunFolder
    from bookwheel.training.rollout_store import StoredRollout

_GLANCED: Final = 4 << 20
"""Bytes of records that are gone through for a line in the list."""


def list_runs(shelf: RunDirectory) -> list[dict[str, Any]]:
    """One line a run."""
    return [_line(run, shelf) for run in shelf.runs()]


def _line(run: RunFolder, shelf: RunDirectory) -> dict[str, Any]:
    line: dict[str, Any] = {"run": run.id, "kind": str(run.kind), "name": run.name}
    try:
        if state := shelf.file(run.records):
            line |= {"changed": state.changed, "bytes": state.size}
            line |= _glance(state, run.kind) if state.size <= _GLANCED else {}
    except (BookwheelError, ValueError, KeyError, TypeError, OSError) as error:
        line["error"] = shelf.told(error)
    return line


@lru_cache(maxsize=1024)
def _glance(state: FileState, kind: RunKind) -> dict[str, Any]:
    if kind is RunKind.TRAINING:
        records = load_records(state.path.parent)
        held = held_out_scores(records)
        return {"totals": asdict(totals(records)), "held_out": asdict(held[-1]) if held else None}
    found = Results.load(state.path).records
    every = {name: sorted({getattr(one, name) for one in found}) for name in ("model", "way", "task", "length")}
    return {"samples": len(found), **{f"{name}s": values for name, values in every.items()}}


def summarize_run(run: RunFolder, shelf: RunDirectory, state: FileState) -> dict[str, Any]:
    """A whole run, for its page."""
    line = {"run": run.id, "kind": str(run.kind), "name": run.name, "changed": state.changed, "quiet": state.quiet}
    try:
        return {**line, **(_evaluation(state) if run.kind is RunKind.EVALUATION else _training(run, shelf))}
    except (ValueError, KeyError, TypeError) as error:
        raise ApiError(422, f"the records of {run.name} cannot be read: {error!r}", kind="unreadable") from error
    except BookwheelError as error:
        raise ApiError(422, shelf.told(error), kind="unreadable") from error


@lru_cache(maxsize=2)
def results(state: FileState) -> Results:
    """The results of an evaluation."""
    return Results.load(state.path)


@lru_cache(maxsize=8)
def _evaluation(state: FileState) -> dict[str, Any]:
    found = results(state)
    settings = found.runs[-1].settings if found.runs else {}
    made = build_report(found, reference=settings.get("reference", "sequential"))
    laid = {section.title: asdict(section) for section in build_sections(made)} if found.records else {}
    return {
        **report_to_json(made),
        "seed": made.seed,
        "sections": [laid[title] for title in ("No answer", "How this was made") if title in laid],
    }


def _training(run: RunFolder, shelf: RunDirectory) -> dict[str, Any]:
    records = load_records(run.folder)
    return {
        "totals": asdict(totals(records)),
        "held_out": [asdict(one) for one in held_out_scores(records)],
        "curves": [asdict(one) for one in curves(records)],
        "settings": _settings(run, shelf),
        "kept": _steps_kept(rollouts(run, shelf)),
    }


def _settings(run: RunFolder, shelf: RunDirectory) -> dict[str, Any]:
    state = shelf.file(newest_progress(run.folder))
    told: dict[str, Any] = json.loads(state.path.read_bytes()) if state else {}
    return dict(told.get("settings", {}))


def _steps_kept(found: list[StoredRollout]) -> list[dict[str, Any]]:
    steps: dict[int, list[StoredRollout]] = {}
    for one in found:
        steps.setdefault(one.step, []).append(one)
    return [
        {"step": step, "rollouts": len(group), "reward": sum(one.reward or 0 for one in group) / len(group)}
        for step, group in sorted(steps.items())
    ]


def rollouts(run: RunFolder, shelf: RunDirectory) -> list[StoredRollout]:
    """The rollouts that a training run has kept."""
    state = shelf.file(run.folder / "rollouts.jsonl")
    return _rollouts(state) if state else []


@lru_cache(maxsize=4)
def _rollouts(state: FileState) -> list[StoredRollout]:
    return load_rollouts(state.path.parent)
