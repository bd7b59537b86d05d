"""The server's model as one reading sees it: its calls wait in the queue and count against its key's quota."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from bookwheel.errors import ModelError
from bookwheel.models.base import REPLY_WATCHER, Embeddings, Judgement, Likelihood, ModelWrapper, most_scored_tokens
from bookwheel.reading.budget import lost_usage, texts_to_messages, worst_usage
from bookwheel.types import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from bookwheel.models.base import Ability, Model
    from bookwheel.plan import Sampling
    from bookwheel.serve.engine.fair_queue import FairQueue
    from bookwheel.serve.engine.keys import TokenQuota
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.serve.engine.running_reading import CallKind, RunningReading
    from bookwheel.types import Message

_T = TypeVar("_T", Reply, Judgement, Likelihood, Embeddings)
_R = TypeVar("_R")


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
