"""The one way in: the command line, Python, batches, the server, MCP and evaluations prepare and run readings here.

    session = Session(model=model, journal=journal, address=address)
    kept = await session.keep(document)
    prepared = await session.prepare(kept, ["Who keeps the light?"], plan)
    readings = await session.run(prepared)

`prepare` chooses the way of reading and checks question, plan and model before anything is stored or paid for. `run`
begins the readings in the journal, claims them, and reads. `resume` goes on with one that stopped.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from bookwheel.companions import accompany
from bookwheel.errors import InputError
from bookwheel.models.patience import Patience
from bookwheel.models.registry import ModelAddress
from bookwheel.reading import runner
from bookwheel.reading.choice import choose_way, find_default_way
from bookwheel.reading.follow_up import carry_steps, continue_way
from bookwheel.reading.several import run_readings
from bookwheel.reading.structured import apply_schema
from bookwheel.reading.ways.registry import GROUP, check_abilities, estimate_reading, is_known, list_ways, load_way
from bookwheel.types import DocumentInfo, Status, WayChoice

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence

    from bookwheel.configuration import Configuration
    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.plan import Budget, Plan
    from bookwheel.reading.estimate import CostEstimate
    from bookwheel.reading.loop import Way
    from bookwheel.types import Answer, Document, Reading, Step

_CHUNK_SETTINGS: Final = frozenset({"preset", "chunk_tokens", "memory_tokens"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WayRequest:
    """The way that a caller wants, as far as they said."""

    way: str | Way = ""
    """A registered name, a function of the caller's own, or empty: the one that suits model and document."""
    has_chunks: bool = False
    """The caller said how to cut chunks, so that a document that fits the window is cut too."""

    @classmethod
    def from_settings(
        cls, way: object, settings: Collection[str], configuration: Configuration | None = None
    ) -> WayRequest:
        """Return the request of a caller who named these settings; a settings file stands behind them."""
        wanted = way or (configuration.way if configuration else None) or ""
        if not isinstance(wanted, str) and not callable(wanted):
            raise InputError(f"way must be a name or a function, not {type(wanted).__name__}")
        has_chunks = names_chunks(settings) or bool(configuration and configuration.has_chunks)
        request = cls(way=cast("str | Way", wanted), has_chunks=has_chunks)
        request.load()  # A mistyped name is refused before a document is converted.
        return request

    @property
    def name(self) -> str:
        """The name to record; empty leaves the choice open."""
        return self.way if isinstance(self.way, str) else getattr(self.way, "__name__", type(self.way).__name__)

    def load(self) -> Way | None:
        """Return the function to run, or None where the choice is open."""
        if isinstance(self.way, str):
            return load_way(self.way) if self.way else None
        if self.name in list_ways() and load_way(self.name) is not self.way:
            # `bookwheel resume` would go on with the registered way, and mix two ways in one reading.
            raise InputError(f"there is a registered way {self.name!r}; give your function another name")
        return self.way


