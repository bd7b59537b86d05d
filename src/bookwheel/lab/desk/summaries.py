"""Summaries of evaluations and training runs as JSON, by the functions that make their reports."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BookwheelError
from bookwheel.lab.desk.run_directory import RunKind
from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.numbers import report_to_json
from bookwheel.lab.evaluation.report import build_report
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.training.records import curves, held_out_scores, load_records, newest_progress, totals
from bookwheel.lab.training.rollout_store import load_rollouts
from bookwheel.serve.engine.errors import ApiError

if TYPE_CHECKING:
    from bookwheel.lab.desk.run_directory import FileState, RunDirectory, RunFolder
    from bookwheel.lab.evaluation.records import Record
    from bookwheel.lab.training.rollout_store import StoredRollout

# Larger records are not opened for the list of runs, which would take too long.
_MOST_LISTED_BYTES: Final = 4 << 20


def list_runs(directory: RunDirectory) -> list[dict[str, Any]]:
    """Return one entry for each run."""
    return [summarize_entry(run, directory) for run in directory.list_runs()]


def summarize_entry(run: RunFolder, directory: RunDirectory) -> dict[str, Any]:
    """Return a run with its key figures, for a list."""
    line: dict[str, Any] = {"run": run.id, "kind": str(run.kind), "name": run.name}
    try:
        if state := directory.check_file(run.records):
            line |= {"changed": state.changed, "bytes": state.size}
            line |= _count_records(state, run.kind) if state.size <= _MOST_LISTED_BYTES else {}
    except (BookwheelError, ValueError, KeyError, TypeError, OSError) as error:
        line["error"] = directory.describe_error(error)
    return line


@lru_cache(maxsize=1024)
def _count_records(state: FileState, kind: RunKind) -> dict[str, Any]:
    if kind is RunKind.TRAINING:
        records = load_records(state.path.parent)
        held = held_out_scores(records)
        return {"totals": asdict(totals(records)), "held_out": asdict(held[-1]) if held else None}
    samples = Results.load(state.path).records
    values = {name: sorted({getattr(one, name) for one in samples}) for name in ("model", "way", "task", "length")}
    return {"samples": len(samples), **{f"{name}s": distinct for name, distinct in values.items()}}


def summarize_run(run: RunFolder, directory: RunDirectory, state: FileState) -> dict[str, Any]:
    """Return everything that the page of a run shows. ApiError where its records cannot be read."""
    line: dict[str, Any] = {"run": run.id, "kind": str(run.kind), "name": run.name}
    line |= {"changed": state.changed, "quiet": state.seconds_unchanged}
    try:
        if run.kind is RunKind.EVALUATION:
            return line | _summarize_evaluation(state)
        return line | _summarize_training(run, directory)
    except (ValueError, KeyError, TypeError) as error:
        raise ApiError(422, f"the records of {run.name} cannot be read: {error!r}", kind="unreadable") from error
    except BookwheelError as error:
        raise ApiError(422, directory.describe_error(error), kind="unreadable") from error


@lru_cache(maxsize=2)
def load_results(state: FileState) -> Results:
    """Load the results of an evaluation."""
    return Results.load(state.path)


@lru_cache(maxsize=8)
def _summarize_evaluation(state: FileState) -> dict[str, Any]:
    results = load_results(state)
    built = build_report(results)
    tables = {section.title: asdict(section) for section in build_sections(built)} if results.records else {}
    return {
        **report_to_json(built),
        "sections": [tables[title] for title in ("No answer", "How this was made") if title in tables],
    }


def _summarize_training(run: RunFolder, directory: RunDirectory) -> dict[str, Any]:
    records = load_records(run.folder)
    return {
        "totals": asdict(totals(records)),
        "held_out": [asdict(score) for score in held_out_scores(records)],
        "curves": [asdict(curve) for curve in curves(records)],
        "settings": _load_settings(run, directory),
        "kept": _group_by_step(list_rollouts(run, directory)),
    }


def _load_settings(run: RunFolder, directory: RunDirectory) -> dict[str, Any]:
    state = directory.check_file(newest_progress(run.folder))
    progress: dict[str, Any] = json.loads(state.path.read_bytes()) if state else {}
    return dict(progress.get("settings", {}))


def _group_by_step(rollouts: list[StoredRollout]) -> list[dict[str, Any]]:
    steps: dict[int, list[StoredRollout]] = {}
    for rollout in rollouts:
        steps.setdefault(rollout.step, []).append(rollout)
    return [
        {"step": step, "rollouts": len(group), "reward": sum(rollout.reward or 0 for rollout in group) / len(group)}
        for step, group in sorted(steps.items())
    ]


def list_rollouts(run: RunFolder, directory: RunDirectory) -> list[StoredRollout]:
    """Return the rollouts that a training run has stored."""
    state = directory.check_file(run.folder / "rollouts.jsonl")
    return _load_rollouts(state) if state else []


@lru_cache(maxsize=4)
def _load_rollouts(state: FileState) -> list[StoredRollout]:
    return load_rollouts(state.path.parent)


def find_score(run: RunFolder, directory: RunDirectory, state: FileState, reading: str) -> dict[str, Any]:
    """Return the sample or the rollout of a reading; None where the run's records have none."""
    if run.kind is RunKind.TRAINING:
        rollouts = [asdict(one) for one in list_rollouts(run, directory) if one.reading == reading]
        return {"rollout": rollouts[-1] if rollouts else None}
    samples = [sample_to_json(one) for one in load_results(state).records if one.reading == reading]
    return {"sample": samples[-1] if samples else None}


def sample_to_json(sample: Record) -> dict[str, Any]:
    """Return a sample without what only the results file needs."""
    return {name: value for name, value in sample.to_line().items() if name not in {"kind", "fingerprint"}}


def run_to_json(run: RunFolder) -> dict[str, str]:
    """Return the head of a run."""
    return {"run": run.id, "kind": str(run.kind), "name": run.name}
