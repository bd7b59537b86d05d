"""The one way in: the command line, Python, batches, the server, MCP and evaluations prepare and run readings here.

    async with open_session(connection, journal) as session:
        kept = await session.keep(document)
        plan = session.build_plan({"chunk_tokens": 900})
        prepared = await session.prepare(kept, ["Who keeps the light?"], plan)
        readings = await session.run(prepared)

`prepare` chooses the way of reading and checks question, plan and model before anything is stored or paid for. `run`
begins the readings in the journal, claims them, and reads. `renew` makes one that stopped ready to go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from bookwheel.companions import accompany
from bookwheel.configuration import Configuration, Connection, load_configuration, names_chunks
from bookwheel.errors import InputError
from bookwheel.models.base import Model
from bookwheel.models.patience import Patience, persist
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import SETTINGS, Budget, Plan, VerdictMode, nest_settings, renew_budget
from bookwheel.preset import load_preset_plan
from bookwheel.reading import runner
from bookwheel.reading.estimate import CostEstimate
from bookwheel.reading.follow_up import carry_steps, continue_way, tell_parent
from bookwheel.reading.loop import Way
from bookwheel.reading.pictures import see_pictures
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.runner import Watch
from bookwheel.reading.several import run_readings
from bookwheel.reading.structured import Repetition
from bookwheel.reading.ways.auto import choose_way, find_default_way
from bookwheel.reading.ways.registry import (
    GROUP,
    check_abilities,
    estimate_reading,
    find_spec,
    is_known,
    list_ways,
    load_way,
)
from bookwheel.schema import suggest
from bookwheel.types import Document, DocumentInfo, Reading, Status, Usage, WayChoice

if TYPE_CHECKING:
    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.weights import DownloadProgress

# A server that is there may fail once; a mistyped address is told soon.
_SECONDS_TO_OPEN: Final = 1.0


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


def refuse_unknown(settings: Collection[str], known: Sequence[str]) -> None:
    """Raise InputError for the first setting of no known name; the nearest one is suggested."""
    for name in settings:
        if name not in known:
            raise InputError(f"unknown setting {name!r}; {suggest(name, known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Readings that begin or go on, and what they need."""

    readings: Sequence[Reading]
    document: Document
    way: Way
    choice: WayChoice = field(default_factory=lambda: WayChoice(way="", reason=""))


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
    document: DocumentInfo,
    question: str,
    model: Model,
    plan: Plan,
    way: str,
    *,
    finished: Reading | None = None,
    follows: Reading | None = None,
) -> Reading:
    """Return a new reading whose question and plan are checked.

    It begins with the memory of a finished one. What the one that it `follows` asked and answered is told to the model.
    """
    # What a table is asked for stands alone.
    if (before := follows or finished) and find_spec(way).is_general:
        plan = await tell_parent(before, question, model, plan)
    reading = runner.new_reading(document, question, model, plan, way)
    if finished:
        reading = replace(reading, parent=finished.id, steps=carry_steps(finished.steps))
    await asyncio.to_thread(runner.check_reading, reading, model)
    return reading


def find_way(reading: Reading, own: Way | None = None) -> Way:
    """Return the way by which a stored reading goes on; InputError where it was a function that is not given.

    One that ended while its answer was judged goes on with that answer.
    """
    if reading.answer and _is_unjudged(reading):
        return Repetition(answer=reading.answer)
    if own is None and not is_known(reading.way):
        raise InputError(
            f"reading {reading.id[:8]} was made with the way {reading.way!r}, which is not registered here. Register "
            f"the function as the entry point {reading.way!r} of the group {GROUP!r}, or continue in Python: "
            f"bookwheel.resume({reading.id[:8]!r}, way=FUNCTION)"
        )
    return continue_way(reading.steps, own or load_way(reading.way))


def _is_unjudged(reading: Reading) -> bool:
    # Sections are read again for an answer that was judged; an empty one is asked for again.
    is_judged = reading.claims or reading.plan.verdict == VerdictMode.OFF or not find_spec(reading.way).is_general
    return bool(reading.answer and reading.answer.text) and not is_judged


