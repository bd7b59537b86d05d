"""The settings of an evaluation: ways x models x tasks x lengths, and everything that a number depends on.

One value, from command-line flags or from a TOML file:

    [eval]
    tasks = ["hqa"]
    lengths = [7000, 14000]
    ways = ["sequential", "whole"]
    count = 128

    [[eval.models]]
    name = "local"
    window = 4096

    [plan]
    chunk_tokens = 900

A results file can be continued with more lengths, ways, models or samples. Settings that would change its numbers
(plan, seed, prompts, a model's window) must stay the same within one file.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Self

from bookwheel.errors import InputError
from bookwheel.plan import Plan
from bookwheel.preset import list_presets, load_preset
from bookwheel.reading.ways.registry import load_way
from bookwheel.schema import Ge, Gt, check_bounds, parse

AtLeastOne = Annotated[int, Ge(1)]

_AXES: Final = frozenset({"tasks", "lengths", "ways", "count", "models", "languages", "repeats"})
# Settings that change the speed, the place of files or the layout of a report, but no number.
# The prompts read from a checkout count with each sample's content.
_WITHOUT_EFFECT: Final = frozenset({"concurrency", "reference", "data", "samples", "judge", "official", "worth"})
AS_PUBLISHED: Final = "as-published"
"""The way of a sample whose benchmark says what to send."""
# Settings of a model that say how it is reached and which cells it fills.
_CONNECTION: Final = frozenset({"base_url", "threads", "timeout", "concurrency", "ways", "lengths"})
# The settings of a plan that count even where nothing is changed. All that came later count only where they are set, so
# that a new setting does not part older results from newer ones.
_FIRST: Final = frozenset(
    {
        *("question_tokens", "chunk_tokens", "memory_tokens", "answer_tokens", "layout", "prompts", "language"),
        *("sampling", "budget", "temperature", "top_p", "seed", "repeat_penalty"),
        *("tokens", "seconds", "cost", "price_in", "price_out"),
    }
)


class SettingsError(InputError):
    """Unknown settings of an evaluation, or settings that contradict each other; the command's exit code is 2."""


