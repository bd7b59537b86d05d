"""One reading under way: who asked for it, how far it is, and how to wait for its next change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bookwheel.journal import StoredDocument
from bookwheel.reading import runner
from bookwheel.types import Answer

if TYPE_CHECKING:
    from bookwheel.errors import BookwheelError
    from bookwheel.serve.engine.keys import TokenQuota
    from bookwheel.serve.engine.worker_loop import WorkerJob
    from bookwheel.types import Reading, Step

Opened: TypeAlias = tuple[StoredDocument, tuple[str, ...]]
"""A document, and what was left out of it."""
Opening: TypeAlias = Callable[[], Coroutine[Any, Any, Opened]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRequest:
    """A reading that somebody wants."""

    reading: Reading
    open: Opening
    """Gives its document, which is fetched and converted only then."""
    kept: bool = False
    """Whether the journal has it, so that it goes on from where it stands."""
    owner: str = ""
    purse: TokenQuota | None = None
    goes_on: bool = True
    """Whether it goes on when the server comes back; what a client waited for does not."""
    request: str | None = None
    """Its Idempotency-Key."""
    print: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class RunningReading:
    """A reading under way; `news` is set, and replaced, with every change."""

    asked: ReadingRequest
    reading: Reading
    """As it was begun or gone on with."""
    steps: list[Step] = field(default_factory=list)
    answer: Answer | None = None
    notes: tuple[str, ...] = ()
    """What was left out of the document."""
    is_begun: bool = False
    """Whether the journal has it; before that its document is being opened."""
    ended: Reading | None = None
    fault: BookwheelError | None = None
    goes_on: bool = False
    """Interrupted by the server's end, not by a person."""
    followers: int = 0
    """Clients for whom alone this is read; the last one that leaves ends it."""
    interrupted: bool = False
    opening: asyncio.Task[Opened] | None = None
    job: WorkerJob[Reading] | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def begun(self) -> Reading:
        """The reading, once the journal has it. Raises why it could not begin."""
        while not self.is_begun and not self.done.is_set():
            await self.news.wait()
        if self.fault and not self.is_begun:
            raise self.fault
        return self.reading

    def tell(self, event: Step | Answer) -> None:
        """A step or the answer is there, and durable."""
        if isinstance(event, Answer):
            self.answer = event
        else:
            self.steps.append(runner.strip_texts(event))
        self.wake()

    def interrupt(self) -> None:
        """End it after its last finished step, or before its document is open."""
        if not self.interrupted:
            self.interrupted = True
            for work in (self.opening, self.job):
                if work:
                    work.cancel()

    def leave(self) -> None:
        """One client has gone."""
        self.followers -= 1
        if self.followers <= 0:
            self.interrupt()

    def end(self, ended: Reading | None) -> None:
        """Nothing more will come."""
        self.ended = ended
        self.done.set()
        self.wake()

    def wake(self) -> None:
        """Tell all who wait that something has changed."""
        self.news.set()
        self.news = asyncio.Event()
