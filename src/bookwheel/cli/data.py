"""`bookwheel data`: make samples for any task and length, and drop those that need no document."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path  # noqa: TC003 - read by the parser of arguments
from typing import TYPE_CHECKING, Literal

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bookwheel.models.base import Model
    from bookwheel.tasks import Sample, Sifted

_TOKENS = 8192


def make(
    task: str,
    *,
    out: Path,
    tokens: int | None = None,
    count: int = 1,
    seed: int = 0,
    lang: str | None = None,
    tokenizer: str = "words",
    data: Path | None = None,
    split: Literal["train", "dev"] = "dev",
    paragraphs: int | None = None,
    metric: str | None = None,
    force: bool = False,
) -> int:
    """Make samples of a task as JSON Lines; the same arguments give the same bytes.

    Parameters
    ----------
    task
        A name such as niah_single_2, vt, hqa or count; `bookwheel data tasks` lists them.
    out
        The file to write.
    tokens
        Of each document; it gets at most so many and at least 98 % of them. 8192 by default.
    count
        How many samples.
    seed
        Another seed gives other samples.
    lang
        en or zh, where the task has both.
    tokenizer
        What counts the tokens: words, estimate, or the path of a tokenizer.json.
    data
        The data folder, or one file of questions of yours; else $BOOKWHEEL_DATA or ./shared/data.
    split
        Which of a question set's files to draw from.
    paragraphs
        For questions among paragraphs: so many of them, instead of --tokens.
    metric
        Judge by another metric than the task's own.
    force
        Replace the file when it is there.

    """
    from bookwheel.tasks import make as make_samples
    from bookwheel.tasks import tokenizer_named, write_samples

    if tokens is not None and paragraphs is not None:
        raise InputError("give --tokens or --paragraphs, not both: each of them sets the length")
    samples = make_samples(
        task,
        tokens=0 if paragraphs is not None else _TOKENS if tokens is None else tokens,
        count=count,
        seed=seed,
        language=lang,
        tokenizer=tokenizer_named(tokenizer),
        data=data,
        split=split,
        paragraphs=paragraphs,
        metric=metric,
    )
    lengths: list[int] = []
    written = write_samples(_noting(samples, lengths), out, force=force)
    _say(f"{written} samples of {task}, {min(lengths)} to {max(lengths)} tokens by {tokenizer}, in {out}")
    return 0


def _noting(samples: Iterable[Sample], lengths: list[int]) -> Iterator[Sample]:
    for sample in samples:
        lengths.append(sample.tokens)
        yield sample


def tasks() -> int:
    """List the tasks, with the languages they are there in."""
    from bookwheel.tasks import TASKS

    width = max(map(len, TASKS))
    for name, task in TASKS.items():
        print(f"{name:{width}}  {' '.join(task.languages):5}  {task.about}")
    return 0


async def sift(
    source: Path, *, out: Path, model: Model, tries: int = 2, concurrency: int = 8, force: bool = False
) -> int:
    """Write the samples that the model does not answer without their documents, and say how many went and why."""
    from bookwheel.tasks import Outcome, filter_samples, read_samples
    from bookwheel.tasks.files import Writing

    counts: Counter[Outcome] = Counter()
    with Writing(out, force=force) as writing:
        async for sifted in filter_samples(read_samples(source), model, tries=tries, concurrency=concurrency):
            counts[sifted.outcome] += 1
            if sifted.outcome is Outcome.KEPT:
                writing.add(sifted.sample)
            else:
                _tell(sifted)
    total = sum(counts.values())
    _say(
        f"{counts[Outcome.KEPT]} of {total} samples kept in {out}; {counts[Outcome.DROPPED]} answered by {model.name} "
        f"without the document (best of {tries}) and dropped; {counts[Outcome.UNASKED]} left out because it failed"
    )
    return 0


def _tell(sifted: Sifted) -> None:
    _say(f"{sifted.sample.id}: {sifted.outcome}, {sifted.reason}")


def _say(text: str) -> None:
    from bookwheel.text.shield import plain

    print(plain(text), file=sys.stderr)
