"""`bookwheel eval`: measure ways of reading x models x tasks x lengths and write a report."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from bookwheel.cli.options import BudgetOptions, FilePath, OutputOptions, PlanOptions, PositiveInt, Text
from bookwheel.cli.task_options import assign_task_options
from bookwheel.errors import InputError
from bookwheel.models.address import is_built_in
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bookwheel.evaluation.report import Contrast
    from bookwheel.evaluation.results import Results
    from bookwheel.evaluation.run import EvaluationProgress
    from bookwheel.evaluation.settings import Evaluation, ModelSpec
    from bookwheel.journal import Journal
    from bookwheel.models.base import Model

_GRID = Group("What is measured", sort_key=1)
_MODELS = Group("Models", sort_key=2)


@Parameter(name="*", group=_GRID)
@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """The grid to measure, on top of the settings file if there is one."""

    tasks: Annotated[tuple[Text, ...], Parameter(name="--task", negative="", show_default=False)] = ()
    "A task by name; may be given again."
    lengths: Annotated[tuple[PositiveInt, ...], Parameter(name="--length", negative="", show_default=False)] = ()
    "Tokens of the documents; may be given again."
    ways: Annotated[tuple[Text, ...], Parameter(name="--way", negative="", show_default=False)] = ()
    "A way of reading; may be given again."
    samples: Annotated[tuple[Text, ...], Parameter(name="--samples", negative="", show_default=False)] = ()
    "A JSONL file of samples; may be given again."
    languages: Annotated[tuple[Text, ...], Parameter(name="--language", negative="", show_default=False)] = ()
    "A language of the samples, for tasks that have several; may be given again."
    count: PositiveInt | None = None
    "Samples of each task, length and language."
    repeats: PositiveInt | None = None
    "Readings of each sample, for models with a temperature; the report has the spread between them."
    options: Annotated[tuple[Text, ...], Parameter(name="--option", negative="", show_default=False)] = ()
    "NAME=VALUE or TASK.NAME=VALUE, an option of a task, such as vt.hops=8; may be given again."
    data: Text | None = None
    "The folder of data sets that some tasks are made from."
    reference: Text | None = None
    "The way that the others are compared with."


@Parameter(name="*", group=_MODELS)
@dataclass(frozen=True, kw_only=True)
class EvalModelOptions:
    """The models to measure; models with settings of their own belong in a settings file."""

    models: Annotated[tuple[Text, ...], Parameter(name=("--model", "-m"), negative="", show_default=False)] = ()
    "`local`, `scripted`, a .gguf file, or a name that the endpoint serves; may be given again."
    base_url: Text | None = None
    "An OpenAI-compatible endpoint, for models whose settings name none; by default, $OPENAI_BASE_URL."
    api_key: Text | None = None
    "The endpoint's key; by default, $OPENAI_API_KEY, which other users cannot see, as they can a command line."
    tokenizer: Text | None = None
    "The models' tokenizer.json, where the endpoint cannot count tokens itself."
    window: PositiveInt | None = None
    "At most so many tokens of prompt and reply, for every way alike."
    threads: PositiveInt | None = None
    "Threads of the local model; by default, the idle cores."
    concurrency: PositiveInt | None = None
    "Samples under way at once; 4 by default."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EvalOptions:
    """All options of `eval`."""

    grid: GridOptions = field(default_factory=GridOptions)
    models: EvalModelOptions = field(default_factory=EvalModelOptions)
    plan: PlanOptions = field(default_factory=PlanOptions)
    budget: BudgetOptions = field(default_factory=BudgetOptions)
    output: OutputOptions = field(default_factory=OutputOptions)


def evaluate(
    settings: Text | None = None,
    /,
    *,
    out: FilePath | None = None,
    also_official: Annotated[bool, Parameter(negative="")] = False,
    retry_failed: Annotated[bool, Parameter(negative="")] = False,
    allow_failures: Annotated[bool, Parameter(negative="")] = False,
    compare: Annotated[tuple[FilePath, FilePath] | None, Parameter(negative="")] = None,
    report: FilePath | None = None,
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
        Repeat the samples that failed or were stopped in an earlier run.
    allow_failures
        Exit with 0 when some samples have no answer, because a model failed (else 3) or a budget ended it (else 4).
    compare
        Two results files (or folders) to compare sample by sample; nothing is read.
    report
        A results file (or folder) to write the report of again; nothing is read.

    """
    from bookwheel.cli.output import EXIT_CODES, stderr
    from bookwheel.cli.runner import run_command

    options = options or EvalOptions()
    if compare:
        return _compare(*compare, as_json=options.output.as_json)
    if report:
        results, path = _load_results(report), report
    else:
        path = (out or Path("runs/eval")) / "results.jsonl"
        try:
            evaluation = _merge_settings(settings, options)
            results = run_command(_run_evaluation(evaluation, path.parent, options, retry_failed=retry_failed))
        except (asyncio.CancelledError, KeyboardInterrupt):
            stderr().print(
                f"interrupted; the results so far are in {path.parent}, and the same command goes on from there"
            )
            return EXIT_CODES[Status.CANCELLED]
    _print_report(results, path, options, also_official=also_official)
    return _choose_exit_code(results, allow_failures=allow_failures)