def can_answer(finished: Reading | None, question: str, plan: Plan) -> bool:
    """Return True for a reading with a memory of notes that fits the plan: passages say nothing of other questions."""
    if finished is None or finished.status is not Status.ANSWERED or not finished.memory.text:
        return False
    return finished.memory.tokens <= plan.memory_tokens and not prompts_for(plan, question).quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A model and a journal, opened once, and the readings that they make."""

    model: Model
    journal: Journal | None = None
    address: ModelAddress = field(default_factory=ModelAddress)
    """Kept with each reading, so that it can be resumed with the same model."""
    patience: Patience = field(default_factory=Patience)
    configuration: Configuration = field(default_factory=Configuration)

    def build_plan(self, settings: Mapping[str, Any], base: Plan | None = None) -> Plan:
        """Return the model's plan, or that of a preset, with what the settings files and then these settings change.

        A caller's own plan, `base`, takes the place of the model's and of the files.
        """
        refuse_unknown(settings, ("preset", *SETTINGS))
        preset = settings.get("preset")
        if base is not None and not isinstance(base, Plan):
            raise InputError(f"plan must be a Plan, not {type(base).__name__}; values of one can be given by name")
        if base is not None and preset is not None:
            raise InputError("give a plan or a preset, not both")
        if base is None:
            files = self.configuration
            name = preset or files.preset
            base = (load_preset_plan(name) if name else self.model.plan).with_values(files.plan)
            base = replace(base, budget=files.apply_prices(base.budget, self.address))
        return base.with_values(nest_settings({name: value for name, value in settings.items() if name in SETTINGS}))

    async def keep(self, document: Document) -> StoredDocument:
        """Store a document. That reads it whole, so it happens in a thread."""
        return await asyncio.to_thread(self.require_journal().keep, document)

    async def prepare(
        self,
        document: Document,
        questions: Sequence[str],
        plan: Plan,
        request: WayRequest | None = None,
        *,
        finished: Reading | None = None,
        follows: Reading | None = None,
        spent: Usage | None = None,
    ) -> Prepared:
        """Choose the way, and make a reading for each question; raise what is wrong before anything is stored.

        The memory of a finished reading of the document is asked first, where it can answer one question. An earlier
        reading that the questions follow is told to the model. `spent` is what the question itself cost: the first
        reading begins with it.
        """
        request = request or WayRequest()
        finished = finished if len(questions) == 1 and can_answer(finished, questions[0], plan) else None
        # A way is chosen, and a plan checked, with the pictures that the model will see.
        model = await asyncio.to_thread(see_pictures, self.model, document, plan, questions[0])
        choice = await settle_way(request, document, questions[0], model, plan)
        info = getattr(document, "info", None) or DocumentInfo(
            id="", name=document.name, length=document.length or 0, notes=()
        )
        readings = [
            await make_reading(info, question, model, plan, choice.way, finished=finished, follows=follows)
            for question in questions
        ]
        if spent:
            readings[0] = replace(readings[0], usage=spent)
        return Prepared(
            readings=tuple(readings),
            document=document,
            way=continue_way(readings[0].steps, request.load() or load_way(choice.way)),
            choice=choice,
        )

    async def estimate(self, prepared: Prepared) -> CostEstimate:
        first = prepared.readings[0]
        model = await asyncio.to_thread(see_pictures, self.model, prepared.document, first.plan, first.question)
        cost = await estimate_reading(prepared.document, first.question, model, first.plan, first.way)
        return cost.multiply(len(prepared.readings))

    def begin(self, readings: Sequence[Reading]) -> None:
        """Store readings that begin; nothing of them is read yet."""
        if self.journal:
            address = self.address.complete(self.model)
            for reading in readings:
                self.journal.begin(reading, address)

    async def run(self, prepared: Prepared, watch: Watch = runner.ignore_event) -> list[Reading]:
        """Begin the readings and read, several in lockstep; return how they ended."""
        self.begin(prepared.readings)
        return await self.read_on(prepared, watch)

    async def read_on(self, prepared: Prepared, watch: Watch = runner.ignore_event) -> list[Reading]:
        """Read from where the readings stand, several in lockstep. `watch` sees the first, which stands for all."""
        with ExitStack() as claims:
            if self.journal:
                for reading in prepared.readings:
                    claims.enter_context(self.journal.claim(reading.id))
            return await run_readings(
                prepared.readings,
                prepared.document,
                self.model,
                way=prepared.way,
                journal=self.journal,
                watch=watch,
                patience=self.patience,
            )

    def renew(self, old: Reading, limits: Mapping[str, Any], way: Way | None = None) -> Prepared:
        """Return a stored reading as it goes on: with this model, under limits that count from zero."""
        way = way or find_way(old)
        journal, budget = self.require_journal(), self.renew_budget(old.plan.budget, limits)
        with journal.claim(old.id):
            journal.keep_address(old.id, self.address.complete(self.model))
        plan = replace(old.plan, budget=budget)
        reading = replace(old, plan=plan, status=Status.READING, model=self.model.name, error="", error_kind="")
        return Prepared(readings=[reading], document=journal.document_of(old.id), way=way)

    def renew_budget(self, old: Budget, limits: Mapping[str, Any]) -> Budget:
        """Return the budget of what goes on: the prices hold, and the limits were for the old run."""
        return renew_budget(self.configuration.apply_prices(old, self.address), limits)

    def require_journal(self, what: str = "a document or a reading") -> Journal:
        """Return the journal that is to keep something, or has it; InputError where there is none."""
        if self.journal is None:
            raise InputError(f"this session has no journal for {what}; open the session with one")
        return self.journal


@asynccontextmanager
async def open_session(
    connection: Connection,
    journal: Journal | None = None,
    *,
    model: Model | None = None,
    configuration: Configuration | None = None,
    kept: ModelAddress | None = None,
    waits: Patience | None = None,
    record_tokens: bool = False,
    may_be_away: bool = False,
    show_download: Callable[[], AbstractContextManager[DownloadProgress | None]] = nullcontext,
) -> AsyncGenerator[Session]:
    """Open the model until the end of the block. A model of the caller's own is taken as it is and stays open.

    `kept` is the address of a reading that goes on, and `waits` the patience with a server that cannot be reached yet.
    One that `may_be_away` is opened all the same.
    """
    files = load_configuration() if configuration is None else configuration
    address = ModelAddress() if model else connection.find_address(files, kept)
    reader = model
    if reader is None:
        with show_download() as progress:
            opened = {**connection.opening, "record_tokens": record_tokens, "may_be_away": may_be_away}
            opening = partial(address.open, **opened, progress=progress)
            seconds = min(_SECONDS_TO_OPEN, Patience.from_minutes(connection.patience).seconds or 0.0)
            reader = await persist(opening, waits or Patience(seconds=seconds))
    try:
        yield Session(
            model=accompany(reader),
            journal=journal,
            address=address,
            patience=Patience.from_minutes(connection.patience),
            configuration=files,
        )
    finally:
        if model is None:
            await reader.aclose()
