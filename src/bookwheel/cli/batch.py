"""`bookwheel batch TABLE`: many questions about many documents."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bookwheel.cli.ask import read_questions
from bookwheel.cli.options import OutPath, OutputOptions, ReadingOptions, Text, Texts, define_options
from bookwheel.cli.output import EXIT_CODES, INCOMPLETE, print_json, print_line, print_note, stderr
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.plan import Budget
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from bookwheel.batch.rows import BatchRow, RowOutcome
    from bookwheel.batch.run import BatchRun
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Retry


@define_options("Batch")
class BatchOptions:
    """The rows, and the table of their answers."""

    out: OutPath | None = None
    """The table to write: .csv, .jsonl or .parquet. By default, TABLE.answers with the table's ending, in the current
    folder for a folder."""
    question: Texts = ()
    "A question for each row that has none; can be repeated."
    questions: Path | None = None
    "A file with such questions, one a line."
    estimate: bool = False
    "Open the documents, print what the batch would take at most, and stop."
    retry_failed: bool = False
    "Read the rows that failed before again."
    everything: bool = False
    "Read menus, cookie notices, running titles and page numbers too."
    ocr: Literal["", "rapidocr", "tesseract", "off"] = ""
    "What reads the words in pictures: `rapidocr`, `tesseract` or `off`. Empty: what is installed, in this order."
    ray: Text | None = None
    """Spread the documents over the Ray cluster at this address; `local` starts one on this machine. The workers must
    reach the sources and the model by the same names. Needs the extra `ray`."""

    def place(self, table: Path) -> Path:
        if self.out:
            return self.out
        if table.is_dir():
            return Path(f"{table.resolve().name}.answers.csv")
        return table.with_name(f"{table.stem}.answers{table.suffix}")

    def load_rows(self, table: Path) -> list[BatchRow]:
        from bookwheel.batch.rows import list_folder, make_rows
        from bookwheel.tables.files import read_table

        asked = [*self.question, *(read_questions(self.questions) if self.questions else [])]
        if table.is_dir():
            return make_rows(list_folder(table), asked, table, str(table))
        return make_rows(read_table(table), asked, table.parent, str(table))


async def batch(
    table: Path, *, wanted: BatchOptions = BatchOptions(), options: ReadingOptions = ReadingOptions()
) -> int:
    """Answer the questions of a table, or the same questions about every file of a folder, into a table.

    The output has the table's columns and, for each row, `status`, `answer`, `verdict`, `answers`, `quote`, `page`,
    `error`, `notes`, `gaps`, `reading`, `tokens` and `cost`. A row that fails says why in `error`, and the others go
    on. The same command again goes on with the rows that have no answer yet. The questions about one document are read
    together. Limits such as --max-cost hold for the whole batch.

    Parameters
    ----------
    table
        A .csv, .jsonl or .parquet file with the columns `source` (a file, a folder or an address; paths begin at the
        table's folder) and `question`; or a folder, whose files are the sources.

    """
    from bookwheel.batch.rows import BatchLedger
    from bookwheel.batch.run import BatchRun, BatchSettings
    from bookwheel.plan import Budget
    from bookwheel.session import WayRequest
    from bookwheel.tables.files import check_target

    if wanted.ray is not None:
        require_extra("a Ray cluster", "ray", "ray")
    out = wanted.place(table)
    check_target(out)
    rows = wanted.load_rows(table)
    request = WayRequest.from_settings(options.way, options.given, load_configuration())
    with BatchLedger.hold(out) as ledger, options.output.open_journal() as journal:
        if wanted.retry_failed:
            ledger.forget_failed()
        async with options.models.open_session(journal) as session:
            plan = session.build_plan(options.given)
            budget = plan.budget
            # The limits are those of the batch; a reading keeps the prices, by which its cost is counted.
            prices = Budget(price_in=budget.price_in, price_out=budget.price_out)
            settings = BatchSettings(
                plan=replace(plan, budget=prices),
                address=session.address,
                request=request,
                everything=wanted.everything,
                ocr=wanted.ocr,
            )
            work = BatchRun(rows=rows, ledger=ledger, settings=settings, journal=journal)
            if wanted.estimate or not wanted.ray:
                await work.open_documents(session.model)
                await _print_estimate(work, session.model, budget, options.output, only=wanted.estimate)
            if wanted.estimate:
                return 0
            await _read(work, session.model, budget, options, cluster=wanted.ray, out=out)
    return _print_summary(work, out, options.output)


async def _read(
    work: BatchRun, model: Model, budget: Budget, options: ReadingOptions, *, cluster: str | None, out: Path
) -> None:
    """Read here or on the cluster, and write the table, however that ends."""
    from bookwheel.models.patience import Patience
    from bookwheel.tables.files import write_table

    connection = options.models.connection
    work.watch = watch = BatchWatcher(work, is_silent=options.output.is_silent)
    with watch.bar if stderr().is_terminal and not options.output.is_silent else nullcontext():
        try:
            if cluster:
                await asyncio.to_thread(_read_on_cluster, work, budget, options, cluster)
            else:
                patience = Patience.from_minutes(connection.patience, watch.report_retry)
                await work.read(model, budget, patience, side_by_side=connection.concurrency)
        finally:
            write_table(out, work.build_table())


def _read_on_cluster(work: BatchRun, budget: Budget, options: ReadingOptions, cluster: str) -> None:
    from bookwheel.batch.cluster import ActorSettings, read_on_cluster

    if budget.seconds is not None:
        raise InputError("--max-seconds is for one machine: limit tokens or cost with --ray")
    connection = options.models.connection
    settings = ActorSettings(batch=work.settings, patience=connection.patience, connection=connection.opening)
    outcomes = read_on_cluster(work.list_open(), cluster, settings, budget, most_actors=connection.concurrency)
    for row, outcome in outcomes:
        work.record(row, outcome)


class BatchWatcher:
    """Counts the rows that are done, and their cost: in a bar on a terminal, else in a line for each row."""

    def __init__(self, batch: BatchRun, *, is_silent: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from bookwheel.cli.watching import WaitLines

        self._console = stderr()
        self._is_silent = is_silent
        self._waits = WaitLines(self._console)
        self._rows = len(batch.rows)
        self._done = self._rows - len(batch.list_open())
        self._failed = self._tokens = 0
        self._cost = 0.0
        columns = (BarColumn(None), MofNCompleteColumn(), TextColumn("{task.fields[spent]}"), TimeRemainingColumn())
        self.bar = Progress(*columns, console=self._console.open_rich(), expand=True, transient=True)
        self._task = self.bar.add_task("rows", total=self._rows, completed=self._done, spent="")

    def __call__(self, row: BatchRow, outcome: RowOutcome) -> None:
        from bookwheel.batch.rows import DONE

        if self._is_silent or outcome.status == "reading":
            return
        self._tokens += outcome.tokens
        self._cost += outcome.cost or 0.0
        self._done += outcome.status in DONE
        self._failed += outcome.status == "failed"
        price = f" · {self._cost:.4g}" if self._cost else ""
        failed = f" · {self._failed:,} failed" if self._failed else ""
        self.bar.update(self._task, completed=self._done, spent=f"{self._tokens:,} tokens{price}{failed}")
        if not self._console.is_terminal:
            text = outcome.answer if outcome.status == "answered" else f"{outcome.status}: {outcome.error}"
            line = f"[{self._done} of {self._rows}] {row.source}: {row.question}: {text}"
            print_note(" ".join(line.split()), style="")

    def report_retry(self, retry: Retry) -> None:
        if not self._is_silent:
            self._waits.report_retry(retry)


async def _print_estimate(work: BatchRun, model: Model, budget: Budget, output: OutputOptions, *, only: bool) -> None:
    cost = await work.estimate(model)
    if only and output.as_json:
        print_json({"model": model.name, **asdict(cost), **({} if budget.has_prices else {"cost": None})})
        return
    about = "" if cost.exact else "about "
    price = f", {cost.cost:.4g} in cost" if cost.cost else ""
    text = (
        f"{model.name}: {cost.rows:,} questions about {cost.documents:,} documents take at most {about}"
        f"{cost.calls:,} calls, {cost.prompt_tokens:,} prompt and {cost.completion_tokens:,} reply tokens{price}"
    )
    if only:
        print_line(text)
    elif not output.is_silent:
        print_note(text, style="dim")
        tokens = cost.prompt_tokens + cost.completion_tokens
        if tokens > (budget.tokens or tokens) or cost.cost > (budget.cost or cost.cost):
            line = "that may be more than the limit; what is not answered then is left for the same command again"
            print_note(f"note: {line}")


def _print_summary(work: BatchRun, out: Path, output: OutputOptions) -> int:
    """Print how many rows have an answer and what they cost, and return the exit code."""
    outcomes = [work.find_outcome(row) for row in work.rows]
    count = Counter(outcome.status for outcome in outcomes)
    tokens, costs = sum(outcome.tokens for outcome in outcomes), [outcome.cost for outcome in outcomes if outcome.cost]
    if output.as_json:
        values = {"rows": len(outcomes), **count, "tokens": tokens, "cost": sum(costs) if costs else None}
        print_json({**values, "out": str(out)})
    else:
        print_line(str(out))
        price = f", cost {sum(costs):.4g}" if costs else ""
        states = ", ".join(f"{number:,} {status}" for status, number in count.items())
        if not output.quiet:
            print_note(f"{len(outcomes):,} rows: {states} · {tokens:,} tokens{price}", style="dim")
    if count["failed"] == len(outcomes):
        return EXIT_CODES["failed"]
    unfinished = len(outcomes) - count["answered"] - count["failed"]
    has_gaps = count["failed"] or any(outcome.gaps for outcome in outcomes)
    return EXIT_CODES["stopped"] if unfinished else INCOMPLETE if has_gaps else 0
