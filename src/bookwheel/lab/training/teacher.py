"""A teacher's readings as rows to imitate: supervised fine-tuning from traces of any model that can read.

    bookwheel eval --models teacher ... --out runs/teacher        the readings, and which of them are right
    [train.warm_start] traces = "runs/teacher"                    imitate the right ones

A trace is what a reading left in its journal: the memory after every section, and the answer. The prompts are built
anew with the student's own words, so a teacher may have read with others. What the guards kept is imitated, not what
they threw away: a memory that was cut or cleaned stands there as it was kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.journal import open_existing
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rows import Row, build_row
from bookwheel.reading.prompts import prompts_for
from bookwheel.types import Status

if TYPE_CHECKING:
    from bookwheel.lab.training.policy_model import PolicyModel
    from bookwheel.plan import Plan
    from bookwheel.types import Message, Reading

_JOURNAL: Final = "journal.sqlite"
_RESULTS: Final = "results.jsonl"
_RIGHT: Final = 1.0


class TraceFile:
    """The readings of an evaluation's folder that are right, or all answered ones of a journal."""

    def __init__(self, path: Path, model: PolicyModel, plan: Plan, seed: int) -> None:
        journal = open_existing(path / _JOURNAL if path.is_dir() else path)
        if journal is None:
            raise ConfigError(f"train.warm_start.traces: {path} is neither an evaluation's folder nor a journal")
        self._journal, self._model, self._plan, self._seed = journal, model, plan, seed
        results = path / _RESULTS
        if path.is_dir() and results.exists():
            self._ids = sorted(one.reading for one in Results.load(results).records if one.score >= _RIGHT)
        else:
            self._ids = sorted(one.id for one in journal.readings() if one.status is Status.ANSWERED)
        if not self._ids:
            raise ConfigError(f"train.warm_start.traces: {path} holds no reading that was answered right")

    def draw(self, count: int, step: int) -> list[Row]:
        """Return the rows of `count` readings; seed and step alone decide which."""
        chosen = Random(f"{self._seed}/traces/{step}").choices(self._ids, k=count)  # noqa: S311 - reproducible
        return [row for id_ in chosen for row in self._build_rows(self._journal.reading(id_, texts=True))]

    def _build_rows(self, reading: Reading) -> list[Row]:
        rows = [build_row(*self._model.encode_exchange(*one), reading.id) for one in self._list_exchanges(reading)]
        longest, window = max(len(row.ids) for row in rows), self._model.window
        if window and longest > window:
            raise ConfigError(
                f"a conversation of the teacher's reading {reading.id[:8]} has {longest} tokens and the policy's "
                f"window holds {window}: let the teacher read with smaller chunks"
            )
        return rows

    def _list_exchanges(self, reading: Reading) -> Iterator[tuple[tuple[Message, ...], str]]:
        prompts = prompts_for(self._plan, reading.question)
        for step in reading.steps:
            is_same = step.after.text == step.before.text
            reply = (prompts.unchanged or step.after.text) if is_same else step.after.text
            yield prompts.update(reading.question, step.before, step.chunk, self._plan.layout), reply
        if reading.answer:
            yield prompts.answer(reading.question, reading.memory), reading.answer.conversation.reply.text
