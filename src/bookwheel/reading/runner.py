"""The runner: drive a way of reading, keep every step, and end in one place.

A way of reading is a generator that calls the model only when its next event is asked for. So each step is durable in
the journal before the next call, and whatever ends the reading (an answer, a budget, a failing model, an interrupt)
ends it in `run_reading`, with everything up to there kept. What time can mend ends it only when patience is over.
"""

from __future__ import annotations

import asyncio
import secrets
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from inspect import isawaitable
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from bookwheel.claims import Verdict, doubt
from bookwheel.errors import (
    BadReply,
    BookwheelError,
    BrokenReading,
    BudgetReached,
    EmptyReply,
    InputError,
    ModelError,
    WorkCancelled,
)
from bookwheel.flags import Flag
from bookwheel.models.accompanied import find_gate
from bookwheel.models.base import Model, find_wrapper
from bookwheel.models.patience import Patience, PatientModel, Retry, persist
from bookwheel.plan import Budget, Plan, VerdictMode
from bookwheel.reading import loop
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.guards import is_empty
from bookwheel.reading.loop import Way
from bookwheel.reading.pictures import SeeingModel, judge_by_sight, see_pictures
from bookwheel.reading.structured import apply_schema
from bookwheel.reading.token_scale import ScaledModel
from bookwheel.reading.verdicts import RememberingJudge, choose_judge, judge
from bookwheel.reading.ways.registry import find_spec
from bookwheel.reading.ways.spec import Threshold
from bookwheel.text.lexicon import language_of
from bookwheel.text.sanitize import restore_markup
from bookwheel.types import Answer, Document, DocumentInfo, Reading, Status, Step, Usage
from bookwheel.verdict.citations import assure

Watch: TypeAlias = "Callable[[Step | Answer], Awaitable[None] | None]"
"""Whoever follows a reading; it may be async."""


