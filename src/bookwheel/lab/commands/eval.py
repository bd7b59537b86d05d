"""`bookwheel eval`: measure ways of reading x models x tasks x lengths and write a report."""

import asyncio
import json
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from bookwheel.cli.options import OutPath, Text
from bookwheel.companions import accompany
from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.lab.commands.options import EvalOptions, merge_settings
from bookwheel.lab.evaluation.records import RecordKey, SampleOutcome
from bookwheel.lab.evaluation.report import Contrast, build_report, compare_results, contrasts_to_json, report_to_json
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.evaluation.run import EvaluationProgress, RunOptions
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec
from bookwheel.lab.evaluation.work import OpenModel
from bookwheel.models.base import Model
from bookwheel.models.registry import open_model
from bookwheel.types import Status


def evaluate(
    settings: Text | None = None,
    /,
    *,
    out: OutPath | None = None,
    also_official: bool = False,
    retry_failed: bool = False,
    allow_failures: bool = False,
    compare: tuple[Path, Path] | None = None,
    report: Path | None = None,
    reproduce: Path | None = None,
    estimate: bool = False,
    options: EvalOptions | None = None,
) -> int:
    """Compare ways of reading, with intervals. A run that was killed continues with the same command.

    Parameters
    ----------
    settings
        A TOML file, or a preset by name; flags go on top of it.
    out
        The folder for results.jsonl, report.md, report.html and the journal; by default runs/eval.
    also_official
        Show the score of the published metric beside ours.
    retry_failed
        Repeat the samples that failed or were stopped in an earlier run, and what a judge left unclear.
    allow_failures
        Exit with 0 when some samples have no answer, because a model failed (else 3) or a budget ended it (else 4).
    compare
        Two results files (or folders) to compare sample by sample; nothing is read.
    report
        A results file (or folder) to write the report of again; nothing is read.
    reproduce
        A page of numbers: each of its commands is run below --out, and its table is printed beside what comes out. With
        --count fewer samples are read.
    estimate
        Print the calls and tokens that each model and way can take, at most, of what has no result yet; read nothing.

    """
    from bookwheel.cli.output import EXIT_CODES, stderr
    from bookwheel.cli.runner import run_command

    options = options or EvalOptions()
    rerun = frozenset({SampleOutcome.FAILED, SampleOutcome.STOPPED} if retry_failed else ())
    if compare:
        return _compare(*compare, as_json=options.output.as_json)
    if reproduce:
        return _reproduce(reproduce, out or Path("runs/reproduced"), options)
    if report:
        results, path = _load_results(report), report
    else:
        path = (out or Path("runs/eval")) / "results.jsonl"
        try:
            evaluation = merge_settings(settings, options)
            if estimate:
                known = Results.load(path).records if path.is_file() else ()
                done = {record.key for record in known if record.outcome not in rerun}
                return run_command(_print_estimate(evaluation, done, options))
            results = run_command(_run_evaluation(evaluation, path.parent, options, rerun))
        except (asyncio.CancelledError, KeyboardInterrupt):
            stderr().print(
                f"interrupted; the results so far are in {path.parent}, and the same command goes on from there"
            )
            return EXIT_CODES[Status.CANCELLED]
    _print_report(results, path, options, also_official=also_official)
    return _choose_exit_code(results, allow_failures=allow_failures)


def _open_with(options: EvalOptions) -> OpenModel:
    async def open_spec(spec: ModelSpec) -> Model:
        model = await open_model(
            spec.name,
            base_url=spec.base_url,
            api_key=options.models.given.get("api_key"),
            tokenizer=spec.tokenizer,
            window=spec.window,
            threads=spec.threads,
            timeout=spec.timeout,
            concurrency=spec.concurrency,
        )
        return accompany(model)

    return open_spec


async def _print_estimate(evaluation: Evaluation, done: Collection[RecordKey], options: EvalOptions) -> int:
    from bookwheel.cli.output import print_json, print_line
    from bookwheel.lab.evaluation.estimate import estimate_evaluation

    found = await estimate_evaluation(evaluation, done, _open_with(options))
    if options.output.as_json:
        print_json({"estimates": [asdict(one) for one in found]})
    else:
        for one in found:
            print_line(f"{one.model} · {one.way}: {one.text}")
    return 0


async def _run_evaluation(
    evaluation: Evaluation, folder: Path, options: EvalOptions, rerun: frozenset[SampleOutcome]
) -> Results:
    from bookwheel.lab.evaluation.run import evaluate as measure

    quiet = options.output.quiet or options.output.as_json
    with (
        Journal(options.output.journal or folder / "journal.sqlite") as journal,
        _show_progress(quiet=quiet) as on_progress,
    ):
        command = _quote_command(sys.argv[1:])
        run_options = RunOptions(command=command, journal=journal, on_progress=on_progress, rerun=rerun)
        return await measure(evaluation, folder / "results.jsonl", _open_with(options), options=run_options)


