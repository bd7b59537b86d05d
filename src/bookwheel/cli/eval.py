"""`bookwheel eval`: ways of reading x models x tasks x lengths, measured and reported."""

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

from bookwheel.cli.options import BudgetOptions, OutputOptions, PlanOptions
from bookwheel.errors import InputError
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bookwheel.evaluation.report import Contrast
    from bookwheel.evaluation.results import Results
    from bookwheel.evaluation.run import EvaluationProgress
    from bookwheel.evaluation.settings import Evaluation, ModelSpec
    from bookwheel.models.base import Model

_WHAT = Group("What is measured", sort_key=1)
_WHO = Group("Models", sort_key=2)


@Parameter(name="*", group=_WHAT)
@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """What is measured; on top of the settings file, if one is given."""

    tasks: Annotated[tuple[str, ...], Parameter(name="--task", negative="", show_default=False)] = ()
    "A task by name; may be given again."
    lengths: Annotated[tuple[int, ...], Parameter(name="--length", negative="", show_default=False)] = ()
    "Tokens of the documents; may be given again."
    ways: Annotated[tuple[str, ...], Parameter(name="--way", negative="", show_default=False)] = ()
    "A way of reading; may be given again."
    samples: Annotated[tuple[str, ...], Parameter(name="--samples", negative="", show_default=False)] = ()
    "A JSONL file of samples; may be given again."
    count: int | None = None
    "Samples of each task and length."
    data: str | None = None
    "The folder of data sets that some tasks are made from."
    reference: str | None = None
    "The way that the others are compared with."


@Parameter(name="*", group=_WHO)
@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    """Which models read; models with settings of their own are named in a settings file."""

    models: Annotated[tuple[str, ...], Parameter(name="--model", negative="", show_default=False)] = ()
    "`local`, `scripted`, a .gguf file, or a name that the endpoint serves; may be given again."
    base_url: Annotated[str | None, Parameter(env_var="OPENAI_BASE_URL")] = None
    "An OpenAI-compatible endpoint, for models whose settings name none."
    api_key: Annotated[str | None, Parameter(env_var="OPENAI_API_KEY", show_env_var=True)] = None
    "The endpoint's key, if it wants one; better kept in the environment."
    tokenizer: str | None = None
    "The models' tokenizer.json, where the endpoint cannot count tokens itself."
    window: int | None = None
    "At most so many tokens of prompt and reply, for every way alike."
    threads: int | None = None
    "Threads of the local model."
    concurrency: int | None = None
    "Samples under way at once."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EvalOptions:
    """Everything that `eval` can be told."""

    grid: GridOptions = field(default_factory=GridOptions)
    readers: ReaderOptions = field(default_factory=ReaderOptions)
    plan: PlanOptions = field(default_factory=PlanOptions)
    budget: BudgetOptions = field(default_factory=BudgetOptions)
    output: OutputOptions = field(default_factory=OutputOptions)


def evaluate(
    settings: str | None = None,
    /,
    *,
    out: Path | None = None,
    also_official: Annotated[bool, Parameter(negative="")] = False,
    retry_failed: Annotated[bool, Parameter(negative="")] = False,
    compare: Annotated[tuple[Path, Path] | None, Parameter(negative="")] = None,
    report: Path | None = None,
    options: EvalOptions | None = None,
) -> int:
    """Measure ways of reading against each other, with intervals; killed and started again it goes on.

    Parameters
    ----------
    settings
        A TOML file, or a preset by name; flags go on top of it.
    out
        The folder for results.jsonl, report.md, report.html and the journal; by default runs/eval.
    also_official
        Show the published judge's figure beside ours.
    retry_failed
        Make anew what failed or was stopped in an earlier run.
    compare
        Two results files (or folders) to compare sample by sample; nothing is read.
    report
        A results file (or folder) to lay out the report of anew; nothing is read.

    """
    from bookwheel.cli.output import EXIT_CODES, stderr
    from bookwheel.cli.runner import run_command

    options = options or EvalOptions()
    if compare:
        return _compare(*compare, as_json=options.output.as_json)
    if report:
        return _laid_out(_results(report), report, options, also_official=also_official)
    evaluation = _settings(settings, options)
    folder = out or Path("runs/eval")
    try:
        results = run_command(_measure(evaluation, folder, options, retry_failed=retry_failed))
    except (asyncio.CancelledError, KeyboardInterrupt):
        stderr().print(f"interrupted; what was read is in {folder}, and the same command goes on from there")
        return EXIT_CODES[Status.CANCELLED]
    return _laid_out(results, folder / "results.jsonl", options, also_official=also_official)


def _settings(source: str | None, options: EvalOptions) -> Evaluation:
    """The file's settings with the flags on top, or the flags alone."""
    from bookwheel.evaluation.settings import Evaluation, ModelSpec

    grid, who = options.grid, options.readers
    changes: dict[str, Any] = {f.name: value for f in fields(grid) if (value := getattr(grid, f.name))}
    if who.concurrency:
        changes["concurrency"] = who.concurrency
    if options.plan.seed is not None:
        changes["seed"] = options.plan.seed
    if options.plan.language:
        changes["language"] = options.plan.language
    named = tuple(ModelSpec(name=name, label=Path(name).name if name.endswith(".gguf") else "") for name in who.models)
    if source is None:
        models = tuple(_reached(reader, who) for reader in named or (ModelSpec(name="local"),))
        return Evaluation(**changes, models=models, plan=_plan(options, {}))
    loaded = Evaluation.load(source)
    models = tuple(_reached(reader, who) for reader in named or loaded.models)
    return replace(loaded, **changes, models=models, plan=_plan(options, dict(loaded.plan)))


