"""The runner: drive a way of reading, keep every step, and end in one place.

A way of reading is a generator that calls the model only when its next event is asked for. So each step is durable in
the journal before the next call, and whatever ends the reading (an answer, a budget, a failing model, an interrupt)
ends it in `run_reading`, with everything up to there kept.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from bookwheel.errors import BudgetReached, InputError, ModelError
from bookwheel.reading import loop
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.prompts import language_of, prompts_for
from bookwheel.reading.provenance import find_evidence
from bookwheel.types import Answer, Reading, Status, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.loop import Way
    from bookwheel.types import Document, DocumentInfo


def new_reading(document: DocumentInfo, question: str, model: Model, plan: Plan, way: str = "sequential") -> Reading:
    """Return a reading that has not begun."""
    return Reading(
        id=secrets.token_hex(6),
        document=document,
        question=question,
        plan=plan,
        model=model.name,
        way=way,
        language=plan.language or language_of(question),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def check_reading(reading: Reading, model: Model) -> None:
    """Raise InputError for a bad question or plan, before anything is kept or paid for."""
    loop.check(reading.question, model, reading.plan, prompts_for(reading.plan, reading.question))


class StepStore(Protocol):
    """The part of a journal that the runner needs."""

    async def add_step(self, reading_id: str, step: Step) -> None:
        """Return when the step is durable."""

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
    watch: Callable[[Step | Answer], None] = ignore_event,
) -> Reading:
    """Read from where `reading` stands to its end; return it answered, stopped or failed.

    An interrupt is stored as `cancelled` and a refused input as `failed`; both are raised again.
    With a journal, the returned steps have no texts and prompts: those stay in the journal.
    """
    run = _Run(reading, BudgetedModel(model, reading.plan.budget), journal, watch)
    try:
        await run.consume(way(document, reading.question, run.model, reading.plan, reading.steps))
    except BudgetReached as reached:
        return await run.end(Status.STOPPED, str(reached))
    except ModelError as fault:
        return await run.end(Status.FAILED, str(fault))
    except asyncio.CancelledError:
        await run.end(Status.CANCELLED, "interrupted")
        raise
    except InputError as fault:
        await run.end(Status.FAILED, str(fault))
        raise
    run.evidence = find_evidence(run.answer.text, run.steps, document) if run.answer else ()
    return await run.end(Status.ANSWERED)


class _Run:
    """One run of a reading, from its start or resumption to whatever ends it."""

    def __init__(
        self, reading: Reading, model: BudgetedModel, journal: StepStore | None, watch: Callable[[Step | Answer], None]
    ) -> None:
        self.model = model
        self.steps = list(reading.steps)
        self.answer = reading.answer
        self.evidence = reading.evidence
        self._reading = reading
        self._journal = journal
        self._watch = watch

    async def consume(self, events: AsyncGenerator[Step | Answer]) -> None:
        """Store and show every event before asking for the next."""
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Answer):
                    self.answer = event
                else:
                    await self._store(event)
                self._watch(event)

    async def _store(self, step: Step) -> None:
        if self._journal:
            await self._journal.add_step(self._reading.id, step)
            step = strip_texts(step)
        self.steps.append(step)

    async def end(self, status: Status, error: str = "") -> Reading:
        """Store and return the reading as it ended."""
        ended = replace(
            self._reading,
            steps=tuple(self.steps),
            answer=self.answer,
            evidence=self.evidence,
            status=status,
            error=error,
            usage=self._reading.usage + self.model.spent,
        )
        if self._journal:
            await self._journal.end(ended)
        return ended


def strip_texts(step: Step) -> Step:
    """Return the step without the chunk's text and the prompt, which the journal can rebuild from the document."""
    return replace(step, chunk=replace(step.chunk, text=""), conversation=replace(step.conversation, messages=()))
