"""Run a batch: open the documents, say what they would cost, read them side by side, and record what comes of each row.

The questions about one document are read together. The budget holds for the whole batch: the worst cost of every call
is reserved before it is sent. What was answered is on disk row by row, and the same command goes on with the rest.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, Final

from bookwheel.batch.rows import DONE, BatchLedger, BatchRow, RowOutcome, group_rows, make_outcome
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.documents.opening import open_document
from bookwheel.errors import BookwheelError, InputError, ModelError
from bookwheel.journal import Journal, StoredDocument
from bookwheel.models.base import Model
from bookwheel.models.patience import Patience
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import Budget, Plan
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.estimate import CostEstimate
from bookwheel.reading.ways.registry import load_way
from bookwheel.session import Prepared, Session, WayRequest, settle_way
from bookwheel.types import Reading, Status

# Documents that are converted at once, each in a process of its own.
_CONVERSIONS: Final = 2
_WAITING: Final = RowOutcome(status="waiting", error="not read yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How every document of a batch is read."""

    plan: Plan
    address: ModelAddress
    request: WayRequest = field(default_factory=WayRequest)
    everything: bool = False
    ocr: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedGroup:
    """The rows of one document that are still to be read."""

    rows: Sequence[BatchRow]
    document: StoredDocument
    way: str


@dataclass(frozen=True, kw_only=True)
class GroupReader:
    """Opens documents and reads each for all of its questions."""

    session: Session
    journal: Journal
    settings: BatchSettings
    record: Callable[[BatchRow, RowOutcome], None] = lambda _row, _outcome: None
    """Called with each row when its reading begins and when it has ended."""
    begun: Mapping[int, str] = field(default_factory=dict)
    """By their rows' numbers, the ids of readings of earlier runs, which go on."""

    async def open(self, rows: Sequence[BatchRow]) -> OpenedGroup | RowOutcome:
        """Open and store the document of these rows; return why that is not possible as the outcome of all of them."""
        settings, model = self.settings, self.session.model
        opening = partial(open_document, everything=settings.everything, ocr=settings.ocr, is_cached=True)
        work = partial(opening, [rows[0].source])
        try:
            document = await self.session.keep(await run_cancellable(work))
            choice = await settle_way(settings.request, document, rows[0].question, model, settings.plan)
        except (BookwheelError, OSError) as error:
            return RowOutcome(status=str(Status.FAILED), error=str(error))
        return OpenedGroup(rows=rows, document=document, way=choice.way)

    async def estimate(self, group: OpenedGroup) -> CostEstimate | None:
        """Return the cost of one document's rows; None where its first question is refused when it is read."""
        try:
            cost = await self.session.estimate(await self._prepare(group.rows[0], group))
        except BookwheelError:
            return None
        return cost.multiply(len(group.rows))

    async def read(self, group: OpenedGroup) -> None:
        rows, readings = [], []
        for row in group.rows:
            try:
                reading = self._find_begun(row, group)
                if reading is None:
                    (reading,) = (await self._prepare(row, group)).readings
                    await asyncio.to_thread(self.session.begin, [reading])
            except (InputError, ModelError) as error:
                self.record(row, RowOutcome(status=str(Status.FAILED), error=str(error)))
                continue
            readings.append(reading)
            rows.append(row)
            # With the id, a killed batch goes on in the middle of a document.
            self.record(row, RowOutcome(status=str(Status.READING), reading=reading.id))
        prepared = Prepared(readings=readings, document=group.document, way=load_way(group.way))
        try:
            ended = await self.session.read_on(prepared) if readings else []
        except InputError:
            # One of them is refused, which the journal tells; the others have ended.
            ended = [self.journal.reading(reading.id) for reading in readings]
        for row, reading in zip(rows, ended, strict=True):
            self.record(row, make_outcome(reading))

    async def _prepare(self, row: BatchRow, group: OpenedGroup) -> Prepared:
        request = WayRequest(way=group.way)
        return await self.session.prepare(group.document, [row.question], self.settings.plan, request)

    def _find_begun(self, row: BatchRow, group: OpenedGroup) -> Reading | None:
        """Return the reading of an earlier run as it goes on; None where it was deleted or has its answer."""
        id_ = self.begun.get(row.number, "")
        try:
            old = self.journal.reading(id_) if id_ else None
        except BookwheelError:
            return None
        if old is None or (old.document.id, old.way) != (group.document.id, group.way):
            return None
        budget = self.settings.plan.budget
        prices = {"price_in": budget.price_in, "price_out": budget.price_out}
        return None if old.status is Status.ANSWERED else self.session.renew(old, prices).readings[0]


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
    watch: Callable[[BatchRow, RowOutcome], None] = lambda _row, _outcome: None
    groups: list[OpenedGroup] = field(default_factory=list)

    @cached_property
    def fingerprint(self) -> str:
        """What changes every answer: model, way and plan. The budget does not."""
        plan = {name: value for name, value in self.settings.plan.to_json().items() if name != "budget"}
        address = self.settings.address
        return json.dumps([address.model, address.url, self.settings.request.name, plan], sort_keys=True, default=str)

    def find_outcome(self, row: BatchRow) -> RowOutcome:
        return self.ledger.outcomes.get(row.make_key(self.fingerprint), _WAITING)

    def list_open(self) -> list[BatchRow]:
        return [row for row in self.rows if self.find_outcome(row).status not in DONE]

    def record(self, row: BatchRow, outcome: RowOutcome) -> None:
        self.ledger.add(row.make_key(self.fingerprint), outcome)
        self.watch(row, outcome)

    def build_table(self) -> list[dict[str, Any]]:
        """Return the table's rows with what came of each; a column of its own by such a name is "NAME (given)"."""
        table = []
        for row in self.rows:
            found = asdict(self.find_outcome(row))
            given = {f"{name} (given)" if name in found else name: value for name, value in row.given.items()}
            table.append({**given, **found})
        return table

    def _reader(self, model: Model, patience: Patience | None = None, **more: Any) -> GroupReader:
        session = Session(
            model=model, journal=self.journal, address=self.settings.address, patience=patience or Patience()
        )
        return GroupReader(session=session, journal=self.journal, settings=self.settings, **more)

    async def open_documents(self, model: Model) -> None:
        """Open the documents of all open rows; one that cannot be opened is the outcome of its rows."""
        places, reader = asyncio.Semaphore(_CONVERSIONS), self._reader(model)

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

    async def estimate(self, model: Model) -> BatchEstimate:
        """Return the most that the opened documents can cost."""
        reader = self._reader(model)
        costs = [cost for group in self.groups if (cost := await reader.estimate(group))]
        return BatchEstimate(
            documents=len(self.groups),
            rows=sum(len(group.rows) for group in self.groups),
            calls=sum(cost.calls for cost in costs),
            prompt_tokens=sum(cost.prompt_tokens for cost in costs),
            completion_tokens=sum(cost.completion_tokens for cost in costs),
            cost=sum(cost.cost for cost in costs),
            exact=all(cost.exact for cost in costs),
        )

    async def read(self, model: Model, budget: Budget, patience: Patience, *, side_by_side: int) -> None:
        places = asyncio.Semaphore(side_by_side)
        begun = {row.number: self.find_outcome(row).reading for row in self.list_open()}
        reader = self._reader(BudgetedModel(model, budget), patience, record=self.record, begun=begun)

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
