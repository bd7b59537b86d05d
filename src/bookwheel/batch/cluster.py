"""Spread a batch over a Ray cluster through Ray Data: actor pools read, Ray retries, the budget has one keeper.

Each actor has its own model and its own journal, in a folder of its node that ends with it. What comes back is the
outcomes, which the caller records like those of a batch on one machine.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from bookwheel.batch.rows import BatchRow, RowOutcome, group_rows
from bookwheel.batch.run import BatchSettings, GroupReader, OpenedGroup
from bookwheel.companions import accompany
from bookwheel.errors import BudgetReached
from bookwheel.journal import Journal
from bookwheel.models.base import Copies, Embeddings, Judgement, Likelihood, Model
from bookwheel.models.patience import Patience
from bookwheel.plan import Budget
from bookwheel.reading.budget import SpendingModel, SpendKind, worst_usage
from bookwheel.session import Session
from bookwheel.types import Message, Reply, Usage

# A worker that dies takes the documents that it reads with it: Ray reads them again elsewhere, so often.
_RETRIES: Final = 3
_T = TypeVar("_T", Reply, Judgement, Likelihood, Embeddings, Copies)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorSettings:
    """What every actor is made from."""

    batch: BatchSettings
    patience: float = 10.0
    """Minutes."""
    connection: dict[str, Any]
    """How to reach the model, as `ModelAddress.open` takes it."""


class BudgetKeeper:
    """One actor for the whole cluster: it reserves the worst cost of each call before it is sent."""

    def __init__(self, budget: dict[str, Any]) -> None:
        self._budget = Budget(**budget)
        self._spent = Usage()
        self._reserved = Usage()

    def reserve(self, prompt: int, completion: int) -> str:
        """Reserve a call; return why it is refused, or an empty text."""
        worst = self._spent + self._reserved + Usage(prompt_tokens=prompt, completion_tokens=completion)
        if self._budget.tokens is not None and worst.tokens > self._budget.tokens:
            return f"stopped at {self._spent.tokens} tokens: the next call could pass the limit of the batch"
        cost = self._budget.price(worst.prompt_tokens, worst.completion_tokens)
        if self._budget.cost is not None and cost > self._budget.cost:
            return "stopped: the next call could cost more than the limit of the batch"
        self._reserved += Usage(prompt_tokens=prompt, completion_tokens=completion)
        return ""

    def settle(self, reserved: tuple[int, int], used: tuple[int, int]) -> None:
        self._reserved += Usage(prompt_tokens=-reserved[0], completion_tokens=-reserved[1])
        self._spent += Usage(prompt_tokens=used[0], completion_tokens=used[1])


class _KeptModel(SpendingModel):
    """A model whose calls the keeper of the budget must allow."""

    def __init__(self, model: Model, keeper: Any) -> None:
        super().__init__(model)
        self._keeper = keeper

    async def spend(
        self, messages: Sequence[Message], limit: int, call: Callable[[], Awaitable[_T]], kind: SpendKind
    ) -> _T:
        """Make a call that the keeper has reserved."""
        del kind
        worst = worst_usage(self._model, messages, limit)
        reserved = (worst.prompt_tokens, worst.completion_tokens)
        if refusal := await self._keeper.reserve.remote(*reserved):
            raise BudgetReached(refusal)
        used = reserved  # of a call that fails nobody knows how much was spent
        try:
            result = await call()
            used = (result.usage.prompt_tokens, result.usage.completion_tokens)
        finally:
            await self._keeper.settle.remote(reserved, used)
        return result


class ClusterReader:
    """Reads one document of the batch for all its questions; Ray Data keeps a pool of these."""

    def __init__(self, settings: ActorSettings, keeper: Any) -> None:
        self._settings = settings
        self._keeper = keeper

    def __call__(self, item: dict[str, Any]) -> dict[str, Any]:
        rows = [BatchRow(**row) for row in item["rows"]]
        outcomes = asyncio.run(self._read(rows))
        return {"outcomes": [{"number": row.number, **asdict(outcomes[row.number])} for row in rows]}

    async def _read(self, rows: list[BatchRow]) -> dict[int, RowOutcome]:
        outcomes: dict[int, RowOutcome] = {}

        def record(row: BatchRow, outcome: RowOutcome) -> None:
            outcomes[row.number] = outcome

        settings, address = self._settings, self._settings.batch.address
        with (
            tempfile.TemporaryDirectory(prefix="bookwheel-") as folder,
            Journal(Path(folder) / "journal.sqlite") as journal,
        ):
            async with aclosing(accompany(await address.open(**settings.connection))) as model:
                kept, patience = _KeptModel(model, self._keeper), Patience.from_minutes(settings.patience)
                session = Session(model=kept, journal=journal, address=address, patience=patience)
                reader = GroupReader(session=session, journal=journal, settings=settings.batch, record=record)
                opened = await reader.open(rows)
                if isinstance(opened, OpenedGroup):
                    await reader.read(opened)
                else:
                    outcomes.update({row.number: opened for row in rows})
        # The journal is gone with the worker, so its ids lead nowhere.
        return {number: replace(outcome, reading="") for number, outcome in outcomes.items()}


def read_on_cluster(
    rows: Sequence[BatchRow], address: str, settings: ActorSettings, budget: Budget, *, most_actors: int
) -> Iterator[tuple[BatchRow, RowOutcome]]:
    """Yield the rows with their outcomes as the documents of the cluster are done."""
    import ray

    ray.init(address=None if address == "local" else address, ignore_reinit_error=True, log_to_driver=False)
    try:
        keeper = ray.remote(BudgetKeeper).remote(asdict(budget))
        by_number = {row.number: row for row in rows}
        items = [{"rows": [asdict(row) for row in group]} for group in group_rows(rows)]
        documents = ray.data.from_items(items, override_num_blocks=len(items))
        read = documents.map(
            ClusterReader,
            fn_constructor_args=(settings, keeper),
            concurrency=(1, max(1, min(most_actors, len(items)))),
            max_restarts=_RETRIES,
            max_task_retries=_RETRIES,
        )
        for item in read.iter_rows():
            for values in item["outcomes"]:
                yield by_number[values.pop("number")], RowOutcome(**values)
    finally:
        ray.shutdown()
