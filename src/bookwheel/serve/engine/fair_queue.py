"""A queue for a shared model: waiting calls are served round robin among clients, however many calls each one has."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from bookwheel.serve.engine.errors import too_many_requests

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_SECONDS_TO_RETRY: Final = 5


class FairQueue:
    """A semaphore that admits waiting clients in turn."""

    def __init__(self, slots: int, *, most_waiting: int) -> None:
        self.waiting = 0
        self._free = slots
        self._most_waiting = most_waiting
        # Ordered by last turn: the client at the front has waited longest since it was served.
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def check_capacity(self) -> None:
        """Raise a 429 while too many calls wait."""
        # Only new requests are checked. A reading that has started waits as long as it takes.
        if self.waiting >= self._most_waiting:
            raise too_many_requests(
                f"{self.waiting} calls wait for the model already; try again in a moment", _SECONDS_TO_RETRY
            )

    @asynccontextmanager
    async def slot(self, client: str) -> AsyncGenerator[None]:
        """Hold one of the slots."""
        await self.acquire(client)
        try:
            yield
        finally:
            self.release()

    async def acquire(self, client: str) -> None:
        """Wait for a slot; the caller must release it."""
        if self._free > 0:
            self._free -= 1
            return
        grant = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(grant)
        self.waiting += 1
        try:
            await grant
        except asyncio.CancelledError:
            # The slot may have been granted just before the cancellation; pass it on, or it is lost.
            if grant.done() and not grant.cancelled():
                self.release()
            raise
        finally:
            self.waiting -= 1

    def release(self) -> None:
        """Give the slot to the client that has waited longest since its last turn."""
        while self._queues:
            client, queue = self._queues.popitem(last=False)
            grant = queue.popleft()
            if queue:
                self._queues[client] = queue
            if not grant.done():
                grant.set_result(None)
                return
        self._free += 1
