"""A teacher's readings as rows to imitate, and a teacher's judgement of what the policy samples itself.

    bookwheel eval --models teacher ... --out runs/teacher        the readings, and which of them are right
    [train.warm_start] traces = "runs/teacher"                    imitate the right ones

A trace is what a reading left in its journal: the memory after every section, and the answer. The prompts are built
anew with the student's own words, so a teacher may have read with others. What the guards kept is imitated, not what
they threw away: a memory that was cut or cleaned stands there as it was kept.

    [train.teacher] model = "large", base_url = "http://localhost:8000/v1"

is on-policy distillation: the policy samples, and every token of its replies has the credit

    w * (log p_teacher(x_t) - log p_policy(x_t))        a sample of -w * KL(policy || teacher), within +-5

A teacher with other tokens gives a reply as a whole the same, spread evenly over the reply's tokens. The token that
ends a reply has no credit of its own: an endpoint tells how likely a text is, not that it ends there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import fsum
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.journal import open_existing
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rows import Row
from bookwheel.lab.training.samples import JOURNAL
from bookwheel.models.base import Ability, JudgingModel, Model, require_ability
from bookwheel.models.patience import Patience, PatientModel
from bookwheel.models.registry import open_model
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.types import Conversation, Finish, Message, Reading, Status

if TYPE_CHECKING:
    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.config import TeacherSettings
    from bookwheel.lab.training.policy_model import PolicyModel
    from bookwheel.lab.training.rewards import RewardResult
    from bookwheel.lab.training.workflows import Episode

_RESULTS: Final = "results.jsonl"
_RIGHT: Final = 1.0
# A token that the teacher would never write outweighs a batch otherwise.
_MOST_CREDIT: Final = 5.0


class TraceFile:
    """The readings of an evaluation's folder that are right, or all answered ones of a journal.

    Readings of the samples that are measured on are left out; a journal alone does not say of which sample they are.
    """

    def __init__(
        self, path: Path, model: PolicyModel, plan: Plan, seed: int, *, held_out: Sequence[Sample] = ()
    ) -> None:
        journal = open_existing(path / JOURNAL if path.is_dir() else path)
        if journal is None:
            raise ConfigError(f"train.warm_start.traces: {path} is neither an evaluation's folder nor a journal")
        self._journal, self._model, self._plan, self._seed = journal, model, plan, seed
        results = path / _RESULTS
        if path.is_dir() and results.exists():
            right = [one for one in Results.load(results).records if one.score >= _RIGHT]
            measured = {sample.content for sample in held_out}
            self._ids = sorted(one.reading for one in right if one.content not in measured)
            if right and not self._ids:
                raise ConfigError(f"train.warm_start.traces: all right readings of {path} are of held-out samples")
        else:
            self._ids = sorted(one.id for one in journal.readings() if one.status is Status.ANSWERED)
        if not self._ids:
            raise ConfigError(f"train.warm_start.traces: {path} holds no reading that was answered right")

    def draw(self, count: int, step: int) -> list[Row]:
        """Return the rows of `count` readings; seed and step alone decide which."""
        chosen = Random(f"{self._seed}/traces/{step}").choices(self._ids, k=count)  # noqa: S311 - reproducible
        rows = []
        for id_ in chosen:
            reading = self._journal.reading(id_, texts=True)
            advice = "let the teacher read with smaller chunks"
            what = f"a conversation of the teacher's reading {reading.id[:8]}"
            rows += self._model.build_rows(self._list_exchanges(reading), reading.id, what=what, advice=advice)
        return rows

    def _list_exchanges(self, reading: Reading) -> Iterator[tuple[tuple[Message, ...], str]]:
        prompts = prompts_for(self._plan, reading.question)
        for step in reading.steps:
            is_same = step.after.text == step.before.text
            reply = (prompts.unchanged or step.after.text) if is_same else step.after.text
            yield prompts.update(reading.question, step.before, step.chunk, self._plan.layout), reply
        if reading.answer:
            yield prompts.answer(reading.question, reading.memory), reading.answer.conversation.reply.text


class Teacher:
    """Asks a model how likely it would have written each reply; it is opened with the first one."""

    def __init__(self, settings: TeacherSettings) -> None:
        self._settings = settings
        self._opening = asyncio.Lock()
        self._places = asyncio.Semaphore(settings.concurrency)
        self._opened: Model | None = None
        self._model: JudgingModel | None = None

    async def credit(self, result: RewardResult, episode: Episode, sample: Sample) -> RewardResult:
        """Return the result with the credit of every token that the rollout sampled."""
        del sample
        gaps = await asyncio.gather(*map(self._compare, episode.conversations))
        tokens = [gap for one in gaps for gap in one]
        mean = fsum(tokens) / max(1, len(tokens))
        weighted = tuple(tuple(self._settings.weight * gap for gap in one) for one in gaps)
        return replace(result, parts={**result.parts, "teacher": mean}, tokens=weighted)

    async def _compare(self, conversation: Conversation) -> tuple[float, ...]:
        reply = conversation.reply
        if reply.tokens is None or not reply.text:
            return (0.0,) * len(reply.tokens.reply if reply.tokens else ())
        async with self._places:
            model = await self._open()
            taught = (await model.likelihood(conversation.messages, reply.text)).logprobs
        return compare_tokens(taught, reply.tokens.logprobs, ends=reply.finish is Finish.STOP)

    async def _open(self) -> JudgingModel:
        async with self._opening:
            if self._model is None:
                settings = self._settings
                self._opened = await open_model(settings.model, base_url=settings.base_url or None)
                patient = PatientModel(self._opened, Patience())
                self._model = await require_ability(patient, Ability.LIKELIHOOD, "of a teacher")
            return self._model

    async def aclose(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()


def compare_tokens(taught: Sequence[float], sampled: Sequence[float], *, ends: bool) -> tuple[float, ...]:
    """Return for each sampled token how much likelier the teacher finds it; `ends` leaves out the last one.

    >>> compare_tokens([-1.0, -3.0], [-2.0, -1.0, -0.1], ends=True)
    (1.0, -2.0, 0.0)
    >>> compare_tokens([-1.0, -1.0, -1.0], [-2.0, -3.0], ends=False)
    (1.0, 1.0)
    """
    words = sampled[:-1] if ends else sampled
    gaps = [after - before for after, before in zip(taught, words, strict=False)]
    if len(taught) != len(words):
        gaps = [(fsum(taught) - fsum(words)) / max(1, len(words))] * len(words)
    return (*(max(-_MOST_CREDIT, min(_MOST_CREDIT, gap)) for gap in gaps), *(0.0,) * ends)
