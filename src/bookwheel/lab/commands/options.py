"""The options of `bookwheel eval`, and what they make of a settings file.

Options of tasks are `--option hops=8`, or `--option vt.hops=8` where there are several tasks.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final

from bookwheel.cli.arguments import Option
from bookwheel.cli.options import (
    BudgetOptions,
    FieldOptions,
    OutputOptions,
    PlanOptions,
    PositiveInt,
    Text,
    Texts,
    define_options,
)
from bookwheel.configuration import Connection
from bookwheel.errors import InputError
from bookwheel.lab.evaluation.settings import AS_PUBLISHED, Evaluation, ModelSpec
from bookwheel.models.registry import is_built_in
from bookwheel.plan import merge_tables, nest_settings
from bookwheel.preset import load_preset_plan
from bookwheel.schema import list_fields

# Settings of an evaluation that are one option each.
_NUMBERS: Final = ("count", "repeats", "data", "reference", "as_published", "official")


@define_options(
    "What is measured",
    {name: list_fields(Evaluation)[name] for name in _NUMBERS},
    "By default, that of the settings file, or {}.",
)
class GridOptions(FieldOptions):
    """The grid to measure, on top of the settings file if there is one."""

    tasks: Annotated[Texts, Option(name="--task")] = ()
    "A task by name; may be given again."
    lengths: Annotated[tuple[PositiveInt, ...], Option(name="--length")] = ()
    "Tokens of the documents; may be given again."
    ways: Annotated[Texts, Option(name="--way")] = ()
    "A way of reading; may be given again."
    samples: Annotated[Texts, Option(name="--samples")] = ()
    "A file of samples, ours or a benchmark's own: JSON, JSON Lines or Parquet; may be given again."
    languages: Annotated[Texts, Option(name="--language")] = ()
    "A language of the samples, for tasks that have several; may be given again."
    options: Annotated[Texts, Option(name="--option")] = ()
    "NAME=VALUE or TASK.NAME=VALUE, an option of a task, such as vt.hops=8; may be given again."


_CONNECTION = {
    name: list_fields(Connection)[name] for name in ("base_url", "api_key", "tokenizer", "threads", "timeout")
}


@define_options("Models", _CONNECTION)
class EvalModelOptions(FieldOptions):
    """The models to measure; models with settings of their own belong in a settings file."""

    models: Annotated[Texts, Option(name="--model", short="-m")] = ()
    "`local`, `scripted`, a .gguf file, or a name that the endpoint serves; may be given again."
    window: PositiveInt | None = None
    "At most so many tokens of prompt and reply, for every way alike."
    concurrency: PositiveInt | None = None
    "Samples under way at once; 8 by default."
    judge: Text | None = None
    """A model that judges the answers beside the metrics: `local`, a .gguf file, or a name that the endpoint serves. A
    verdict that is unclear is left out of its mean."""
    unknown_to: Text | None = None
    """A model that must not know the answers: questions of tasks that it answers without the document give their place
    to the next ones."""


@define_options()
class EvalOptions:
    """All options of `eval`."""

    grid: GridOptions = field(default_factory=GridOptions)
    models: EvalModelOptions = field(default_factory=EvalModelOptions)
    plan: PlanOptions = field(default_factory=PlanOptions)
    budget: BudgetOptions = field(default_factory=BudgetOptions)
    output: OutputOptions = field(default_factory=OutputOptions)


def merge_settings(source: str | None, options: EvalOptions) -> Evaluation:
    """Return the settings of the file with the flags on top, or of the flags alone."""
    grid, models = options.grid, options.models
    changes: dict[str, Any] = {f.name: value for f in fields(grid) if (value := getattr(grid, f.name))}
    if models.concurrency:
        changes["concurrency"] = models.concurrency
    for name in ("judge", "unknown_to"):
        if value := getattr(models, name):
            changes[name] = _apply_connection(ModelSpec(name=value), replace(models, window=None))
    plan = options.plan.given
    changes |= {field: plan[name] for name, field in (("seed", "seed"), ("lang", "language")) if name in plan}
    named = tuple(
        ModelSpec(name=name, label=Path(name).name if name.endswith(".gguf") else "") for name in models.models
    )
    given = changes.pop("options", ())
    if changes.get("as_published"):
        changes.setdefault("ways", (AS_PUBLISHED,))
    if source is None:
        changes["options"] = assign_task_options(given, grid.tasks)
        specs = tuple(_apply_connection(spec, models) for spec in named or (ModelSpec(name="local"),))
        return _refuse_idle(Evaluation(**changes, models=specs, plan=_merge_plan(options, {})), changes)
    loaded = Evaluation.load(source)
    specs = tuple(_apply_connection(spec, models) for spec in named or loaded.models)
    changes["options"] = assign_task_options(given, changes.get("tasks", loaded.tasks), loaded.options)
    return _refuse_idle(replace(loaded, **changes, models=specs, plan=_merge_plan(options, dict(loaded.plan))), changes)


def _refuse_idle(evaluation: Evaluation, given: Mapping[str, Any]) -> Evaluation:
    """Return the settings; InputError for a flag that would do nothing, where people would pay for what they left."""
    if not evaluation.tasks and given.keys() & {"count", "lengths"}:
        raise InputError(
            "--count and --length are for tasks: of a file all samples are read, each as long as it is. Cut the file "
            "to read fewer"
        )
    if "official" in given and not evaluation.as_published:
        raise InputError("--official is for --as-published")
    return evaluation


def _apply_connection(spec: ModelSpec, options: EvalModelOptions) -> ModelSpec:
    """Return the model with the connection flags, where its own settings leave them open."""
    # A model of this process stands beside served ones, for which the address is.
    served = () if is_built_in(spec.name) else ("base_url", "timeout")
    names = ("tokenizer", "window", "threads", *served)
    return replace(spec, **{name: getattr(options, name) for name in names if getattr(spec, name) is None})


def _merge_plan(options: EvalOptions, plan: dict[str, Any]) -> dict[str, Any]:
    """Return the plan of the settings with the flags on top. A preset is the base of both."""
    preset = options.plan.preset
    base: dict[str, Any] = {**load_preset_plan(preset).to_json(), **plan} if preset else plan
    # The language is that of the samples.
    given = {**options.plan.given, **options.budget.given}
    return merge_tables(base, nest_settings({k: v for k, v in given.items() if k not in {"preset", "lang"}}))


def parse_task_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the options by name; numbers, true and false become what they are, all else stays text."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"--option takes NAME=VALUE, such as hops=8, not {text!r}")
        try:
            options[name.strip()] = json.loads(value)
        except json.JSONDecodeError:
            options[name.strip()] = value.strip()
    return options


def assign_task_options(
    texts: Sequence[str], tasks: Sequence[str], base: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the options by task, on top of `base`. One without a task goes to all tasks that have it."""
    from bookwheel.lab.tasks import load_task

    assigned = {task: dict(options) for task, options in (base or {}).items()}
    for name, value in parse_task_options(texts).items():
        task, _, option = name.rpartition(".")
        takers = [task] if task else [one for one in tasks if option in load_task(one).option_names]
        if not takers:
            offers = "; ".join(f"{one}: {', '.join(load_task(one).option_names) or 'none'}" for one in tasks)
            raise InputError(f"no task that is measured has the option {option!r}. Options are: {offers}")
        for taker in takers:
            assigned.setdefault(taker, {})[option] = value
    return assigned
