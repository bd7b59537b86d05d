"""All tasks by name, and `make_samples`, which makes the samples of any of them.

A task of another package registers through the entry point group `bookwheel.tasks`.

>>> from bookwheel.text.tokens import WordTokenizer
>>> sample = next(make_samples("vt", tokens=400, count=1, seed=7, tokenizer=WordTokenizer()))
>>> sample.id, sample.tokens <= 400, len(sample.golds)
('vt-en-400-7-0', True, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from bookwheel.errors import InputError
from bookwheel.plugins import list_names, require_plugin
from bookwheel.scoring import load_metric as metric_named
from bookwheel.tasks import books, bridges, codebase, counting, dialogues, needles, questions, updates, variables, words
from bookwheel.tasks.base import Sample, SampleDocument
from bookwheel.tasks.data_dir import DataDir
from bookwheel.tasks.definition import SampleRequest, Task
from bookwheel.tasks.errors import InfeasibleSample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from bookwheel.tasks.definition import SampleDraft
    from bookwheel.text.tokens import Tokenizer

_FAMILIES: Final = (needles, variables, words, questions, updates, counting, bridges, dialogues, codebase, books)
TASKS: Final[Mapping[str, Task]] = {task.name: task for family in _FAMILIES for task in family.TASKS}
"""The built-in tasks by name, in the order of a list for people."""
GROUP: Final = "bookwheel.tasks"
# Options that every task takes.
_COMMON: Final = ("metric",)


class SampleSeries(Sequence[Sample]):
    """The samples of a task in the order of their indexes. Each is made when it is asked for."""

    def __init__(self, first: SampleRequest, build: Callable[[SampleRequest], SampleDraft], count: int) -> None:
        self._first = first
        self._build = build
        self._indexes = range(count)

    def __len__(self) -> int:
        return len(self._indexes)

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> list[Sample]: ...

    def __getitem__(self, place: int | slice) -> Sample | list[Sample]:
        if isinstance(place, slice):
            return [self[index] for index in self._indexes[place]]
        request = self._first.for_index(self._indexes[place])
        try:
            return _finish_sample(request, self._build(request))
        except InfeasibleSample as reason:
            reason.task, reason.sample = request.task, _identify(request, request.tokens)
            raise


def make_samples(task: str, **settings: Any) -> Iterator[Sample]:
    """Yield the samples of `sample_series`, with the same arguments, one by one."""
    return iter(sample_series(task, **settings))


def sample_series(
    task: str,
    *,
    tokens: int,
    count: int,
    seed: int,
    tokenizer: Tokenizer,
    language: str | None = None,
    data: Path | None = None,
    split: Literal["train", "dev"] = "dev",
    **options: Any,
) -> SampleSeries:
    """Return samples, each with at most `tokens` tokens and at least 98 % of them.

    The same arguments give the same bytes. Wrong arguments (an unknown task, language or option, a missing folder)
    raise InputError at once, before the first sample is asked for.
    """
    definition = load_task(task)
    language = language or definition.languages[0]
    chosen = {name: value for name, value in options.items() if value is not None}
    _check_request(definition, tokens, language, chosen)
    if count < 1:
        raise InputError(f"the count must be at least 1, not {count}")
    if split not in ("train", "dev"):
        raise InputError(f"the split is train or dev, not {split!r}")
    first = SampleRequest(
        task=task,
        tokens=tokens,
        index=0,
        seed=seed,
        language=language,
        split=split,
        rng=Random(),  # noqa: S311 - not for secrets; `for_index` gives each sample its own
        tokenizer=tokenizer,
        data_dir=DataDir.locate(data),
        options=chosen,
    )
    return SampleSeries(first, definition.build, count)


def list_tasks() -> list[str]:
    """Return the names of all tasks: ours in their order, then those of other packages."""
    return list_names(GROUP, TASKS)


def load_task(name: str) -> Task:
    """Return the task of that name; InputError suggests the nearest one."""
    if name in TASKS:
        return TASKS[name]
    task = require_plugin(GROUP, name, TASKS, "task")
    if not isinstance(task, Task) or task.name != name:
        raise InputError(f"the task {name!r} of another package must be a Task of that name, not {task!r}")
    return task


def _check_request(definition: Task, tokens: int, language: str, options: Mapping[str, Any]) -> None:
    if language not in definition.languages:
        raise InputError(
            f"the task {definition.name} is there in {' and '.join(definition.languages)}, not in {language!r}"
        )
    known = (*definition.options, *_COMMON)
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes: {', '.join(known)}"
            raise InputError(f"the task {definition.name} has no option {name!r}; {hint}")
    if "metric" in options:
        metric_named(str(options["metric"]))
    if tokens < 1 and "paragraphs" not in options:
        raise InputError(f"the number of tokens must be at least 1, not {tokens}")


def _identify(request: SampleRequest, length: int) -> str:
    """Return the id of the sample that the request asks for."""
    part = "" if request.split == "dev" else f"{request.split}-"
    return f"{request.task}-{request.language}-{part}{length}-{request.seed}-{request.index}"


def _finish_sample(request: SampleRequest, draft: SampleDraft) -> Sample:
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
