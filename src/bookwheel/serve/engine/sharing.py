"""What clients share: turns in a queue, round robin, and the model as one reading sees it, within its key's quota."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bookwheel.errors import ModelError
from bookwheel.models.base import REPLY_WATCHER, Embeddings, Judgement, Likelihood, ModelWrapper, most_scored_tokens
from bookwheel.reading.budget import lost_usage, texts_to_messages, worst_usage
from bookwheel.serve.engine.errors import too_many_requests
from bookwheel.types import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence

    from bookwheel.models.base import Ability, Model
    from bookwheel.plan import Sampling
    from bookwheel.serve.engine.access import TokenQuota
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.serve.engine.running_reading import CallKind, RunningReading
    from bookwheel.types import Message

_T = TypeVar("_T", Reply, Judgement, Likelihood, Embeddings)
_R = TypeVar("_R")
_SECONDS_TO_RETRY: Final = 5


class FairQueue:
    """A semaphore that admits waiting clients in turn, however many calls each one has."""

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
        running: RunningReading | None = None,
    ) -> None:
        super().__init__(model)
        self._queue = queue
        self._client = client
        self._loop = loop
        self._metrics = metrics
        self._quota = quota
        self._running = running

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Return the model's reply. Raise BudgetReached when the quota does not cover the longest one."""
        call = partial(self._model.reply, messages, limit=limit, sampling=sampling)
        return await self._spend(messages, limit, self._shown("reply", call))

    async def abilities(self) -> frozenset[Ability]:
        """Return the model's abilities."""
        return await self._run(super().abilities())

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        """Return the model's judgement, within the quota."""
        return await self._spend(messages, 1, self._shown("judge", partial(super().judge, messages, options)))

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Return the likelihood of the continuation, within the quota."""
        limit = most_scored_tokens(self.tokenizer, continuation)
        call = partial(super().likelihood, messages, continuation)
        return await self._spend(messages, limit, self._shown("likelihood", call))

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return embeddings of texts, within the quota."""
        return await self._spend(texts_to_messages(texts), 0, lambda: super(SharedModel, self).embed(texts))

    def _shown(self, kind: CallKind, call: Callable[[], Awaitable[_T]]) -> Callable[[], Awaitable[_T]]:
        """Return the call so that whoever watches the reading sees it; where nobody does, nothing is streamed."""

        async def show() -> _T:
            running = self._running
            if running is None or not running.watchers:
                return await call()
            running.show_call(kind, "")
            watcher = REPLY_WATCHER.set(partial(running.show_call, kind))
            try:
                return await call()
            finally:
                REPLY_WATCHER.reset(watcher)

        return show

    async def _spend(self, messages: Sequence[Message], limit: int, call: Callable[[], Awaitable[_T]]) -> _T:
        """Make a call of at most `limit` tokens of reply in the model's own event loop."""
        # Counted here and not in the model's loop: a server's tokenizer waits for the network.
        worst = worst_usage(self, messages, limit) if self._quota else Usage()
        return await self._run(self._call(worst, call))

    async def _run(self, call: Coroutine[Any, Any, _R]) -> _R:
        """Run a coroutine in the event loop that the model's connections belong to."""
        if asyncio.get_running_loop() is self._loop:
            return await call
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    async def aclose(self) -> None:
        """Do nothing: the model belongs to the server."""

    async def _call(self, worst: Usage, call: Callable[[], Awaitable[_T]]) -> _T:
        start = time.perf_counter()
        # Reserved before the wait, so that calls side by side cannot pass the quota together.
        with self._quota.reserve(worst.tokens) if self._quota else nullcontext():
            async with self._queue.slot(self._client):
                try:
                    result = await call()
                except (ModelError, asyncio.CancelledError) as error:
                    # A client that starts and cancels calls must not get them for nothing.
                    await self._settle_lost(error, worst)
                    raise
            self._metrics.count_call(self.name, result.usage, time.perf_counter() - start)
            if self._quota:
                await self._quota.settle(result.usage.tokens)
        return result

    async def _settle_lost(self, error: BaseException, worst: Usage) -> None:
        """Count a call without a reply: what it may have cost."""
        if not self._quota:
            return
        if not isinstance(error, ModelError):
            await self._quota.settle(worst.tokens)
        elif error.is_charged:
            await self._quota.settle(lost_usage(error, worst).tokens)
