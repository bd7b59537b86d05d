"""Summaries of evaluations and training runs as JSON, by the functions that make their reports.

The types of the JSON derive from the reports' own values. Numbers that were not measured are null.
"""

import json
from dataclasses import asdict, is_dataclass
from functools import lru_cache
from typing import Any, Final, NotRequired, get_type_hints

from pydantic import create_model
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.errors import BookwheelError
from bookwheel.lab.desk.run_directory import FileState, RunDirectory, RunFolder, RunKind
from bookwheel.lab.evaluation.coverage import TaskCoverage
from bookwheel.lab.evaluation.judge import ChoiceEffect
from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.records import Record, group_by
from bookwheel.lab.evaluation.report import Cell, Contrast, build_report, report_to_json
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.evaluation.sections import Section
from bookwheel.lab.training.records import (
    Curve,
    HeldOutScore,
    StoredRollout,
    Totals,
    curves,
    held_out_scores,
    load_records,
    load_rollouts,
    newest_progress,
    totals,
)
from bookwheel.serve.engine.errors import ApiError

# Larger records are not opened for the list of runs, which would take too long.
_MOST_LISTED_BYTES: Final = 4 << 20
# What only the results file needs.
_LEFT_OUT: Final = frozenset({"kind", "fingerprint"})


def _allow_nulls(type_: Any, left_out: frozenset[str] = frozenset()) -> Any:
    """Return the type of a dataclass's JSON, where a number may be null."""
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(type_).items():
        if name not in left_out:
            plain = _allow_nulls(hint) if is_dataclass(hint) else float | None if hint is float else hint
            fields[name] = (plain, ...)
    return create_model(f"{type_.__name__}Json", __doc__=type_.__doc__, **fields)


SampleJson: Any = _allow_nulls(Record, _LEFT_OUT)
CellJson: Any = _allow_nulls(Cell)
ContrastJson: Any = _allow_nulls(Contrast)


class RunHeadJson(TypedDict):
    """The head of a run."""

    run: str
    kind: RunKind
    name: str


class ListedRunJson(RunHeadJson):
    """A run with its key figures; its records are left unread where they are large."""

    changed: NotRequired[float]
    """Seconds since 1970."""
    bytes: NotRequired[int]
    """Of its records."""
    totals: NotRequired[Totals]
    held_out: NotRequired[HeldOutScore | None]
    samples: NotRequired[int]
    models: NotRequired[list[str]]
    ways: NotRequired[list[str]]
    tasks: NotRequired[list[str]]
    lengths: NotRequired[list[int]]
    error: NotRequired[str]
    """Why its records cannot be read."""


class RunJson(RunHeadJson):
    """What every run has."""

    changed: float
    quiet: float
    """Seconds since its records grew."""


class EvaluationJson(RunJson):
    """An evaluation as far as it has come."""

    samples: int
    without_answer: int
    manifest: dict[str, Any]
    """What the newest run was made with."""
    used: dict[str, dict[str, Any]]
    """What each model's readings used."""
    cells: list[CellJson]
    same_samples: list[CellJson]
    """Over the samples that every model and way has, where some have not all."""
    coverage: list[TaskCoverage]
    """What a search and a constant answer reach, by task and length."""
    choices: list[ChoiceEffect]
    """What judging yes-or-no and either-or questions by `choice` changes."""
    differences: list[ContrastJson]
    sections: list[Section]


class StepRolloutsJson(TypedDict):
    """The rollouts that a training run has stored for one step."""

    step: int
    rollouts: int
    reward: float


class TrainingJson(RunJson):
    """A training run as far as it has come."""

    totals: Totals
    held_out: list[HeldOutScore]
    curves: list[Curve]
    settings: dict[str, Any]
    """The tables of the run's configuration."""
    kept: list[StepRolloutsJson]


def list_runs(directory: RunDirectory) -> list[dict[str, Any]]:
    return [summarize_entry(run, directory) for run in directory.list_runs()]


def summarize_entry(run: RunFolder, directory: RunDirectory) -> dict[str, Any]:
    """Return a run with its key figures, for a list."""
    line: dict[str, Any] = {**head_to_json(run)}
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
    line: dict[str, Any] = {**head_to_json(run), "changed": state.changed, "quiet": state.seconds_unchanged}
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
    state = directory.check_file(newest_progress(run.folder))
    progress: dict[str, Any] = json.loads(state.path.read_bytes()) if state else {}
    return {
        "totals": asdict(totals(records)),
        "held_out": [asdict(score) for score in held_out_scores(records)],
        "curves": [asdict(curve) for curve in curves(records)],
        "settings": dict(progress.get("settings", {})),
        "kept": _group_by_step(list_rollouts(run, directory)),
    }


def _group_by_step(rollouts: list[StoredRollout]) -> list[StepRolloutsJson]:
    steps = group_by(rollouts, lambda rollout: rollout.step)
    return [
        {"step": step, "rollouts": len(group), "reward": sum(rollout.reward or 0 for rollout in group) / len(group)}
        for step, group in sorted(steps.items())
    ]


def list_rollouts(run: RunFolder, directory: RunDirectory) -> list[StoredRollout]:
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
    return {name: value for name, value in sample.to_line().items() if name not in _LEFT_OUT}


def head_to_json(run: RunFolder) -> RunHeadJson:
    return {"run": run.id, "kind": run.kind, "name": run.name}
