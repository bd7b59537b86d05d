"""The work of an evaluation: the open models, and every sample for each of them in every way, as often as it repeats.

Samples are made when their turn comes. Jobs whose result exists are skipped.
"""

import os
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

from bookwheel.lab.evaluation.coverage import find_default_share
from bookwheel.lab.evaluation.records import RecordKey
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec, SettingsError, fingerprint, model_settings
from bookwheel.lab.tasks.base import MissingSample, Sample
from bookwheel.lab.tasks.definition import make_sample
from bookwheel.lab.tasks.files import read_entries
from bookwheel.lab.tasks.published import PublishedSpecs
from bookwheel.models.base import Model, ModelWrapper
from bookwheel.models.patience import Patience, PatientModel
from bookwheel.models.registry import is_built_in
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for

OpenModel = Callable[[ModelSpec], Awaitable[Model]]
SampleSource = Callable[[str, int], Iterable[Sample]]
"""Task and length to its samples, which are the same at every call.

A sequence makes each sample by itself, so one that raises InfeasibleSample does not end the others.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnderTest:
    """An open model with its settings."""

    label: str
    model: Model
    plan: Plan
    ways: tuple[str, ...]
    lengths: tuple[int, ...]
    """Only these lengths; empty: all."""
    settings: Mapping[str, Any]
    """The settings that all its results share."""
    fingerprint: str
    worth: bool = False
    """The worth of its last memories is measured too."""

    def plan_of_repeat(self, repeat: int) -> Plan:
        """Return the plan of a sample's reading number `repeat`: each has a seed of its own, if the plan has one."""
        seed = self.plan.sampling.seed
        if not repeat or seed is None:
            return self.plan
        return replace(self.plan, sampling=replace(self.plan.sampling, seed=seed + repeat))


class NarrowWindow(ModelWrapper):
    """A model with a smaller window, so that all models can be compared at the same one."""

    def __init__(self, model: Model, window: int) -> None:
        super().__init__(model)
        self._window = window

    @property
    def window(self) -> int:
        """The smaller window. The ways of reading keep to it; `reply` does not check."""
        return self._window


@asynccontextmanager
async def open_models(evaluation: Evaluation, open_model: OpenModel) -> AsyncGenerator[list[ModelUnderTest]]:
    """Open all models of the evaluation until the end of the block; those that only read differently share one."""
    opened: list[tuple[ModelSpec, Model]] = []
    try:
        candidates = []
        for spec in evaluation.models:
            # What opening the model needs, without what says how it reads. A server's window may have to be told; a
            # model of this process knows its own, and reads in a narrower one.
            window = None if is_built_in(spec.name) else spec.window
            source = replace(spec, label="", window=window, ways=(), lengths=(), plan={})
            model = next((model for known, model in opened if known == source), None)
            if model is None:
                model = await open_model(source)
                opened.append((source, model))
            candidates.append(_prepare_model(evaluation, spec, model))
        yield candidates
    finally:
        for _, model in opened:
            await model.aclose()


@asynccontextmanager
async def open_optional_model(spec: ModelSpec | None, open_model: OpenModel) -> AsyncGenerator[Model | None]:
    """Open a model that is not measured until the end of the block; None where there is none."""
    if spec is None:
        yield None
        return
    model = await open_model(spec)
    try:
        yield PatientModel(model, Patience())
    finally:
        await model.aclose()


