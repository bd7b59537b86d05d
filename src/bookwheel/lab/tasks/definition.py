"""The definition of a task: the request for a sample, the draft that answers it, and the samples in their order.

A built-in task is a function under `task`, with its name, a line for a list, its options and their types:

    @task("count", "how often something happened in all", times=AtLeastTwo)
    def build_count(request: SampleRequest) -> SampleDraft: ...
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from difflib import get_close_matches
from random import Random
from typing import Annotated, Any, Final, overload

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import AssembledDocument, SourcePassage, assemble
from bookwheel.lab.tasks.base import InfeasibleSample, MemoryRule, MissingSample, Sample, SampleDocument
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.schema import Ge, Le, parse
from bookwheel.text.tokens import Tokenizer

AtLeastOne = Annotated[int, Ge(1)]
AtLeastTwo = Annotated[int, Ge(2)]
Percent = Annotated[float, Ge(0), Le(100)]
BOTH: Final = ("en", "zh")
"""The languages of most tasks."""


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

    def for_index(self, index: int) -> "SampleRequest":
        """Return the request for another sample of the series, with its own random numbers."""
        rng = Random(f"{self.task} {self.language} {self.split} {self.seed} {index}")  # noqa: S311 - not for secrets
        return replace(self, index=index, rng=rng)

    def assemble(self, filler: Iterable[str], passages: Sequence[SourcePassage] = ()) -> AssembledDocument:
        """Return a document of the requested length: filler with passages at their places."""
        return assemble(filler, passages, tokens=self.tokens, tokenizer=self.tokenizer, task=self.task)

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


SampleBuilder = Callable[[SampleRequest], SampleDraft]
"""A function that builds the same draft for the same request."""
COMMON_OPTIONS: Final = ("metric",)
"""Options that every task takes."""


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


BUILT_IN: Final[dict[str, Task]] = {}
"""Our tasks by name, in the order in which their modules are imported."""


def task(
    name: str, description: str, *, languages: tuple[str, ...] = ("en",), **options: Any
) -> Callable[[SampleBuilder], SampleBuilder]:
    """Make the function below a built-in task; each option is given with its type."""

    def add(build: SampleBuilder) -> SampleBuilder:
        types = make_dataclass("Options", [(option, kind | None, None) for option, kind in options.items()])
        BUILT_IN[name] = Task(
            name=name, description=description, build=build, languages=languages, options=types if options else ()
        )
        return build

    return add


class LazySamples(Sequence[Sample]):
    """Samples of which each is made or read when it is asked for. A subclass says how many there are, and loads one."""

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> list[Sample]: ...

    def __getitem__(self, place: int | slice) -> Sample | list[Sample]:
        places = range(len(self))
        if isinstance(place, slice):
            return [self._load_sample(one) for one in places[place]]
        return self._load_sample(places[place])

    @abstractmethod
    def _load_sample(self, place: int) -> Sample:
        """Return the sample at a place from 0 on."""


class SampleSeries(LazySamples):
    """The samples of a task in the order of their indexes."""

    def __init__(self, first: SampleRequest, build: SampleBuilder, count: int) -> None:
        self._first = first
        self._build = build
        self._count = count

    def __len__(self) -> int:
        return self._count

    def _load_sample(self, place: int) -> Sample:
        request = self._first.for_index(place)
        try:
            draft = self._build(request)
        except InfeasibleSample as reason:
            reason.task, reason.sample = request.task, _identify(request, request.tokens)
            reason.length = request.tokens
            raise
        length = request.tokens if draft.length is None else draft.length
        identity = _identify(request, length)
        return Sample(
            id=identity,
            task=request.task,
            question=draft.question,
            golds=draft.golds,
            document=SampleDocument(identity, draft.body.pieces),
            metric=str(request.options.get("metric", draft.metric)),
            length=length,
            tokens=draft.body.tokens,
            seed=request.seed,
            language=request.language,
            evidence=draft.body.evidence,
            memory=draft.memory,
            metadata={"split": request.split, "tokenizer": request.tokenizer.name, **draft.metadata},
        )


def _identify(request: SampleRequest, length: int) -> str:
    part = "" if request.split == "dev" else f"{request.split}-"
    return f"{request.task}-{request.language}-{part}{length}-{request.seed}-{request.index}"


def make_sample(series: Sequence[Sample], place: int) -> Sample | MissingSample:
    """Return one sample of a series, or the reason why it cannot be made."""
    try:
        return series[place]
    except InfeasibleSample as reason:
        return MissingSample(task=reason.task, id=reason.sample, reason=str(reason), length=reason.length)
