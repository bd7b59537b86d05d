"""Hard limits of tokens, seconds and money around a model.

The worst cost of a call is reserved before it starts and released when it ends, so calls side by side cannot pass a
limit together. A call without a reply, cancelled or failed, counts too, with what it may have cost. Limits hold for one
run: a resumed reading starts to count anew, unless it is told what counts already.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Literal, TypeAlias, TypeVar

from bookwheel.errors import BudgetReached, ModelError
from bookwheel.models.base import (
    Copies,
    CopyingModel,
    Embeddings,
    Judgement,
    Likelihood,
    Model,
    ModelWrapper,
    count_messages,
    most_scored_tokens,
    unwrap,
)
from bookwheel.plan import Budget, Sampling
from bookwheel.text.tokens import EstimatingTokenizer, Tokenizer
from bookwheel.types import Message, Reply, Usage

_T = TypeVar("_T", Reply, Judgement, Likelihood, Embeddings, Copies)
SpendKind: TypeAlias = Literal["reply", "judge", "likelihood", "embed"]
NOT_SENT: Final = "the call was not sent"
"""The message of the CancelledError of a call that still waited for its turn, so that it costs nothing."""


class SpendingModel(ModelWrapper):
    """A wrapper whose calls all pass `spend`, the one place where they are counted or refused."""

    async def spend(
        self, messages: Sequence[Message], limit: int, call: Callable[[], Awaitable[_T]], kind: SpendKind
    ) -> _T:
        """Make a call that writes `limit` tokens at most."""
        raise NotImplementedError

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        call = partial(super().reply, messages, limit=limit, sampling=sampling)
        return await self.spend(messages, limit, call, "reply")

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        return await self.spend(messages, 1, partial(super().judge, messages, options), "judge")

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        limit = most_scored_tokens(self.tokenizer, continuation)
        return await self.spend(messages, limit, partial(super().likelihood, messages, continuation), "likelihood")

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        # As messages, whose tokens can be counted.
        messages = [Message(role="user", content=text) for text in texts]
        return await self.spend(messages, 0, partial(super().embed, texts), "embed")

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        if not isinstance(unwrap(self), CopyingModel):
            return Copies()
        return await self.spend(messages, 1, partial(super().copy, messages, passage, gap), "judge")


class BudgetedModel(SpendingModel):
    """A model that refuses a call which could break a limit."""

    def __init__(self, model: Model, budget: Budget, counted: Usage | None = None) -> None:
        """Begin to count, from what an earlier run of the same reading has spent if it counts too."""
        super().__init__(model)
        self.spent = Usage()
        self._counted = counted or Usage()
        self._budget = budget
        self._began = time.monotonic() - self._counted.seconds
        self._reserved = Usage()
        """The worst cost of the calls in flight."""
        self._released = asyncio.Event()
        """Set when the next of them ends."""
        self._unanswered = Usage()

    async def spend(
        self, messages: Sequence[Message], limit: int, call: Callable[[], Awaitable[_T]], kind: SpendKind
    ) -> _T:
        """Make a call within all limits. Raise BudgetReached when the longest reply could break one."""
        del kind
        async with self._reserve(messages, limit) as worst:
            seconds, began = self._seconds_left(), time.monotonic()
            limit_of_time = asyncio.timeout(seconds)
            try:
                async with limit_of_time:
                    result = await call()
            except TimeoutError:
                # A model's own timeout says nothing of the budget.
                if not limit_of_time.expired():
                    raise
                self._charge(worst or estimate_usage(self, messages, limit), time.monotonic() - began)
                raise self._out_of_time() from None
            except asyncio.CancelledError as error:
                # The server is at work on it, and who cancels and resumes must not get calls for nothing.
                if NOT_SENT not in error.args:
                    self._charge(worst or estimate_usage(self, messages, limit), time.monotonic() - began)
                raise
            except ModelError as error:
                if error.is_charged:
                    usage = lost_usage(error, worst or estimate_usage(self, messages, limit))
                    self._charge(usage, time.monotonic() - began)
                raise
            # Before another call that waits sees what was reserved for this one as free.
            self.spent += result.usage
        return result

    def has_room(self, usage: Usage, seconds: float) -> bool:
        """Return whether calls of so much, and of so many seconds, would break no limit."""
        try:
            self._check(self._counted + self.spent + self._reserved + usage)
            left = self._seconds_left()
        except BudgetReached:
            return False
        return left is None or left >= seconds

    def take_unanswered(self) -> Usage:
        """Return the cost of the calls without a reply since this was last asked."""
        unanswered, self._unanswered = self._unanswered, Usage()
        return unanswered

    async def sleep(self, seconds: float) -> None:
        """Wait between two tries. Raise BudgetReached when the time is up before."""
        left = self._seconds_left()
        if left is not None and left <= seconds:
            await asyncio.sleep(left)
            raise self._out_of_time()
        await asyncio.sleep(seconds)

    def _charge(self, usage: Usage, seconds: float) -> None:
        usage += Usage(seconds=seconds)
        self.spent += usage
        self._unanswered += usage

    def _seconds_left(self) -> float | None:
        if self._budget.seconds is None:
            return None
        left = self._budget.seconds - (time.monotonic() - self._began)
        if left <= 0:
            raise self._out_of_time()
        return left

    def _out_of_time(self) -> BudgetReached:
        return BudgetReached(f"stopped after {self._budget.seconds:g} seconds, the limit of --max-seconds")

    @asynccontextmanager
    async def _reserve(self, messages: Sequence[Message], limit: int) -> AsyncIterator[Usage | None]:
        """Reserve the call's worst cost while it is in flight, and yield it; None where there is no limit to pass.

        Only what is spent refuses a call. What others reserve is mostly more than they cost, so they are waited for.
        """
        if self._budget.tokens is None and self._budget.cost is None:
            yield None
            return
        worst = worst_usage(self, messages, limit)
        self._check(self._counted + self.spent + worst)
        while self._reserved.calls and not self.has_room(worst, 0.0):
            await self._released.wait()
            self._check(self._counted + self.spent + worst)
        self._reserved += worst
        try:
            yield worst
        finally:
            self._reserved -= worst
            self._released.set()
            self._released = asyncio.Event()

    def _check(self, worst: Usage) -> None:
        """Raise BudgetReached when the worst case passes a limit."""
        if self._budget.tokens is not None and worst.tokens > self._budget.tokens:
            raise BudgetReached(
                f"stopped at {self._counted.tokens + self.spent.tokens} tokens: the next call could pass the limit of "
                f"{self._budget.tokens} (--max-tokens-total)"
            )
        cost = self._budget.price(worst.prompt_tokens, worst.completion_tokens)
        if self._budget.cost is not None and cost > self._budget.cost:
            raise BudgetReached(f"stopped: the next call could cost more than the limit of {self._budget.cost:g}")


def worst_usage(model: Model, messages: Sequence[Message], limit: int, tokenizer: Tokenizer | None = None) -> Usage:
    """Return the most that a call can cost, by the model's own tokenizer or by another."""
    prompt = model.template_tokens + count_messages(messages, tokenizer or model.tokenizer)
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=limit)


def estimate_usage(model: Model, messages: Sequence[Message], limit: int) -> Usage:
    """Estimate the most that a call can cost, without asking a server that may just have failed."""
    return worst_usage(model, messages, limit, EstimatingTokenizer())


def lost_usage(error: ModelError, worst: Usage) -> Usage:
    """Return what a call without a reply may have cost: up to what arrived of it, or the worst if that is unknown."""
    if error.received is None:
        return worst
    written = min(worst.completion_tokens, EstimatingTokenizer().count(error.received))
    return Usage(calls=1, prompt_tokens=worst.prompt_tokens, completion_tokens=written)
