"""What every family of tasks is given, and what it gives back: the seam between the catalogue and the families."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from bookwheel.errors import InputError
from bookwheel.tasks.base import MemoryRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.tasks.assembly import AssembledDocument
    from bookwheel.tasks.data_dir import DataDir
    from bookwheel.text.tokens import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """One sample that is wanted."""

    task: str
    tokens: int
    """Of the document; 0 where an option sets the size in another way."""
    index: int
    """Which sample of its series, from 0."""
    seed: int
    language: str
    split: str
    """`train` or `dev`: which of a data set's files may be drawn from."""
    rng: Random
    """Seeded by task, language, split, seed and index, and not by the length: the same question at every length."""
    tokenizer: Tokenizer
    data_dir: DataDir
    options: Mapping[str, Any] = field(default_factory=dict)

    def for_index(self, index: int) -> SampleRequest:
        """The same order for another sample of the series, with random numbers of its own."""
        rng = Random(f"{self.task} {self.language} {self.split} {self.seed} {index}")  # noqa: S311 - not for secrets
        return replace(self, index=index, rng=rng)

    def read_int(self, option: str, default: int, *, least: int = 1) -> int:
        """An option that is a whole number; InputError when it is none or too low."""
        value = self.options.get(option, default)
        if not isinstance(value, int) or value < least:
            raise InputError(f"the option {option} of {self.task} must be a whole number from {least}, not {value!r}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDraft:
    """What a family makes of an order; the catalogue turns it into a Sample."""

    question: str
    golds: tuple[str, ...]
    metric: str
    body: AssembledDocument
    memory: MemoryRule = MemoryRule.NOTES
    length: int | None = None
    """The column it belongs to, where that is not the number of tokens asked for."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


class SampleBuilder(Protocol):
    """How a family makes one sample."""

    def __call__(self, request: SampleRequest) -> SampleDraft:
        """Pure but for reading the data folder: the same draft for the same request."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An entry of the catalogue."""

    name: str
    description: str
    """One line for a list."""
    build: SampleBuilder
    languages: tuple[str, ...] = ("en",)
    """The first is the default."""
    options: tuple[str, ...] = ()
    """Names that `make` takes beyond the common ones."""
