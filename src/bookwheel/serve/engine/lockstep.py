"""Several questions about one document in a server: a reading for each, started together and read in lockstep.

Each reading has its own id, events, budget and end: it can be cancelled, resumed, edited and deleted by itself. They
share the opening of the document, their client's turn in the queue and, with an Idempotency-Key, the request. After a
restart those that are still open go on in lockstep.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from bookwheel.reading.several import Lockstep
from bookwheel.reading.ways.registry import load_way
from bookwheel.serve.engine.running_reading import ReadingRequest
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.journal import StoredDocument
    from bookwheel.serve.engine.reading_pool import ReadingPool
    from bookwheel.serve.engine.running_reading import DocumentOpener, RunningReading
    from bookwheel.serve.engine.service import Caller, ReadingSpec, Service
    from bookwheel.types import Reading


def open_once(open_document: DocumentOpener) -> DocumentOpener:
    """Return an opener for several readings: the document is opened once, as long as any of them wants it."""
    opening: asyncio.Task[StoredDocument] | None = None
    waiting = 0

    async def open_shared() -> StoredDocument:
        nonlocal opening, waiting
        opening = opening or asyncio.create_task(open_document())
        waiting += 1
        try:
            # One reading that is cancelled must not take the document from the others.
            return await asyncio.shield(opening)
        finally:
            waiting -= 1
            if not waiting:
                opening.cancel()

    return open_shared


def join_requests(requests: Sequence[ReadingRequest], leader: str = "") -> list[ReadingRequest]:
    """Return the requests in one lockstep, or a request by itself as it is."""
    if len(requests) < 2:  # noqa: PLR2004
        return list(requests)
    lockstep = Lockstep.for_way(load_way(requests[0].reading.way))
    # Before any of them reads, or the first one would be ahead.
    for member, request in enumerate(requests):
        lockstep.join(member, len(request.reading.steps))
    leader = leader or requests[0].reading.id
    return [
        replace(request, lockstep=lockstep, member=member, leader=leader) for member, request in enumerate(requests)
    ]


async def start_several(
    service: Service,
    spec: ReadingSpec,
    questions: Sequence[str],
    open_document: DocumentOpener,
    caller: Caller,
    *,
    survives_restart: bool = True,
) -> list[RunningReading]:
    """Start a reading for each question; nothing is started unless all of them can be."""
    opener = open_once(open_document)
    requests = [
        await service.prepare(replace(spec, question=question), opener, caller, survives_restart=survives_restart)
        for question in questions
    ]
    return _start_together(service.readings, requests, caller.key_name)


async def start_or_find_several(
    service: Service, spec: ReadingSpec, questions: Sequence[str], open_document: DocumentOpener, caller: Caller
) -> list[tuple[RunningReading | None, Reading]]:
    """Start readings, or find those that this Idempotency-Key started; None where one has its answer."""
    async with service.hold_request(caller):
        opener = open_once(open_document)
        planned: list[ReadingRequest | Reading] = []
        for number, question in enumerate(questions):
            member = _name_member(caller, number)
            old = await service.find_started(member)
            if old is None:
                planned.append(await service.prepare(replace(spec, question=question), opener, member))
            elif old.status is Status.ANSWERED:
                planned.append(old)
            else:
                # The same request gets no second budget.
                planned.append(service.prepare_next(old, member, counted=old.usage))
        requests = [one for one in planned if isinstance(one, ReadingRequest)]
        running = _start_together(service.readings, requests, caller.key_name)
        begun = {one.reading.id: (one, await one.wait_until_started()) for one in running}
        return [begun[one.reading.id] if isinstance(one, ReadingRequest) else (None, one) for one in planned]


def _name_member(caller: Caller, number: int) -> Caller:
    """Return the caller of one of several readings: one Idempotency-Key stands for all of them."""
    if caller.idempotency_key is None or not number:
        return caller
    # No header can hold a line break, so no client's own key is the same.
    return replace(caller, idempotency_key=f"{caller.idempotency_key}\n{number}")


def _start_together(readings: ReadingPool, requests: Sequence[ReadingRequest], key_name: str) -> list[RunningReading]:
    """Start all or none. Nothing is awaited in between, so nobody else can take a place."""
    # Those under way, where a request was sent twice, have their own lockstep.
    fresh = [request for request in requests if readings.get_running(request.reading.id) is None]
    readings.check_capacity(key_name, len(fresh))
    joined = {request.reading.id: request for request in join_requests(fresh)}
    return [readings.start(joined.get(request.reading.id, request)) for request in requests]
