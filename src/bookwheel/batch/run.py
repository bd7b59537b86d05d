"""Run a batch: open the documents, say what they would cost, read them side by side, and write the table.

The budget holds for the whole batch: the worst cost of every call is reserved before it is sent. What was answered is
on disk row by row, and the same command goes on with the rest.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from bookwheel.batch.documents import GroupReader, OpenedGroup, ignore_outcome
from bookwheel.batch.rows import DONE, RowOutcome, group_rows
from bookwheel.errors import BookwheelError
from bookwheel.models.patience import Patience
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.ways.registry import estimate_reading
from bookwheel.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bookwheel.batch.documents import BatchSettings
    from bookwheel.batch.ledger import BatchLedger
    from bookwheel.batch.rows import BatchRow
    from bookwheel.journal import Journal
    from bookwheel.models.base import Model
    from bookwheel.plan import Budget
    from bookwheel.reading.estimate import CostEstimate

# Documents that are converted at once, each in a process of its own.
_CONVERSIONS: Final = 2
_WAITING: Final = RowOutcome(status="waiting", error="not read yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEstimate:
    """What the rows that are still to be read may cost."""

    documents: int
    rows: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    exact: bool


@dataclass(kw_only=True)
class BatchRun:
    """The rows of one batch and how far they have come."""

    rows: Sequence[BatchRow]
    ledger: BatchLedger
    settings: BatchSettings
    journal: Journal
    watch: Callable[[BatchRow, RowOutcome], None] = ignore_outcome
    groups: list[OpenedGroup] = field(default_factory=list)

    @cached_property
    def fingerprint(self) -> str:
        """What changes every answer: model, way and plan. The budget does not."""
        plan = {name: value for name, value in self.settings.plan.to_json().items() if name != "budget"}
        address = self.settings.address
        return json.dumps([address.model, address.url, self.settings.request.name, plan], sort_keys=True, default=str)

    def find_outcome(self, row: BatchRow) -> RowOutcome:
        """Return what came of a row so far."""
        return self.ledger.outcomes.get(row.make_key(self.fingerprint), _WAITING)

    def list_open(self) -> list[BatchRow]:
        """Return the rows that are still to be read."""
        return [row for row in self.rows if self.find_outcome(row).status not in DONE]

    def record(self, row: BatchRow, outcome: RowOutcome) -> None:
        """Keep what came of a row, and show it."""
        self.ledger.add(row.make_key(self.fingerprint), outcome)
        self.watch(row, outcome)

    def build_table(self) -> list[dict[str, Any]]:
        """Return the given columns and the outcome of every row."""
        return [{**row.given, **self.find_outcome(row).to_json()} for row in self.rows]

    async def open_documents(self, model: Model) -> None:
        """Open the documents of all open rows; one that cannot be opened is the outcome of its rows."""
        places = asyncio.Semaphore(_CONVERSIONS)
        reader = GroupReader(session=self._open_session(model), settings=self.settings)

        async def open_one(rows: Sequence[BatchRow]) -> None:
            async with places:
                opened = await reader.open(rows)
            if isinstance(opened, OpenedGroup):
                self.groups.append(opened)
                return
            for row in rows:
                self.record(row, opened)

        await _gather([open_one(rows) for rows in group_rows(self.list_open())])
        self.groups.sort(key=lambda group: group.rows[0].number)

    def _open_session(self, model: Model, patience: Patience | None = None) -> Session:
        address = self.settings.address
        return Session(model=model, journal=self.journal, address=address, patience=patience or Patience())

    async def estimate(self, model: Model) -> BatchEstimate:
        """Return the most that the opened documents can cost."""
        costs = [cost for group in self.groups if (cost := await self._estimate(group, model))]
        return BatchEstimate(
            documents=len(self.groups),
            rows=sum(len(group.rows) for group in self.groups),
            calls=sum(cost.calls for cost in costs),
            prompt_tokens=sum(cost.prompt_tokens for cost in costs),
            completion_tokens=sum(cost.completion_tokens for cost in costs),
            cost=sum(cost.cost for cost in costs),
            exact=all(cost.exact for cost in costs),
        )

    async def _estimate(self, group: OpenedGroup, model: Model) -> CostEstimate | None:
        """Return the cost of one document's rows; None where its first question is refused when it is read."""
        question, plan = group.rows[0].question, self.settings.plan
        try:
            cost = await estimate_reading(group.document, question, model, plan, group.way)
        except BookwheelError:
            return None
        return cost.multiply(len(group.rows))

    async def read(self, model: Model, budget: Budget, patience: Patience, *, side_by_side: int) -> None:
        """Read every opened document, so many side by side, within the budget."""
        places = asyncio.Semaphore(side_by_side)
        outcomes = {row.number: self.find_outcome(row) for row in self.list_open()}
        reader = GroupReader(
            session=self._open_session(BudgetedModel(model, budget), patience),
            settings=self.settings,
            record=self.record,
            begun={number: outcome.reading for number, outcome in outcomes.items()},
        )

        async def read_one(group: OpenedGroup) -> None:
            async with places:
                await reader.read(group)

        await _gather([read_one(group) for group in self.groups])


async def _gather(work: Iterable[Any]) -> None:
    """Run all of them; the first error is raised when the others have ended."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
