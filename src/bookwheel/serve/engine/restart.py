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
from bookwheel.serve.engine.running_reading import ReadingRequest
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.types import Reading, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.serve.engine.service import Service

# Nobody wants to pay today for what failed a month ago.
_PICKED_UP: Final = timedelta(days=7)

_log: Final = logging.getLogger(__name__)


async def continue_readings(service: Service, apply_limits: Callable[[Reading], Reading]) -> int:
    """Continue the readings that are to go on; return how many."""
    count, failed = 0, list[UsageEntry]()
    try:
        failed = await asyncio.to_thread(_list_failed, service)
    except JournalError as error:
        _log.warning("failed readings were not looked for: %s", error)
    for entry in [*await asyncio.to_thread(service.usage.list_open), *failed]:
        try:
            count += await _continue_reading(service, entry, apply_limits)
        except BookwheelError as error:
            _log.warning("reading %s was not continued: %s", entry.id, error)
    return count


def _list_failed(service: Service) -> list[UsageEntry]:
    """Return the server's readings of the last days that failed for a passing reason, oldest first."""
    since = (datetime.now(UTC) - _PICKED_UP).isoformat(timespec="seconds")
    rows = list_rows(service.journal.path)
    failed = [row.id for row in rows if row.status == Status.FAILED and row.created >= since]
    passing = {row.id for row in rows if is_passing_message(row.outcome)}
    return service.usage.list_ended([id_ for id_ in failed if id_ in passing])


async def _continue_reading(service: Service, entry: UsageEntry, apply_limits: Callable[[Reading], Reading]) -> bool:
    try:
        reading = await asyncio.to_thread(service.journal.reading, entry.id)
    except JournalError:
        await asyncio.to_thread(service.usage.delete_reading, entry.id)
        return False
    is_unfinished = reading.status is Status.READING or (reading.status is Status.FAILED and not entry.is_open)
    if not is_unfinished or reading.model not in service.models:
        await asyncio.to_thread(service.usage.set_ended, entry.id)
        return False
    request = ReadingRequest(
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
    await service.readings.start(request).wait_until_started()
    return True