def _merge_settings(source: str | None, options: EvalOptions) -> Evaluation:
    """Return the settings of the file with the flags on top, or of the flags alone."""
    from bookwheel.evaluation.settings import Evaluation, ModelSpec

    grid, models = options.grid, options.models
    changes: dict[str, Any] = {f.name: value for f in fields(grid) if (value := getattr(grid, f.name))}
    if models.concurrency:
        changes["concurrency"] = models.concurrency
    if options.plan.seed is not None:
        changes["seed"] = options.plan.seed
    if options.plan.language:
        changes["language"] = options.plan.language
    named = tuple(
        ModelSpec(name=name, label=Path(name).name if name.endswith(".gguf") else "") for name in models.models
    )
    given = changes.pop("options", ())
    if source is None:
        changes["options"] = assign_task_options(given, grid.tasks)
        specs = tuple(_apply_connection(spec, models) for spec in named or (ModelSpec(name="local"),))
        return Evaluation(**changes, models=specs, plan=_merge_plan(options, {}))
    loaded = Evaluation.load(source)
    specs = tuple(_apply_connection(spec, models) for spec in named or loaded.models)
    changes["options"] = assign_task_options(given, changes.get("tasks", loaded.tasks), loaded.options)
    return replace(loaded, **changes, models=specs, plan=_merge_plan(options, dict(loaded.plan)))


def _apply_connection(spec: ModelSpec, options: EvalModelOptions) -> ModelSpec:
    """Return the model with the connection flags, where its own settings leave them open."""
    # A model of this process stands beside served ones, for which the address is.
    names = (
        ("tokenizer", "window", "threads") if is_built_in(spec.name) else ("base_url", "tokenizer", "window", "threads")
    )
    return replace(spec, **{name: getattr(options, name) for name in names if getattr(spec, name) is None})


def _merge_plan(options: EvalOptions, plan: dict[str, Any]) -> dict[str, Any]:
    """Return the plan of the settings with the flags on top. A preset is the base of both."""
    from bookwheel.plan import load_preset_plan

    flags = {f.name: value for f in fields(options.plan) if (value := getattr(options.plan, f.name)) is not None}
    flags.pop("language", None)
    preset = flags.pop("preset", None)
    sampling: dict[str, Any] = {name: flags.pop(name) for name in ("temperature", "top_p", "seed") if name in flags}
    budget = {name: value for name, value in asdict(options.budget.build()).items() if value}
    base: dict[str, Any] = {**load_preset_plan(preset).to_json(), **plan} if preset else plan
    layers: dict[str, dict[str, Any]] = {"sampling": sampling, "budget": budget}
    nested = {name: {**base.get(name, {}), **layer} for name, layer in layers.items() if layer or name in base}
    return {**base, **flags, **nested}


