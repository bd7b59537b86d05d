"""What a run writes for people: its records, and some of its rollouts. Nothing here imports torch.

    RUN/metrics.jsonl      one record a line, of a step or an evaluation; what the clock says stands apart under
                           `clock`, so that the rest of two equal runs is equal byte for byte
    RUN/rollouts.sqlite    a journal: every kept rollout of the reading workflow, step by step, for `bookwheel show`
    RUN/rollouts.jsonl     one line a rollout: its reading's id, reward, parts, advantage, outcome, error, and
                           which reinforcement step it is of, counted from 0

A rollout's advantage is the one that its every token was trained with; 0 for groups that were dropped. A killed run may
keep a step's rollouts twice: the later line counts.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from bookwheel.journal import Journal, new_id
from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.tasks import Sample
from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.config import ROLLOUT
from bookwheel.lab.training.errors import CheckpointError
from bookwheel.plan import Plan
from bookwheel.schema import from_plain
from bookwheel.types import Reading, Status, Usage

if TYPE_CHECKING:
    from bookwheel.lab.training.rollouts import RolloutBatch
    from bookwheel.lab.training.workflows import Episode


Records = list[dict[str, Any]]

_CURVES: Final = ("reward", "accuracy", "loss", "entropy", "gradient", "kl", "clipped", "mismatch", "failed", "dropped")
_MOST_POINTS: Final = 240


class MetricsLog:
    """Writes `metrics.jsonl` in a run's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "metrics.jsonl"

    def exists(self) -> bool:
        """Tell if a run has begun in the folder."""
        return self._path.exists()

    def has_steps(self) -> bool:
        """Tell if the run in the folder has taken a step: a start that failed may have measured and no more."""
        return self.exists() and any(one["kind"] in ("warm", "step") for one in load_records(self._path.parent))

    def truncate(self, lines: int) -> int:
        """Keep the first `lines` records, as far as they are whole, and return how many those are.

        A killed run may have written more after its last checkpoint, and a machine that went down less, or half a line.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        kept: list[bytes] = []
        for line in self._path.read_bytes().split(b"\n")[:-1] if self.exists() else ():
            if len(kept) == lines or not _is_record(line):
                break
            kept.append(line + b"\n")
        new = self._path.with_name(f".{self._path.name}.new")
        with new.open("wb") as file:
            file.writelines(kept)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        return len(kept)

    def sync(self) -> None:
        """Wait until what was written is on the disk: a checkpoint counts on it."""
        with self._path.open("ab") as file:
            os.fsync(file.fileno())

    def append(self, record: Mapping[str, Any], began: float, figures: Mapping[str, Any] = {}) -> dict[str, Any]:
        """Write a record with the seconds since `began` and other figures of the clock, and return it."""
        clock = {"seconds": round(time.perf_counter() - began, 3), "at": round(time.time(), 1), **figures}
        full = {**record, "clock": clock}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(full) + "\n")
        return full


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def load_records(folder: Path) -> Records:
    """Return the run's records, one a step or evaluation, without a line that is still being written."""
    path = folder / "metrics.jsonl"
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{folder} holds no run: {error}") from error
    records = []
    for number, line in enumerate(raw[: raw.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            record: dict[str, Any] = json.loads(line)
            _ = record["kind"], record["step"], record["clock"]["seconds"]
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{path}, line {number} is not a training record: {error!r}") from error
        records.append(record)
    return records


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutScore:
    """The accuracy on held-out samples after a step, with its 95 % interval."""

    step: int
    accuracy: float
    low: float
    high: float
    n: int
    failed: int
    warm: bool
    """True for a check during the warm start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One metric over the training steps."""

    name: str
    warm: bool
    """True for the steps of the warm start."""
    every: int
    """Each point is the mean of so many steps."""
    points: tuple[tuple[int, float], ...]
    """Pairs of the last of those steps and the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The steps, rollouts, tokens and seconds of a run so far."""

    warm: int
    """Supervised steps."""
    steps: int
    """Steps of reinforcement."""
    rollouts: int
    failed: int
    tokens: int
    """Read and written in rollouts."""
    seconds: float


def held_out_scores(records: Sequence[Mapping[str, Any]]) -> list[HeldOutScore]:
    """Return the scores of all evaluations and of all checks during the warm start."""
    scores = []
    for one in records:
        if one["kind"] in {"evaluation", "check"}:
            interval = wilson_interval(one["accuracy"] * one["n"], one["n"])
            counts = {name: one[name] for name in ("step", "accuracy", "n", "failed")}
            scores.append(
                HeldOutScore(low=interval.low, high=interval.high, warm=one["kind"] == "check", **counts),
            )
    return scores


def curves(records: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """Return the metrics of the warm start and of reinforcement, thinned to what a plot can show."""
    built = []
    for kind in ("warm", "step"):
        for name in _CURVES:
            values = [(one["step"], one.get(name)) for one in records if one["kind"] == kind]
            points = [
                (step, float(value))
                for step, value in values
                if isinstance(value, int | float) and math.isfinite(value)
            ]
            every = max(1, -(-len(points) // _MOST_POINTS))
            parts = [points[at : at + every] for at in range(0, len(points), every)]
            means = tuple((part[-1][0], fmean(value for _, value in part)) for part in parts)
            if means:
                built.append(Curve(name=name, warm=kind == "warm", every=every, points=means))
    return built


def totals(records: Sequence[Mapping[str, Any]]) -> Totals:
    """Return what the run took so far."""
    steps = [one for one in records if one["kind"] == "step"]
    return Totals(
        warm=sum(one["kind"] == "warm" for one in records),
        steps=len(steps),
        rollouts=sum(one["rollouts"] for one in steps),
        failed=sum(one["failed"] for one in steps),
        tokens=sum(one["prompt_tokens"] + one["reply_tokens"] for one in steps),
        seconds=sum(one["clock"]["seconds"] for one in records),
    )


def has_checkpoint(folder: Path) -> bool:
    """Tell if a run in the folder can go on, of this package's engine or of verl's."""
    return newest_progress(folder) is not None or any((folder / "verl").glob("global_step_*"))


def newest_progress(folder: Path) -> Path | None:
    """Return the file of the newest checkpoint that holds the run's settings."""
    places = (folder / "checkpoints").glob("*/progress.json")
    complete = [path for path in places if re.fullmatch(r"step-\d+|best", path.parent.name)]
    return max(complete, default=None, key=lambda path: (path.parent.name != "best", path.parent.name))


def plot_curves(runs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Plot held-out accuracy with its intervals, and reward, against steps; the file's suffix says the format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, records in runs.items():
        held = [one for one in held_out_scores(records) if not one.warm]
        line, _, _ = axes.errorbar(
            [one.step for one in held],
            [100 * one.accuracy for one in held],
            yerr=[[100 * (one.accuracy - one.low) for one in held], [100 * (one.high - one.accuracy) for one in held]],
            fmt="o-",
            capsize=2,
            label=name,
        )
        rewards = [(one["step"], 100 * one["reward"]) for one in records if one["kind"] == "step"]
        axes.plot([x for x, _ in rewards], [y for _, y in rewards], color=line.get_color(), alpha=0.3)
    n = sorted({one["n"] for records in runs.values() for one in records if one["kind"] == "evaluation"})
    title = f"held-out accuracy (dots, 95 % intervals, n = {', '.join(map(str, n)) or '0'}), reward"
    axes.set(xlabel="step", ylabel="percent", ylim=(0, 100), title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def _name_lessons(warm: Mapping[str, Any]) -> str:
    """Return what a warm start imitates."""
    if warm["traces"]:
        return f"a teacher's readings ({warm['traces']})"
    if warm["lessons"]:
        return f"lessons ({warm['lessons']})"
    return "clozes of the samples' own text" if warm["clozes"] else "ideal traces"


def _name_rewards(train: Mapping[str, Any]) -> str:
    """Return what reinforcement rewards, by the names of the settings, and who teaches."""
    weights = {name: weight for name, weight in train["reward"].items() if weight and name != "overlong_share"}
    rewards = ", ".join(f"{name} x {weight:g}" for name, weight in weights.items())
    taught = [f"the log-probabilities of the teacher {train['teacher']['model']}"] * bool(train["teacher"]["model"])
    return " and ".join([*[f"rewards ({rewards})"] * bool(rewards), *taught])


def build_card(settings: Mapping[str, Any], records: Sequence[Mapping[str, Any]], *, base: str) -> str:
    """Return a model card; every figure in it stands in the records."""
    train, plan, run = settings["train"], settings["plan"], totals(records)
    sampling, warm = train["evaluation"], train["warm_start"]
    rows = [
        f"| {one.step} | {100 * one.accuracy:.1f} % | {100 * one.low:.1f} to {100 * one.high:.1f} "
        f"| {one.n} | {one.failed} |\n"
        for one in held_out_scores(records)
        if not one.warm
    ]
    return f"""# A memory policy trained with bookwheel

Base: {base}. It reads a document {plan["chunk_tokens"]} tokens at a time, past one memory of
{plan["memory_tokens"]} tokens, and answers from the memory.

## Training

- {run.warm} supervised steps on {_name_lessons(warm)}, learning rate {warm["learning_rate"]},
  then {run.steps} steps of reinforcement learning from {_name_rewards(train)}:
  {train["samples"]} samples x {train["group_size"]} rollouts, advantages by
  {train["estimator"]}, clip {train["loss"]["clip_low"]}/{train["loss"]["clip_high"]},
  KL {train["loss"]["kl"]}, learning rate {train["learning_rate"]}, seed {train["seed"]}.
- {run.rollouts} rollouts, {run.failed} failed;
  {run.tokens} tokens read and written.
- {run.seconds:.0f} seconds on the machine that trained it.

## Held-out accuracy

Temperature {sampling["temperature"]}, top_p {sampling["top_p"]}; samples of the training length, not trained on.

| step | accuracy | 95 % interval | n | failed |
| ---: | ---: | :---: | ---: | ---: |
{"".join(rows)}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRollout:
    """One line of rollouts.jsonl."""

    step: int
    """Of reinforcement, counted from 0."""
    reading: str | None
    """Its id in rollouts.sqlite; None where nothing was read."""
    rollout: str
    sample: str
    outcome: str
    reward: float | None
    """None where it was not scored."""
    parts: Mapping[str, float] = field(default_factory=dict)
    advantage: float = 0.0
    error: str = ""


def load_rollouts(folder: Path) -> list[StoredRollout]:
    """Return every rollout that the run has kept so far, each once, without a line that is still being written."""
    path = folder / "rollouts.jsonl"
    stored: dict[tuple[int, str], StoredRollout] = {}
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
        for line in lines:
            values = json.loads(line)
            rollout = from_plain(StoredRollout, values)
            stored[rollout.step, rollout.rollout] = rollout
    except OSError as error:
        raise CheckpointError(f"{folder} holds no rollouts: {error}") from error
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} is not a file of rollouts: {error!r}") from error
    return list(stored.values())


def add_rollouts(folder: Path, rollouts: Iterable[StoredRollout]) -> None:
    with (folder / "rollouts.jsonl").open("a", encoding="utf-8") as lines:
        lines.writelines(json.dumps(asdict(one)) + "\n" for one in rollouts)


class RolloutStore:
    """Keeps the rollouts of every so many steps under a run's folder."""

    def __init__(
        self, folder: Path, plan: Plan, estimator: Estimator, *, every: int = 10, way: str = "sequential"
    ) -> None:
        self._folder, self._estimator, self._every, self._way = folder, estimator, every, way
        # Rollouts are not sampled as the plan says, and a kept reading states how it came about.
        self._plan = replace(plan, sampling=ROLLOUT)

    def __call__(self, step: int, batch: RolloutBatch) -> None:
        """Keep a step's rollouts, if the step is a multiple of `every`."""
        if not self._every or step % self._every:
            return
        credit = {
            rollout.id: advantage for group in batch.groups for rollout, advantage in group.credit(self._estimator)
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        with Journal(self._folder / "rollouts.sqlite") as journal:
            stored = [
                StoredRollout(
                    step=step,
                    reading=self.keep_reading(journal, one.sample, one.episode),
                    rollout=one.id,
                    sample=one.sample.id,
                    outcome=str(one.outcome),
                    reward=one.result.score if one.result else None,
                    parts=dict(one.result.parts) if one.result else {},
                    advantage=credit.get(one.id, 0.0),
                    error=one.error,
                )
                for one in batch.rollouts
            ]
        add_rollouts(self._folder, stored)

    def keep_reading(self, journal: Journal, sample: Sample, episode: Episode | None) -> str | None:
        """Keep a rollout as a reading and return its id; None where it read nothing."""
        if episode is None or episode.final is None:
            return None
        document = journal.keep(sample.document)
        reading = Reading(
            id=new_id(),
            document=document.info,
            question=sample.question,
            plan=self._plan,
            model="policy",
            way=self._way,
            language=self._plan.language or "en",
            status=Status.ANSWERED,
            answer=episode.final,
            usage=sum((conversation.reply.usage for conversation in episode.conversations), Usage()),
        )
        journal.begin(replace(reading, steps=episode.steps))
        return reading.id
