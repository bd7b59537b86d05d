"""`bookwheel resume`: continue a reading. `edit` continues its fork in the same way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bookwheel.cli.options import BudgetOptions, ModelOptions, OutputOptions
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.types import Status

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.reading.loop import Way
    from bookwheel.types import Reading


def resume(
    reading: str,
    *,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Continue a reading that was killed, interrupted, stopped by a budget, or failed, with the model that began it.

    No finished step is read again. A finished reading prints its answer. The budget counts from zero.

    Parameters
    ----------
    reading
        The reading's id, its first characters, or "last".

    """
    from bookwheel.cli.runner import run_command

    return run_command(_resume(reading, models or ModelOptions(), budget or BudgetOptions(), output or OutputOptions()))


async def _resume(name: str, models: ModelOptions, budget: BudgetOptions, output: OutputOptions) -> int:
    from bookwheel.cli.output import print_answer

    journal = output.require_journal(name)
    with journal:
        old = journal.reading(name)
        if old.status is Status.ANSWERED:
            return print_answer(old, output)
        return await continue_reading(old, journal, models, budget, output)


async def continue_reading(
    old: Reading, journal: Journal, models: ModelOptions, budget: BudgetOptions, output: OutputOptions
) -> int:
    """Read on with the model that began, unless the options name another."""
    from bookwheel.cli.runner import read_to_end

    way = load_way_of(old)
    settings, kept = load_configuration(), journal.address_of(old.id)
    address = models.find_address(settings, kept)
    model = await models.open(address)
    try:
        # The old limits were for the old run; its prices still hold.
        base = replace(old.plan.budget, tokens=None, seconds=None, cost=None)
        plan = replace(old.plan, budget=budget.build(base, models.find_endpoint(settings, kept)))
        reading = replace(old, plan=plan, status=Status.READING, model=model.name, error="")
        journal.keep_address(old.id, address.complete(model))
        return await read_to_end(reading, journal.document_of(old.id), model, journal, output, way=way)
    finally:
        await model.aclose()


def load_way_of(reading: Reading) -> Way:
    """Return the reading's way; InputError says how to make it known if it is a function of the user's own."""
    from bookwheel.reading.ways.registry import GROUP, is_known, load_way

    if not is_known(reading.way):
        raise InputError(
            f"reading {reading.id[:8]} was made with the way {reading.way!r}, which is not registered here. Register "
            f"the function as the entry point {reading.way!r} of the group {GROUP!r}, or continue in Python: "
            f"bookwheel.resume({reading.id[:8]!r}, way=FUNCTION)"
        )
    return load_way(reading.way)
