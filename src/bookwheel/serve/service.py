"""What the routes share: one journal, the models, the readings, and who may ask."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from bookwheel import desk
from bookwheel.errors import JournalError, PlanError
from bookwheel.serve.faults import Declined, not_there
from bookwheel.serve.keys import Purse
from bookwheel.serve.readings import Asked, Running
from bookwheel.types import Reading, Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from bookwheel.journal import Journal, KeptDocument
    from bookwheel.models.base import Model
    from bookwheel.plan import Budget, Plan
    from bookwheel.serve.keys import Key, Keys
    from bookwheel.serve.ledger import Ledger
    from bookwheel.serve.metrics import Metrics
    from bookwheel.serve.readings import Readings
    from bookwheel.serve.settings import Settings
    from bookwheel.serve.turns import Turns

_ID: Final = re.compile(r"[0-9A-Za-z_-]{4,64}")
_SHA: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST_REQUEST_KEY: Final = 255
_PROMPTS: Final = frozenset({"standard", "tiny"})
"""A path is not taken from a request: what it holds would come back in prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a request asks to be read."""

    question: str
    model: str
    plan: Plan
    way: str = "sequential"


@dataclass(frozen=True, kw_only=True)
class Service:
    """One server."""

    settings: Settings
    journal: Journal
    models: Mapping[str, Model]
    plans: Mapping[str, Plan]
    """What a reading by each model is planned like; requests change it within its budget."""
    readings: Readings
    ledger: Ledger
    turns: Turns
    keys: Keys
    metrics: Metrics
    purses: dict[str, Purse] = field(default_factory=dict)
    _asking: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def purse(self, key: Key | None) -> Purse | None:
        """The purse of a key that has a budget."""
        if key is None or key.tokens_per_day is None:
            return None
        return self.purses.setdefault(key.name, Purse(key, self.ledger))

    def plan(self, model: str, values: Mapping[str, Any]) -> Plan:
        """The model's plan with a request's values; the server's own limits can be lowered, never raised."""
        self.readings.model(model)
        if values.get("prompts", "standard") not in _PROMPTS:
            raise PlanError(
                f"prompts is one of {', '.join(sorted(_PROMPTS))} here; a file cannot be named in a request"
            )
        base = self.plans[model]
        plan = base.with_values(values)
        return replace(plan, budget=_within(plan.budget, base.budget))

    async def document(self, sha: str) -> KeptDocument:
        """The document of this SHA-256."""
        if not _SHA.fullmatch(sha):
            raise not_there("document of that name")
        try:
            return await asyncio.to_thread(self.journal.document, sha)
        except JournalError as error:
            raise not_there("document of that name; upload it again") from error

    async def reading(self, id_: str) -> Reading:
        """The reading of exactly this id."""
        if _ID.fullmatch(id_) and id_ != "last":
            try:
                found = await asyncio.to_thread(self.journal.reading, id_)
            except JournalError as error:
                raise not_there("reading of that name") from error
            if found.id == id_:
                return found
        raise not_there("reading of that name")

    async def begin(
        self,
        wanted: Wanted,
        open_document: Callable[[], Awaitable[KeptDocument]],
        request: Request,
        body: bytes,
        **how: Any,
    ) -> tuple[Running | None, Reading]:
        """Start a reading, or find the one that this Idempotency-Key began: Running while it is under way."""
        key: Key | None = request.state.key
        owner = key.name if key else ""
        again = request.headers.get("Idempotency-Key")
        seal = hashlib.sha256(body).hexdigest()
        if again is None:
            return await self._begin(wanted, await open_document(), key, **how)
        if not 0 < len(again) <= _LONGEST_REQUEST_KEY:
            raise Declined(400, "an Idempotency-Key has 1 to 255 characters", kind="invalid_request")
        lock = self._asking.setdefault((owner, again), asyncio.Lock())
        async with lock:
            entry = await asyncio.to_thread(self.ledger.find, owner, again)
            if entry is None:
                return await self._begin(wanted, await open_document(), key, request=again, print=seal, **how)
            if entry.print != seal:
                message = "this Idempotency-Key was used for another request; take a new one"
                raise Declined(422, message, kind="idempotency_key_reused")
            reading = await self.reading(entry.id)
            if running := self.readings.running(reading.id):
                return running, running.asked.reading
            if reading.status is Status.ANSWERED:
                return None, reading
            return await self.go_on(reading, key, request=again, print=seal, **how)

    async def go_on(self, reading: Reading, key: Key | None, **how: Any) -> tuple[Running, Reading]:
        """Read on from where the reading stands, with the same model."""
        document = await asyncio.to_thread(self.journal.document_of, reading.id)
        asked = Asked(reading=reading, document=document, owner=key.name if key else "", purse=self.purse(key), **how)
        try:
            running = await self.readings.go_on(asked)
        except JournalError as error:
            raise Declined(409, str(error), kind="JournalError") from error
        return running, running.asked.reading

    async def _begin(
        self, wanted: Wanted, document: KeptDocument, key: Key | None, **how: Any
    ) -> tuple[Running, Reading]:
        model = self.readings.model(wanted.model)
        purse = self.purse(key)
        if purse:
            purse.check()
        reading = desk.opened(document.info, wanted.question, model, wanted.plan, wanted.way)
        asked = Asked(reading=reading, document=document, owner=key.name if key else "", purse=purse, **how)
        return await self.readings.begin(asked), reading


def _within(budget: Budget, limits: Budget) -> Budget:
    """The smaller of each; prices are the server's."""
    least = {
        name: min(
            (value for value in (getattr(budget, name), getattr(limits, name)) if value is not None), default=None
        )
        for name in ("tokens", "seconds", "cost")
    }
    return replace(budget, **least, price_in=limits.price_in, price_out=limits.price_out)
