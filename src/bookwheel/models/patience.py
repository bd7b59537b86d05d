"""Patience: every call of a model is tried again as long as another try can mend it.

One retry stands around each call of a reading. The SDK makes none of its own for replies, so tries never multiply.
`ModelError.most_tries` says how often an error is worth another try; `Patience` says for how long. The wait grows from
half a second to half a minute, at random, so that many readers do not return at the same moment. A server that names a
time to wait (Retry-After) is asked again after it.

A reply without text is asked for again too. If it stays empty it is returned, so that the step can be flagged; but a
model that has never sent a text is set up wrong, and its error is raised.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from bookwheel.errors import BookwheelError, BrokenModel, EmptyReply, ModelError
from bookwheel.models.base import (
    Ability,
    Embeddings,
    Judgement,
    JudgingModel,
    Likelihood,
    Model,
    ModelWrapper,
    find_abilities,
)
from bookwheel.types import Finish, Message, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tenacity import RetryCallState

    from bookwheel.plan import Sampling

    Sleep = Callable[[float], Awaitable[None]]

DEFAULT_MINUTES: Final = 10.0
_SECONDS_PER_MINUTE: Final = 60.0
_SHORTEST_WAIT: Final = 0.25
# A server that is back is noticed within half a minute.
_LONGEST_WAIT: Final = 30.0
# Spreads the readers that one Retry-After sends away together.
_JITTER: Final = 1.0

_T = TypeVar("_T")
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A call that failed and is about to be tried again."""

    error: ModelError
    """The reason."""
    tries: int
    """Tries so far."""
    wait: float
    """Seconds until the next one; 0 when it begins."""
    seconds: float
    """Seconds since the first failure."""


def ignore_retry(_retry: Retry) -> None:
    """Do nothing: the default for readings that nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """The time for which one call is tried, and the function that is told about every retry."""

    seconds: float | None = DEFAULT_MINUTES * _SECONDS_PER_MINUTE
    """Counted from the call's first failure. None is without end, 0 is one try."""
    on_retry: Callable[[Retry], None] = ignore_retry

    @classmethod
    def from_minutes(cls, minutes: float, on_retry: Callable[[Retry], None] = ignore_retry) -> Patience:
        return cls(seconds=minutes * _SECONDS_PER_MINUTE, on_retry=on_retry)


