"""What clients share: turns in a queue, round robin; the model as one reading sees it, within its quota; metrics."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bookwheel.errors import ModelError
from bookwheel.models.base import (
    REPLY_WATCHER,
    Copies,
    Embeddings,
    Judgement,
    Likelihood,
    Model,
)
from bookwheel.reading.budget import NOT_SENT, SpendingModel, SpendKind, estimate_usage, lost_usage, worst_usage
from bookwheel.serve.engine.access import TokenQuota
from bookwheel.serve.engine.errors import too_many_requests
from bookwheel.serve.engine.running_reading import RunningReading
from bookwheel.types import Message, Reply, Usage

_T = TypeVar("_T", Reply, Judgement, Likelihood, Embeddings, Copies)
_R = TypeVar("_R")
_SECONDS_TO_RETRY: Final = 5
_METHODS: Final = frozenset({"GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"})


class Metrics:
    """The counters of one server, for Prometheus."""

    def __init__(self) -> None:
        # A registry for each server, because two servers can live in one process.
        registry = self._registry = CollectorRegistry()
        self._requests = Counter("bookwheel_requests", "HTTP requests.", ["method", "status"], registry=registry)
        self.started = Counter("bookwheel_readings_begun", "Readings begun or gone on with.", registry=registry)
        self.ended = Counter("bookwheel_readings_ended", "Readings that ended, by how.", ["status"], registry=registry)
        self.running = Gauge("bookwheel_readings_under_way", "Readings under way.", registry=registry)
        self._calls = Counter("bookwheel_calls", "Calls of the model.", ["model"], registry=registry)
        self._tokens = Counter(
            "bookwheel_tokens", "Tokens read and written by the model.", ["model", "of"], registry=registry
        )
        self._seconds = Histogram("bookwheel_call_seconds", "How long a call took, turn included.", registry=registry)

    def count_request(self, method: str, status: int) -> None:
        # A client can invent methods; each would become a time series of its own.
        self._requests.labels(method if method in _METHODS else "other", str(status)).inc()

    def count_call(self, model: str, usage: Usage, seconds: float) -> None:
        self._calls.labels(model).inc()
        self._tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        self._tokens.labels(model, "completion").inc(usage.completion_tokens)
        self._seconds.observe(seconds)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


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
            message = f"{self.waiting} calls wait for the model already; try again in a moment"
            raise too_many_requests(message, _SECONDS_TO_RETRY)

    @asynccontextmanager
    async def slot(self, client: str) -> AsyncGenerator[None]:
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


class SharedModel(SpendingModel):
    """A model that can be called from any event loop; `loop` is the one that its connections belong to.

    Every call keeps to the key's quota: BudgetReached when it does not cover what the call may cost at most.
    """

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

    async def aclose(self) -> None:
        """Do nothing: the model belongs to the server."""

    async def spend(
        self, messages: Sequence[Message], limit: int, call: Callable[[], Awaitable[_T]], kind: SpendKind
    ) -> _T:
        """Make a call in the model's own event loop, within the quota."""
        # Counted here and not in the model's loop: a server's tokenizer waits for the network.
        worst = (worst_usage if self._quota else estimate_usage)(self, messages, limit)
        is_sent = False

        async def send() -> _T:
            nonlocal is_sent
            is_sent = True
            return await call()

        try:
            return await self._run(self._call(worst, send, kind))
        except asyncio.CancelledError as error:
            if is_sent:
                raise
            raise asyncio.CancelledError(NOT_SENT) from error

    async def _run(self, call: Coroutine[Any, Any, _R]) -> _R:
        if asyncio.get_running_loop() is self._loop:
            return await call
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    async def _call(self, worst: Usage, call: Callable[[], Awaitable[_T]], kind: SpendKind) -> _T:
        start = time.perf_counter()
        # Reserved before the wait, so that calls side by side cannot pass the quota together.
        with self._quota.reserve(worst.tokens) if self._quota else nullcontext():
            async with self._queue.slot(self._client):
                try:
                    result = await self._show(call, kind)
                except (ModelError, asyncio.CancelledError) as error:
                    # A client that starts and cancels calls must not get them for nothing.
                    lost = lost_usage(error, worst) if isinstance(error, ModelError) else worst
                    if not isinstance(error, ModelError) or error.is_charged:
                        await self._count(lost, start)
                    raise
            await self._count(result.usage, start)
        return result

    async def _count(self, usage: Usage, start: float) -> None:
        self._metrics.count_call(self.name, usage, time.perf_counter() - start)
        if self._quota:
            await self._quota.settle(usage.tokens)

    async def _show(self, call: Callable[[], Awaitable[_T]], kind: SpendKind) -> _T:
        """Make the call so that whoever watches the reading sees it; where nobody does, nothing is streamed."""
        running = self._running
        if kind == "embed" or running is None or not running.watchers:
            return await call()
        running.show_call(kind, "")
        watcher = REPLY_WATCHER.set(partial(running.show_call, kind))
        try:
            return await call()
        finally:
            REPLY_WATCHER.reset(watcher)
