"""Begin a lasting memory, and open it with what reads into it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from bookwheel.errors import BudgetReached, InputError
from bookwheel.journal.files import LockTaken
from bookwheel.journal.memories import MemoryTables
from bookwheel.journal.memory_rows import MemoryLimits, MemoryRecord, MemoryVersion, blank_version
from bookwheel.memory.text_index import TextIndex
from bookwheel.models.patience import PatientModel
from bookwheel.plan import Budget, Plan
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.guards import is_empty
from bookwheel.reading.loop import Way
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.auto import find_default_way
from bookwheel.reading.ways.compose import ComposedWay
from bookwheel.reading.ways.registry import check_abilities, load_way
from bookwheel.session import Session, make_reading
from bookwheel.types import DocumentInfo

_NAME: Final = re.compile(r"[^\W_][\w.@-]{0,63}")
_NOTE: Final = {
    "en": (
        "Date every fact. The newest value holds; older ones are superseded. The line in brackets that a section "
        "begins with names its source and when that was written, or added if no day of its own is known; what it tells "
        "of may be of another day."
    ),
    "zh": (
        "每条事实都注明日期。以最新的为准；旧的已被取代。每节开头方括号里是来源和写下的时间（added 表示不知写于何时，"
        "只知何时加入）；所说的事可能是别的日子的。"
    ),
}
WRITTEN_TOKENS: Final = 200_000
"""What a memory may have that an agent writes."""
WRITTEN_ABOUT: Final = "What an agent has noted"
# Seconds between two looks at a memory that another writer holds.
_TURN_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMemory:
    """A lasting memory with the model that reads into it, for one run of calls under one budget."""

    tables: MemoryTables
    record: MemoryRecord
    session: Session
    model: BudgetedModel
    """Counts what the run costs."""
    way: Way
    index: TextIndex = field(default_factory=TextIndex)

    @property
    def brief(self) -> str:
        """The question of its readings: what to note, and that facts have dates."""
        prompts = prompts_for(self.record.plan, self.record.about)
        return self.record.about if prompts.quotes else f"{self.record.about}\n{_NOTE[prompts.language]}"

    @property
    def reader(self) -> PatientModel:
        """The model, tried again while that can mend a failure."""
        return PatientModel(self.model, self.session.patience, is_empty=is_empty, sleep=self.model.sleep)

    def newest(self) -> MemoryVersion:
        return find_version(self.tables, self.record)

    def is_day_used(self) -> bool:
        most = self.record.limits.max_tokens_per_day
        return most is not None and self.tables.count_tokens_today(self.record.number) >= most

    def check_day(self) -> None:
        """Raise BudgetReached where the memory has cost what it may on a day."""
        if self.is_day_used():
            most = self.record.limits.max_tokens_per_day
            raise BudgetReached(
                f"the memory {self.record.name!r} has used its {most:,} tokens of today; it goes on at 0:00 UTC"
            )

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[None]:
        """Wait until no other process writes, and hold the memory until the end of the block."""
        while True:
            claim = self.tables.claim(self.record.number)
            try:
                claim.__enter__()
            except LockTaken:
                await asyncio.sleep(_TURN_SECONDS)
            else:
                break
        try:
            yield
        finally:
            claim.__exit__(None, None, None)


def find_version(tables: MemoryTables, record: MemoryRecord, number: int | None = None) -> MemoryVersion:
    """Return the newest version up to a number; version 0 is blank. InputError for a number that is still to come."""
    limit = record.plan.memory_tokens
    newest = tables.newest_version(record.number, limit) or blank_version(limit)
    if number is None or number == newest.version:
        return newest
    if number > newest.version:
        raise InputError(f"{record.name!r} has no version {number} yet; the newest is {newest.version}")
    return tables.newest_version(record.number, limit, number) or blank_version(limit)


def check_name(name: str) -> None:
    """Raise InputError for a name that could not stand in a path, an address or a model's name."""
    if not _NAME.fullmatch(name):
        raise InputError(f"the name {name!r} will not do: letters, digits and . - _ @, 64 at most, and no blank")


async def begin_memory(
    session: Session,
    name: str,
    about: str,
    plan: Plan,
    *,
    way: str = "",
    limits: MemoryLimits | None = None,
    owner: str = "",
    is_written: bool = False,
) -> MemoryRecord:
    """Begin a memory; raise what is wrong with brief, plan, way and model before anything is stored.

    One that is written by an agent, not read into, may be larger than what a call of the model holds.
    """
    check_name(name)
    if not about.strip():
        raise InputError("say what the memory is about")
    model = session.model
    chosen = way or find_default_way(model)
    _load_way(chosen)
    await check_abilities(chosen, model, plan)
    reading = await make_reading(DocumentInfo(id="", name=name, length=0), about, model, plan, chosen)
    # What was enough for one question is not enough for those to come, so every text is read to its end.
    settled = replace(reading.plan, enough_gain=0.0)
    if is_written:
        settled = replace(settled, memory_tokens=max(settled.memory_tokens, WRITTEN_TOKENS))
    record = MemoryRecord(
        name=name,
        about=about,
        model=model.name,
        way=chosen,
        plan=settled,
        address=session.address.complete(model),
        limits=limits or MemoryLimits(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        owner=owner,
    )
    return session.require_journal(f"memory {name!r}").memories.begin(record)


def open_memory(session: Session, name: str, *, owner: str = "", budget: Budget | None = None) -> OpenMemory:
    """Open a memory with the session's model, under a budget that counts from zero."""
    tables = session.require_journal(f"memory {name!r}").memories
    record = tables.find(name, owner)
    return OpenMemory(
        tables=tables,
        record=record,
        session=session,
        model=BudgetedModel(session.model, budget or record.plan.budget),
        way=_load_way(record.way),
    )


def _load_way(name: str) -> Way:
    """Return the way; InputError for one that does not go on from a memory."""
    way = load_way(name)
    goes_on = name in {"sequential", "quotes"} or (
        isinstance(way, ComposedWay) and not (way.preface or way.course or way.exit or way.review)
    )
    if not goes_on:
        raise InputError(
            f"the way {name!r} does not read on from a memory; take sequential, edits, heads or gated+edits"
        )
    return way
