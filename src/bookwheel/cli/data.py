"""`bookwheel data`: make samples for any task and length, and drop those that need no document."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from bookwheel.cli.options import ModelOptions
from bookwheel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bookwheel.models.base import Model
    from bookwheel.tasks import FilterResult, Sample

_TOKENS = 8192


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """What samples are wanted; the same options give the same bytes."""

    tokens: int | None = None
    "Of each document; it gets at most so many and at least 98 % of them. 8192 by default."
    count: int = 1
    "How many samples."
    seed: int = 0
    "Another seed gives other samples."
    lang: str | None = None
    "en or zh, where the task has both."
    tokenizer: str = "words"
    "What counts the tokens: words, estimate, or the path of a tokenizer.json."
    data: Path | None = None
    "The data folder, or one file of questions of yours; else $BOOKWHEEL_DATA or ./shared/data."
    split: Literal["train", "dev"] = "dev"
    "Which of a question set's files to draw from."
    paragraphs: int | None = None
    "For questions among paragraphs: so many of them, instead of --tokens."
    metric: str | None = None
    "Judge by another metric than the task's own."

    def samples(self, task: str) -> Iterator[Sample]:
        """The samples, one at a time."""
        from bookwheel.tasks import load_tokenizer, make_samples

        if self.tokens is not None and self.paragraphs is not None:
            raise InputError("give --tokens or --paragraphs, not both: each of them sets the length")
        default = _TOKENS if self.paragraphs is None else 0
        return make_samples(
            task,
            tokens=default if self.tokens is None else self.tokens,
            count=self.count,
            seed=self.seed,
            language=self.lang,
            tokenizer=load_tokenizer(self.tokenizer),
            data=self.data,
            split=self.split,
            paragraphs=self.paragraphs,
            metric=self.metric,
        )


def make(
    task: Annotated[str, Parameter(help="A name that `bookwheel data tasks` lists: niah_single_2, vt, hqa, count.")],
    *,
    out: Annotated[Path, Parameter(help="The file to write.")],
    options: SampleOptions | None = None,
    force: Annotated[bool, Parameter(negative="", help="Replace the file when it is there.")] = False,
) -> int:
    """Make samples of a task as JSON Lines."""
    from bookwheel.tasks import write_samples

    wanted = options or SampleOptions()
    lengths: list[int] = []
    written = write_samples(_noting(wanted.samples(task), lengths), out, force=force)
    _say(f"{written} samples of {task}, {min(lengths)} to {max(lengths)} tokens by {wanted.tokenizer}, in {out}")
    return 0


def _noting(samples: Iterable[Sample], lengths: list[int]) -> Iterator[Sample]:
    for sample in samples:
        lengths.append(sample.tokens)
        yield sample


def tasks() -> int:
    """List the tasks with their languages."""
    from bookwheel.tasks import list_tasks, load_task

    names = list_tasks()
    width = max(map(len, names))
    for name in names:
        try:
            task = load_task(name)
        except InputError as error:  # one broken plug-in must not hide the other tasks
            print(f"{name:{width}}  {'':5}  {error}")
        else:
            print(f"{name:{width}}  {' '.join(task.languages):5}  {task.description}")
    return 0


def filter_file(
    source: Annotated[Path, Parameter(help="A file of samples.")],
    *,
    out: Annotated[Path, Parameter(help="The file to write what is kept to.")],
    tries: Annotated[int, Parameter(help="Times that each question is asked; one right answer is enough.")] = 2,
    models: ModelOptions | None = None,
    force: Annotated[bool, Parameter(negative="", help="Replace the file when it is there.")] = False,
) -> int:
    """Drop the samples that the model answers without their documents, and say how many went and why."""
    from bookwheel.cli.runner import run_command

    return run_command(_filter_file(source, out, models or ModelOptions(), tries=tries, force=force))


async def _filter_file(source: Path, out: Path, models: ModelOptions, *, tries: int, force: bool) -> int:
    model = await models.open()
    try:
        return await sift(source, out=out, model=model, tries=tries, concurrency=models.concurrency, force=force)
    finally:
        await model.aclose()


async def sift(
    source: Path, *, out: Path, model: Model, tries: int = 2, concurrency: int = 8, force: bool = False
) -> int:
    """The same with a model that is open."""
    from bookwheel.tasks import FilterOutcome, filter_samples, read_samples
    from bookwheel.tasks.files import SampleWriter

    counts: Counter[FilterOutcome] = Counter()
    with SampleWriter(out, force=force) as writing:
        async for sifted in filter_samples(read_samples(source), model, tries=tries, concurrency=concurrency):
            counts[sifted.outcome] += 1
            if sifted.outcome is FilterOutcome.KEPT:
                writing.add(sifted.sample)
            else:
                _tell(sifted)
    total = sum(counts.values())
    kept, dropped, failed = (
        counts[kind] for kind in (FilterOutcome.KEPT, FilterOutcome.DROPPED, FilterOutcome.UNASKED)
    )
    _say(
        f"{kept} of {total} samples kept in {out}; {dropped} answered by {model.name} without the document "
        f"(best of {tries}) and dropped; {failed} left out because it failed"
    )
    return 0


def _tell(sifted: FilterResult) -> None:
    _say(f"{sifted.sample.id}: {sifted.outcome}, {sifted.reason}")


def _say(text: str) -> None:
    from bookwheel.text.sanitize import sanitize

    print(sanitize(text), file=sys.stderr)


app = App(name="data", help="Make samples for any task, length, seed and language, and sift them.")
app.command(make)
app.command(filter_file, name="filter")
app.command(tasks)
