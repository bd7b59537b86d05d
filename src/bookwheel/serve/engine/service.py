"""What the routes share: one journal, the models, the readings, and who may ask."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakValueDictionary

from bookwheel.errors import JournalError, PlanError
from bookwheel.reading import runner
from bookwheel.reading.prompts import shipped_prompt_sets
from bookwheel.reading.ways.registry import load_way
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.fair_queue import FairQueue
from bookwheel.serve.engine.keys import KeyRing, TokenQuota
from bookwheel.serve.engine.metrics import Metrics
from bookwheel.serve.engine.readings import ReadingPool
from bookwheel.serve.engine.running import ReadingRequest, RunningReading
from bookwheel.serve.engine.settings import ServerSettings
from bookwheel.serve.engine.usage import UsageStore
from bookwheel.types import DocumentInfo, Reading, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.plan import Budget, Plan
    from bookwheel.serve.engine.keys import Key
    from bookwheel.serve.engine.running import Opening
    from bookwheel.serve.engine.usage import UsageEntry

_ID: Final = re.compile(r"[0-9A-Za-z_-]{4,64}")
_SHA: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST_REQUEST_KEY: Final = 255
_UNOPENED: Final = DocumentInfo(id="", name="", length=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSpec:
    """What a request asks to be read."""

    question: str
    model: str
    plan: Plan
    way: str = "sequential"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request, and how to recognise the same request when it is sent again."""

    key: Key | None = None
    """None where the server has no keys."""
    idempotency_key: str | None = None
    fingerprint: str = ""
    """A hash of the request's body."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """One server."""

    settings: ServerSettings
    journal: Journal
    models: Mapping[str, Model]
    plans: Mapping[str, Plan]
    """What a reading by each model is planned like; requests change it within its budget."""
    readings: ReadingPool
    ledger: UsageStore
    turns: FairQueue
    keys: KeyRing
    metrics: Metrics
    purses: dict[str, TokenQuota] = field(default_factory=dict)
    _asking: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @classmethod
    def of(
        cls,
        *,
        journal: Journal,
        models: Mapping[str, Model],
        plans: Mapping[str, Plan] | None = None,
        keys: KeyRing | None = None,
        settings: ServerSettings | None = None,
    ) -> Self:
        """A server over this journal and these models, which stay the caller's."""
        settings = settings or ServerSettings()
        limits, metrics, ledger = settings.limits, Metrics(), UsageStore(journal.path)
        turns = FairQueue(limits.calls, most_waiting=limits.waiting)
        readings = ReadingPool(
            journal=journal, models=models, ledger=ledger, turns=turns, metrics=metrics, most=limits.readings
        )
        return cls(
            settings=settings,
            journal=journal,
            models=models,
            plans={name: (plans or {}).get(name, model.plan) for name, model in models.items()},
            readings=readings,
            ledger=ledger,
            turns=turns,
            keys=keys or KeyRing(),
            metrics=metrics,
        )

    async def aclose(self) -> None:
        """Interrupt and keep what is under way."""
        await self.readings.close()
        self.ledger.close()

    async def come_back(self) -> None:
        """Go on with what the last server's end interrupted."""
        await self.readings.come_back(lambda owner: self.purse(self.keys.named(owner)))

    def purse(self, key: Key | None) -> TokenQuota | None:
        """The purse of a key that has a budget."""
        if key is None or key.tokens_per_day is None:
            return None
        return self.purses.setdefault(key.name, TokenQuota(key, self.ledger))

    def plan(self, model: str, values: Mapping[str, Any]) -> Plan:
        """The model's plan with a request's values; the server's own limits can be lowered, never raised."""
        self.readings.model(model)
        if values.get("prompts", "standard") not in shipped_prompt_sets():  # a file's text would come back in prompts
            raise PlanError(
                f"prompts is one of {', '.join(sorted(shipped_prompt_sets()))} here; a request cannot name a file"
            )
        base = self.plans[model]
        plan = base.with_values(values)
        return replace(plan, budget=_within(plan.budget, base.budget))

    async def document(self, sha: str) -> StoredDocument:
        """The document of this SHA-256."""
        if not _SHA.fullmatch(sha):
            raise not_found("document of that name")
        try:
            return await asyncio.to_thread(self.journal.document, sha)
        except JournalError as error:
            raise not_found("document of that name; upload it again") from error

    async def reading(self, id_: str) -> Reading:
        """The reading of exactly this id."""
        if _ID.fullmatch(id_) and id_ != "last":
            try:
                found = await asyncio.to_thread(self.journal.reading, id_)
            except JournalError as error:
                raise not_found("reading of that name") from error
            if found.id == id_:
                return found
        raise not_found("reading of that name")

    async def begin(
        self,
        wanted: ReadingSpec,
        opening: Opening,
        caller: Caller,
        **how: Any,
    ) -> tuple[RunningReading | None, Reading]:
        """Start a reading, or find the one that this Idempotency-Key began: Running while it is under way."""
        key, again, seal = caller.key, caller.idempotency_key, caller.fingerprint
        if again is None:
            running = await self.start(wanted, opening, key, **how)
            return running, await running.begun()
        if not 0 < len(again) <= _LONGEST_REQUEST_KEY:
            raise ApiError(400, "an Idempotency-Key has 1 to 255 characters", kind="invalid_request")
        lock = self._asking.setdefault((_owner(key), again), asyncio.Lock())
        async with lock:
            entry, reading = await self._answered(_owner(key), again)
            if entry is None or reading is None:
                running = await self.start(wanted, opening, key, request=again, print=seal, **how)
                return running, await running.begun()
            if entry.print != seal:
                message = "this Idempotency-Key was used for another request; take a new one"
                raise ApiError(422, message, kind="idempotency_key_reused")
            if reading.status is Status.ANSWERED:
                return None, reading
            return await self.go_on(reading, key, request=again, print=seal, **how)

    async def _answered(self, owner: str, again: str) -> tuple[UsageEntry | None, Reading | None]:
        """What this Idempotency-Key began; a kill may have come between the ledger and the journal."""
        entry = await asyncio.to_thread(self.ledger.find, owner, again)
        if entry is None:
            return None, None
        try:
            return entry, await self.reading(entry.id)
        except ApiError:
            await asyncio.to_thread(self.ledger.forget, entry.id)
            return None, None

    async def start(self, wanted: ReadingSpec, opening: Opening, key: Key | None, **how: Any) -> RunningReading:
        """A reading that begins now, with its document yet to be opened. Raises what is wrong with all else."""
        model = self.readings.model(wanted.model)
        load_way(wanted.way)
        purse = self.purse(key)
        if purse:
            purse.check()
        reading = runner.new_reading(_UNOPENED, wanted.question, model, wanted.plan, wanted.way)
        await asyncio.to_thread(runner.check_reading, reading, model)
        return self.readings.begin(ReadingRequest(reading=reading, open=opening, owner=_owner(key), purse=purse, **how))

    async def go_on(self, reading: Reading, key: Key | None, **how: Any) -> tuple[RunningReading, Reading]:
        """Read on from where the reading stands, with the same model."""
        opening = self.readings.opening_of(reading.id)
        asked = ReadingRequest(
            reading=reading, open=opening, kept=True, owner=_owner(key), purse=self.purse(key), **how
        )
        try:
            running = self.readings.begin(asked)
            return running, await running.begun()
        except JournalError as error:
            raise ApiError(409, str(error), kind="JournalError") from error

    async def resume(self, reading: Reading, budget: Mapping[str, Any], key: Key | None, **how: Any) -> Reading:
        """Go on with a reading that has no answer, under a budget that counts anew."""
        if reading.status is Status.ANSWERED or self.readings.running(reading.id):
            return reading
        limits = self.plan(reading.model, {"budget": budget}).budget
        _, reading = await self.go_on(replace(reading, plan=replace(reading.plan, budget=limits)), key, **how)
        return reading


def _owner(key: Key | None) -> str:
    return key.name if key else ""


def _within(budget: Budget, limits: Budget) -> Budget:
    """The smaller of each; prices are the server's."""
    least = {
        name: min(
            (value for value in (getattr(budget, name), getattr(limits, name)) if value is not None), default=None
        )
        for name in ("tokens", "seconds", "cost")
    }
    return replace(budget, **least, price_in=limits.price_in, price_out=limits.price_out)
