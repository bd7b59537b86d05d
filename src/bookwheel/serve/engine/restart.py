"""Go on with readings when the server starts.

Those that the last server's end interrupted go on. So do those of the last week that failed because their model could
not be reached: today a reading of the server waits for its model, but an older server stored such failures as an end.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from bookwheel.errors import BookwheelError, JournalError
from bookwheel.journal.listing import list_rows
from bookwheel.models.sdk_errors import is_passing_message
from bookwheel.serve.engine.lockstep import join_requests
from bookwheel.serve.engine.running_reading import ReadingRequest
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.types import Reading, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.serve.engine.service import Service

# Nobody wants to pay today for what failed a month ago.
_PICKED_UP: Final = timedelta(days=7)

_log: Final = logging.getLogger(__name__)


async def continue_readings(service: Service, apply_limits: Callable[[Reading], Reading]) -> int:
    """Continue the readings that are to go on; return how many."""
    failed = list[UsageEntry]()
    try:
        failed = await asyncio.to_thread(_list_failed, service)
    except JournalError as error:
        _log.warning("failed readings were not looked for: %s", error)
    groups: dict[str, list[ReadingRequest]] = {}
    for entry in [*await asyncio.to_thread(service.usage.list_open), *failed]:
        try:
            request = await _request_again(service, entry, apply_limits)
        except BookwheelError as error:
            _log_failure(entry.id, error)
        else:
            if request:
                groups.setdefault(entry.leader or entry.id, []).append(request)
    return sum([await _start_again(service, leader, requests) for leader, requests in groups.items()])


async def _start_again(service: Service, leader: str, requests: Sequence[ReadingRequest]) -> int:
    """Start readings, those of several questions in lockstep again."""
    try:
        joined = join_requests(requests, leader)
    except BookwheelError as error:  # the way was of a package that is gone
        _log_failure(leader, error)
        return 0
    count = 0
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
    rows = list_rows(service.journal.path)
    failed = [row.id for row in rows if row.status == Status.FAILED and row.created >= since]
    passing = {row.id for row in rows if is_passing_message(row.outcome)}
    return service.usage.list_ended([id_ for id_ in failed if id_ in passing])


async def _request_again(
    service: Service, entry: UsageEntry, apply_limits: Callable[[Reading], Reading]
) -> ReadingRequest | None:
    """Return the request that continues a reading; None where it cannot go on here."""
    try:
        reading = await asyncio.to_thread(service.journal.reading, entry.id)
    except JournalError:
        await asyncio.to_thread(service.usage.delete_reading, entry.id)
        return None
    is_unfinished = reading.status is Status.READING or (reading.status is Status.FAILED and not entry.is_open)
    if not is_unfinished or reading.model not in service.models:
        await asyncio.to_thread(service.usage.set_ended, entry.id)
        return None
    return ReadingRequest(
        reading=apply_limits(reading),
        open_document=service.readings.document_opener(entry.id),
        is_stored=True,
        # The same run goes on, so it gets no second budget.
        counted=reading.usage,
        key_name=entry.key_name,
        quota=service.quota(service.keys.find_by_name(entry.key_name)),
        idempotency_key=entry.idempotency_key,
        fingerprint=entry.fingerprint,
    )
