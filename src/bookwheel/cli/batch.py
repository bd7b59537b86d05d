"""`bookwheel batch TABLE`: many questions about many documents."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Group, Parameter

from bookwheel.cli.option_types import FilePath, Text
from bookwheel.cli.options import ReadingOptions, list_given
from bookwheel.cli.questions import read_questions
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.batch.rows import BatchLedger, BatchRow
    from bookwheel.batch.run import BatchEstimate, BatchRun
    from bookwheel.models.base import Model
    from bookwheel.plan import Budget

_BATCH: Final = Group("Batch", sort_key=1)
_SOME_FAILED: Final = 5
_STOPPED: Final = 4


def batch(
    table: FilePath,
    *,
    out: Annotated[FilePath | None, Parameter(group=_BATCH)] = None,
    question: Annotated[tuple[Text, ...], Parameter(group=_BATCH, negative="", show_default=False)] = (),
    questions: Annotated[FilePath | None, Parameter(group=_BATCH)] = None,
    estimate: Annotated[bool, Parameter(group=_BATCH, negative="")] = False,
    retry_failed: Annotated[bool, Parameter(group=_BATCH, negative="")] = False,
    everything: Annotated[bool, Parameter(group=_BATCH, negative="")] = False,
    ray: Annotated[Text | None, Parameter(group=_BATCH)] = None,
    options: ReadingOptions | None = None,
) -> int:
    """Answer the questions of a table, or the same questions about every file of a folder, into a table.

    The output has the table's columns and, for each row, `status`, `answer`, `verdict`, `quote`, `page`, `error`,
    `notes`, `reading`, `tokens` and `cost`. A row that fails says why in `error`, and the others go on. The same
    command again goes on with the rows that have no answer yet. The questions about one document are read together.
    Limits such as --max-cost hold for the whole batch.

    Parameters
    ----------
    table
        A .csv, .jsonl or .parquet file with the columns `source` (a file, a folder or an address; paths begin at the
        table's folder) and `question`; or a folder, whose files are the sources.
    out
        The table to write: .csv, .jsonl or .parquet. By default, TABLE.answers with the table's ending, in the current
        folder for a folder.
    question
        A question for each row that has none; can be repeated.
    questions
        A file with such questions, one a line.
    estimate
        Open the documents, print what the batch would take at most, and stop.
    retry_failed
        Read the rows that failed before again.
    everything
        Read menus, cookie notices, running titles and page numbers too.
    ray
        Spread the documents over the Ray cluster at this address; `local` starts one on this machine. The workers must
        reach the sources and the model by the same names. Needs the extra `ray`.

    """
    from bookwheel.batch.rows import BatchLedger
    from bookwheel.batch.tables import check_format
    from bookwheel.cli.runner import run_command

    if ray is not None:
        require_extra("a Ray cluster", "ray", "ray")
    place = out or _name_output(table)
    check_format(place)
    ledger = BatchLedger(place)
    if retry_failed:
        ledger.forget_failed()
    job = _BatchJob(
        rows=_load_rows(table, question, questions),
        ledger=ledger,
        out=place,
        options=options or ReadingOptions(),
        everything=everything,
        only_estimate=estimate,
        cluster=ray or "",
    )
    return run_command(_run(job))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BatchJob:
    """What a command line asks for."""

    rows: list[BatchRow]
    ledger: BatchLedger
    out: Path
    options: ReadingOptions
    everything: bool
    only_estimate: bool
    cluster: str
    """The address of a Ray cluster; empty reads here."""


def _load_rows(table: Path, question: tuple[str, ...], file: Path | None) -> list[BatchRow]:
    from bookwheel.batch.rows import list_folder, make_rows
    from bookwheel.batch.tables import read_table

    asked = [*question, *(read_questions(file) if file else [])]
    if table.is_dir():
        return make_rows(list_folder(table), asked, table, str(table))
    return make_rows(read_table(table), asked, table.parent, str(table))


def _name_output(table: Path) -> Path:
    if table.is_dir():
        from pathlib import Path

        return Path(f"{table.resolve().name}.answers.csv")
    return table.with_name(f"{table.stem}.answers{table.suffix}")


async def _run(job: _BatchJob) -> int:
    from bookwheel.arguments import build_plan
    from bookwheel.batch.run import BatchRun, BatchSettings
    from bookwheel.plan import Budget
    from bookwheel.session import WayRequest

    configuration, options = load_configuration(), job.options
    given = list_given(options.plan, options.budget)
    request = WayRequest.from_settings(options.way, given, configuration)
    address = options.models.find_address(configuration)
    with options.output.open_journal() as journal:
        model = await options.models.open(address)
        try:
            plan = build_plan(None, model, given, configuration, address)
            budget = plan.budget
            # The limits are those of the batch; a reading keeps the prices, by which its cost is counted.
            prices = Budget(price_in=budget.price_in, price_out=budget.price_out)
            settings = BatchSettings(
                plan=replace(plan, budget=prices),
                address=address,
                request=request,
                everything=job.everything,
            )
            work = BatchRun(rows=job.rows, ledger=job.ledger, settings=settings, journal=journal)
            if job.only_estimate or not job.cluster:
                await work.open_documents(model)
                _print_estimate(await work.estimate(model), model, budget, options, only=job.only_estimate)
            if not job.only_estimate:
                await _read(job, work, model, budget)
        finally:
            await model.aclose()
    return 0 if job.only_estimate else _print_summary(work, job.out, options)


async def _read(job: _BatchJob, work: BatchRun, model: Model, budget: Budget) -> None:
    """Read here or on the cluster, and write the table, however that ends."""
    from bookwheel.batch.tables import write_table
    from bookwheel.cli.batch_progress import show_batch
    from bookwheel.models.patience import Patience

    models = job.options.models
    with show_batch(work, is_silent=job.options.output.is_silent) as watch:
        work.watch = watch
        try:
            if job.cluster:
                await asyncio.to_thread(_read_on_cluster, job, work, budget)
            else:
                patience = Patience.from_minutes(models.patience, watch.report_retry)
                await work.read(model, budget, patience, side_by_side=models.concurrency)
        finally:
            write_table(job.out, work.build_table())


def _read_on_cluster(job: _BatchJob, work: BatchRun, budget: Budget) -> None:
    from bookwheel.batch.cluster import ActorSettings, read_on_cluster

    models = job.options.models
    if budget.seconds is not None:
        raise InputError("--max-seconds is for one machine: limit tokens or cost with --ray")
    connection = {name: getattr(models, name) for name in ("api_key", "timeout", "deadline", "concurrency", "threads")}
    settings = ActorSettings(batch=work.settings, patience=models.patience, connection=connection)
    outcomes = read_on_cluster(work.list_open(), job.cluster, settings, budget, most_actors=models.concurrency)
    for row, outcome in outcomes:
        work.record(row, outcome)


def _print_estimate(cost: BatchEstimate, model: Model, budget: Budget, options: ReadingOptions, *, only: bool) -> None:
    """Print the estimate: to stdout if nothing else was asked for."""
    from rich.text import Text as Line

    from bookwheel.cli.output import print_line, stderr

    if only and options.output.as_json:
        print_line(json.dumps({"model": model.name, **asdict(cost)}))
        return
    about = "" if cost.exact else "about "
    price = f", {cost.cost:.4g} in cost" if cost.cost else ""
    text = (
        f"{model.name}: {cost.rows:,} questions about {cost.documents:,} documents take at most {about}"
        f"{cost.calls:,} calls, {cost.prompt_tokens:,} prompt and {cost.completion_tokens:,} reply tokens{price}"
    )
    if only:
        print_line(text)
    elif not options.output.is_silent:
        stderr().print(Line(text, style="dim"))
        tokens = cost.prompt_tokens + cost.completion_tokens
        if tokens > (budget.tokens or tokens) or cost.cost > (budget.cost or cost.cost):
            line = "that may be more than the limit; what is not answered then is left for the same command again"
            stderr().print(Line(f"note: {line}", style="yellow"))


def _print_summary(work: BatchRun, out: Path, options: ReadingOptions) -> int:
    """Print how many rows have an answer and what they cost, and return the exit code."""
    from collections import Counter

    from rich.text import Text as Line

    from bookwheel.cli.output import print_line, stderr

    outcomes = [work.find_outcome(row) for row in work.rows]
    count = Counter(outcome.status for outcome in outcomes)
    tokens, costs = sum(outcome.tokens for outcome in outcomes), [outcome.cost for outcome in outcomes if outcome.cost]
    if options.output.as_json:
        values = {"rows": len(outcomes), **count, "tokens": tokens, "cost": sum(costs) if costs else None}
        print_line(json.dumps({**values, "out": str(out)}))
    else:
        print_line(str(out))
        price = f", cost {sum(costs):.4g}" if costs else ""
        states = ", ".join(f"{number:,} {status}" for status, number in count.items())
        if not options.output.quiet:
            stderr().print(Line(f"{len(outcomes):,} rows: {states} · {tokens:,} tokens{price}", style="dim"))
    if count["failed"] == len(outcomes):
        return 3
    unfinished = len(outcomes) - count["answered"] - count["failed"]
    return _STOPPED if unfinished else _SOME_FAILED if count["failed"] else 0
