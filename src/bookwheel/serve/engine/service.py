"""One server without its protocols: a journal, models, readings under way, keys and limits."""

import asyncio
import logging
from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final
from weakref import WeakValueDictionary

from bookwheel.configuration import names_chunks
from bookwheel.errors import BookwheelError, InputError, JournalError, PlanError
from bookwheel.journal import Journal, StoredDocument
from bookwheel.models.base import Model
from bookwheel.models.patience import Patience
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import Budget, Plan
from bookwheel.preset import load_preset_plan
from bookwheel.reading.prompts import shipped_prompt_sets
from bookwheel.reading.runner import can_judge, judge_again
from bookwheel.reading.ways.registry import is_known
from bookwheel.serve.engine.access import AccessPolicy, Key, KeyRing, SourceRequest, TokenQuota
from bookwheel.serve.engine.documents import DocumentStore
from bookwheel.serve.engine.errors import ApiError, ServerLimitReached, hide_place
from bookwheel.serve.engine.kept_responses import KeptResponses
from bookwheel.serve.engine.library import Library
from bookwheel.serve.engine.memories import ServedMemories
from bookwheel.serve.engine.originals import Originals
from bookwheel.serve.engine.reading_pool import ReadingPool, ReadingRunner
from bookwheel.serve.engine.running_reading import Caller, DocumentOpener, ReadingRequest, RunningReading
from bookwheel.serve.engine.settings import ServerSettings
from bookwheel.serve.engine.sharing import FairQueue, Metrics, SharedModel
from bookwheel.serve.engine.summaries import Summaries
from bookwheel.serve.engine.usage import UsageStore
from bookwheel.session import Session, WayRequest, make_reading, settle_way
from bookwheel.types import DocumentInfo, Reading, Status, Usage

_log = logging.getLogger(__name__)

_SECONDS_BETWEEN_DROPS: Final = 3600
# Parts of a plan that the next reading of a document does not take over: limits count anew.
_OF_ONE_READING: Final = frozenset({"budget", "prompts", "earlier"})
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
    follows: Reading | None = None
    """An earlier reading of it, whose question and answer the model is told."""


