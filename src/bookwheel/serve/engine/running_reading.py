"""One reading under way: its request, its progress, and the events that announce every change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from bookwheel.journal import StoredDocument
from bookwheel.types import Answer, Usage

if TYPE_CHECKING:
    from bookwheel.errors import BookwheelError
    from bookwheel.reading.several import Lockstep
    from bookwheel.serve.engine.access import TokenQuota
    from bookwheel.session import WayRequest
    from bookwheel.types import Reading, Step

CallKind: TypeAlias = Literal["reply", "judge", "likelihood"]
"""What a model is asked for."""
# Seconds between two looks at a reply that is being written: a stream brings dozens of tokens a second.
_SECONDS_BETWEEN_LOOKS: Final = 0.1

DocumentOpener: TypeAlias = Callable[[], Coroutine[Any, Any, StoredDocument]]
"""Puts the document of a reading into the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRequest:
    """A reading to start or to continue."""

    reading: Reading
    open_document: DocumentOpener
    """Called when the reading has its place, because fetching and converting can take long."""
    way: WayRequest | None = None
    """Of a new reading: it is settled when the document is open."""
    is_stored: bool = False
    """The journal has the reading, so it continues after its last step."""
    counted: Usage = field(default_factory=Usage)
    """Spent by earlier runs, and counted against the budget."""
    key_name: str = ""
    quota: TokenQuota | None = None
    survives_restart: bool = True
    """The server continues it after a restart; not so where a client waits for the answer on its connection."""
    idempotency_key: str | None = None
    fingerprint: str = ""
    """A hash of the request's body."""
    lockstep: Lockstep | None = None
    """Shared by the readings of several questions about one document."""
    leader: str = ""
    """The id of the first of these readings; empty for a reading by itself."""
    member: int = 0
    """Its place among them."""


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
    """A reading under way. `changed` is set, and replaced, with every change."""

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
    result: Reading | None = None
    error: BookwheelError | None = None
    is_paused: bool = False
    """Interrupted by the server's end and not by a person, so it stays open."""
    is_interrupted: bool = False
    cancel_work: Callable[[], object] | None = None
    """Ends the opening of the document, or the reading of it, whichever is under way."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    _clients: int = 0
    _look: asyncio.TimerHandle | None = None

    async def wait_until_started(self) -> Reading:
        """Return the reading once the journal has it. Raise the error that kept it from starting."""
        while not self.is_started and not self.done.is_set():
            await self.changed.wait()
        if self.error and not self.is_started:
            raise self.error
        return self.reading

    def publish(self, event: Step | Answer) -> None:
        """Add a durable step, or the answer."""
        self.waiting = None
        self.call = None
        if isinstance(event, Answer):
            self.answer = event
        else:
            self.steps.append(event.without_texts())
        self.notify()

    def wait_for_model(self, waiting: Waiting) -> None:
        """Note that the model fails."""
        self.waiting = waiting
        self.notify()

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
        """Count a client that waits for this reading on its connection."""
        self._clients += 1

    def remove_client(self) -> None:
        """Discount a client that has gone; nobody else wants the answer when the last one goes."""
        self._clients -= 1
        if self._clients <= 0:
            self.interrupt()

    def finish(self, result: Reading | None) -> None:
        """Set the result; no change follows."""
        self.result = result
        self.waiting = None
        self.call = None
        self.done.set()
        self.notify()

    def notify(self) -> None:
        """Wake all who wait for a change."""
        self.changed.set()
        self.changed = asyncio.Event()
