"""`bookwheel data`: make samples for any task and length, drop those that need no document, say what they can show."""

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Literal

from bookwheel.cli.arguments import Option
from bookwheel.cli.commands import CommandGroup
from bookwheel.cli.options import AsJson, ModelOptions, OutPath, PositiveInt, Text, Texts, define_options
from bookwheel.errors import InputError
from bookwheel.lab.commands.options import parse_task_options
from bookwheel.lab.tasks import (
    FilterOutcome,
    MissingSample,
    SampleSeries,
    describe_left_out,
    filter_samples,
    list_tasks,
    load_task,
    load_tokenizer,
    make_sample,
    read_samples,
    sample_series,
)
from bookwheel.lab.tasks.data_dir import read_literals
from bookwheel.lab.tasks.files import FileWriter, SampleWriter, write_samples
from bookwheel.lab.tasks.ruler.resources import read_word_lists, write_splitter
from bookwheel.models.base import Model
from bookwheel.reading.prompts import Prompts
from bookwheel.text.sanitize import sanitize

_TOKENS = 8192
Force = Annotated[bool, Option(about="Replace the file when it is there.")]


@define_options()
class SampleOptions:
    """The samples to make; the same options give the same bytes."""

    tokens: PositiveInt | None = None
    "Tokens of each document: at most this number and at least 98 % of it. 8192 by default."
    count: PositiveInt = 1
    "How many samples."
    seed: int = 0
    "Another seed gives other samples."
    lang: Text | None = None
    "en or zh, where the task has both."
    tokenizer: Text = "words"
    "The tokenizer that counts: words, estimate, or the path of a tokenizer.json."
    data: Path | None = None
    "The data folder, or one file of questions of yours; else $BOOKWHEEL_DATA or ./shared/data."
    split: Literal["train", "dev"] = "dev"
    "Which of a question set's files to draw from."
    paragraphs: PositiveInt | None = None
    "Paragraphs of each document, instead of --tokens; only for tasks with questions among paragraphs."
    metric: Text | None = None
    "Judge by another metric than the task's own."
    options: Annotated[Texts, Option(name="--option")] = ()
    "NAME=VALUE, an option of the task, such as hops=8; may be given again. `bookwheel data tasks` lists them."

    def open_series(self, task: str) -> SampleSeries:
        """Return the samples, none of them made yet."""
        own = {"paragraphs": self.paragraphs, "metric": self.metric}
        options = {**parse_task_options(self.options), **{name: one for name, one in own.items() if one is not None}}
        if self.tokens is not None and "paragraphs" in options:
            raise InputError("give --tokens or --paragraphs, not both: each of them sets the length")
        default = 0 if "paragraphs" in options else _TOKENS
        return sample_series(
            task,
            tokens=default if self.tokens is None else self.tokens,
            count=self.count,
            seed=self.seed,
            language=self.lang,
            tokenizer=load_tokenizer(self.tokenizer),
            data=self.data,
            split=self.split,
            **options,
        )

    def describe_left_out(self, task: str) -> list[str]:
        """Return a sentence for each kind of question that the task's file has and the samples do not."""
        return describe_left_out(task, self.lang or load_task(task).languages[0], self.split, self.data)


def make(
    task: Annotated[Text, Option(about="A name that `bookwheel data tasks` lists: niah_single_2, vt, hqa, count.")],
    *,
    out: Annotated[OutPath, Option(about="The file to write.")],
    options: SampleOptions | None = None,
    force: Force = False,
) -> int:
    """Make samples of a task as JSON Lines."""
    wanted = options or SampleOptions()
    series = wanted.open_series(task)
    lengths: list[int] = []
    missing: list[str] = []
    with SampleWriter(out, force=force) as writer:
        for place in range(len(series)):
            sample = make_sample(series, place)
            if isinstance(sample, MissingSample):
                missing.append(sample.reason)
                writer.add_missing(sample)
            else:
                lengths.append(sample.tokens)
                writer.add(sample)
        if not lengths:
            raise InputError(missing[0])
    for note in wanted.describe_left_out(task):
        _print_note(note)
    if missing:
        _print_note(
            f"{len(missing)} of {len(series)} samples cannot be made and stand in the file with their reasons; "
            f"first: {missing[0]}"
        )
    _print_note(
        f"{len(lengths)} samples of {task}, {min(lengths)} to {max(lengths)} tokens by {wanted.tokenizer}, in {out}"
    )
    return 0


