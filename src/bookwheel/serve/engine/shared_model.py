"""The one model as one reading sees it: it takes turns with the others, within its key's budget."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan, Sampling
    from bookwheel.serve.engine.fair_queue import FairQueue
    from bookwheel.serve.engine.keys import TokenQuota
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Message, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedModel:
    """Called from a reading's loop, it replies in the loop that its connections belong to."""

    model: Model
    turns: FairQueue
    owner: str
    """Who takes the turn: a key's name, or a reading's id."""
    home: asyncio.AbstractEventLoop
    metrics: Metrics
    purse: TokenQuota | None = None

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's."""
        return self.model.tokenizer

    @property
    def window(self) -> int | None:
        """The model's."""
        return self.model.window

    @property
    def plan(self) -> Plan:
        """The model's."""
        return self.model.plan

    @property
    def template_tokens(self) -> int:
        """The model's."""
        return self.model.template_tokens

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """The model's reply, when it is this one's turn. BudgetReached when the key cannot bear the longest one."""
        worst = limit
        if self.purse:
            worst += self.template_tokens + sum(self.tokenizer.count(message.content) for message in messages)
        work = self._in_turn(messages, limit, sampling, worst)
        if asyncio.get_running_loop() is self.home:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.home))

    async def _in_turn(self, messages: Sequence[Message], limit: int, sampling: Sampling, worst: int) -> Reply:
        began = time.perf_counter()
        with self.purse.promise(worst) if self.purse else nullcontext():
            async with self.turns.turn(self.owner):
                reply = await self.model.reply(messages, limit=limit, sampling=sampling)
            self.metrics.called(self.name, reply.usage, time.perf_counter() - began)
            if self.purse:
                await self.purse.pay(reply.usage.tokens)
        return reply

    async def aclose(self) -> None:
        """Nothing: the model belongs to the server."""
