"""`bookwheel resume`: continue a reading. `edit` continues its fork in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bookwheel.cli.options import BudgetOptions, ModelOptions, OutputOptions, list_given
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
    from bookwheel.reading.reread import find_unread_sections, reread, reread_above
    from bookwheel.session import find_way

    journal = output.require_journal(name)
    with journal:
        old = journal.reading(name)
        is_answered = old.status is Status.ANSWERED
        if is_answered and not (flagged and find_unread_sections(old.steps)):
            return print_answer(old, output)
        if flagged and not is_answered:
            raise InputError(f"reading {old.id[:8]} has no answer yet: continue it first, without --flagged")
        again = reread if threshold is None else reread_above(threshold)
        way = again if flagged else find_way(old)
        return await continue_reading(old, journal, models, budget, output, way)


async def continue_reading(
    old: Reading, journal: Journal, models: ModelOptions, budget: BudgetOptions, output: OutputOptions, way: Way
) -> int:
    """Read on with the model that began, unless the options name another."""
    from bookwheel.arguments import renew_budget
    from bookwheel.cli.output import stderr
    from bookwheel.cli.progress import WaitLines
    from bookwheel.cli.runner import read_to_end
    from bookwheel.models.patience import Patience

    settings, kept = load_configuration(), journal.address_of(old.id)
    address = models.find_address(settings, kept)
    # A server that has answered this reading before is waited for; a mistyped address is not.
    is_known = kept is not None and address.url == kept.url
    patience = Patience.from_minutes(models.patience if is_known else 0, WaitLines(stderr()).report)
    async with models.open_session(address, journal, patience) as session:
        endpoint = settings.find_endpoint(address)
        prices = endpoint.apply_prices(old.plan.budget) if endpoint else old.plan.budget
        reading = session.renew(old, renew_budget(prices, list_given(budget)))
        return await read_to_end(session, [reading], journal.document_of(old.id), way, output)