def _check_ways(ways: tuple[str, ...], key: str) -> None:
    for way in ways:
        try:
            if way != AS_PUBLISHED:
                load_way(way)
        except InputError as error:
            raise SettingsError(f"{key}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model to measure."""

    name: str
    """As `--model` takes it."""
    label: str = ""
    """The name in reports; empty: `name`."""
    base_url: str | None = None
    tokenizer: str | None = None
    """The path of its tokenizer.json, for endpoints that cannot count tokens."""
    window: AtLeastOne | None = None
    """The most tokens of prompt and reply, even if the model could hold more."""
    ways: tuple[str, ...] = ()
    """Only these ways; empty: all of the evaluation."""
    lengths: tuple[AtLeastOne, ...] = ()
    """Only these lengths; empty: all of the evaluation."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """On top of the evaluation's plan: prompts, budgets, prices."""
    threads: AtLeastOne | None = None
    timeout: Annotated[float, Gt(0)] | None = None
    concurrency: AtLeastOne | None = None

    def __post_init__(self) -> None:
        check_bounds(self, error=SettingsError, table=f"models.{self.display_name}")
        _check_ways(self.ways, f"models.{self.display_name}.ways")

    @property
    def display_name(self) -> str:
        return self.label or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The settings of an evaluation."""

    tasks: tuple[str, ...] = ()
    lengths: tuple[AtLeastOne, ...] = ()
    """Tokens of a document."""
    samples: tuple[str, ...] = ()
    """Files of samples, ours or a benchmark's own, beside or in place of tasks and lengths."""
    ways: tuple[str, ...] = ("sequential",)
    models: tuple[ModelSpec, ...] = (ModelSpec(name="local"),)
    count: AtLeastOne = 50
    """Samples of each task and length."""
    seed: int = 0
    repeats: AtLeastOne = 1
    """Readings of each sample; more than one needs a temperature above 0."""
    language: str = "en"
    languages: tuple[str, ...] = ()
    """Several languages in one run, for the tasks that have them; empty: `language` alone."""
    tokenizer: str | None = None
    """Measures the documents' lengths; by default the first model's own."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options by task, such as `vt = { hops = 8 }`; `bookwheel data tasks` lists them."""
    data: str | None = None
    """The folder of data sets that some tasks are made from, or one file of questions."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """On top of the plan that each model recommends."""
    concurrency: AtLeastOne = 8
    """Samples under way at once."""
    as_published: bool = False
    """Each sample is asked and judged as its benchmark was published: prompt, limit, temperature and measure."""
    official: str | None = None
    """The folder with checkouts of the benchmarks' repositories, from which as_published reads prompts."""
    judge: ModelSpec | None = None
    """A model that judges the answers beside the metrics."""
    worth: bool = False
    """Also measure how much of what the question asks each last memory makes likelier, by the model itself."""
    unknown_to: ModelSpec | None = None
    """A model that must not know the answers: what it answers without the document is not asked."""
    reference: str = "sequential"
    """The way that the others are compared with, pair by pair."""

    def __post_init__(self) -> None:
        check_bounds(self, error=SettingsError)
        _check_ways(self.ways, "ways")
        if self.tasks and not self.every_length:
            raise SettingsError(f"no length for {', '.join(self.tasks)}: give one or more, such as --length 8192")
        if not (self.tasks or self.samples):
            raise SettingsError("nothing to measure: give tasks and lengths, or files of samples")
        if self.unknown_to and not self.tasks:
            raise SettingsError(
                "unknown_to chooses among questions of tasks: for files there is `bookwheel data filter`"
            )
        if (
            AS_PUBLISHED in {*self.ways, *(way for model in self.models for way in model.ways)}
            and not self.as_published
        ):
            raise SettingsError(f"the way {AS_PUBLISHED} is for --as-published")
        names = [model.display_name for model in self.models]
        if not names:
            raise SettingsError("models must name at least one model")
        if duplicate := next((name for name in names if names.count(name) > 1), None):
            raise SettingsError(f"two models are called {duplicate!r}; give them labels")
        plan = Plan.from_json(self.plan)
        for model in self.models:
            try:
                plan.with_values(model.plan)
            except InputError as error:
                raise SettingsError(f"models.{model.display_name}: {error}") from error
        stray = next((task for task in self.options if task not in self.tasks), None)
        if stray:
            raise SettingsError(f"options.{stray}: the task is not measured here; tasks are: {', '.join(self.tasks)}")

    @property
    def every_length(self) -> tuple[int, ...]:
        """All lengths, those of single models too, the shortest first."""
        return tuple(sorted({*self.lengths, *(length for model in self.models for length in model.lengths)}))

    def plan_of(self, spec: ModelSpec, recommended: Plan) -> Plan:
        return recommended.with_values(self.plan).with_values(spec.plan)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def fixed_settings(self) -> dict[str, Any]:
        """Return the settings that all numbers of a results file share."""
        varying = _AXES | _WITHOUT_EFFECT | {"plan"}
        # Results from before a setting existed have none of it.
        varying |= {"unknown_to"} if self.options else {"unknown_to", "options"}
        varying |= set() if self.as_published else {"as_published"}
        settings = {name: value for name, value in asdict(self).items() if name not in varying}
        unknown_to = {"unknown_to": self.unknown_to.name} if self.unknown_to else {}
        # The user's file of questions counts under whatever name it lies; a folder does not.
        if self.data and Path(self.data).is_file():
            with Path(self.data).open("rb") as file:
                settings["data"] = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        return {**settings, **unknown_to}

    @classmethod
    def load(cls, source: str) -> Self:
        """Load a TOML file, or a preset by its name.

        SettingsError names the file, the key that is wrong and what is allowed.
        """
        tables, where = _load_tables(source)
        file = parse(_SettingsFile, tables, where=where, error=SettingsError)
        if not file.eval:
            raise SettingsError(f"{where} has no [eval] table")
        own_plan = file.eval.get("plan", {})
        plan = {**file.plan, **own_plan} if isinstance(own_plan, dict) else own_plan
        return parse(cls, {**file.eval, "plan": plan}, where=where, table="eval", error=SettingsError)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SettingsFile:
    """The tables of a settings file."""

    eval: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    """Settings of `bookwheel train`, which may stand in the same file."""


def _load_tables(source: str) -> tuple[dict[str, Any], str]:
    """Return the tables of a file or preset, and the name of the source for messages."""
    if not source.endswith(".toml") and source in list_presets():
        return load_preset(source), f"the preset {source}"
    try:
        return tomllib.loads(Path(source).read_text(encoding="utf-8")), source
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{source} is not valid TOML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        presets = ", ".join(list_presets())
        raise SettingsError(f"{source} cannot be read: {error}. Presets are: {presets}") from error


def model_settings(spec: ModelSpec, plan: Plan, prompts: str) -> dict[str, Any]:
    """Return the settings that all numbers of one model share; `prompts` is the text of its prompt set."""
    values = {name: value for name, value in asdict(spec).items() if name not in _CONNECTION | {"plan", "label"}}
    settings = _drop_unset(plan.to_json(), Plan().to_json())
    return {**values, "plan": settings, "prompts": hashlib.sha256(prompts.encode()).hexdigest()[:16]}


def _drop_unset(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without the later ones that are not set, also inside tables that stand in both."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        default = defaults.get(name)
        if name in _FIRST or value != default:
            kept[name] = _drop_unset(value, default) if isinstance(value, dict) and isinstance(default, dict) else value
    return kept


def fingerprint(values: Any) -> str:
    """Return a short hash of plain values that does not depend on the order of keys."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:16]


def describe_differences(there: Mapping[str, Any], here: Mapping[str, Any], where: str = "") -> list[str]:
    """Return a sentence for each value that differs."""
    sentences: list[str] = []
    for name in sorted({*there, *here}):
        old, new, place = there.get(name), here.get(name), f"{where}{name}"
        if isinstance(old, dict) and isinstance(new, dict):
            sentences += describe_differences(old, new, f"{place}.")
        elif old != new:
            sentences.append(f"{place} is {json.dumps(old)} there and {json.dumps(new)} here")
    return sentences
