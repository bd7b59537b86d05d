"""One server without its protocols: a journal, models, readings under way, keys and limits."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakValueDictionary

from bookwheel.errors import JournalError, PlanError
from bookwheel.reading.prompts import shipped_prompt_sets
from bookwheel.serve.engine.access import KeyRing, TokenQuota
from bookwheel.serve.engine.documents import DocumentStore
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.metrics import Metrics
from bookwheel.serve.engine.reading_pool import ReadingPool
from bookwheel.serve.engine.running_reading import ReadingRequest, RunningReading
from bookwheel.serve.engine.settings import ServerSettings
from bookwheel.serve.engine.sharing import FairQueue
from bookwheel.serve.engine.usage import UsageStore
from bookwheel.session import WayRequest, make_reading, settle_way
from bookwheel.types import DocumentInfo, Reading, Status, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.plan import Budget, Plan
    from bookwheel.serve.engine.access import Key
    from bookwheel.serve.engine.running_reading import DocumentOpener

_READING_ID: Final = re.compile(r"[0-9A-Za-z_-]{4,64}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_SECONDS_BETWEEN_DROPS: Final = 3600
# Stands in a new reading until its document is open.
_NO_DOCUMENT: Final = DocumentInfo(id="", name="", length=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSpec:
    """How to read for a question."""

    model: str
    plan: Plan
    way: str = ""
    """Empty: the one that suits model and document."""
    has_chunks: bool = False
    """The request says how to cut chunks."""
    finished: Reading | None = None
    """An answered reading of the same document, with whose memory this one begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, and the means to recognise the same request when it is sent again."""

    key: Key | None = None
    """None where the server has no keys."""
    idempotency_key: str | None = None
    fingerprint: str = ""
    """A hash of the request's body."""

    @property
    def key_name(self) -> str:
        """The key's name; empty where the server has no keys."""
        return self.key.name if self.key else ""