def names_chunks(settings: Collection[str]) -> bool:
    """Return True if these settings say how to cut chunks."""
    return bool(_CHUNK_SETTINGS & {*settings})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Readings that have not begun, and what they need."""

    readings: tuple[Reading, ...]
    document: Document
    way: Way
    choice: WayChoice


async def settle_way(
    request: WayRequest, document: Document | None, question: str, model: Model, plan: Plan
) -> WayChoice:
    """Return the way to read by, after asking the model whether it can.

    Without a document, which is not open yet, the way is the one that reads in chunks.
    """
    if request.name:
        request.load()
        choice = WayChoice(way=request.name, reason="")
    elif document is None:
        choice = WayChoice(way=find_default_way(model), reason="")
    elif request.has_chunks:
        choice = WayChoice(way=find_default_way(model), reason="the options say how to cut chunks")
    else:
        # A server's tokenizer waits for the network.
        choice = await asyncio.to_thread(choose_way, model, document, plan, question)
    if is_known(choice.way):
        await check_abilities(choice.way, model, plan)
    return choice


async def make_reading(
    document: DocumentInfo, question: str, model: Model, plan: Plan, way: str, *, finished: Reading | None = None
) -> Reading:
    """Return a new reading whose question and plan are checked; it begins with the memory of a finished one."""
    reading = runner.new_reading(document, question, model, plan, way)
    if finished:
        reading = replace(reading, parent=finished.id, steps=carry_steps(finished.steps))
    await asyncio.to_thread(runner.check_reading, reading, model)
    return reading


def find_way(reading: Reading, own: Way | None = None) -> Way:
    """Return the way by which a stored reading goes on; InputError where it was a function that is not given."""
    if own is None and not is_known(reading.way):
        raise InputError(
            f"reading {reading.id[:8]} was made with the way {reading.way!r}, which is not registered here. Register "
            f"the function as the entry point {reading.way!r} of the group {GROUP!r}, or continue in Python: "
            f"bookwheel.resume({reading.id[:8]!r}, way=FUNCTION)"
        )
    return continue_way(reading.steps, own or load_way(reading.way))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A model and a journal, opened once, and the readings that they make."""

    model: Model
    journal: Journal | None = None
    address: ModelAddress = field(default_factory=ModelAddress)
    """Kept with each reading, so that it can be resumed with the same model."""
    patience: Patience = field(default_factory=Patience)

    async def keep(self, document: Document) -> StoredDocument:
        """Store a document. That reads it whole, so it happens in a thread."""
        return await asyncio.to_thread(self._require_journal().keep, document)

    async def prepare(
        self, document: Document, questions: Sequence[str], plan: Plan, request: WayRequest | None = None
    ) -> Prepared:
        """Choose the way, and make a reading for each question; raise what is wrong before anything is stored."""
        request = request or WayRequest()
        choice = await settle_way(request, document, questions[0], self.model, plan)
        info = getattr(document, "info", None) or DocumentInfo(
            id="", name=document.name, length=document.length or 0, notes=()
        )
        readings = [await make_reading(info, question, self.model, plan, choice.way) for question in questions]
        return Prepared(
            readings=tuple(readings),
            document=document,
            way=request.load() or load_way(choice.way),
            choice=choice,
        )

    async def estimate(self, prepared: Prepared) -> CostEstimate:
        """Return what all the readings cost at most."""
        first = prepared.readings[0]
        cost = await estimate_reading(prepared.document, first.question, self.model, first.plan, first.way)
        return cost.multiply(len(prepared.readings))

    def begin(self, readings: Sequence[Reading]) -> None:
        """Store readings that begin; nothing of them is read yet."""
        if self.journal:
            address = self.address.complete(self.model)
            for reading in readings:
                self.journal.begin(reading, address)

    async def run(
        self, prepared: Prepared, watch: Callable[[Step | Answer], None] = runner.ignore_event
    ) -> list[Reading]:
        """Begin the readings and read, several in lockstep; return how they ended."""
        self.begin(prepared.readings)
        return await self.read_on(prepared.readings, prepared.document, prepared.way, watch)

    async def read_on(
        self,
        readings: Sequence[Reading],
        document: Document,
        way: Way,
        watch: Callable[[Step | Answer], None] = runner.ignore_event,
    ) -> list[Reading]:
        """Read from where the readings stand, several in lockstep. `watch` sees the first, which stands for all."""
        with ExitStack() as claims:
            if self.journal:
                for reading in readings:
                    claims.enter_context(self.journal.claim(reading.id))
            model, journal, patience = self.model, self.journal, self.patience
            if len(readings) > 1:
                return await run_readings(
                    readings, document, model, way=way, journal=journal, watch=[watch], patience=patience
                )
            run = apply_schema(way, readings[0].plan)
            reading = await runner.run_reading(
                readings[0], document, model, way=run, journal=journal, watch=watch, patience=patience
            )
            return [reading]

    def renew(self, old: Reading, budget: Budget) -> Reading:
        """Return a stored reading as it goes on: with this model, under a budget that counts from zero."""
        journal = self._require_journal()
        with journal.claim(old.id):
            journal.keep_address(old.id, self.address.complete(self.model))
        plan = replace(old.plan, budget=budget)
        return replace(old, plan=plan, status=Status.READING, model=self.model.name, error="", error_kind="")

    def _require_journal(self) -> Journal:
        if self.journal is None:
            raise InputError("this session has no journal to keep a document or a reading in")
        return self.journal


@asynccontextmanager
async def open_session(
    address: ModelAddress,
    journal: Journal | None = None,
    *,
    model: Model | None = None,
    patience: Patience | None = None,
    connection: Mapping[str, Any] | None = None,
) -> AsyncGenerator[Session]:
    """Open the model at an address until the end of the block. A model that the caller opened stays open."""
    reader = accompany(model or await address.open(**(connection or {})))
    try:
        yield Session(model=reader, journal=journal, address=address, patience=patience or Patience())
    finally:
        if model is None:
            await reader.aclose()