class Service(Library):
    """Everything that the routes of all protocols share: what a library has, and the means to read."""

    def __init__(
        self,
        *,
        journal: Journal,
        models: Mapping[str, Model],
        plans: MutableMapping[str, Plan] | None = None,
        addresses: Mapping[str, ModelAddress] | None = None,
        way: WayRequest | None = None,
        keys: KeyRing | None = None,
        settings: ServerSettings | None = None,
    ) -> None:
        """Read by models and keep in a journal, which the caller closes."""
        self.settings, self.journal, self.models = settings or ServerSettings(), journal, models
        # The plan of a reading by each model; a request changes it within its budget. The caller's may change.
        self.plans = ChainMap(plans or {}, {name: model.plan for name, model in models.items()})
        # The way of a reading whose request names none.
        self.way = way or WayRequest()
        self.keys = keys or KeyRing()
        # A process that may open fewer files has fewer.
        self.connections = self.settings.limits.connections
        limits, self.metrics, self.usage = self.settings.limits, Metrics(), UsageStore(journal.path)
        self.queue = FairQueue(limits.calls, most_waiting=limits.waiting_calls)
        self.documents = DocumentStore(journal, self.usage, limits)
        # The command line goes on with a reading by the model that the server began it with.
        addresses = addresses or {name: ModelAddress().complete(model) for name, model in models.items()}
        run = ReadingRunner(
            journal=journal,
            models=models,
            addresses=addresses,
            usage=self.usage,
            queue=self.queue,
            metrics=self.metrics,
        )
        # Whatever the others do, each key has its share.
        share = -(-limits.readings // max(1, len(self.keys)))
        self.originals = Originals(limits.waiting_documents)
        self.written_reports = {}
        self.responses, self.summaries = KeptResponses(), Summaries()
        self.readings = ReadingPool(run, capacity=limits.readings, capacity_per_key=share)
        self._quotas: dict[str, TokenQuota] = {}
        # Weak values: a lock lives as long as a request holds it, so the table does not grow.
        self.request_locks = WeakValueDictionary[tuple[str, str], asyncio.Lock]()

    async def drop_unread(self) -> None:
        """Delete documents that were uploaded and never read, a day after they came; look again every hour."""
        while True:
            try:
                await asyncio.to_thread(self.journal.delete_unread)
            except BookwheelError as error:  # a full disk, a locked journal: better luck in an hour
                _log.warning("documents that were never read are not deleted: %s", error)
            await asyncio.sleep(_SECONDS_BETWEEN_DROPS)

    @cached_property
    def memories(self) -> ServedMemories:
        return ServedMemories(self)

    async def aclose(self) -> None:
        """Interrupt the readings under way and close the usage store."""
        await self.readings.close()
        self.originals.close()
        self.usage.close()

    def quota(self, key: Key | None) -> TokenQuota | None:
        """Return the quota of a key that has one, always the same object."""
        if key is None or key.tokens_per_day is None:
            return None
        return self._quotas.setdefault(key.name, TokenQuota(key, self.usage))

    def make_session(self, key: Key | None, model: str) -> Session:
        """Return a session for calls that are no reading of their own; they take turns with those of readings."""
        if quota := self.quota(key):
            quota.check()
        shared = self.share_model(self.readings.get_model(model), key)
        return Session(model=shared, journal=self.journal, patience=Patience())

    def share_model(self, model: Model, key: Key | None, client: str = "") -> SharedModel:
        """Return a model whose calls take turns and keep to the key's quota; without keys, the turns of `client`."""
        return SharedModel(
            model,
            queue=self.queue,
            client=key.name if key else client,
            loop=asyncio.get_running_loop(),
            metrics=self.metrics,
            quota=self.quota(key),
        )

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

    def make_spec(
        self,
        *layers: Mapping[str, Any],
        model: str | None = None,
        way: str = "",
        old: Reading | None = None,
        preset: str = "",
    ) -> ReadingSpec:
        """Return how to read: by the plan and the way of an earlier reading, if there is one, with these changes."""
        name = model or (old.model if old and old.model in self.models else next(iter(self.models)))
        below = [old.plan] if old else []
        if old and not way and is_known(old.way):
            way = old.way
        if preset:
            below.append(load_preset_plan(preset))
        kept = [{key: value for key, value in plan.to_json().items() if key not in _OF_ONE_READING} for plan in below]
        has_chunks = bool(preset) or any(map(names_chunks, layers))
        plan = self.make_plan(name, *kept, *layers)
        return ReadingSpec(model=name, plan=plan, way=way, has_chunks=has_chunks, follows=old)

    async def prepare(
        self,
        spec: ReadingSpec,
        question: str,
        open_document: DocumentOpener,
        caller: Caller,
        spent: Usage | None = None,
    ) -> ReadingRequest:
        """Return the request of a new reading; raise what is wrong with everything but its document.

        `spent` is what the question itself cost; it counts for the reading and its limits.
        """
        model = self.readings.get_model(spec.model)
        way = WayRequest(way=spec.way or self.way.way, has_chunks=spec.has_chunks or self.way.has_chunks)
        choice = await settle_way(way, None, question, model, spec.plan)
        if quota := self.quota(caller.key):
            quota.check()
        await self.documents.check_disk()
        before = {"finished": spec.finished, "follows": spec.follows}
        reading = await make_reading(_NO_DOCUMENT, question, model, spec.plan, choice.way, **before)
        return ReadingRequest(
            reading=replace(reading, usage=spent or Usage()),
            open_document=open_document,
            caller=caller,
            quota=quota,
            way=way,
            counted=spent or Usage(),
            limits=self.plans[spec.model].budget,
        )

    def prepare_next(self, reading: Reading, caller: Caller, counted: Usage | None = None) -> ReadingRequest:
        """Return the request that continues a stored reading, within the limits that the server has now."""
        limits = self.plans[self.readings.get_model(reading.model).name].budget
        budget = _lower_limits(reading.plan.budget, limits)
        return ReadingRequest(
            reading=replace(reading, plan=replace(reading.plan, budget=budget)),
            open_document=self.stored_opener(reading.id),
            caller=caller,
            quota=self.quota(caller.key),
            is_stored=True,
            counted=counted or Usage(),
            limits=limits,
        )

    def source_opener(self, source: SourceRequest, access: AccessPolicy, caller: Caller) -> DocumentOpener:
        """Return a function that opens what a client asks for, within what it may have opened."""

        async def open_document() -> StoredDocument:
            if source.text is not None:
                return await self.documents.store_text(source.text, source.name, caller.key_name)
            if source.url is not None:
                return await self.documents.store_url(source.url, caller.key_name, allow_private=access.allow_private)
            if source.path is not None:
                return await self.documents.store_path(access.resolve(source.path), caller.key_name)
            return await self.get_document(source.document or "", caller.key)

        return open_document

    def stored_opener(self, id_: str) -> DocumentOpener:
        return partial(asyncio.to_thread, self.journal.document_of, id_)

    async def continue_reading(self, reading: Reading, caller: Caller, counted: Usage | None = None) -> Reading:
        """Continue a stored reading after its last step, with the same model."""
        return await self.wait_until_started(self.readings.start(self.prepare_next(reading, caller, counted)))

    async def wait_until_started(self, running: RunningReading) -> Reading:
        """Return the reading once the journal has it. Raise a 409 where another process holds a stored one."""
        try:
            return await running.wait_until_started()
        except JournalError as error:
            if not running.request.is_stored:
                raise
            raise ApiError(409, str(error), kind="JournalError") from error

    async def resume(self, reading: Reading, budget: Mapping[str, Any], caller: Caller) -> Reading:
        """Continue a reading that has no answer, under a budget that counts from zero.

        The server's own limits hold for all runs together, or a client could pass them by resuming again and again.
        """
        if reading.status is Status.ANSWERED or self.readings.get_running(reading.id):
            return reading
        limits, counted = self._renew_budget(reading, reading.model, budget)
        if reading.error_kind == ServerLimitReached.__name__ and limits == reading.plan.budget:
            raise ServerLimitReached(reading.error)
        reading = replace(reading, plan=replace(reading.plan, budget=limits))
        return await self.continue_reading(reading, caller, counted)

    async def judge(self, id_: str, name: str | None, budget: Mapping[str, Any], key: Key | None) -> Reading:
        """Let a model judge the answer of a reading that has ended: the one of this name, or the first that can.

        A model that read goes first. The limits are those of a reading that is continued.
        """
        self.queue.check_capacity()
        await self.documents.check_disk()
        with ExitStack() as held:
            try:
                held.enter_context(self.journal.claim(id_))
            except JournalError as error:
                raise ApiError(409, str(hide_place(error, self.journal.path)), kind="JournalError") from error
            reading, document = await asyncio.to_thread(self.journal.reading, id_), await self.stored_opener(id_)()
            name = self._choose_judge(reading, name)
            limits, counted = self._renew_budget(reading, name, budget)
            session = self.make_session(key, name)
            work = judge_again(
                reading, document, session.model, self.journal, session.patience, budget=limits, counted=counted
            )
            return await self.readings.loop.run(work)

    def _choose_judge(self, reading: Reading, name: str | None) -> str:
        names = (name,) if name else sorted(self.models, key=lambda one: one != reading.model)
        judges = [one for one in names if can_judge(reading.question, self.readings.get_model(one))]
        if not judges:
            raise InputError(f"{', '.join(names)} only quotes and cannot judge: name a model that writes")
        return judges[0]

    def _renew_budget(self, reading: Reading, model: str, budget: Mapping[str, Any]) -> tuple[Budget, Usage]:
        """Return the limits of another run for a reading, and what its runs before count against them."""
        limits, counted = self.make_plan(model, {"budget": budget}).budget, Usage()
        if self.plans[model].budget.has_limits:
            counted = reading.usage
            cost = limits.price(counted.prompt_tokens, counted.completion_tokens)
            limits = replace(
                limits,
                tokens=None if limits.tokens is None else limits.tokens + counted.tokens,
                seconds=None if limits.seconds is None else limits.seconds + counted.seconds,
                cost=None if limits.cost is None else limits.cost + cost,
            )
        return _lower_limits(limits, self.plans[model].budget), counted


def _lower_limits(budget: Budget, limits: Budget) -> Budget:
    """Return the smaller of each limit; prices are the server's."""
    least: dict[str, Any] = {}
    for name in ("tokens", "seconds", "cost"):
        given = [value for value in (getattr(budget, name), getattr(limits, name)) if value is not None]
        least[name] = min(given, default=None)
    return replace(budget, **least, price_in=limits.price_in, price_out=limits.price_out)
