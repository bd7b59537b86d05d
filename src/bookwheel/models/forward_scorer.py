"""Scores of given texts by the forward pass: in a thread, with as many cores as the model may use, and cancellable."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

from bookwheel.errors import MissingExtra, NoWeights
from bookwheel.models.gguf import load_gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bookwheel.models.forward import Llama

    Stop = Callable[[], bool]

T = TypeVar("T")


class ForwardScorer:
    """A small Llama and an adapter that judges. The first score loads them, which takes half a second."""

    def __init__(self, weights: Path, adapter: Path, *, threads: int) -> None:
        self._weights = weights
        self._adapter = adapter
        self._threads = threads
        # One pass at a time, as each uses all the cores it may: two at once would wait for each other at every matrix.
        self._turn = asyncio.Semaphore(1)
        self._llama: Llama | None = None

    async def score(self, prompt: Sequence[int], pieces: Sequence[tuple[int, bool]]) -> tuple[float, ...]:
        """Return the log-probability of each token of a prompt's continuation, without the adapter."""
        continuation = [id_ for id_, _ in pieces]
        return await self._run(lambda llama, stop: llama.score(prompt, continuation, stop))

    async def judge(self, prompt: Sequence[int], options: Sequence[int]) -> tuple[float, ...]:
        """Return the log-probability of each option as the next token, with the adapter."""
        return await self._run(lambda llama, stop: llama.judge(prompt, options, stop))

    async def _run(self, compute: Callable[[Llama, Stop], T]) -> T:
        cancelled = threading.Event()
        async with self._turn:
            try:
                return await asyncio.to_thread(lambda: compute(self._load(), cancelled.is_set))
            except asyncio.CancelledError:
                cancelled.set()
                raise

    def _load(self) -> Llama:
        if self._llama is None:
            try:
                from threadpoolctl import threadpool_limits

                from bookwheel.models.forward import Llama
            except ImportError as error:
                raise MissingExtra("the local model", "local") from error
            # For the whole process and for good: numpy has one setting.
            threadpool_limits(self._threads, "blas")
            try:
                self._llama = Llama(load_gguf(self._weights), load_gguf(self._adapter))
            except (KeyError, ValueError) as error:
                raise NoWeights(
                    f"the adapter {self._adapter} does not fit {self._weights}: it is made for the weights that "
                    f"`bookwheel models --fetch` downloads; unset BOOKWHEEL_WEIGHTS"
                ) from error
        return self._llama
