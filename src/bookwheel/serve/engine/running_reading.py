"""One reading under way: who asked for it, its progress, what announces every change, and the loop it runs in.

A server has two event loops. Its own is uvicorn's and has every connection: of clients, of MCP sessions, to the
endpoints of models. Nothing in it takes long: SQLite, conversions and comparisons go to threads or to children.

The code of a way of reading runs in the second loop, in a thread beside it. It cuts chunks and counts tokens between
its calls of the model. Both are synchronous: they take time, and a server's tokenizer even waits for the network. They
happen lazily inside the reading's coroutine, so no single function can be sent to a thread; the whole coroutine is.
Here it delays other readings at most, never a request, a stream or a page. Its calls of the model go back to the first
loop (`SharedModel`), where the model's connections are, and who watches it is woken there.

A tokenizer behind HTTP belongs to its model and brings a loop for its requests (`bookwheel.models.server_tokenizer`):
whoever counts waits for the answer, in either loop or in a thread, so the request can be in none of them.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from bookwheel.background import LoopThread
from bookwheel.errors import BookwheelError, BudgetReached, JournalError
from bookwheel.journal import Journal, StoredDocument
from bookwheel.plan import Budget
from bookwheel.reading.several import Lockstep
from bookwheel.serve.engine.access import Key, TokenQuota
from bookwheel.serve.engine.errors import ServerLimitReached
from bookwheel.session import WayRequest
from bookwheel.types import Answer, Reading, Status, Step, Usage

CallKind: TypeAlias = Literal["reply", "judge", "likelihood"]
"""What a model is asked for."""
DocumentOpener: TypeAlias = Callable[[], Coroutine[Any, Any, StoredDocument]]
"""Puts the document of a reading into the journal."""
# Seconds between two looks at a reply that is being written: a stream brings dozens of tokens a second.
_SECONDS_BETWEEN_LOOKS: Final = 0.1
# Between two tries to store the end of a reading.
_SECONDS_TO_STORE: Final = 1.0
_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, and the means to recognise the same request when it is sent again."""

    key: Key | None = None
    """None where the server has no keys."""
    idempotency_key: str | None = None
    fingerprint: str = ""
    """A hash of the request's body: one Idempotency-Key must not be used for two requests."""
    survives_restart: bool = True
    """Its readings go on after a restart of the server; not so where it waits for the answer on its connection."""

    @property
    def key_name(self) -> str:
        """The key's name; empty where the server has no keys."""
        return self.key.name if self.key else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRequest:
    """A reading to start or to continue."""

    reading: Reading
    open_document: DocumentOpener
    """Called when the reading has its place, because fetching and converting can take long."""
    caller: Caller = field(default_factory=Caller)
    quota: TokenQuota | None = None
    way: WayRequest | None = None
    """Of a new reading: it is settled when the document is open."""
    is_stored: bool = False
    """The journal has the reading, so it continues after its last step."""
    counted: Usage = field(default_factory=Usage)
    """Spent by earlier runs, and counted against the budget."""
    limits: Budget = field(default_factory=Budget)
    """The server's own, which no budget can pass."""
    lockstep: Lockstep | None = None
    """Shared by the readings of several questions about one document."""
    leader: str = ""
    """The id of the first of these readings; empty for a reading by itself."""
    member: int = 0
    """Its place among them."""

    def name_limit(self, ended: Reading) -> Reading:
        """Return the reading with an error that says so if the server's own limits stopped it, else as it is."""
        is_stopped = ended.status is Status.STOPPED and ended.error_kind == BudgetReached.__name__
        if not is_stopped or ended.plan.budget != self.limits:
            return ended
        whose = "That is this server's limit of a reading, all of its runs together, so it cannot go on here."
        return replace(ended, error=f"{ended.error}. {whose}", error_kind=ServerLimitReached.__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A call of the model that failed and is tried again."""

    seconds: float
    """Since its first failure."""
    tries: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCall:
    """A call of the model that is under way."""

    kind: CallKind
    text: str
    """The reply so far; empty where the model does not stream."""


@dataclass(slots=True, kw_only=True, eq=False)
class RunningReading:
    """A reading under way."""

    request: ReadingRequest
    reading: Reading
    """As it was started or continued."""
    steps: list[Step] = field(default_factory=list)
    answer: Answer | None = None
    waiting: Waiting | None = None
    """Its model fails at the moment."""
    call: LiveCall | None = None
    """The call that is under way, for those who watch."""
    watchers: int = 0
    """Listeners that want to see replies as they are written."""
    is_started: bool = False
    """The journal has the reading; before that its document is being opened."""
    began: float = field(default_factory=time.monotonic)
    result: Reading | None = None
    error: BookwheelError | None = None
    is_paused: bool = False
    """Interrupted by the server's end and not by a person, so it stays open."""
    is_interrupted: bool = False
    cancel_work: Callable[[], object] | None = None
    """Ends the opening of the document, or the reading of it, whichever is under way."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    """Its work, from the opening of the document to the end."""
    _clients: int = 0
    _look: asyncio.TimerHandle | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def changed(self) -> asyncio.Event:
        """What the next change sets. Take it before you look: what changes after that is not missed."""
        if self._changed.is_set():
            self._changed = asyncio.Event()
        return self._changed

    async def wait_until_started(self) -> Reading:
        """Return the reading once the journal has it. Raise the error that kept it from starting."""
        while not self.is_started and not self.done.is_set():
            await self.changed.wait()
        if self.error and not self.is_started:
            raise self.error
        return self.reading

    def publish(self, event: Step | Answer) -> None:
        """Add a durable step, or the answer. Called in the thread of readings, where a fault ends the reading."""
        self.waiting = self.call = None
        if isinstance(event, Answer):
            self.answer = event
        else:
            self.steps.append(event.without_texts())
        self._wake()

    def wait_for_model(self, waiting: Waiting) -> None:
        """Say that the model fails at the moment. Called in the thread of readings."""
        self.waiting = waiting
        self._wake()

    def _wake(self) -> None:
        # No function of ours runs in the other loop, whose faults nobody would see.
        self.loop.call_soon_threadsafe(self._changed.set)

    def show_call(self, kind: CallKind, text: str) -> None:
        """Show those who watch what the model is asked for, and what it has written of it."""
        self.call = LiveCall(kind=kind, text=text)
        if self._look is None:
            self._look = asyncio.get_running_loop().call_later(_SECONDS_BETWEEN_LOOKS, self._end_look)
            self.notify()

    def _end_look(self) -> None:
        self._look = None
        self.notify()

    def interrupt(self) -> None:
        """End the reading after its last finished step, or before its document is open."""
        if not self.is_interrupted:
            self.is_interrupted = True
            if self.cancel_work:
                self.cancel_work()

    def add_client(self) -> None:
        self._clients += 1

    def remove_client(self) -> None:
        """Discount a client that has gone; nobody else wants the answer when the last one goes."""
        self._clients -= 1
        if self._clients <= 0:
            self.interrupt()

    def finish(self, result: Reading | None) -> None:
        """Set the result, and what of it could not be announced; no change follows."""
        if result:
            self.steps.extend(step.without_texts() for step in result.steps[len(self.steps) :])
            self.answer = self.answer or result.answer
        self.result = result
        self.waiting = self.call = None
        self.done.set()
        self.notify()

    def notify(self) -> None:
        """Wake all who wait for a change."""
        self._changed.set()


class JobCancelled(Exception):
    """The job was cancelled, and its cleanup has finished."""


class LoopJob(Generic[_T]):
    """Work in the other loop.

    Its `outcome` is set when the work has ended, which after `cancel` can take a moment; the future of
    `asyncio.run_coroutine_threadsafe` would count as cancelled at once, so only its end is heard.
    """

    def __init__(self, work: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> None:
        self.outcome: Future[_T] = Future()
        self._work = work
        self._loop = loop
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False
        asyncio.run_coroutine_threadsafe(self._run(), loop).add_done_callback(self._settle)

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        # The task may be scheduled and not have begun: then it sees the mark.
        self._is_cancelled = True
        if self._task:
            self._task.cancel()

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        if self._is_cancelled:
            return
        try:
            self.outcome.set_result(await self._work)
        except asyncio.CancelledError:
            self.outcome.set_exception(JobCancelled())
        except Exception as error:  # noqa: BLE001 - it goes to whoever waits for the outcome
            self.outcome.set_exception(error)

    def _settle(self, ended: Future[None]) -> None:
        """Close work that did not even begin, and set its outcome: who waits for it would wait for ever."""
        self._work.close()
        if not self.outcome.done():
            self.outcome.set_exception((None if ended.cancelled() else ended.exception()) or JobCancelled())


async def store_end(journal: Journal, ended: Reading, running: RunningReading) -> None:
    """Store how a reading ended as soon as that is possible: a full disk may have room again.

    Who ends the reading or the server does not wait for it.
    """
    tries = 0
    while True:
        try:
            return await journal.end(ended)
        except JournalError as error:
            if running.is_interrupted:
                raise
            if not tries:
                _log.warning("reading %s: its end cannot be stored yet: %s", ended.id, error)
        tries += 1
        await asyncio.sleep(_SECONDS_TO_STORE)


class ReadingLoop:
    """The second loop, which starts with the first job."""

    def __init__(self) -> None:
        self._thread: LoopThread | None = None

    def submit(self, work: Coroutine[Any, Any, _T]) -> LoopJob[_T]:
        self._thread = self._thread or LoopThread("bookwheel readings")
        return LoopJob(work, self._thread.loop)

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return await asyncio.wrap_future(self.submit(work).outcome)

    def close(self) -> None:
        """Interrupt what still runs, and stop the loop."""
        if self._thread:
            self._thread.close()
            self._thread = None