async def _run_evaluation(evaluation: Evaluation, folder: Path, options: EvalOptions, *, retry_failed: bool) -> Results:
    from bookwheel.evaluation.results import SampleOutcome
    from bookwheel.evaluation.run import RunOptions
    from bookwheel.evaluation.run import evaluate as measure
    from bookwheel.journal import Journal
    from bookwheel.models.registry import open_model

    async def open_spec(spec: ModelSpec) -> Model:
        return await open_model(
            spec.name,
            base_url=spec.base_url,
            api_key=options.models.api_key,
            tokenizer=spec.tokenizer,
            window=spec.window,
            threads=spec.threads,
            timeout=spec.timeout,
            concurrency=spec.concurrency,
        )

    rerun = frozenset({SampleOutcome.FAILED, SampleOutcome.STOPPED}) if retry_failed else frozenset[SampleOutcome]()
    quiet = options.output.quiet or options.output.as_json
    with (
        Journal(options.output.journal or folder / "journal.sqlite") as journal,
        _show_progress(quiet=quiet) as on_progress,
    ):
        command = _quote_command(sys.argv[1:])
        run_options = RunOptions(command=command, journal=journal, on_progress=on_progress, rerun=rerun)
        return await measure(evaluation, folder / "results.jsonl", open_spec, options=run_options)


def _quote_command(words: Sequence[str]) -> str:
    """Return the command line for the report, without the endpoint's key."""
    shown = ["…" if before == "--api-key" else word for before, word in pairwise(["", *words])]
    return shlex.join(["bookwheel", *("--api-key=…" if word.startswith("--api-key=") else word for word in shown)])


@contextmanager
def _show_progress(*, quiet: bool) -> Iterator[Callable[[EvaluationProgress], None]]:
    """Show a bar with the time left. Without a terminal, print a line for every twentieth of the work."""
    from bookwheel.cli.output import stderr
    from bookwheel.evaluation.run import ignore_progress

    console = stderr()
    if quiet:
        yield ignore_progress
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
    from bookwheel.evaluation.results import Results

    return Results.load(path / "results.jsonl" if path.is_dir() else path)


def _print_report(results: Results, path: Path, options: EvalOptions, *, also_official: bool) -> None:
    """Write the report and print the scores."""
    from bookwheel.cli.output import print_line, stderr
    from bookwheel.evaluation.files import write_report
    from bookwheel.evaluation.layout import build_sections
    from bookwheel.evaluation.markdown import to_markdown
    from bookwheel.evaluation.numbers import report_to_json
    from bookwheel.evaluation.report import build_report

    if not results.records:
        raise InputError(f"{path} has no results to report")
    settings = results.runs[-1].settings if results.runs else {}
    reference = options.grid.reference or settings.get("reference", "sequential")
    built = build_report(results, reference=reference)
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
    """Return 3 when a sample failed or none was answered, 4 when a budget ended one.

    What does not fit, or cannot be made, is no failure.
    """
    outcomes = {str(record.outcome) for record in results.records}
    if "scored" not in outcomes or ("failed" in outcomes and not allow_failures):
        return 3
    return 4 if "stopped" in outcomes and not allow_failures else 0


@contextmanager
def _open_journal(path: Path) -> Iterator[Journal | None]:
    """Open the journal of an evaluation to read from; None where there is none any more."""
    from bookwheel.journal import Journal

    if not path.exists():
        yield None
        return
    with Journal(path, read_only=True) as journal:
        yield journal


def _compare(first: Path, second: Path, *, as_json: bool) -> int:
    from bookwheel.cli.output import print_line
    from bookwheel.evaluation.layout import build_comparison
    from bookwheel.evaluation.markdown import to_markdown
    from bookwheel.evaluation.numbers import contrasts_to_json
    from bookwheel.evaluation.report import compare_results

    names = (str(first), str(second))
    contrasts: list[Contrast] = compare_results(_load_results(first), _load_results(second), names)
    if as_json:
        print_line(json.dumps({"differences": contrasts_to_json(contrasts)}))
    else:
        print_line(to_markdown(f"{first} less {second}", [build_comparison(contrasts)]))
    return 0