def tasks() -> int:
    """List the tasks with their languages."""
    names = list_tasks()
    width = max(map(len, names))
    for name in names:
        try:
            task = load_task(name)
        except InputError as error:  # one broken plug-in must not hide the other tasks
            print(f"{name:{width}}  {'':5}  {error}")
        else:
            options = f" (--option {', '.join(task.option_names)})" if task.option_names else ""
            print(f"{name:{width}}  {' '.join(task.languages):5}  {task.description}{options}")
    return 0


async def filter_file(
    source: Annotated[Path, Option(about="A file of samples.")],
    *,
    out: Annotated[OutPath, Option(about="The file to write the kept samples to.")],
    tries: Annotated[
        PositiveInt, Option(about="How often each question is asked; one right answer drops the sample.")
    ] = 2,
    models: ModelOptions = ModelOptions(),
    force: Force = False,
) -> int:
    """Drop the samples that the model answers without their documents, and print how many and why."""
    concurrency = models.connection.concurrency
    async with models.open_session() as session:
        return await filter_samples_file(
            source, out=out, model=session.model, tries=tries, concurrency=concurrency, force=force
        )


async def filter_samples_file(
    source: Path, *, out: Path, model: Model, tries: int = 2, concurrency: int = 8, force: bool = False
) -> int:
    """Filter a file of samples with an open model."""
    from bookwheel.models.patience import Patience, PatientModel

    counts: Counter[FilterOutcome] = Counter()
    skipped: Counter[str] = Counter()
    with SampleWriter(out, force=force) as writer:
        patient = PatientModel(model, Patience())
        async for result in filter_samples(
            read_samples(source, skipped=skipped), patient, tries=tries, concurrency=concurrency
        ):
            counts[result.outcome] += 1
            if result.outcome is FilterOutcome.KEPT:
                writer.add(result.sample)
            else:
                _print_note(f"{result.sample.id}: {result.outcome}, {result.reason}")
    _print_skipped(skipped)
    total = sum(counts.values())
    kept, dropped, failed = (counts[kind] for kind in (FilterOutcome.KEPT, FilterOutcome.DROPPED, FilterOutcome.FAILED))
    _print_note(
        f"{kept} of {total} samples kept in {out}; {dropped} answered by {model.name} without the document "
        f"(best of {tries}) and dropped; {failed} left out because it failed"
    )
    return 0


def show_coverage(
    *sources: Annotated[Path, Option(about="Files of samples.")],
    tokens: Annotated[PositiveInt, Option(about="Tokens of passages that the search may show.")] = 1024,
    tokenizer: Annotated[Text, Option(about="The tokenizer that counts: words, estimate, or a path.")] = "words",
    as_json: Annotated[AsJson, Option(about="Print one JSON object.")] = False,
) -> int:
    """Say for each task how much of its evidence BM25 finds, and what the best constant answer earns."""
    from bookwheel.cli.output import print_line
    from bookwheel.lab.evaluation.coverage import measure_coverage
    from bookwheel.lab.evaluation.sections import format_length

    if not sources:
        raise InputError("name one or more files of samples")
    skipped: Counter[str] = Counter()
    samples = (sample for source in sources for sample in read_samples(source, skipped=skipped))
    rows = measure_coverage(samples, load_tokenizer(tokenizer), tokens)
    _print_skipped(skipped)
    if as_json:
        print_line(json.dumps({"tokens": tokens, "tasks": [asdict(row) for row in rows]}, ensure_ascii=False))
        return 0
    print_line(f"BM25 may show {tokens} tokens of passages")
    print_line(f"{'task':26} {'length':>8} {'n':>5} {'found':>6} {'whole':>6}  best constant answer")
    for row in rows:
        found = "-" if row.found is None else f"{row.found:.0%}"
        complete = "-" if row.complete is None else f"{row.complete:.0%}"
        constant = f"{row.constant_score:.0%} by {row.constant[:40]!r}" if row.constant_score else "0%"
        print_line(f"{row.task:26} {format_length(row.length):>8} {row.samples:5} {found:>6} {complete:>6}  {constant}")
    return 0


_UPDATE: Final = "taskutils/memory_eval/utils/recurrent_boxed.py"
_PLACES: Final = {"{prompt}": "{question}", "{chunk}": "{section}"}
_FENCE: Final = "'''"


