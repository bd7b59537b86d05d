"""Start readings: of new requests, of requests that were sent before, and those that the last server left.

Several questions about one document have a reading each, started together and read in lockstep. Each reading has its
own id, events, budget and end: it can be cancelled, resumed, edited and deleted by itself. They share the opening of
the document, their client's turn in the queue and, with an Idempotency-Key, the request. After a restart those that
are still open go on in lockstep.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from bookwheel.errors import BookwheelError, JournalError, is_passing_kind
from bookwheel.journal import StoredDocument
from bookwheel.journal.listing import list_rows
from bookwheel.reading.several import Lockstep
from bookwheel.reading.ways.registry import load_way
from bookwheel.serve.engine.access import Key
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.reading_pool import ReadingPool
from bookwheel.serve.engine.running_reading import Caller, DocumentOpener, ReadingRequest, RunningReading
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.engine.tables import complete_question
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.types import Reading, Status

_LONGEST_IDEMPOTENCY_KEY: Final = 255
# Failed readings that are tried again: nobody wants to pay today for what failed a month ago.
_PICKED_UP: Final = timedelta(days=7)

_log: Final = logging.getLogger(__name__)


async def start_readings(
    service: Service, spec: ReadingSpec, questions: Sequence[str], open_document: DocumentOpener, caller: Caller
) -> list[RunningReading]:
    """Start a reading for each question, before its document is open; start none unless all of them can be."""
    opener = _open_once(open_document, questions)
    completed = [await complete_question(service, caller.key, spec, question) for question in questions]
    requests = [await service.prepare(spec, question, opener, caller, spent) for question, spent in completed]
    return _start_together(service.readings, requests, caller.key_name)


async def start_or_find(
    service: Service, spec: ReadingSpec, questions: Sequence[str], open_document: DocumentOpener, caller: Caller
) -> list[tuple[RunningReading | None, Reading]]:
    """Start readings, or find those that this Idempotency-Key started; None where one has its answer."""
    async with _hold_request(service, caller):
        opener = _open_once(open_document, questions)
        planned: list[ReadingRequest | Reading] = []
        for number, question in enumerate(questions):
            member = caller
            if caller.idempotency_key is not None and number:
                # One key stands for all. No header can hold a line break, so no client's own key is the same.
                member = replace(caller, idempotency_key=f"{caller.idempotency_key}\n{number}")
            old = await _find_started(service, member)
            if old is None:
                completed, spent = await complete_question(service, caller.key, spec, question)
                planned.append(await service.prepare(spec, completed, opener, member, spent))
            elif old.status is Status.ANSWERED:
                planned.append(old)
            else:
                # The same request gets no second budget.
                planned.append(service.prepare_next(old, member, old.usage))
        requests = [one for one in planned if isinstance(one, ReadingRequest)]
        running = _start_together(service.readings, requests, caller.key_name)
        begun = {one.reading.id: (one, await service.wait_until_started(one)) for one in running}
        return [begun[one.reading.id] if isinstance(one, ReadingRequest) else (None, one) for one in planned]


@asynccontextmanager
async def _hold_request(service: Service, caller: Caller) -> AsyncGenerator[None]:
    """Let the same request, by its Idempotency-Key, wait until this one has started its readings."""
    key = caller.idempotency_key
    if key is None:
        yield
        return
    if not 0 < len(key) <= _LONGEST_IDEMPOTENCY_KEY:
        raise ApiError(400, f"an Idempotency-Key has 1 to {_LONGEST_IDEMPOTENCY_KEY} characters")
    async with service.request_locks.setdefault((caller.key_name, key), asyncio.Lock()):
        yield


async def _find_started(service: Service, caller: Caller) -> Reading | None:
    """Return the reading that the Idempotency-Key started. Raise a 422 when that was another request's."""
    if caller.idempotency_key is None:
        return None
    entry = await asyncio.to_thread(service.usage.find_reading, caller.key_name, caller.idempotency_key)
    if entry is None:
        return None
    # One that is just being interrupted would be taken for one under way, and its end for the answer.
    if (running := service.readings.get_running(entry.id)) and running.is_interrupted:
        await running.done.wait()
    try:
        reading = await service.get_reading(entry.id, caller.key)
    except ApiError:  # the server was killed between the entry and the journal
        await asyncio.to_thread(service.usage.delete_reading, entry.id)
        return None
    if entry.fingerprint != caller.fingerprint:
        message = "this Idempotency-Key was used for another request; take a new one"
        raise ApiError(422, message, kind="idempotency_key_reused")
    return reading