def _quote_command(words: Sequence[str]) -> str:
    """Return the command line for the report, without the endpoint's key."""
    shown = ["…" if before == "--api-key" else word for before, word in pairwise(["", *words])]
    return shlex.join(["bookwheel", *("--api-key=…" if word.startswith("--api-key=") else word for word in shown)])


@contextmanager
def _show_progress(*, quiet: bool) -> Iterator[Callable[[EvaluationProgress], None]]:
    """Show a bar with the time left. Without a terminal, print a line for every twentieth of the work."""
    from bookwheel.cli.output import stderr

    console = stderr()
    if quiet:
        yield lambda _progress: None
    elif console.is_terminal:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bars

        with Bars(TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")) as bars:
            bar = bars.add_task("samples", total=None, left="")
            yield lambda progress: bars.update(
                bar, completed=progress.done, total=progress.total, left=_format_time_left(progress)
            )
    else:

        def line(progress: EvaluationProgress) -> None:
            if (
                progress.done == progress.total
                or progress.done * 20 // progress.total > (progress.done - 1) * 20 // progress.total
            ):
                console.print(f"{progress.done} of {progress.total} samples · {_format_time_left(progress)}")

        yield line


def _format_time_left(progress: EvaluationProgress) -> str:
    seconds = round(progress.seconds_left or 0)
    failed = f" · {progress.failed} without an answer" if progress.failed else ""
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d} left{failed}"


def _load_results(path: Path) -> Results:
    return Results.load(path / "results.jsonl" if path.is_dir() else path)


def _print_report(results: Results, path: Path, options: EvalOptions, *, also_official: bool) -> None:
    """Write the report and print the scores."""
    from bookwheel.cli.output import print_line, stderr
    from bookwheel.lab.evaluation.layout import build_sections, write_report
    from bookwheel.lab.evaluation.sections import to_markdown

    if not results.records:
        raise InputError(f"{path} has no results to report")
    built = build_report(results, reference=options.grid.given.get("reference"))
    folder = path if path.is_dir() else path.parent
    with _open_journal(options.output.journal or folder / "journal.sqlite") as journal:
        written = write_report(built, folder, also_official=also_official, journal=journal)
    if options.output.as_json:
        print_line(json.dumps({"folder": str(folder), **report_to_json(built)}))
    else:
        print_line(to_markdown("Scores", build_sections(built)[:1]))
        if not options.output.quiet:
            stderr().print(f"the whole report: {written[0]} and {written[1]}")


def _choose_exit_code(results: Results, *, allow_failures: bool) -> int:
    """Return 3 when a sample failed, 4 when a budget ended one, and 3 when nothing could be read at all.

    What does not fit, or cannot be made, is no failure. Failures are not allowed where there is nothing else.
    """
    outcomes = {str(record.outcome) for record in results.records}
    is_scored = "scored" in outcomes
    if not (allow_failures and is_scored):
        if "failed" in outcomes:
            return 3
        if "stopped" in outcomes:
            return 4
    return 0 if is_scored else 3


@contextmanager
def _open_journal(path: Path) -> Iterator[Journal | None]:
    """Open the journal of an evaluation to read from; None where there is none any more."""
    if not path.exists():
        yield None
        return
    with Journal(path, read_only=True) as journal:
        yield journal


def _reproduce(page: Path, folder: Path, options: EvalOptions) -> int:
    """Run a page's commands; 0 where all numbers agree, else 1."""
    from bookwheel.cli.output import print_line
    from bookwheel.lab.evaluation.reproduce import reproduce
    from bookwheel.lab.evaluation.sections import Section, to_markdown

    given = {"--count": options.grid.given.get("count"), "--threads": options.models.given.get("threads")}
    extra = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    table, agrees = reproduce(page, folder, extra)
    if options.output.as_json:
        rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
        print_line(json.dumps({"page": str(page), "agrees": agrees, "rows": rows}))
    else:
        print_line(to_markdown("Reproduced", [Section(title="Numbers", tables=(table,))]))
    return 0 if agrees else 1


def _compare(first: Path, second: Path, *, as_json: bool) -> int:
    from bookwheel.cli.output import print_line
    from bookwheel.lab.evaluation.layout import build_comparison
    from bookwheel.lab.evaluation.sections import to_markdown

    names = (str(first), str(second))
    contrasts: list[Contrast] = compare_results(_load_results(first), _load_results(second), names)
    if as_json:
        print_line(json.dumps({"differences": contrasts_to_json(contrasts)}))
    else:
        print_line(to_markdown(f"{first} less {second}", [build_comparison(contrasts)]))
    return 0
