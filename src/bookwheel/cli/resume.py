"""`bookwheel resume`: continue a reading. `edit` continues its fork in the same way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bookwheel.cli.options import BudgetOptions, ModelOptions, OutputOptions
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.types import Status

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.models.address import ModelAddress
    from bookwheel.models.base import Model
    from bookwheel.reading.loop import Way
    from bookwheel.types import Reading


def resume(
    reading: str,
    *,
    flagged: Annotated[bool, Parameter(negative="")] = False,
    gate_threshold: float | None = None,
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
    flagged
        Read the sections that were not taken in, or were skipped, past the memory there is, and answer anew.
    gate_threshold
        With --flagged: of the skipped sections, read those whose score is at least this.

    """
    from bookwheel.cli.runner import run_command

    options = (models or ModelOptions(), budget or BudgetOptions(), output or OutputOptions())
    if gate_threshold is not None and not flagged:
        raise InputError("--gate-threshold says which skipped sections are read again: it needs --flagged")
    return run_command(_resume(reading, *options, flagged=flagged, threshold=gate_threshold))


async def _resume(
    name: str,
    models: ModelOptions,
    budget: BudgetOptions,
    output: OutputOptions,
    *,
    flagged: bool,
    threshold: float | None,
) -> int:
    from bookwheel.cli.output import print_answer
    from bookwheel.reading.follow_up import continue_way
    from bookwheel.reading.reread import find_unread_sections, reread, reread_above

    journal = output.require_journal(name)
    with journal:
        old = journal.reading(name)
        is_answered = old.status is Status.ANSWERED
        if is_answered and not (flagged and find_unread_sections(old.steps)):
            return print_answer(old, output)
        if flagged and not is_answered:
            raise InputError(f"reading {old.id[:8]} has no answer yet: continue it first, without --flagged")
        again = reread if threshold is None else reread_above(threshold)
        way = again if flagged else continue_way(old.steps, load_way_of(old))
        return await continue_reading(old, journal, models, budget, output, way)


async def continue_reading(
    old: Reading, journal: Journal, models: ModelOptions, budget: BudgetOptions, output: OutputOptions, way: Way
) -> int:
    """Read on with the model that began, unless the options name another."""
    from bookwheel.cli.runner import read_to_end

    settings, kept = load_configuration(), journal.address_of(old.id)
    address = models.find_address(settings, kept)
    model = await _open_model(models, address, is_known=kept is not None and address.url == kept.url)
    try:
        # The old limits were for the old run; its prices still hold.
        base = replace(old.plan.budget, tokens=None, seconds=None, cost=None)
        plan = replace(old.plan, budget=budget.build(base, settings.find_endpoint(address)))
        reading = replace(old, plan=plan, status=Status.READING, model=model.name, error="")
        with journal.claim(old.id):
            journal.keep_address(old.id, address.complete(model))
        document = journal.document_of(old.id)
        return await read_to_end(reading, document, model, journal, output, way=way, patience=models.patience)
    finally:
        await model.aclose()


async def _open_model(models: ModelOptions, address: ModelAddress, *, is_known: bool) -> Model:
    """Open the model. A server that has answered this reading before is waited for; a mistyped address is not."""
    from bookwheel.cli.output import stderr
    from bookwheel.cli.progress import WaitLines
    from bookwheel.models.patience import Patience, persist

    patience = Patience.from_minutes(models.patience if is_known else 0, WaitLines(stderr()).report)
    return await persist(lambda: models.open(address), patience)


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