def _open_once(open_document: DocumentOpener, questions: Sequence[str]) -> DocumentOpener:
    """Return an opener for the readings of these questions: it opens once, as long as any of them wants it."""
    if len(questions) == 1:
        return open_document
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


def _join_requests(requests: Sequence[ReadingRequest], leader: str = "") -> list[ReadingRequest]:
    """Return the requests in one lockstep, or a request by itself as it is."""
    if len(requests) < 2:  # noqa: PLR2004
        return list(requests)
    lockstep = Lockstep.of([request.reading for request in requests], load_way(requests[0].reading.way))
    leader = leader or requests[0].reading.id
    return [
        replace(request, lockstep=lockstep, member=member, leader=leader) for member, request in enumerate(requests)
    ]


def _start_together(readings: ReadingPool, requests: Sequence[ReadingRequest], key_name: str) -> list[RunningReading]:
    """Start all or none. Nothing is awaited in between, so nobody else can take a place."""
    # Those under way, where a request was sent twice, have their own lockstep.
    fresh = [request for request in requests if readings.get_running(request.reading.id) is None]
    readings.check_capacity(key_name, len(fresh))
    joined = {request.reading.id: request for request in _join_requests(fresh)}
    return [readings.start(joined.get(request.reading.id, request)) for request in requests]


async def continue_readings(service: Service) -> int:
    """Continue the readings that the last server left when it ended; return how many.

    So do those of the last week that failed because their journal could not be used, or their model not be reached:
    today a reading of the server waits for its model, but an older server stored such failures as an end.
    """
    failed: list[UsageEntry] = []
    try:
        failed = await asyncio.to_thread(_list_failed, service)
    except JournalError as error:
        _log.warning("failed readings were not looked for: %s", error)
    groups: dict[str, list[ReadingRequest]] = {}
    for entry in [*await asyncio.to_thread(service.usage.list_open), *failed]:
        try:
            request = await _request_again(service, entry)
        except BookwheelError as error:
            _log_failure(entry.id, error)
        else:
            if request:
                groups.setdefault(entry.leader or entry.id, []).append(request)
    count = 0
    for leader, requests in groups.items():
        try:
            joined = _join_requests(requests, leader)
        except BookwheelError as error:  # the way was of a package that is gone
            _log_failure(leader, error)
            continue
        for request in joined:
            try:
                await service.readings.start(request).wait_until_started()
                count += 1
            except BookwheelError as error:
                await service.readings.leave_lockstep(request)
                _log_failure(request.reading.id, error)
    return count


def _log_failure(id_: str, error: BookwheelError) -> None:
    _log.warning("reading %s was not continued: %s", id_, error)


def _list_failed(service: Service) -> list[UsageEntry]:
    """Return the server's readings of the last days that failed for a passing reason, oldest first."""
    since = (datetime.now(UTC) - _PICKED_UP).isoformat(timespec="seconds")
    rows = [row for row in list_rows(service.journal.path) if row.status == Status.FAILED and row.created >= since]
    return service.usage.list_ended([row.id for row in rows if is_passing_kind(row.error_kind)])


async def _request_again(service: Service, entry: UsageEntry) -> ReadingRequest | None:
    """Return the request that continues a reading; None where it cannot go on here."""
    if not await asyncio.to_thread(service.journal.match_ids, entry.id):
        await asyncio.to_thread(service.usage.delete_reading, entry.id)
        return None
    reading = await asyncio.to_thread(service.journal.reading, entry.id)
    may_pass = not entry.is_open or is_passing_kind(reading.error_kind)
    is_unfinished = reading.status is Status.READING or (reading.status is Status.FAILED and may_pass)
    if not is_unfinished or reading.model not in service.models:
        await asyncio.to_thread(service.usage.set_ended, entry.id)
        return None
    key = service.keys.find_by_name(entry.key_name)
    if key is None and entry.key_name:  # it was taken out of the key file
        key = Key(name=entry.key_name, sha256="")
    caller = Caller(key=key, idempotency_key=entry.idempotency_key, fingerprint=entry.fingerprint)
    # The same run goes on, so it gets no second budget.
    return service.prepare_next(reading, caller, reading.usage)
