"""Sharing one model: calls take turns, one asker after the other, however many calls each of them has waiting."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bookwheel.serve.engine.errors import too_many_requests

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class FairQueue:
    """So many calls at once; those that wait are served round robin among their owners."""

    def __init__(self, at_once: int, *, most_waiting: int) -> None:
        self.waiting = 0
        self._free = at_once
        self._most_waiting = most_waiting
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def check(self) -> None:
        """Decline (429) what comes from outside while too much waits; a reading that began is never turned away."""
        if self.waiting >= self._most_waiting:
            raise too_many_requests(f"{self.waiting} calls wait for the model already; try again in a moment", 5)

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncGenerator[None]:
        """Hold one of the places."""
        await self.take(owner)
        try:
            yield
        finally:
            self.give()

    async def take(self, owner: str) -> None:
        """Wait for a place; whoever has it gives it back."""
        if self._free > 0:
            self._free -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._queues.setdefault(owner, deque()).append(place)
        self.waiting += 1
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.give()
            raise
        finally:
            self.waiting -= 1

    def give(self) -> None:
        """Hand the place to the owner who has waited longest since its last turn."""
        while self._queues:
            owner, queue = self._queues.popitem(last=False)
            place = queue.popleft()
            if queue:
                self._queues[owner] = queue
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