class PatientModel(ModelWrapper):
    """A model whose calls are tried again."""

    def __init__(
        self,
        model: Model,
        patience: Patience,
        *,
        is_empty: Callable[[str], bool] = lambda text: not text.strip(),
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._patience = patience
        self._is_empty = is_empty
        self._sleep = sleep
        self._has_replied = False
        """The model has sent a text, so it is set up right."""

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Return a reply with text; an empty one only if it stays empty."""
        lost = Usage()  # by the empty replies
        empty: Reply | None = None

        async def ask() -> Reply:
            nonlocal empty, lost, sampling
            reply = await self._model.reply(messages, limit=limit, sampling=sampling)
            # What a content filter took away does not come back.
            if reply.finish is Finish.FILTER or not self._is_empty(reply.text):
                return reply
            empty, lost = reply, lost + reply.usage
            if sampling.seed is not None:
                # The same seed would give the same empty reply.
                sampling = replace(sampling, seed=sampling.seed + 1)
            raise EmptyReply("the model sent a reply without text. Resume, or try another model.")

        try:
            reply = await self._persist(ask)
        except EmptyReply:
            if empty is None and not self._has_replied:
                raise
            return replace(empty or Reply(text=""), usage=lost)
        self._has_replied = True
        return replace(reply, usage=lost + reply.usage) if lost.calls else reply

    async def try_abilities(self, by: JudgingModel) -> frozenset[Ability]:
        # By this one, what a server refuses would be asked again.
        del by
        return await self._persist(partial(find_abilities, self._model))

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        return await self._persist(partial(super().judge, messages, options))

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        return await self._persist(partial(super().likelihood, messages, continuation))

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        return await self._persist(partial(super().embed, texts))

    async def _persist(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Call until it succeeds. What nobody foresaw ends no reading as a crash, and is tried again like the rest."""

        async def ask() -> _T:
            try:
                return await call()
            except (BookwheelError, AssertionError):
                raise
            except Exception as error:
                _log.debug("%s broke", self.name, exc_info=error)
                raise BrokenModel(
                    f"{self.name} failed in a way that nobody foresaw. Resume; if it comes again, report it with what "
                    f"`bookwheel doctor` prints."
                ) from error

        return await persist(ask, self._patience, sleep=self._sleep)


async def persist(
    call: Callable[[], Awaitable[_T]],
    patience: Patience,
    *,
    sleep: Sleep = asyncio.sleep,
    progress: Callable[[], int] = lambda: 0,
) -> _T:
    """Call until it succeeds, or until another try makes no sense or patience is over.

    Patience begins anew whenever `progress` has changed since the last failure.
    """
    tries = _Tries(patience, progress)
    first_error: ModelError | None
    # Nearly every call succeeds at once, and tenacity inspects all of its callbacks for each.
    try:
        return await call()
    except ModelError as error:
        first_error = error

    async def attempt() -> _T:
        """Call again; the first time, raise what the call above has raised, so that it counts as a try."""
        nonlocal first_error
        error, first_error = first_error, None
        if error:
            raise error
        return await call()

    from tenacity import AsyncRetrying, retry_if_exception

    retrying = AsyncRetrying(
        # What an inner call has tried again is not.
        retry=retry_if_exception(lambda error: isinstance(error, ModelError) and not error.tries),
        wait=_choose_wait,
        stop=tries.is_over,
        sleep=sleep,
        before=tries.report_attempt,
        before_sleep=tries.report_wait,
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except ModelError as error:
        if error.tries:
            raise
        raise tries.conclude(error) from error


class _Tries:
    """The tries of one call: tenacity asks it whether to go on, and it reports to whoever watches."""

    def __init__(self, patience: Patience, progress: Callable[[], int]) -> None:
        self._patience = patience
        self._progress = progress
        self._reached = progress()
        self._counts: Counter[type[ModelError]] = Counter()
        self._failed_at = 0.0
        self._error = ModelError()

    def is_over(self, state: RetryCallState) -> bool:
        """Return True when no further try should follow the one that has just failed."""
        error = self._error = _error_of(state)
        if not self._counts or self._reached != self._progress():
            self._counts.clear()
            self._failed_at, self._reached = time.monotonic(), self._progress()
        self._counts[type(error)] += 1
        if self._counts[type(error)] >= error.most_tries:
            return True
        limit = self._patience.seconds
        return limit is not None and self._seconds() + state.upcoming_sleep > limit

    def report_wait(self, state: RetryCallState) -> None:
        self._report(state.upcoming_sleep)

    def report_attempt(self, _state: RetryCallState) -> None:
        if self._counts:
            self._report(0.0)

    def conclude(self, error: ModelError) -> ModelError:
        tries = max(1, self._counts.total())
        text = str(error)
        if tries > 1:
            text += f" (tried {tries} times within {format_duration(self._seconds())})"
        return type(error)(
            text,
            retry_after=error.retry_after,
            is_charged=error.is_charged,
            received=error.received,
            tries=tries,
        )

    def _report(self, wait: float) -> None:
        retry = Retry(error=self._error, tries=self._counts.total(), wait=wait, seconds=self._seconds())
        self._patience.on_retry(retry)

    def _seconds(self) -> float:
        return time.monotonic() - self._failed_at


def _choose_wait(state: RetryCallState) -> float:
    """Return the seconds to wait: what the server asks for, or more with every try."""
    from tenacity import wait_random_exponential

    error = _error_of(state)
    if not error.is_passing:
        # Time mends nothing here, another sample may.
        return random.uniform(0, _SHORTEST_WAIT)  # noqa: S311 - no secret
    wait = wait_random_exponential(multiplier=1, max=_LONGEST_WAIT, min=_SHORTEST_WAIT)(state)
    # Some servers always ask for 0 seconds; without the growing wait that would be a storm.
    asked = error.retry_after or 0.0
    return max(wait, asked + random.uniform(0, min(asked, _JITTER)))  # noqa: S311


def _error_of(state: RetryCallState) -> ModelError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ModelError)
    return error


def format_duration(seconds: float) -> str:
    """Return a duration for people.

    >>> format_duration(90)
    '1 min 30 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