def new_reading(document: DocumentInfo, question: str, model: Model, plan: Plan, way: str = "sequential") -> Reading:
    """Return a reading that has not begun. Raise InputError when its way needs a gate that nobody knows."""
    if find_spec(way).threshold is Threshold.MODEL:
        # The journal has it, so that a resumed reading goes on with the same one.
        plan = replace(plan, gate=find_gate(model, plan))
    return Reading(
        id=secrets.token_hex(6),
        document=document,
        question=question,
        plan=plan,
        model=model.name,
        way=way,
        # The columns of a table stand below its sentence as JSON.
        language=plan.language or language_of(question.partition("\n{")[0]),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def check_reading(reading: Reading, model: Model) -> None:
    """Raise InputError for a bad question or plan, before anything is kept or paid for."""
    find_spec(reading.way).check(reading.question, model, reading.plan)


class StepStore(Protocol):
    """The part of a journal that the runner needs."""

    async def add_step(self, reading_id: str, step: Step) -> None:
        """Return when the step is durable."""

    async def set_plan(self, reading_id: str, plan: Plan) -> None:
        """Return when the plan is durable."""

    async def end(self, reading: Reading) -> None:
        """Store how the reading ended."""


def ignore_event(_event: Step | Answer) -> None:
    """Do nothing: the default for readings that nobody watches."""


async def run_reading(
    reading: Reading,
    document: Document,
    model: Model,
    *,
    way: Way = loop.read,
    journal: StepStore | None = None,
    watch: Watch = ignore_event,
    patience: Patience | None = None,
    counted: Usage | None = None,
) -> Reading:
    """Read from where `reading` stands to its end; return it answered, stopped or failed.

    Where its plan has a JSON Schema, the way's answer is made to fit that.
    The budget counts from zero, or from `counted`, the usage of an earlier run under the same limits.
    An interrupt is stored as `cancelled` and a refused input as `failed`; both are raised again. So is what nobody
    foresaw, as BrokenReading.
    With a journal, the returned steps have no texts and prompts: those stay in the journal.
    """
    seeing = await asyncio.to_thread(see_pictures, model, document, reading.plan, reading.question)
    run = _Run(reading, BudgetedModel(seeing, reading.plan.budget, counted), journal, watch)
    try:
        await run.read(document, apply_schema(way, reading.plan), patience or Patience())
    except BudgetReached as reached:
        return await run.end(Status.STOPPED, reached)
    except ModelError as fault:
        return await run.end(Status.FAILED, fault)
    except asyncio.CancelledError:
        await run.end(Status.CANCELLED, WorkCancelled("interrupted"))
        raise
    except InputError as fault:
        await run.end(Status.FAILED, fault)
        raise
    except (BookwheelError, AssertionError):
        raise
    except Exception as fault:
        if fault is run.unshown:
            # A watch of the caller's, or a pipe that was closed: that is told where it is known.
            raise
        broken = BrokenReading(_describe_break(fault))
        await run.end(Status.FAILED, broken)
        raise broken from fault
    if run.answer and not run.answer.text:
        why = (
            "the server's content filter stopped the answer; ask in other words, or another model"
            if Flag.FILTERED in run.answer.flags
            else "the model gave no answer, however often it was asked; resume asks again"
        )
        unanswered = EmptyReply(why)
        return await run.end(Status.FAILED, unanswered)
    return await run.conclude(document, patience or Patience())


def can_judge(question: str, model: Model) -> bool:
    """Return whether a model judges answers that are there; one that only quotes does not."""
    return choose_judge(question, model, _plan_judging(model.plan, model)).judge is not None


def _plan_judging(plan: Plan, model: Model) -> Plan:
    # In the words that the judge is asked in, whoever read.
    return replace(plan, verdict=VerdictMode.MODEL, prompts=model.plan.prompts)


async def judge_again(
    reading: Reading,
    document: Document,
    model: Model,
    journal: StepStore,
    patience: Patience | None = None,
    *,
    budget: Budget | None = None,
    counted: Usage | None = None,
) -> Reading:
    """Let a model judge the answer of a reading that has ended, keep its verdicts, and return the reading with them.

    The budget, the plan's or this one, counts from zero, or from `counted` as in `run_reading`. Raise InputError where
    there is nothing that this model can judge, BadReply where it did not judge every sentence, or what failed: then the
    verdicts stay as they were, and the cost is kept.
    """
    if reading.status is not Status.ANSWERED or not find_spec(reading.way).is_general:
        raise InputError(f"reading {reading.id[:8]} has no answer to judge: it is {reading.status}, by {reading.way}")
    if any(claim.verdict is Verdict.SEEN for claim in reading.claims):
        raise InputError(f"the answer of reading {reading.id[:8]} rests on pictures, which no judge of words is shown")
    if not can_judge(reading.question, model):
        raise InputError(f"{model.name} only quotes and cannot judge: name one that writes with --base-url and --model")
    asked = replace(reading, plan=_plan_judging(reading.plan, model))
    run = _Run(asked, BudgetedModel(model, budget or reading.plan.budget, counted), journal, ignore_event)
    try:
        await run.judge(document, patience or Patience(), is_strict=True)
        if any(claim.verdict is Verdict.UNCHECKED for claim in run.claims):
            raise BadReply(f"{model.name} did not judge every sentence, so the verdicts stay as they were: try again")
    except (ModelError, BudgetReached, asyncio.CancelledError):
        await journal.end(replace(reading, usage=reading.usage + run.model.spent))
        raise
    ended, plan = await run.end(Status.ANSWERED), replace(reading.plan, verdict=VerdictMode.MODEL)
    await journal.set_plan(reading.id, plan)
    return replace(ended, plan=plan)


def _describe_break(fault: Exception) -> str:
    """Return what a person can do, and where it broke, for whoever mends it."""
    *_, last = traceback.extract_tb(fault.__traceback__)
    what = (isinstance(fault, OSError) and fault.strerror) or type(fault).__name__
    return (
        f"the reading broke in a way that nobody foresaw ({what} in {Path(last.filename).name}, line "
        f"{last.lineno}). Resume goes on from its last step; if it breaks again, report that, with what "
        f"`bookwheel doctor` prints"
    )


class _Run:
    """One run of a reading, from its start or resumption to whatever ends it."""

    def __init__(self, reading: Reading, model: BudgetedModel, journal: StepStore | None, watch: Watch) -> None:
        self.model = model
        self.steps = list(reading.steps)
        self.answer = reading.answer
        self.evidence = reading.evidence
        self.claims = reading.claims
        self.unjudged: BookwheelError | None = None
        """What ended the judging before the answer was judged to its end."""
        self.unshown: Exception | None = None
        """What kept an event from whoever watches."""
        self._reading = reading
        self._journal = journal
        self._watch = watch

    async def read(self, document: Document, way: Way, patience: Patience) -> None:
        """Run the way to its end. Where a passing error did not come from a call, go on from the last step.

        A server's tokenizer fails that way: it is asked between the calls.
        """
        patience = replace(patience, on_retry=partial(self._tell, patience.on_retry))
        model = PatientModel(self.model, patience, is_empty=is_empty, sleep=self.model.sleep)

        async def consume() -> None:
            plan = self._reading.plan
            scaled = ScaledModel(model, plan)
            events = way(document, self._reading.question, scaled, plan, tuple(self.steps))
            await self._consume(events, document, scaled)

        await persist(consume, patience, sleep=self.model.sleep, progress=lambda: len(self.steps))

    async def conclude(self, document: Document, patience: Patience) -> Reading:
        """Judge the answer, and end."""
        try:
            await self.judge(document, patience)
        except asyncio.CancelledError:
            # The answer is paid for, so it is kept, without a verdict.
            await self.end(Status.ANSWERED)
            raise
        except AssertionError:
            raise
        except Exception as fault:
            broken = BrokenReading(_describe_break(fault))
            await self.end(Status.FAILED, broken)
            raise broken from fault
        return await self.end(Status.ANSWERED, self.unjudged)

    async def judge(self, document: Document, patience: Patience, *, is_strict: bool = False) -> None:
        """Compute the verdict on the answer; of claims that no words bear out, say by which pictures it was written."""
        # How many rows a table has is no statement of the document.
        if self.answer and find_spec(self._reading.way).is_general:
            patient = PatientModel(self.model, patience, is_empty=is_empty, sleep=self.model.sleep)
            model = RememberingJudge(patient, self.answer.judged, self._keep_judged)
            values = self.answer.text, self._reading.question, self.steps, document
            plan = self._reading.plan
            self.evidence, self.claims = await judge(*values, plan=plan, model=model, is_strict=is_strict)
            self.answer = replace(self.answer, judged={})
            if any(claim.verdict is Verdict.UNCHECKED for claim in self.claims):
                self.unjudged = model.failure
            # Who copied it was not sure; a model that was asked about it later knows better.
            if Flag.UNSURE in self.answer.flags and not is_strict:
                self.claims = doubt(self.claims)
            elif Flag.LOOKED_UP in self.answer.flags:
                self.claims = assure(self.claims)
        if seeing := find_wrapper(self.model, SeeingModel):
            # An answer that was stored before it was judged was written by the pictures that the memory points at.
            is_stored = self.answer and self._reading.answer and not is_strict and Flag.UNSEEN not in self.answer.flags
            shown = seeing.list_pictures(self.steps[-1].after.text) if is_stored and self.steps else ()
            found = self.evidence, self.claims, seeing.seen or shown, document
            self.evidence, self.claims = await asyncio.to_thread(judge_by_sight, *found)

    async def _keep_judged(self, judged: Mapping[str, Any]) -> None:
        # One that is judged again keeps the verdicts that it has until it has others.
        if self.answer and self._journal and self._reading.status is not Status.ANSWERED:
            self.answer = replace(self.answer, judged=judged)
            await self._journal.end(self._stand(Status.READING))

    async def _consume(self, events: AsyncGenerator[Step | Answer], document: Document, model: ScaledModel) -> None:
        """Store and show every event before asking for the next."""
        async with aclosing(events):
            async for event in events:
                # The step that was made of a call's last try carries the cost of those before.
                complete = replace(event, conversation=event.conversation.add_usage(self.model.take_unanswered()))
                if seeing := find_wrapper(self.model, SeeingModel):
                    complete = replace(complete, flags=(*complete.flags, *seeing.take_flags()))
                if isinstance(complete, Answer):
                    texts = chain([self._reading.question], (part.text for part in document.parts()))
                    text = await asyncio.to_thread(restore_markup, complete.text, texts)
                    complete = replace(complete, text=text)
                    self.answer, self.evidence, self.claims = complete, (), ()
                    # The judge's calls are the next ones.
                    if self._journal and complete.text:
                        await self._journal.end(self._stand(Status.READING))
                else:
                    if isinstance(event, Step) and not self.steps and find_spec(self._reading.way).is_serial:
                        await self._set_plan(model.correct(event, self._reading.plan))
                    if self._journal:
                        await self._journal.add_step(self._reading.id, complete)
                    self.steps.append(complete.without_texts() if self._journal else complete)
                with self._note_unshown():
                    if isawaitable(shown := self._watch(complete)):
                        await shown

    def _tell(self, told: Callable[[Retry], None], retry: Retry) -> None:
        with self._note_unshown():
            told(retry)

    @contextmanager
    def _note_unshown(self) -> Iterator[None]:
        try:
            yield
        except Exception as fault:
            self.unshown = fault
            raise

    async def _set_plan(self, plan: Plan) -> None:
        if plan is not self._reading.plan:
            self._reading = replace(self._reading, plan=plan)
            if self._journal:
                await self._journal.set_plan(self._reading.id, plan)

    async def end(self, status: Status, error: BookwheelError | None = None) -> Reading:
        """Store and return the reading as it ended."""
        ended = self._stand(status, error)
        if self._journal:
            await self._journal.end(ended)
        return ended

    def _stand(self, status: Status, error: BookwheelError | None = None) -> Reading:
        return replace(
            self._reading,
            steps=tuple(self.steps),
            answer=self.answer,
            evidence=self.evidence,
            claims=self.claims,
            status=status,
            error=str(error or ""),
            error_kind=type(error).__name__ if error else "",
            usage=self._reading.usage + self.model.spent,
        )
