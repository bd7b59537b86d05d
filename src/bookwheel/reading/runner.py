"""The desk: where a reading is carried out.

A way of reading is a generator that asks nothing of the model until its next event is asked for. So keeping is simple:
each step is made durable in the journal before the next event is drawn, and whatever ends the reading (an answer, a
budget, a failing model, an interrupt) ends it in one place, with everything up to there kept.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import aclosing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from bookwheel.errors import BudgetReached, InputError, ModelError
from bookwheel.reading import loop
from bookwheel.reading.prompts import language_of, prompts_for
from bookwheel.reading.provenance import find_evidence
from bookwheel.types import Answer, Reading, Status, Step, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Budget, Plan, Sampling
    from bookwheel.reading.loop import Way
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Document, DocumentInfo, Message, Reply


def new_reading(document: DocumentInfo, question: str, model: Model, plan: Plan, way: str = "sequential") -> Reading:
    """A reading that has not begun."""
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
    """Raise what is wrong with question and plan before anything is kept or paid for."""
    loop.check(reading.question, model, reading.plan, prompts_for(reading.plan, reading.question))


class StepStore(Protocol):
    """What the desk needs of a journal."""

    async def add_step(self, reading_id: str, step: Step) -> None:
        """Return when the step is durable."""

    async def end(self, reading: Reading) -> None:
        """Keep how the reading ended."""


def ignore_event(_event: Step | Answer) -> None:
    """Nobody looks on."""


async def run_reading(
    reading: Reading,
    document: Document,
    model: Model,
    *,
    way: Way = loop.read,
    journal: StepStore | None = None,
    watch: Callable[[Step | Answer], None] = ignore_event,
) -> Reading:
    """Read on from where `reading` stands to its end, and return it ended: answered, stopped or failed.

    An interrupt is kept as `cancelled`, a way's refusal of the input as `failed`, and both are raised on.
    With a journal the steps returned are lean: their texts and prompts are in the journal, not in memory.
    """
    sitting = _Run(reading, BudgetedModel(model, reading.plan.budget), journal, watch)
    try:
        await sitting.follow(way(document, reading.question, sitting.meter, reading.plan, reading.steps))
    except BudgetReached as limit:
        return await sitting.close(Status.STOPPED, str(limit))
    except ModelError as fault:
        return await sitting.close(Status.FAILED, str(fault))
    except asyncio.CancelledError:
        await sitting.close(Status.CANCELLED, "interrupted")
        raise
    except InputError as fault:
        await sitting.close(Status.FAILED, str(fault))
        raise
    sitting.evidence = find_evidence(sitting.answer.text, sitting.steps, document) if sitting.answer else ()
    return await sitting.close(Status.ANSWERED)


class _Run:
    """One stretch of a reading, from its start or resumption to whatever ends it."""

    def __init__(
        self, reading: Reading, meter: BudgetedModel, journal: StepStore | None, watch: Callable[[Step | Answer], None]
    ) -> None:
        self.meter = meter
        self.steps = list(reading.steps)
        self.answer = reading.answer
        self.evidence = reading.evidence
        self._reading = reading
        self._journal = journal
        self._watch = watch

    async def follow(self, events: AsyncGenerator[Step | Answer]) -> None:
        """Keep and show every event before the next is drawn."""
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Answer):
                    self.answer = event
                else:
                    await self._keep(event)
                self._watch(event)

    async def _keep(self, step: Step) -> None:
        if self._journal:
            await self._journal.add_step(self._reading.id, step)
            step = strip_texts(step)
        self.steps.append(step)

    async def close(self, status: Status, error: str = "") -> Reading:
        """The reading as it ended, kept as such."""
        ended = replace(
            self._reading,
            steps=tuple(self.steps),
            answer=self.answer,
            evidence=self.evidence,
            status=status,
            error=error,
            usage=self._reading.usage + self.meter.spent,
        )
        if self._journal:
            await self._journal.end(ended)
        return ended


def strip_texts(step: Step) -> Step:
    """The step without what the journal can rebuild from the document: the chunk's text and the prompt."""
    return replace(step, chunk=replace(step.chunk, text=""), conversation=replace(step.conversation, messages=()))


class BudgetedModel:
    """A model whose calls are counted, and refused when one could break a hard limit.

    The limits hold for one sitting: a resumed reading counts anew.
    """

    def __init__(self, model: Model, budget: Budget) -> None:
        self.spent = Usage()
        self._model = model
        self._budget = budget
        self._began = time.monotonic()
        self._promised = Usage()
        """The most that the calls now under way can cost."""

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's."""
        return self._model.tokenizer

    @property
    def window(self) -> int | None:
        """The model's."""
        return self._model.window

    @property
    def plan(self) -> Plan:
        """The model's."""
        return self._model.plan

    @property
    def template_tokens(self) -> int:
        """The model's."""
        return self._model.template_tokens

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """The model's reply, if the budget can bear the longest one."""
        with self._promise(messages, limit):
            seconds = self._seconds_left()
            try:
                async with asyncio.timeout(seconds):
                    reply = await self._model.reply(messages, limit=limit, sampling=sampling)
            except TimeoutError:
                raise self._out_of_time() from None
        self.spent += reply.usage
        return reply

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()

    def _seconds_left(self) -> float | None:
        if self._budget.seconds is None:
            return None
        left = self._budget.seconds - (time.monotonic() - self._began)
        if left <= 0:
            raise self._out_of_time()
        return left

    def _out_of_time(self) -> BudgetReached:
        return BudgetReached(f"stopped after {self._budget.seconds:g} seconds, the limit of --max-seconds")

    @contextmanager
    def _promise(self, messages: Sequence[Message], limit: int) -> Iterator[None]:
        """Set the call's worst cost aside while it is under way; raise BudgetReached when there is not enough left."""
        if self._budget.tokens is None and self._budget.cost is None:
            yield
            return
        prompt = self.template_tokens + sum(self.tokenizer.count(message.content) for message in messages)
        worst = Usage(prompt_tokens=prompt, completion_tokens=limit)
        total = self.spent + self._promised + worst
        if self._budget.tokens is not None and total.tokens > self._budget.tokens:
            raise BudgetReached(
                f"stopped at {self.spent.tokens} tokens: the next call could pass the limit of "
                f"{self._budget.tokens} (--max-tokens-total)"
            )
        cost = self._budget.price(total.prompt_tokens, total.completion_tokens)
        if self._budget.cost is not None and cost > self._budget.cost:
            raise BudgetReached(f"stopped: the next call could cost more than the limit of {self._budget.cost:g}")
        self._promised += worst
        try:
            yield
        finally:
            self._promised += Usage(prompt_tokens=-prompt, completion_tokens=-limit)
