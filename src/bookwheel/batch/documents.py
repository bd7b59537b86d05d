"""The questions of a batch about one document: opened once, then read together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from bookwheel.batch.rows import RowOutcome, make_outcome
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.documents.opening import open_document
from bookwheel.errors import BookwheelError, InputError
from bookwheel.reading.ways.registry import load_way
from bookwheel.session import Session, WayRequest, make_reading, settle_way
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bookwheel.batch.rows import BatchRow
    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.registry import ModelAddress
    from bookwheel.plan import Plan
    from bookwheel.types import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How every document of a batch is read."""

    plan: Plan
    address: ModelAddress
    request: WayRequest = field(default_factory=WayRequest)
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedGroup:
    """The rows of one document that are still to be read."""

    rows: Sequence[BatchRow]
    document: StoredDocument
    way: str


def ignore_outcome(_row: BatchRow, _outcome: RowOutcome) -> None:
    """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class GroupReader:
    """Opens documents and reads each for all of its questions."""

    session: Session
    settings: BatchSettings
    record: Callable[[BatchRow, RowOutcome], None] = ignore_outcome
    """Called with each row when its reading begins and when it has ended."""
    begun: Mapping[int, str] = field(default_factory=dict)
    """By their rows' numbers, the ids of readings of earlier runs, which go on."""

    async def open(self, rows: Sequence[BatchRow]) -> OpenedGroup | RowOutcome:
        """Open and store the document of these rows; return why that is not possible as the outcome of all of them."""
        try:
            opened = await run_cancellable(
                partial(open_document, [rows[0].source], everything=self.settings.everything, is_cached=True)
            )
            document = await self.session.keep(opened)
            settings = self.settings
            choice = await settle_way(settings.request, document, rows[0].question, self.session.model, settings.plan)
        except (BookwheelError, OSError) as error:
            return RowOutcome(status=str(Status.FAILED), error=str(error))
        return OpenedGroup(rows=rows, document=document, way=choice.way)

    async def read(self, group: OpenedGroup) -> None:
        """Read the document for all questions of its rows, and record each outcome."""
        rows, readings = [], []
        for row in group.rows:
            try:
                reading = await self._begin(row, group)
            except BookwheelError as error:
                self.record(row, RowOutcome(status=str(Status.FAILED), error=str(error)))
                continue
            readings.append(reading)
            rows.append(row)
            # With the id, a killed batch goes on in the middle of a document.
            self.record(row, RowOutcome(status=str(Status.READING), reading=reading.id))
        try:
            ended = await self.session.read_on(readings, group.document, load_way(group.way)) if readings else []
        except InputError:
            # One of them is refused, which the journal tells; the others have ended.
            ended = [self._journal.reading(reading.id) for reading in readings]
        for row, reading in zip(rows, ended, strict=True):
            self.record(row, make_outcome(reading))

    async def _begin(self, row: BatchRow, group: OpenedGroup) -> Reading:
        """Return the reading of an earlier run that goes on, or a new one, which the journal has."""
        plan = self.settings.plan
        old = self._find(self.begun.get(row.number, ""))
        if old and old.document.id == group.document.id and old.way == group.way:
            return replace(
                old, status=Status.READING, error="", error_kind="", plan=replace(old.plan, budget=plan.budget)
            )
        reading = await make_reading(group.document.info, row.question, self.session.model, plan, group.way)
        await asyncio.to_thread(self.session.begin, [reading])
        return reading

    def _find(self, id_: str) -> Reading | None:
        """Return a reading that can go on; None where it was deleted or has its answer."""
        try:
            reading = self._journal.reading(id_) if id_ else None
        except BookwheelError:
            return None
        return None if reading is None or reading.status is Status.ANSWERED else reading

    @property
    def _journal(self) -> Journal:
        assert self.session.journal is not None
        return self.session.journal