def _reached(reader: ModelSpec, who: ReaderOptions) -> ModelSpec:
    """The model with the flags that say how it is reached, where its own settings do not."""
    names = ("base_url", "tokenizer", "window", "threads")
    return replace(reader, **{name: getattr(who, name) for name in names if getattr(reader, name) is None})


def _plan(options: EvalOptions, plan: dict[str, Any]) -> dict[str, Any]:
    """The settings' plan with the flags on top; a preset stands under both."""
    from bookwheel.plan import load_preset_plan

    given = {f.name: value for f in fields(options.plan) if (value := getattr(options.plan, f.name)) is not None}
    given.pop("language", None)
    preset = given.pop("preset", None)
    sampling: dict[str, Any] = {name: given.pop(name) for name in ("temperature", "top_p", "seed") if name in given}
    budget = {name: value for name, value in asdict(options.budget.build()).items() if value}
    base: dict[str, Any] = {**load_preset_plan(preset).to_json(), **plan} if preset else plan
    layers: dict[str, dict[str, Any]] = {"sampling": sampling, "budget": budget}
    nested = {name: {**base.get(name, {}), **layer} for name, layer in layers.items() if layer or name in base}
    return {**base, **given, **nested}


async def _measure(evaluation: Evaluation, folder: Path, options: EvalOptions, *, retry_failed: bool) -> Results:
    from bookwheel.evaluation.results import SampleOutcome
    from bookwheel.evaluation.run import RunOptions
    from bookwheel.evaluation.run import evaluate as measure
    from bookwheel.journal import Journal
    from bookwheel.models.registry import open_model

    async def opened(reader: ModelSpec) -> Model:
        return await open_model(
            reader.name,
            base_url=reader.base_url,
            api_key=options.readers.api_key,
            tokenizer=reader.tokenizer,
            window=reader.window,
            threads=reader.threads,
            timeout=reader.timeout,
            concurrency=reader.concurrency,
        )

    again = frozenset({SampleOutcome.FAILED, SampleOutcome.STOPPED}) if retry_failed else frozenset[SampleOutcome]()
    quiet = options.output.quiet or options.output.as_json
    with Journal(options.output.journal or folder / "journal.sqlite") as journal, _watching(quiet=quiet) as watch:
        habits = RunOptions(command=_command(sys.argv[1:]), journal=journal, watch=watch, again=again)
        return await measure(evaluation, folder / "results.jsonl", opened, habits=habits)


def _command(given: Sequence[str]) -> str:
    """The command line as a report quotes it: without the endpoint's key."""
    told = ["…" if before == "--api-key" else word for before, word in pairwise(["", *given])]
    return shlex.join(["bookwheel", *("--api-key=…" if word.startswith("--api-key=") else word for word in told)])


@contextmanager
def _watching(*, quiet: bool) -> Iterator[Callable[[EvaluationProgress], None]]:
    """A bar with the time left; where there is no terminal, a line for every twentieth of the work."""
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
            yield lambda now: bars.update(bar, completed=now.done, total=now.total, left=_left(now))
    else:

        def line(now: EvaluationProgress) -> None:
            if now.done == now.total or now.done * 20 // now.total > (now.done - 1) * 20 // now.total:
                console.print(f"{now.done} of {now.total} samples · {_left(now)}")

        yield line


def _left(now: EvaluationProgress) -> str:
    seconds = round(now.seconds_left or 0)
    failed = f" · {now.failed} without an answer" if now.failed else ""
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d} left{failed}"


def _results(path: Path) -> Results:
    from bookwheel.evaluation.results import Results

    return Results.load(path / "results.jsonl" if path.is_dir() else path)


def _laid_out(results: Results, path: Path, options: EvalOptions, *, also_official: bool) -> int:
    """Write the report, show the scores, and give the exit code: 3 when nothing at all was answered."""
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
    found = build_report(results, reference=reference)
    folder = path if path.is_dir() else path.parent
    written = write_report(found, folder, also_official=also_official)
    if options.output.as_json:
        print_line(json.dumps({"folder": str(folder), **report_to_json(found)}))
    else:
        print_line(to_markdown("Scores", build_sections(found)[:1]))
        if not options.output.quiet:
            stderr().print(f"the whole report: {written[0]} and {written[1]}")
    return 3 if all(record.outcome != "scored" for record in results.records) else 0


def _compare(first: Path, second: Path, *, as_json: bool) -> int:
    from bookwheel.cli.output import print_line
    from bookwheel.evaluation.layout import build_comparison
    from bookwheel.evaluation.markdown import to_markdown
    from bookwheel.evaluation.numbers import contrasts_to_json
    from bookwheel.evaluation.report import compare_results

    names = (str(first), str(second))
    found: list[Contrast] = compare_results(_results(first), _results(second), names)
    if as_json:
        print_line(json.dumps({"differences": contrasts_to_json(found)}))
    else:
        print_line(to_markdown(f"{first} less {second}", [build_comparison(found, 0)]))
    return 0