@dataclass(frozen=True, kw_only=True)
class Service:
    """Everything that the routes of all protocols share."""

    settings: ServerSettings
    journal: Journal
    models: Mapping[str, Model]
    plans: Mapping[str, Plan]
    """The plan of a reading by each model; a request changes it within its budget."""
    way: WayRequest
    """The way of a reading whose request names none."""
    readings: ReadingPool
    documents: DocumentStore
    usage: UsageStore
    queue: FairQueue
    keys: KeyRing
    metrics: Metrics
    _quotas: dict[str, TokenQuota] = field(default_factory=dict)
    # Weak values: a lock lives as long as a request holds it, so the table does not grow.
    request_locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @classmethod
    def create(
        cls,
        *,
        journal: Journal,
        models: Mapping[str, Model],
        plans: Mapping[str, Plan] | None = None,
        way: WayRequest | None = None,
        keys: KeyRing | None = None,
        settings: ServerSettings | None = None,
    ) -> Self:
        """Create a service over a journal and models, which the caller closes."""
        settings = settings or ServerSettings()
        limits, metrics, usage = settings.limits, Metrics(), UsageStore(journal.path)
        queue = FairQueue(limits.calls, most_waiting=limits.waiting_calls)
        readings = ReadingPool(
            journal=journal,
            models=models,
            usage=usage,
            queue=queue,
            metrics=metrics,
            capacity=limits.readings,
            # Whatever the others do, each key has its share.
            capacity_per_key=-(-limits.readings // max(1, len(keys or ()))),
        )
        return cls(
            settings=settings,
            journal=journal,
            models=models,
            plans={name: (plans or {}).get(name, model.plan) for name, model in models.items()},
            way=way or WayRequest(),
            readings=readings,
            documents=DocumentStore(journal, usage, limits),
            usage=usage,
            queue=queue,
            keys=keys or KeyRing(),
            metrics=metrics,
        )

    async def drop_unread(self) -> None:
        """Delete documents that were uploaded and never read, a day after they came; look again every hour."""
        while True:
            await asyncio.to_thread(self.journal.delete_unread)
            await asyncio.sleep(_SECONDS_BETWEEN_DROPS)

    async def aclose(self) -> None:
        """Interrupt the readings under way and close the usage store."""
        await self.readings.close()
        self.usage.close()

    def apply_limits(self, reading: Reading) -> Reading:
        """Return the reading within the limits that the server has now."""
        limits = self.plans[self.readings.get_model(reading.model).name].budget
        budget = _lower_limits(reading.plan.budget, limits)
        return replace(reading, plan=replace(reading.plan, budget=budget))

    def quota(self, key: Key | None) -> TokenQuota | None:
        """Return the quota of a key that has one, always the same object."""
        if key is None or key.tokens_per_day is None:
            return None
        return self._quotas.setdefault(key.name, TokenQuota(key, self.usage))

    def make_plan(self, model: str, *layers: Mapping[str, Any]) -> Plan:
        """Return the model's plan with a request's values on top, the last layer uppermost.

        They can lower the server's limits and never raise them.
        """
        self.readings.get_model(model)
        base = plan = self.plans[model]
        for values in layers:
            plan = plan.with_values(values)
        # A plan's prompts may also name a file, whose text would come back in the prompts.
        if plan.prompts not in {base.prompts, *shipped_prompt_sets()}:
            raise PlanError(
                f"prompts is one of {', '.join(sorted(shipped_prompt_sets()))} here; a request cannot name a file"
            )
        return replace(plan, budget=_lower_limits(plan.budget, base.budget))

    def sees_all(self, key: Key | None) -> bool:
        """Return True where a client sees what others have asked and uploaded."""
        return key is None or self.settings.is_shared

    async def get_document(self, sha: str, key: Key | None) -> StoredDocument:
        """Return the document of this SHA-256 that the key brought, or raise a 404."""
        if not _SHA256.fullmatch(sha):
            raise not_found("document of that name")
        try:
            return await asyncio.to_thread(self._find_document, sha, key)
        except JournalError as error:
            raise not_found("document of that name; upload it again") from error

    def _find_document(self, sha: str, key: Key | None) -> StoredDocument:
        if key is None or self.sees_all(key):
            return self.journal.document(sha)
        # Not by its text alone: another key may have brought the same text, with a name that is nobody else's business.
        row = self.usage.find_document(key.name, sha)
        if row is None:
            raise not_found("document of that name; upload it again")
        return self.journal.document_at(row)

    async def get_reading(self, id_: str, key: Key | None) -> Reading:
        """Return the key's reading of exactly this id, or raise a 404."""
        # The journal also takes the beginning of an id and "last", which must not reach someone else's reading.
        if _READING_ID.fullmatch(id_) and id_ != "last" and await asyncio.to_thread(self.owns, id_, key):
            try:
                reading = await asyncio.to_thread(self.journal.reading, id_)
            except JournalError as error:
                raise not_found("reading of that name") from error
            if reading.id == id_:
                return reading
        raise not_found("reading of that name")

    def owns(self, id_: str, key: Key | None) -> bool:
        """Return True if a client may see the reading of this id."""
        return key is None or self.sees_all(key) or self.usage.find_owner(id_) == key.name

    async def list_readings(
        self,
        key: Key | None,
        *,
        limit: int,
        search: str | None = None,
        document: str | None = None,
        offset: int = 0,
    ) -> list[Reading]:
        """Return the readings that a client may see, without their steps, newest first."""
        ids = None if key is None or self.sees_all(key) else self.usage.list_owned(key.name)
        return await asyncio.to_thread(
            self.journal.readings, limit=limit, search=search, ids=ids, document=document, offset=offset
        )

    async def find_id(self, name: str, key: Key | None) -> str:
        """Return the id of the reading that a client names by its id, the beginning of it, or "last"."""
        running = self.readings.get_recent(name)
        if running and (self.sees_all(key) or (key and running.request.key_name == key.name)):
            return name
        return await asyncio.to_thread(self._find_id, name, key)

    def _find_id(self, name: str, key: Key | None) -> str:
        if key is None or self.sees_all(key):
            return self.journal.reading(name).id
        owned = self.usage.list_owned(key.name)
        matches = owned[-1:] if name == "last" else [id_ for id_ in owned if name and id_.startswith(name)]
        if len(matches) != 1:
            raise not_found("reading of that name; list_readings lists what there is")
        return matches[0]

    async def prepare(
        self,
        spec: ReadingSpec,
        question: str,
        open_document: DocumentOpener,
        caller: Caller,
        *,
        survives_restart: bool = True,
    ) -> ReadingRequest:
        """Return the request of a new reading. Raise what is wrong with everything but its document."""
        model = self.readings.get_model(spec.model)
        # A memory that is carried on was made in chunks.
        has_chunks = spec.has_chunks or self.way.has_chunks or spec.finished is not None
        way = WayRequest(way=spec.way or self.way.way, has_chunks=has_chunks)
        choice = await settle_way(way, None, question, model, spec.plan)
        quota = self.quota(caller.key)
        if quota:
            quota.check()
        await self.documents.check_disk()
        reading = await make_reading(_NO_DOCUMENT, question, model, spec.plan, choice.way, finished=spec.finished)
        request = _request(reading, open_document, caller, quota, is_stored=False, survives_restart=survives_restart)
        return replace(request, way=way)

    async def continue_reading(
        self, reading: Reading, caller: Caller, *, survives_restart: bool = True, counted: Usage | None = None
    ) -> tuple[RunningReading, Reading]:
        """Continue a stored reading after its last step, with the same model, within the server's limits."""
        request = self.prepare_next(reading, caller, survives_restart=survives_restart, counted=counted)
        running = self.readings.start(request)
        return running, await self.wait_until_started(running)

    async def wait_until_started(self, running: RunningReading) -> Reading:
        """Return the reading once the journal has it. Raise a 409 where another process holds a stored one."""
        try:
            return await running.wait_until_started()
        except JournalError as error:
            if not running.request.is_stored:
                raise
            raise ApiError(409, str(error), kind="JournalError") from error

    def prepare_next(
        self, reading: Reading, caller: Caller, *, survives_restart: bool = True, counted: Usage | None = None
    ) -> ReadingRequest:
        """Return the request that continues a stored reading."""
        reading = self.apply_limits(reading)
        open_document, quota = self.readings.document_opener(reading.id), self.quota(caller.key)
        request = _request(reading, open_document, caller, quota, is_stored=True, survives_restart=survives_restart)
        return replace(request, counted=counted or Usage())

    async def resume(
        self, reading: Reading, budget: Mapping[str, Any], key: Key | None, *, survives_restart: bool = True
    ) -> Reading:
        """Continue a reading that has no answer, under a budget that counts from zero.

        The server's own limits hold for all runs together, or a client could pass them by resuming again and again.
        """
        if reading.status is Status.ANSWERED or self.readings.get_running(reading.id):
            return reading
        limits, counted = self.make_plan(reading.model, {"budget": budget}).budget, Usage()
        if self.plans[reading.model].budget.has_limits:
            counted = reading.usage
            cost = limits.price(counted.prompt_tokens, counted.completion_tokens)
            limits = replace(
                limits,
                tokens=None if limits.tokens is None else limits.tokens + counted.tokens,
                seconds=None if limits.seconds is None else limits.seconds + counted.seconds,
                cost=None if limits.cost is None else limits.cost + cost,
            )
        reading = replace(reading, plan=replace(reading.plan, budget=limits))
        _, reading = await self.continue_reading(
            reading, Caller(key=key), survives_restart=survives_restart, counted=counted
        )
        return reading


def _request(
    reading: Reading,
    open_document: DocumentOpener,
    caller: Caller,
    quota: TokenQuota | None,
    *,
    is_stored: bool,
    survives_restart: bool,
) -> ReadingRequest:
    return ReadingRequest(
        reading=reading,
        open_document=open_document,
        is_stored=is_stored,
        key_name=caller.key_name,
        quota=quota,
        survives_restart=survives_restart,
        idempotency_key=caller.idempotency_key,
        fingerprint=caller.fingerprint,
    )


def _lower_limits(budget: Budget, limits: Budget) -> Budget:
    """Return the smaller of each limit; prices are the server's."""
    least: dict[str, Any] = {}
    for name in ("tokens", "seconds", "cost"):
        given = [value for value in (getattr(budget, name), getattr(limits, name)) if value is not None]
        least[name] = min(given, default=None)
    return replace(budget, **least, price_in=limits.price_in, price_out=limits.price_out)
