"""All tasks by name, and `make_samples`, which makes the samples of any of them.

A task of another package registers through the entry point group `bookwheel.tasks`.

>>> from bookwheel.text.tokens import WordTokenizer
>>> sample = next(make_samples("vt", tokens=400, count=1, seed=7, tokenizer=WordTokenizer()))
>>> sample.id, sample.tokens <= 400, len(sample.golds)
('vt-en-400-7-0', True, 5)
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

from bookwheel.errors import InputError, TokenizerError
from bookwheel.lab.scoring import load_metric
from bookwheel.lab.tasks.base import Sample
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.definition import BUILT_IN, SampleRequest, SampleSeries, Task
from bookwheel.plugins import list_names, require_plugin
from bookwheel.text.tokens import EstimatingTokenizer, FileTokenizer, Tokenizer, WordTokenizer

# isort: off
# Each registers its tasks, in the order of a list for people.
import bookwheel.lab.tasks.needles
import bookwheel.lab.tasks.tallies
import bookwheel.lab.tasks.questions
import bookwheel.lab.tasks.facts
import bookwheel.lab.tasks.dialogues
import bookwheel.lab.tasks.episodes
import bookwheel.lab.tasks.books
import bookwheel.lab.tasks.documents_qa
import bookwheel.lab.tasks.verdicts
import bookwheel.lab.tasks.ruler.tasks  # noqa: F401
# isort: on

TASKS: Final[Mapping[str, Task]] = BUILT_IN
"""The built-in tasks by name, in the order of a list for people."""
GROUP: Final = "bookwheel.tasks"


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
    chosen = definition.check_options({name: value for name, value in options.items() if value is not None})
    if language not in definition.languages:
        raise InputError(f"the task {task} is there in {' and '.join(definition.languages)}, not in {language!r}")
    if "metric" in chosen:
        load_metric(str(chosen["metric"]))
    if tokens < 1 and "paragraphs" not in chosen:
        raise InputError(f"the number of tokens must be at least 1, not {tokens}")
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


def load_tokenizer(name: str) -> Tokenizer:
    """Load `words` (the scripted model's), `estimate`, or the path of a tokenizer.json or of its folder."""
    if name == WordTokenizer.name:
        return WordTokenizer()
    if name == EstimatingTokenizer.name:
        return EstimatingTokenizer()
    path = Path(name)
    if path.is_dir():
        path /= "tokenizer.json"
    if not path.is_file():
        raise TokenizerError(f"no tokenizer {name!r}: give `words`, `estimate`, or the path of a tokenizer.json")
    return FileTokenizer(path)
