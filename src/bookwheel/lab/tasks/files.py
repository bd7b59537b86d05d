"""Samples as JSON Lines: one object a line, the same bytes for the same samples.

A file of ours round-trips. A file by hand needs three fields a line and may leave out the rest:

    {"question": "Who signed?", "document": "…", "answers": ["Ada Quill"]}
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, Self

from bookwheel.documents.opening import SourceDocument
from bookwheel.errors import InputError, explain_failure
from bookwheel.lab.scoring import load_metric
from bookwheel.lab.tasks.base import (
    GOLDS,
    MISSING,
    GoldEvidence,
    MemoryRule,
    MissingSample,
    Sample,
    SampleDocument,
    parse_golds,
    refuse_misspelt,
)
from bookwheel.lab.tasks.data_dir import BrokenRecord, read_records
from bookwheel.lab.tasks.imports import adapt_record
from bookwheel.lab.tasks.material import ABSENT
from bookwheel.lab.tasks.published import PublishedSpecs
from bookwheel.schema import Ge, parse
from bookwheel.tables.files import replace_whole


class FileWriter:
    """A file that takes its name when all of it is written; after an error nothing of it is left."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        if path.is_file() and not force:
            raise InputError(f"{path} is there already; choose another --out or replace it with --force")
        self._path = path
        self._closing = ExitStack()
        with explain_failure(self._path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = self._closing.enter_context(replace_whole(path))
            self._file = self._closing.enter_context(draft.open("w", encoding="utf-8", newline="\n"))

    def write(self, text: str) -> None:
        with explain_failure(self._path, "written"):
            self._file.write(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What a full disk refuses may show only here.
        with explain_failure(self._path, "written"):
            self._closing.__exit__(kind, error, trace)


class SampleWriter(FileWriter):
    """A new file of samples, a line each."""

    def add(self, sample: Sample) -> None:
        self.write(to_line(sample))

    def add_missing(self, sample: MissingSample) -> None:
        """Write why a sample could not be made."""
        record = {MISSING: sample.reason, "id": sample.id, "task": sample.task, "length": sample.length}
        self.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_samples(samples: Iterable[Sample], path: Path, *, force: bool = False) -> int:
    """Write the samples one at a time and return their number."""
    number = 0
    with SampleWriter(path, force=force) as writing:
        for sample in samples:
            writing.add(sample)
            number += 1
    return number


def read_samples(path: Path, pool: Path | None = None, skipped: Counter[str] | None = None) -> Iterator[Sample]:
    """Yield the samples of a file, ours or another project's (`bookwheel.lab.tasks.imports`).

    `pool` is the file whose paragraphs an index file numbers. Samples that could not be made and records that cannot be
    used are left out; `skipped` counts them by their reasons. InputError where no record of the file can be used.
    """
    for entry in read_entries(path, pool):
        if isinstance(entry, Sample):
            yield entry
        elif skipped is not None:
            skipped[entry.reason] += 1


def read_entries(
    path: Path, pool: Path | None = None, published: PublishedSpecs | None = None
) -> Iterator[Sample | MissingSample]:
    """Yield the samples of a file, those that `bookwheel data make` could not make, and what is said of odd records.

    With `published` each sample is asked and judged as its benchmark was published.
    """
    waiting: list[MissingSample] = []
    first_error: InputError | None = None
    is_usable = False
    for number, where, values in read_records(path):
        try:
            for read in _read_record(values, f"{path}, {where}", path, number, pool):
                entry = read
                if published and isinstance(read, Sample):
                    with _refuse_odd(f"{path}, {where}"):
                        entry = published.publish(read, values, path)
                is_usable = True
                yield from waiting
                waiting.clear()
                yield entry
        except InputError as error:
            first_error = first_error or error
            reason = str(error).removeprefix(f"{path}, {where}: ").removeprefix("not a sample: ")
            odd = MissingSample(task=_name_task(values, path), id=f"{_name_file(path)}-{number}", reason=reason)
            waiting.append(odd)
    if first_error and not is_usable:
        raise first_error
    yield from waiting


def _name_file(path: Path) -> str:
    return path.name.partition(".")[0]


def _name_task(values: Any, path: Path) -> str:
    named = (values.get("task") or values.get("dataset")) if isinstance(values, dict) else ""
    return named if isinstance(named, str) and named else _name_file(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MissingRecord:
    infeasible: str
    id: str
    task: str
    length: int = 0


_WRITTEN: Final = ("id", "task", "question", "golds", "metric", "length", "tokens", "seed", "language", "memory")


def to_line(sample: Sample) -> str:
    """Return a sample as one line of JSON, with its line end."""
    record = {
        **{name: getattr(sample, name) for name in _WRITTEN},
        "evidence": [
            {name: value for name, value in asdict(one).items() if value or name not in {"key", "replaces"}}
            for one in sample.evidence
        ],
        "metadata": dict(sample.metadata),
        "name": sample.document.name,
        "document": sample.text,
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


NotNegative = Annotated[int, Ge(0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleRecord:
    """A line of a file of samples, without its document and its gold answers."""

    question: str
    id: str | int = ""
    task: str = ""
    metric: str = "contains"
    length: NotNegative = 0
    tokens: NotNegative = 0
    seed: int = 0
    language: str = "en"
    memory: MemoryRule = MemoryRule.NOTES
    evidence: tuple[GoldEvidence, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""


# RULER writes niah_single_1/validation.jsonl: the folder has the name of the task.
_SPLITS: Final = frozenset({"validation", "test"})
_FIELDS: Final = frozenset(field.name for field in fields(_SampleRecord))
_TAKEN: Final = _FIELDS - {"id", "task", "name"}


def parse_sample(line: str, path: Path, number: int) -> Sample:
    """Return the sample on a line of a file; InputError names the file and the line."""
    where = f"{path}, line {number}"
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at")
        raise InputError(f"{where}: not valid JSON: {reason} at character {error.pos}") from error
    samples = [one for one in _read_record(values, where, path, number) if isinstance(one, Sample)]
    if len(samples) != 1:
        raise InputError(f"{where}: the record holds {len(samples)} questions; write one sample a line")
    return samples[0]


def _read_record(
    values: Any, where: str, path: Path, number: int, pool: Path | None = None
) -> Iterator[Sample | MissingSample]:
    """Yield the samples of a record; records of other projects may hold several."""
    if isinstance(values, BrokenRecord):
        raise values.error
    if not isinstance(values, dict):
        raise InputError(f"{where}: expected a JSON object with question, document and golds")
    with _refuse_odd(where):
        for adapted in adapt_record(values, pool, path):
            if MISSING in adapted:
                record = parse(_MissingRecord, adapted, where=where)
                yield MissingSample(task=record.task, id=record.id, reason=record.infeasible, length=record.length)
            else:
                yield _parse_fields(adapted, where, path, number)


@contextmanager
def _refuse_odd(where: str) -> Iterator[None]:
    """Say of a record that has not the shape of its format what is wrong with it."""
    try:
        yield
    except KeyError as error:
        raise InputError(f"{where}: not a sample: the field {error} is missing") from error
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{where}: not a sample: {error}") from error


def _parse_fields(values: Mapping[str, Any], where: str, path: Path, number: int) -> Sample:
    is_ruler = "family" in values.get("metadata", ())
    name = path.absolute().parent.name if is_ruler and path.stem in _SPLITS else _name_file(path)
    # Other people's files carry fields of their own.
    record = parse(_SampleRecord, {key: value for key, value in values.items() if key in _FIELDS}, where=where)
    identity = str(record.id or f"{name}-{number}")
    # A document may be megabytes long, so it is checked here and not copied by the schema.
    text = values.get("document")
    opened = text if isinstance(text, SourceDocument) else None
    if opened:  # pictures or a PDF beside the file
        text = "".join(part.text for part in opened.parts())
    for part, given in (("question", record.question), ("document", text)):
        if not isinstance(given, str) or not given.strip():
            raise InputError(f"{where}: not a sample: '{part}' must be a text that is not empty")
    text = str(text)
    for one in record.evidence:
        if not 0 <= one.start <= one.end <= len(text):
            span = f"evidence {one.start}-{one.end}"
            raise InputError(f"{where}: not a sample: {span} lies outside the document of {len(text)} characters")
    try:
        refuse_misspelt(values)
        load_metric(record.metric)
        is_absent = record.metric == "unanswerable" and not any(values.get(name) for name in GOLDS)
        golds = (ABSENT.get(record.language, ABSENT["en"]),) if is_absent else parse_golds(values)
    except (ValueError, InputError) as error:
        raise InputError(f"{where}: not a sample: {error}") from error
    return Sample(
        id=identity,
        task=record.task or name,
        golds=golds,
        document=opened or SampleDocument(record.name or identity, [text]),
        **{name: getattr(record, name) for name in _TAKEN},
    )