def _prepare_model(evaluation: Evaluation, spec: ModelSpec, model: Model) -> ModelUnderTest:
    plan = evaluation.plan_of(spec, model.plan)
    if evaluation.repeats > 1 and plan.sampling.temperature == 0:
        raise SettingsError(
            f"{spec.display_name} reads at temperature 0, where every repeat is the same; "
            f"set a temperature, or leave out --repeats"
        )
    if spec.window is not None and (model.window is None or spec.window < model.window):
        model = NarrowWindow(model, spec.window)
    prompts = prompts_for(replace(plan, language=plan.language or evaluation.language), "")
    settings = model_settings(spec, plan, repr(prompts))
    return ModelUnderTest(
        label=spec.display_name,
        model=model,
        plan=plan,
        ways=spec.ways or evaluation.ways,
        lengths=spec.lengths,
        settings=settings,
        fingerprint=fingerprint([evaluation.fixed_settings(), settings]),
        worth=evaluation.worth,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The samples of one task and length."""

    task: str
    length: int
    count: int
    """Samples, not counting repeats."""
    samples: Callable[[], Iterator[tuple[int, Sample | MissingSample]]]
    """Each with its place: among the samples of its task and length, or in its file."""
    file: str = ""
    """The file of samples that they stand in; empty where the task makes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleJob:
    """One sample for one model to read in one way."""

    sample: Sample | MissingSample
    content: str
    """The sample's content; empty when it could not be made."""
    length: int
    candidate: ModelUnderTest
    way: str
    repeat: int = 0
    place: int = 0
    file: str = ""
    found_by_search: float | None = None

    @property
    def key(self) -> RecordKey:
        return (self.sample.task, self.length, self.sample.id, self.file, self.way, self.candidate.label, self.repeat)


def list_batches(evaluation: Evaluation, source: SampleSource) -> list[Batch]:
    """Return a batch for each task and length, then those of the files of samples."""
    batches: list[Batch] = []
    for task, length in product(evaluation.tasks, evaluation.every_length):
        samples = source(task, length)
        # A series knows its own number: a task that is made in two languages has twice as many.
        count = len(samples) if isinstance(samples, Sequence) else evaluation.count
        made = partial(_iterate_samples, source, task, length, count)
        batches.append(Batch(task=task, length=length, count=count, samples=made))
    pool = Path(evaluation.data) if evaluation.data else None
    read = partial(read_entries, pool=pool, published=open_specs(evaluation))
    # Benchmarks number the samples of each file anew, so results are told apart by the file, however it is spelled.
    # Links are not followed: in a cache of downloads what they lead to has another name.
    files = [Path(os.path.abspath(name)) for name in evaluation.samples]  # noqa: PTH100
    if len({*files}) < len(files):
        raise SettingsError("a file of samples is given twice")
    return batches + [batch for path in files for batch in _read_file_batches(path, read)]


def open_specs(evaluation: Evaluation) -> PublishedSpecs | None:
    """Return the published settings where samples are to be asked by them."""
    if not evaluation.as_published:
        return None
    return PublishedSpecs(Path(evaluation.official) if evaluation.official else None)


ReadEntries = Callable[[Path], Iterator[Sample | MissingSample]]


def iterate_jobs(
    batches: Sequence[Batch],
    candidates: Sequence[ModelUnderTest],
    done: Mapping[RecordKey, str],
    repeats: int = 1,
) -> Iterator[SampleJob]:
    """Yield the jobs that have no result yet, sample by sample: only one sample is in memory at a time.

    `done` has the content behind each result. A sample whose content is another by now is read again.
    """
    have = count_done(done, repeats)
    for batch in batches:
        pairs = match_models(batch, candidates)
        is_full = all(have[batch.task, batch.length, way, one.label] >= batch.count * repeats for one, way in pairs)
        for place, sample in batch.samples():
            content = "" if isinstance(sample, MissingSample) else sample.content
            jobs = [
                SampleJob(
                    sample=sample,
                    content=content,
                    length=batch.length,
                    candidate=one,
                    way=way,
                    repeat=repeat,
                    place=place,
                    file=batch.file,
                )
                for one, way in pairs
                for repeat in range(repeats)
            ]
            # Results of older versions name no content.
            left = [job for job in jobs if done.get(job.key) not in ("", content)]
            # Once for all ways and models: in a long document the search takes seconds.
            found = find_default_share(sample) if left and isinstance(sample, Sample) else None
            yield from (replace(job, found_by_search=found) for job in left)
            # Making thousands of samples again only to skip them takes minutes: the first one stands for all. People
            # edit files, so each of their samples is compared with its result.
            if is_full and not left and not batch.file:
                break


def count_done(done: Iterable[RecordKey], repeats: int) -> Counter[tuple[str, int, str, str]]:
    """Return how many results there are by task, length, way and model."""
    return Counter((task, length, way, label) for task, length, _, _, way, label, repeat in done if repeat < repeats)


def match_models(batch: Batch, candidates: Sequence[ModelUnderTest]) -> list[tuple[ModelUnderTest, str]]:
    """Return the models that read a batch, each with the ways it reads it in."""
    readers = [one for one in candidates if not one.lengths or batch.length in one.lengths]
    return [(reader, way) for reader in readers for way in reader.ways]


def _iterate_samples(
    source: SampleSource, task: str, length: int, count: int
) -> Iterator[tuple[int, Sample | MissingSample]]:
    samples = source(task, length)
    if isinstance(samples, Sequence):
        yield from ((place, make_sample(samples, place)) for place in range(len(samples)))
    else:
        yield from enumerate(islice(samples, count))


def _read_file_batches(path: Path, read: ReadEntries) -> list[Batch]:
    counted: Counter[tuple[str, int]] = Counter()
    seen: set[tuple[str, int, str]] = set()
    for sample in read(path):
        place = (sample.task, _length(sample))
        counted[place] += 1
        if (*place, sample.id) in seen:
            raise SettingsError(f"{path} has two samples called {sample.id!r} in task {sample.task!r}; rename one")
        seen.add((*place, sample.id))
    if not counted:
        raise SettingsError(f"{path} holds no samples")
    return [
        Batch(
            task=task,
            length=length,
            count=count,
            samples=partial(_read_matching, path, read, task, length),
            file=str(path),
        )
        for (task, length), count in counted.items()
    ]


def _read_matching(
    path: Path, read: ReadEntries, task: str, length: int
) -> Iterator[tuple[int, Sample | MissingSample]]:
    for place, sample in enumerate(read(path)):
        if (sample.task, _length(sample)) == (task, length):
            yield place, sample


def _length(sample: Sample | MissingSample) -> int:
    return sample.length or (sample.tokens if isinstance(sample, Sample) else 0)
