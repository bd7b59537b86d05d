"""The definition of a task: the request that it gets for a sample, and the draft that it returns."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

from annotated_types import Ge, Le

from bookwheel.errors import InputError
from bookwheel.lab.tasks.base import MemoryRule
from bookwheel.schema import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.lab.tasks.assembly import AssembledDocument
    from bookwheel.lab.tasks.data_dir import DataDir
    from bookwheel.text.tokens import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """The request for one sample."""

    task: str
    tokens: int
    """Tokens of the document; 0 when an option sets the size in another way."""
    index: int
    """The number of the sample in its series, from 0."""
    seed: int
    language: str
    split: str
    """`train` or `dev`: the files of a data set to draw from."""
    rng: Random
    """Seeded by task, language, split, seed and index, but not by length: every length has the same question."""
    tokenizer: Tokenizer
    data_dir: DataDir
    options: Mapping[str, Any] = field(default_factory=dict)

    def for_index(self, index: int) -> SampleRequest:
        """Return the request for another sample of the series, with its own random numbers."""
        rng = Random(f"{self.task} {self.language} {self.split} {self.seed} {index}")  # noqa: S311 - not for secrets
        return replace(self, index=index, rng=rng)

    def read_int(self, option: str, default: int, *, least: int = 1) -> int:
        """Return an option that must be a whole number of at least `least`; InputError when it is not."""
        value = self.options.get(option, default)
        if not isinstance(value, int) or value < least:
            raise InputError(f"the option {option} of {self.task} must be a whole number from {least}, not {value!r}")
        return value

    def draw_place(self) -> float:
        """Return a random place for a passage, or the one that the option `depth` asks for."""
        place = self.rng.random()  # drawn in any case, so that all else stays the same
        depth = self.options.get("depth")
        return place if depth is None else depth / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDraft:
    """The content of a sample; the catalogue adds the id, the seed and so on."""

    question: str
    golds: tuple[str, ...]
    metric: str
    body: AssembledDocument
    memory: MemoryRule = MemoryRule.NOTES
    length: int | None = None
    """The column of a report, if that is not the requested number of tokens."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


class SampleBuilder(Protocol):
    """A function that builds one sample."""

    def __call__(self, request: SampleRequest) -> SampleDraft:
        """Return the same draft for the same request."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task: its name, its function and its options."""

    name: str
    description: str
    """One line for a list."""
    build: SampleBuilder
    languages: tuple[str, ...] = ("en",)
    """The first is the default."""
    options: tuple[str, ...] | type = ()
    """What `make_samples` takes beyond the common options: names, or a dataclass whose fields have types and bounds."""

    @property
    def option_names(self) -> tuple[str, ...]:
        """The names of the options."""
        return self.options if isinstance(self.options, tuple) else tuple(field.name for field in fields(self.options))

    def check_options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with their types; InputError names the nearest one, or what is allowed."""
        known = (*self.option_names, *COMMON_OPTIONS)
        for name in values:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it takes: {', '.join(known)}"
                raise InputError(f"the task {self.name} has no option {name!r}; {hint}")
        own = {name: value for name, value in values.items() if name in self.option_names}
        if isinstance(self.options, tuple):
            return dict(values)
        parsed: Any = parse(self.options, own, where=f"the task {self.name}", table="option")
        return {**values, **{name: getattr(parsed, name) for name in own}}


COMMON_OPTIONS: Final = ("metric",)
"""Options that every task takes."""
AtLeastOne = Annotated[int, Ge(1)]
AtLeastTwo = Annotated[int, Ge(2)]
Percent = Annotated[float, Ge(0), Le(100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthOptions:
    """The option of tasks whose evidence can be set at one place."""

    depth: Percent | None = None
    """Where the evidence stands: 0 is the beginning of the document, 100 its end; by default anywhere."""
