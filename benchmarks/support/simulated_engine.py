"""A language-model server in virtual time: continuous batching, chunked prefill and a prefix cache. Deterministic.

An iteration of the engine computes up to `prefill_batch` prompt tokens, first come first served, and one token for
every reply under way:

    seconds = prompt tokens / prefill + (base + context tokens * attention, if any reply is under way)

Prompts are compared block by block with what was computed before; a full block that is cached costs nothing. Old blocks
leave the cache first. `VirtualLoop` is an event loop whose clock jumps to the next timer, so a night of reading takes
seconds, and the same program gives the same times on every machine.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import OrderedDict, deque
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

T = TypeVar("T")
BLOCK: Final = 16


@dataclass(frozen=True, kw_only=True)
class EngineSpeed:
    """How fast an engine is, and how much its prefix cache holds."""

    prefill: float
    """Prompt tokens a second."""
    base: float
    """Seconds of an iteration that writes, for the weights."""
    attention: float = 0.0
    """Seconds more for each token of context of the replies under way."""
    prefill_batch: int = 2048
    cache_tokens: int = 400_000


SPEEDS: Final = {
    # The endpoint of the promises: 5,000 prompt tokens and 50 reply tokens a second.
    "endpoint": EngineSpeed(prefill=5000, base=1 / 50),
    # A 7B model on one large GPU: 7,200 prompt tokens in 0.27 s, 1,024 reply tokens in 6 s; 57 KB a context token.
    "7b": EngineSpeed(prefill=26_700, base=1 / 170, attention=1.7e-8, prefill_batch=4096),
}


@dataclass(eq=False)
class Request:
    """One call under way."""

    prompt: Sequence[str]
    left_to_write: int
    done: asyncio.Future[None]
    context: int = 0
    """Tokens of prompt and reply so far."""
    left_to_compute: int = -1
    """Unknown until its turn comes: what others compute meanwhile may be cached then."""
    cached: int = 0
    blocks: list[int] = field(default_factory=list)


@dataclass
class EngineCounts:
    """What an engine did."""

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    written: int = 0
    busy: float = 0.0
    """Seconds of all iterations."""
    writing: float = 0.0
    """Seconds of iterations that computed no prompt."""


class SimulatedEngine:
    """The engine. `run` must be running beside the calls; `clock` may be slowed to real time."""

    def __init__(self, speed: EngineSpeed, *, hurry: float = 1.0) -> None:
        self.counts = EngineCounts()
        self._speed = speed
        self._hurry = hurry
        self._waiting: deque[Request] = deque()
        self._writing: list[Request] = []
        self._arrived = asyncio.Event()
        self._blocks: OrderedDict[int, None] = OrderedDict()

    async def call(self, prompt: Sequence[str], reply_tokens: int) -> int:
        """Return, when the reply is written, how many tokens of the prompt were cached."""
        future = asyncio.get_running_loop().create_future()
        request = Request(
            prompt=prompt, context=len(prompt), left_to_write=max(1, reply_tokens), done=future, blocks=_hash(prompt)
        )
        self._waiting.append(request)
        self._arrived.set()
        await request.done
        self.counts.calls += 1
        self.counts.prompt += len(prompt)
        self.counts.cached += request.cached
        return request.cached

    async def run(self) -> None:
        """Iterate for ever."""
        while True:
            if not (self._waiting or self._writing):
                self._arrived.clear()
                await self._arrived.wait()
            if self._waiting:
                await self._compute()
            else:
                await self._write()

    async def _compute(self) -> None:
        """Compute a batch of prompt tokens, and a token of every reply beside it."""
        room, finished = self._speed.prefill_batch, []
        writing = list(self._writing)
        while self._waiting and room:
            request = self._waiting[0]
            self._look_up(request)
            step = min(room, request.left_to_compute)
            request.left_to_compute -= step
            room -= step
            if request.left_to_compute:
                break
            finished.append(self._waiting.popleft())
            self._keep(request)
        seconds = (self._speed.prefill_batch - room) / self._speed.prefill
        # The iteration that ends a prompt gives the first token of its reply.
        await self._pass(seconds + self._step(writing), is_writing=False)
        self._writing += finished
        self._advance([*writing, *finished], 1)

    async def _write(self) -> None:
        """Write tokens until a reply ends or a prompt arrives."""
        step, tokens = self._step(self._writing), min(request.left_to_write for request in self._writing)
        self._arrived.clear()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await asyncio.wait_for(self._arrived.wait(), tokens * step / self._hurry)
        except TimeoutError:
            pass
        else:
            # The iteration under way ends first.
            elapsed = (loop.time() - began) * self._hurry
            tokens = min(tokens, int(elapsed / step) + 1)
            await asyncio.sleep(max(0.0, tokens * step - elapsed) / self._hurry)
        self.counts.busy += tokens * step
        self.counts.writing += tokens * step
        self._advance(list(self._writing), tokens)

    def _advance(self, requests: Sequence[Request], tokens: int) -> None:
        for request in requests:
            request.left_to_write -= tokens
            request.context += tokens
            self.counts.written += tokens
            if request.left_to_write <= 0:
                self._writing.remove(request)
                if not request.done.done():
                    request.done.set_result(None)

    async def _pass(self, seconds: float, *, is_writing: bool) -> None:
        self.counts.busy += seconds
        self.counts.writing += seconds * is_writing
        await asyncio.sleep(seconds / self._hurry)

    def _step(self, writing: Sequence[Request]) -> float:
        if not writing:
            return 0.0
        return self._speed.base + self._speed.attention * sum(request.context for request in writing)

    def _look_up(self, request: Request) -> None:
        """Find out how many leading tokens of the prompt are cached, once."""
        if request.left_to_compute >= 0:
            return
        hits = next((n for n, block in enumerate(request.blocks) if block not in self._blocks), len(request.blocks))
        # The last token is always computed: the reply's first one comes from it.
        request.cached = min(hits * BLOCK, len(request.prompt) - 1)
        request.left_to_compute = len(request.prompt) - request.cached

    def _keep(self, request: Request) -> None:
        """Put the blocks of a computed prompt into the cache."""
        for block in request.blocks:
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) * BLOCK > self._speed.cache_tokens:
            self._blocks.popitem(last=False)


def _hash(prompt: Sequence[str]) -> list[int]:
    """Return a key for each full block of the prompt, which stands for all that is before it too."""
    keys, key = [], 0
    for start in range(0, len(prompt) - BLOCK + 1, BLOCK):
        key = hash((key, tuple(prompt[start : start + BLOCK])))
        keys.append(key)
    return keys


class _InlineExecutor(Executor):
    """Runs work at once: a thread would take real time, and virtual time would pass it by."""

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(work(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - the caller gets it from the future
            future.set_exception(error)
        return future


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that does not wait for time to pass."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits for something that will not come")
        if not ready and timeout:
            self.loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Return the virtual time."""
        return self.now

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """Run the function at once."""
        return super().run_in_executor(executor or _InlineExecutor(), func, *args)


@dataclass
class SimulatedRun:
    """The outcome of a simulated run."""

    seconds: float
    counts: EngineCounts
    outcome: Any = field(repr=False)


def simulate(speed: EngineSpeed, work: Callable[[SimulatedEngine], Coroutine[Any, Any, T]]) -> SimulatedRun:
    """Run the work against an engine in virtual time."""

    async def main() -> tuple[float, EngineCounts, T]:
        engine = SimulatedEngine(speed)
        task = asyncio.ensure_future(engine.run())
        outcome = await work(engine)
        task.cancel()
        return asyncio.get_running_loop().time(), engine.counts, outcome

    loop = VirtualLoop()
    try:
        seconds, counts, outcome = loop.run_until_complete(main())
    finally:
        loop.close()
    return SimulatedRun(seconds=seconds, counts=counts, outcome=outcome)
