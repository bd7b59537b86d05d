"""Batches of rollouts, one for each step; with staleness they are begun some steps ahead.

    staleness 0    begin 0 | train 0 | begin 1 | train 1 | ...          rollouts come from the newest weights
    staleness 1    begin 0, 1 | train 0 while 1 is sampled | begin 2 | train 1 while 2 is sampled | ...

Batch s is begun after step s - 1 - staleness at the earliest, so its weights are at most `staleness` steps old. The
loss corrects for the rest: old log-probabilities are the trainer's, and w_t compares them with the sampler's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from bookwheel.lab.training.rollouts import RolloutBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A batch in the making."""

    step: int
    """Steps done when it was begun."""
    cursor: int
    """Samples drawn before it."""
    task: asyncio.Task[RolloutBatch]


class BatchPipeline:
    """Begins batches ahead of the steps that need them."""

    def __init__(
        self, collect: Callable[[], Coroutine[Any, Any, RolloutBatch]], *, staleness: int, cursor: Callable[[], int]
    ) -> None:
        self._collect = collect
        self._staleness = staleness
        self._cursor = cursor
        self._begun: deque[_Begun] = deque()

    async def next_batch(self, step: int, last: int) -> tuple[RolloutBatch, int]:
        """Return the batch of a step and how many steps old its weights are; begin none of steps after `last`."""
        while len(self._begun) <= min(self._staleness, last - 1 - step):
            task = asyncio.create_task(self._collect())
            self._begun.append(_Begun(step=step, cursor=self._cursor(), task=task))
            # The task draws its first samples now, before the next one does.
            await asyncio.sleep(0)
        begun = self._begun.popleft()
        return await begun.task, step - begun.step

    def resume_cursor(self) -> int:
        """Return the samples drawn before the oldest batch under way: a resumed run draws it anew."""
        return self._begun[0].cursor if self._begun else self._cursor()

    async def cancel(self) -> None:
        """Stop what is in the making."""
        tasks = [begun.task for begun in self._begun]
        self._begun.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
