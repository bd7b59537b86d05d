"""A plan says how a document is read: token budgets, prompt layout, sampling and when to stop.

The defaults are the paper's: an 8K window holds the question, one chunk of 5000 tokens, the memory
and the reply. The template takes what is left (about 200 tokens with the question under its limit).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Self

from bookwheel.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping


_PAPERS_WINDOW: Final = 8192
_BUDGETS: Final = ("question_tokens", "chunk_tokens", "memory_tokens", "answer_tokens")
_LEAST_TOKENS: Final = 8
"""No single character has more tokens, so a chunk can always hold one."""


class Layout(StrEnum):
    """The order of an update prompt's parts."""

    MEMORY_FIRST = "memory-first"
    """Question, memory, section: the paper's order."""
    SECTION_FIRST = "section-first"
    """Section, question, memory: a server can reuse the section's KV cache across questions and repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the model draws its tokens; None leaves a setting to the server."""

    temperature: float | None = 0.7
    top_p: float | None = 0.95
    seed: int | None = None
    repeat_penalty: float | None = None
    """Only llama.cpp and vLLM know it; small models need it against loops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Hard limits of one reading; None is no limit. What was read when one is reached is kept."""

    tokens: int | None = None
    """Prompt and reply tokens of all calls together."""
    seconds: float | None = None
    cost: float | None = None
    """In the currency of the two prices."""
    price_in: float = 0.0
    """Price of a million prompt tokens."""
    price_out: float = 0.0
    """Price of a million reply tokens."""

    def __post_init__(self) -> None:
        for name in ("tokens", "seconds", "cost"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise PlanError(f"the budget for {name} must be above 0, not {value}")
        if self.cost is not None and not (self.price_in or self.price_out):
            raise PlanError("a cost budget needs the price of a million tokens: --price-in and --price-out")

    def price(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost."""
        return (prompt_tokens * self.price_in + completion_tokens * self.price_out) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The token budgets of one reading, and how its prompts are laid out and sampled.

    >>> Plan().update_tokens(question=24, template=150)
    7222
    """

    question_tokens: int = 1024
    chunk_tokens: int = 5000
    memory_tokens: int = 1024
    answer_tokens: int = 1024
    layout: Layout = Layout.MEMORY_FIRST
    prompts: str = "standard"
    """A prompt set of ours, or the path of one in a TOML file."""
    language: str | None = None
    """Of the prompts; None takes it from the question."""
    sampling: Sampling = field(default_factory=Sampling)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        for name in _BUDGETS:
            if getattr(self, name) < _LEAST_TOKENS:
                raise PlanError(f"{name.replace('_', '-')} must be at least {_LEAST_TOKENS}, not {getattr(self, name)}")

    def update_tokens(self, *, question: int, template: int) -> int:
        """The longest that one update conversation can get: prompt and reply."""
        return template + question + self.chunk_tokens + 2 * self.memory_tokens

    def answer_turn_tokens(self, *, question: int, template: int) -> int:
        """The longest that the answer conversation can get."""
        return template + question + self.memory_tokens + self.answer_tokens

    def check(self, window: int | None, *, question: int, template: int) -> None:
        """Raise PlanError when a conversation of this plan can outgrow the window (None: unknown, unchecked)."""
        if window is None:
            return
        need = max(
            self.update_tokens(question=question, template=template),
            self.answer_turn_tokens(question=question, template=template),
        )
        if need > window:
            raise PlanError(
                f"the plan needs {need} tokens and the model's window holds {window}: {need - window} too many "
                f"(template {template} + question {question} + chunk {self.chunk_tokens} + memory "
                f"{self.memory_tokens} + reply). Lower --chunk-tokens by {need - window} or --memory-tokens."
            )

    def within(self, window: int | None) -> Self:
        """The same plan, its budgets smaller in proportion where the window is smaller than the paper's.

        >>> Plan().within(2048).chunk_tokens
        1250
        """
        if window is None or window >= _PAPERS_WINDOW:
            return self
        share = window / _PAPERS_WINDOW
        return self.with_values({name: max(_LEAST_TOKENS, int(getattr(self, name) * share)) for name in _BUDGETS})

    def to_json(self) -> dict[str, Any]:
        """Plain values, nested; `from_json` takes them back."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in {"sampling", "budget"}},
            "layout": str(self.layout),
            "sampling": {f.name: getattr(self.sampling, f.name) for f in fields(self.sampling)},
            "budget": {f.name: getattr(self.budget, f.name) for f in fields(self.budget)},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The plan of such values; absent ones take their defaults, unknown ones are errors."""
        return cls().with_values(values)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """This plan with some values replaced: `plan.with_values({"chunk_tokens": 900})`."""
        _known(values, self, "plan")
        changes = dict(values)
        for name in ("sampling", "budget"):
            if name in changes:
                old = getattr(self, name)
                _known(changes[name], old, f"plan.{name}")
                changes[name] = replace(old, **changes[name])
        if "layout" in changes:
            try:
                changes["layout"] = Layout(changes["layout"])
            except ValueError:
                known = " or ".join(Layout)
                raise PlanError(f"no layout {changes['layout']!r}; it is {known}") from None
        return replace(self, **changes)


def _known(values: Mapping[str, Any], target: Plan | Sampling | Budget, where: str) -> None:
    from difflib import get_close_matches

    names = [f.name for f in fields(target)]
    for key in values:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
            raise PlanError(f"unknown setting {key!r} in {where}; {hint}")


def list_presets() -> list[str]:
    """The names of the plans that travel with the package."""
    folder = resources.files("bookwheel") / "presets"
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))


def load_preset(name: str) -> dict[str, Any]:
    """The tables of a preset: `[plan]` for reading, and what other floors keep there (`[train]`, `[eval]`)."""
    file = resources.files("bookwheel") / "presets" / f"{name}.toml"
    if not file.is_file():
        raise PlanError(f"no preset {name!r}; there are: {', '.join(list_presets())}")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def load_preset_plan(name: str) -> Plan:
    """The reading plan of a preset."""
    return Plan.from_json(load_preset(name).get("plan", {}))
