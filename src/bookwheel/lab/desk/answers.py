"""The JSON of evaluations and training runs, as the OpenAPI document publishes it.

Numbers that were not measured are null. Pydantic reads these annotations at run time.
"""

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic cannot read that of typing before Python 3.12
)

from typing_extensions import TypedDict

from bookwheel.lab.evaluation.choices import ChoiceEffect
from bookwheel.lab.evaluation.coverage import TaskCoverage
from bookwheel.lab.evaluation.sections import Section
from bookwheel.lab.training.records import Curve, HeldOutScore, Totals
from bookwheel.record import ReadingJson


class ListedRunJson(TypedDict):
    """A run with its key figures; its records are left unread where they are large."""

    run: str
    kind: Literal["evaluation", "training"]
    name: str
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


class IntervalJson(TypedDict):
    """A mean with its 95 % interval."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    clusters: int
    """Different questions behind the scores."""


class CellJson(TypedDict):
    """One model reading one task and length in one way."""

    model: str
    way: str
    task: str
    length: int
    metric: str
    score: IntervalJson
    official: IntervalJson
    judged: IntervalJson
    """By the judge model, if there is one."""
    unclear: int
    set_f1: float | None
    repeats: int
    between_runs: float | None
    memory: dict[str, int]
    """Samples by what became of their evidence."""
    captured: float | None
    kept: float | None
    infeasible: int
    failed: int
    stopped: int
    refused: int
    truncated: int
    cut: int
    prompt_tokens: float | None
    completion_tokens: float | None
    seconds: float | None
    cost: float | None


class DifferenceJson(TypedDict):
    """The lead of the first reader over the second on the same samples."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    ahead: int
    behind: int
    p: float | None
    method: str
    clusters: int


class ContrastJson(TypedDict):
    """Two readers of the same samples."""

    first: str
    second: str
    task: str
    length: int | None
    difference: DifferenceJson


class StepRolloutsJson(TypedDict):
    """The rollouts that a training run has stored for one step."""

    step: int
    rollouts: int
    reward: float


class RunJson(TypedDict):
    """The head of every run."""

    run: str
    kind: Literal["evaluation", "training"]
    name: str
    changed: float
    quiet: float
    """Seconds since its records grew."""


class EvaluationJson(RunJson):
    """An evaluation as far as it has come."""

    samples: int
    without_answer: int
    cells: list[CellJson]
    coverage: list[TaskCoverage]
    """What a search and a constant answer reach, by task and length."""
    choices: list[ChoiceEffect]
    """What judging yes-or-no and either-or questions by `choice` changes."""
    differences: list[ContrastJson]
    sections: list[Section]


class TrainingJson(RunJson):
    """A training run as far as it has come."""

    totals: Totals
    held_out: list[HeldOutScore]
    curves: list[Curve]
    settings: dict[str, Any]
    """The tables of the run's configuration."""
    kept: list[StepRolloutsJson]


class JudgedSampleJson(TypedDict):
    """One sample read in one way by one model, and its score."""

    task: str
    length: int
    sample: str
    way: str
    model: str
    outcome: str
    score: float
    metric: str
    content: str
    """The hash of question, golds, metric and document."""
    repeat: int
    place: int
    """Among the samples of its task and length, or in its file; -1 in results of older versions."""
    file: str
    """The file of samples that it stands in; empty where the task makes it."""
    reason: str
    judge: str
    """The model that judged the answer beside the metric; empty where none did."""
    judged: float | None
    """Its verdict; null where it is unclear."""
    judge_reason: str
    set_f1: float | None
    found_by_search: float | None
    """The share of the evidence in the first passages by BM25."""
    depth: float | None
    """The place of the evidence in the document, from 0 to 1."""
    memory: str
    """What became of the evidence in the memory."""
    memory_step: int | None
    evidence_captured: float | None
    evidence_kept: float | None
    official: float | None
    question: str
    answer: str
    golds: list[str]
    error: str
    reading: str
    tokens: int
    seed: int
    language: str
    steps: int
    flags: dict[str, int]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: float


class StoredSampleJson(JudgedSampleJson):
    """A sample in a list."""

    kept: bool
    """Its reading is in the run's journal."""


class SamplesJson(TypedDict):
    """A part of an evaluation's samples."""

    total: int
    start: int
    samples: list[StoredSampleJson]


class MatrixReaderJson(TypedDict):
    """A column: a model and a way, in one run."""

    run: str
    model: str
    way: str


class MatrixCellJson(TypedDict):
    """What one reader made of one sample."""

    score: float
    """The mean of its repeats."""
    repeats: int
    outcome: str
    answer: str
    reading: str
    memory: str
    """What became of the evidence in the memory."""
    memory_step: int | None


class MatrixRowJson(TypedDict):
    """A sample and what each reader made of it."""

    task: str
    length: int
    sample: str
    question: str
    golds: list[str]
    cells: list[MatrixCellJson | None]
    """In the order of the readers; null where one did not read it."""


class MatrixJson(TypedDict):
    """Samples against readers."""

    readers: list[MatrixReaderJson]
    total: int
    start: int
    rows: list[MatrixRowJson]


class RolloutJson(TypedDict):
    """A rollout that a training run has stored."""

    step: int
    reading: str | None
    rollout: str
    sample: str
    outcome: str
    reward: float | None
    parts: dict[str, float]
    advantage: float
    error: str


class RunHeadJson(TypedDict):
    """The run that a reading belongs to."""

    run: str
    kind: Literal["evaluation", "training"]
    name: str


class RunReadingJson(ReadingJson):
    """A reading from a run's journal, with its score or reward."""

    run: RunHeadJson
    sample: NotRequired[JudgedSampleJson | None]
    rollout: NotRequired[RolloutJson | None]