def write_prompts(
    checkout: Annotated[Path, Option(about="The folder of a checkout of MemAgent.")],
    *,
    out: Annotated[OutPath, Option(about="The prompt set to write.")],
    force: Force = False,
) -> int:
    """Write the prompts that MemAgent's checkpoints were trained on, for --prompts.

    They are read from its scripts as data; nothing of the checkout runs.
    """
    text = convert_prompts(checkout)
    Prompts.from_toml(text, out.name)
    with FileWriter(out, force=force) as file:
        file.write(text)
    print(f"bookwheel ask FILE QUESTION --prompts {out}")
    return 0


def convert_prompts(checkout: Path) -> str:
    """Return the prompt set as TOML; InputError where the checkout has no such templates."""
    update = read_literals(checkout / _UPDATE)
    try:
        memory, answer = (_rename_places(update[name][0]) for name in ("TEMPLATE", "TEMPLATE_FINAL"))
        blank = update["NO_MEMORY"][0]
    except KeyError as error:
        raise InputError(f"{checkout} is no checkout of MemAgent that is known here: {error} is missing") from error
    return (
        f'language = "en"\nblank = {_FENCE}{blank}{_FENCE}\nanswer = {_quote(answer)}\n\n'
        f"[update]\nmemory-first = {_quote(memory)}\n"
    )


def _rename_places(template: str) -> str:
    for theirs, ours in _PLACES.items():
        template = template.replace(theirs, ours)
    # Doubled braces are those that `str.format` would write once.
    return template.replace("{{", "{").replace("}}", "}")


def _quote(text: str) -> str:
    """Return a literal TOML string; it drops a line break at its very beginning, so one is put there."""
    if _FENCE in text:
        raise InputError("a template holds three quotes in a row, which a prompt set cannot")
    return f"{_FENCE}\n{text}{_FENCE}"


def _print_skipped(skipped: Counter[str]) -> None:
    for reason, count in skipped.most_common():
        _print_note(f"{count} records are left out: {reason}")


def _print_note(text: str) -> None:
    print(sanitize(text), file=sys.stderr)


def write_words(
    *,
    out: Annotated[OutPath, Option(about="The file to write, wordlists/wonderwords_lists.json of a data folder.")],
    force: Force = False,
) -> int:
    """Write the words that RULER draws its keys and common words from: the lists of the package wonderwords."""
    lists = read_word_lists()
    with FileWriter(out, force=force) as file:
        file.write(json.dumps(lists, ensure_ascii=False, indent=1) + "\n")
    print(f"{sum(map(len, lists.values()))} words in {out}")
    return 0


def put_splitter(
    *, out: Annotated[Path, Option(about="The folder to put it into, nltk_data of a data folder.")]
) -> int:
    """Put the sentence splitter there by which RULER splits its essays: nltk's punkt."""
    print(f"nltk's punkt, from {write_splitter(out)}, in {out}")
    return 0


def write_nolima(
    folder: Annotated[Path, Option(about="NoLiMa's downloaded data: needlesets and haystack.")],
    *,
    out: Annotated[Path, Option(about="The file of samples to write.")],
    tokens: Annotated[PositiveInt, Option(about="Tokens of each document, without its needle.")] = 1000,
    needles: Annotated[
        Text, Option(about="The set in needlesets, such as needle_set_hard.json; those with distractors are not made.")
    ] = "needle_set.json",
    tokenizer: Annotated[Text, Option(about="The path of the model's tokenizer.json.")],
    force: Force = False,
) -> int:
    """Write NoLiMa's samples of one length: every needle at 26 depths of every book."""
    from bookwheel.lab.tasks.nolima import make_nolima

    count = write_samples(make_nolima(folder, tokens, load_tokenizer(tokenizer), needles), out, force=force)
    _print_note(f"{count} samples of NoLiMa, {tokens} tokens, in {out}")
    return 0


app = CommandGroup("Make samples for any task, length, seed and language, and filter them.")
app.command(make)
app.command(filter_file, name="filter")
app.command(tasks)
app.command(write_prompts, name="prompts")
app.command(write_words, name="words")
app.command(put_splitter, name="splitter")
app.command(write_nolima, name="nolima")
app.command(show_coverage, name="coverage")
