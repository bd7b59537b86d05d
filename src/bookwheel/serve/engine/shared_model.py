"""The server's model as one reading sees it: its calls wait in the queue and count against its key's quota."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from bookwheel.models.base import ModelWrapper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Sampling
    from bookwheel.serve.engine.fair_queue import FairQueue
    from bookwheel.serve.engine.keys import TokenQuota
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.types import Message, Reply


class SharedModel(ModelWrapper):
    """A model that can be called from any event loop; `loop` is the one that its connections belong to."""

    def __init__(
        self,
        model: Model,
        *,
        queue: FairQueue,
        client: str,
        loop: asyncio.AbstractEventLoop,
        metrics: Metrics,
        quota: TokenQuota | None = None,
    ) -> None:
        super().__init__(model)
        self._queue = queue
        self._client = client
        self._loop = loop
        self._metrics = metrics
        self._quota = quota

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Return the model's reply. Raise BudgetReached when the quota does not cover the longest one."""
        most = limit
        # Counted here and not in the model's loop: a server's tokenizer waits for the network.
        if self._quota:
            most += self.template_tokens + sum(self.tokenizer.count(message.content) for message in messages)
        call = self._call(messages, limit, sampling, most)
        if asyncio.get_running_loop() is self._loop:
            return await call
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    async def aclose(self) -> None:
        """Do nothing: the model belongs to the server."""

    async def _call(self, messages: Sequence[Message], limit: int, sampling: Sampling, most: int) -> Reply:
        start = time.perf_counter()
        # Reserved before the wait, so that calls side by side cannot pass the quota together.
        with self._quota.reserve(most) if self._quota else nullcontext():
            async with self._queue.slot(self._client):
                reply = await self._model.reply(messages, limit=limit, sampling=sampling)
            self._metrics.count_call(self.name, reply.usage, time.perf_counter() - start)
            if self._quota:
                await self._quota.settle(reply.usage.tokens)
        return reply
