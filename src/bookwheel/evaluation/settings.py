"""What is to be measured: ways x models x tasks x lengths, and everything that a number depends on.

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

An axis may grow (more lengths, more ways, more samples) and a results file goes on with it; what would make its
numbers another measurement (plan, seed, prompts, a model's window) may not change within one file.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from bookwheel.evaluation.errors import SettingsError
from bookwheel.plan import Plan, list_presets, load_preset
from bookwheel.reading.ways.registry import load_way

if TYPE_CHECKING:
    from collections.abc import Mapping

_AXES: Final = frozenset({"tasks", "lengths", "ways", "count", "models"})
_EFFORT: Final = frozenset({"concurrency", "reference", "data", "samples"})
"""Settings that change how fast or where, or how a report is laid out, but no number."""
_REACH: Final = frozenset({"base_url", "threads", "timeout", "concurrency", "ways", "lengths"})
"""The same for a model: how it is reached and which cells it fills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model that takes part."""

    name: str
    """As `--model` takes it."""
    label: str = ""
    """What reports call it; empty: its name."""
    base_url: str | None = None
    tokenizer: str | None = None
    """The path of its tokenizer.json, where the endpoint cannot count."""
    window: int | None = None
    """At most so many tokens of prompt and reply, whatever the model could hold."""
    ways: tuple[str, ...] = ()
    """Only these ways; empty: all of the evaluation."""
    lengths: tuple[int, ...] = ()
    """Only these lengths; empty: all of the evaluation."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """On top of the evaluation's plan: prompts, budgets, prices."""
    threads: int | None = None
    timeout: float | None = None
    concurrency: int | None = None

    @property
    def called(self) -> str:
        """The label, or the name."""
        return self.label or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The settings of an evaluation."""

    tasks: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    """Tokens of a document."""
    samples: tuple[str, ...] = ()
    """JSONL files of samples, beside or in place of tasks and lengths."""
    ways: tuple[str, ...] = ("sequential",)
    models: tuple[ModelSpec, ...] = (ModelSpec(name="local"),)
    count: int = 50
    """Samples of each task and length."""
    seed: int = 0
    language: str = "en"
    tokenizer: str | None = None
    """Measures the documents' lengths; by default the first model's own."""
    data: str | None = None
    """The folder that tasks made from data sets read."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """On top of what each model recommends."""
    concurrency: int = 8
    """Samples under way at once."""
    reference: str = "sequential"
    """The way that the others are compared with, pair by pair."""

    def __post_init__(self) -> None:
        for way in (*self.ways, *(way for model in self.models for way in model.ways)):
            load_way(way)
        if not (self.samples or (self.tasks and self.lengths)):
            raise SettingsError("nothing to measure: give tasks and lengths, or files of samples")
        for name, value in (("count", self.count), ("concurrency", self.concurrency), *self._lengths()):
            if value < 1:
                raise SettingsError(f"{name} must be at least 1, not {value}")
        called = [model.called for model in self.models]
        twice = next((name for name in called if called.count(name) > 1), None)
        if twice or not called:
            raise SettingsError(f"two models are called {twice!r}; give them labels" if twice else "no model is named")
        for model in self.models:
            Plan.from_json(self.plan).with_values(model.plan)

    def _lengths(self) -> list[tuple[str, int]]:
        of_models = (length for model in self.models for length in model.lengths)
        return [("a length", length) for length in (*self.lengths, *of_models)]

    def plan_of(self, reader: ModelSpec, recommended: Plan) -> Plan:
        """The plan that a model reads with here."""
        return recommended.with_values(self.plan).with_values(reader.plan)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**_plain(self), "models": [_plain(model) for model in self.models]}

    def fixed(self) -> dict[str, Any]:
        """What every number of a results file has in common."""
        values = _plain(self)
        return {name: value for name, value in values.items() if name not in _AXES | _EFFORT | {"plan"}}

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], where: str) -> Self:
        """The settings of a TOML file's tables; SettingsError names an unknown key and the nearest that there is."""
        table = dict(tables.get("eval", {}))
        if not table:
            raise SettingsError(f"{where} has no [eval] table")
        _known(table, cls, f"{where}, [eval]")
        models = [_reader(values, f"{where}, [[eval.models]]") for values in table.pop("models", [{"name": "local"}])]
        plan = {**tables.get("plan", {}), **table.pop("plan", {})}
        return cls(**{name: _frozen(value) for name, value in table.items()}, models=tuple(models), plan=plan)

    @classmethod
    def load(cls, source: str) -> Self:
        """The settings of a TOML file, or of a preset by its name."""
        if not source.endswith(".toml") and source in list_presets():
            return cls.from_tables(load_preset(source), f"the preset {source}")
        try:
            tables = tomllib.loads(Path(source).read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{source} is not valid TOML: {error}") from error
        except (OSError, UnicodeDecodeError) as error:
            known = ", ".join(list_presets())
            raise SettingsError(f"{source} cannot be read: {error}. Presets are: {known}") from error
        return cls.from_tables(tables, source)


def model_settings(reader: ModelSpec, plan: Plan, prompts: str) -> dict[str, Any]:
    """What every number of one model has in common; `prompts` is the prompt set's own text, so that a change shows."""
    values = {name: value for name, value in _plain(reader).items() if name not in _REACH | {"plan", "label"}}
    return {**values, "plan": plan.to_json(), "prompts": hashlib.sha256(prompts.encode()).hexdigest()[:16]}


def fingerprint(values: Any) -> str:
    """A short name for plain values: the same for the same ones, whatever their order."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:16]


def differences(there: Mapping[str, Any], here: Mapping[str, Any], where: str = "") -> list[str]:
    """Which plain values differ, in words."""
    found: list[str] = []
    for name in sorted({*there, *here}):
        old, new, place = there.get(name), here.get(name), f"{where}{name}"
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{place}.")
        elif old != new:
            found.append(f"{place} is {json.dumps(old)} there and {json.dumps(new)} here")
    return found


def _plain(value: Evaluation | ModelSpec) -> dict[str, Any]:
    return {f.name: _thawed(getattr(value, f.name)) for f in fields(value)}


def _thawed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _reader(values: Mapping[str, Any], where: str) -> ModelSpec:
    _known(values, ModelSpec, where)
    if "name" not in values:
        raise SettingsError(f"{where} needs a name for every model")
    return ModelSpec(**{name: _frozen(value) for name, value in values.items()})


def _known(values: Mapping[str, Any], target: type[Evaluation | ModelSpec], where: str) -> None:
    kinds = {f.name: str(f.type).partition("[")[0].partition(" |")[0] for f in fields(target)}
    for key, value in values.items():
        if key not in kinds:
            near = get_close_matches(key, kinds, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(kinds)}"
            raise SettingsError(f"unknown setting {key!r} in {where}; {hint}")
        kind, called = _KINDS[kinds[key]]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise SettingsError(f"{key!r} in {where} must be {called}, not {value!r}")


_KINDS: Final[Mapping[str, tuple[type | tuple[type, ...], str]]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "text"),
    "tuple": (list, "a list"),
    "Mapping": (dict, "a table"),
}
