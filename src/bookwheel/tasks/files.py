"""Samples as JSON Lines: one object a line, the same bytes for the same samples.

A file of ours round-trips. A file by hand needs three fields a line and may leave out the rest:

    {"question": "Who signed?", "document": "…", "answers": ["Ada Quill"]}
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from bookwheel.errors import InputError
from bookwheel.scoring import load_metric
from bookwheel.tasks.base import GoldEvidence, MemoryRule, Sample, SampleDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class SampleWriter:
    """A file of samples being written: it takes its name when all went well, and else nothing is left of it."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        if path.exists() and not force:
            raise InputError(f"{path} is there already; choose another --out or replace it with --force")
        self.path = path
        self.written = 0
        self._unfinished = path.with_name(f"{path.name}.unfinished")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._unfinished.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error}") from error

    def add(self, sample: Sample) -> None:
        """One more line."""
        try:
            self._file.write(to_line(sample))
        except OSError as error:
            raise InputError(f"{self.path} cannot be written: {error}") from error
        self.written += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._file.close()
        if kind is None:
            self._unfinished.replace(self.path)
        else:
            self._unfinished.unlink(missing_ok=True)


def write_samples(samples: Iterable[Sample], path: Path, *, force: bool = False) -> int:
    """Write them one at a time and say how many."""
    with SampleWriter(path, force=force) as writing:
        for sample in samples:
            writing.add(sample)
    return writing.written


def read_samples(path: Path) -> Iterator[Sample]:
    """One sample at a time; InputError names the file and the line of the first that cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _parse_line(line, f"{path}, line {number}", path.stem, number)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def to_line(sample: Sample) -> str:
    """A sample as one line with its line end."""
    record = {
        "id": sample.id,
        "task": sample.task,
        "question": sample.question,
        "golds": list(sample.golds),
        "metric": sample.metric,
        "length": sample.length,
        "tokens": sample.tokens,
        "seed": sample.seed,
        "language": sample.language,
        "memory": str(sample.memory),
        "evidence": [_evidence_to_json(evidence) for evidence in sample.evidence],
        "metadata": dict(sample.metadata),
        "name": sample.document.name,
        "document": sample.text,
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


def _evidence_to_json(evidence: GoldEvidence) -> dict[str, Any]:
    record: dict[str, Any] = {"start": evidence.start, "end": evidence.end, "note": evidence.note}
    if evidence.key:
        record["key"] = evidence.key
    if evidence.replaces:
        record["replaces"] = list(evidence.replaces)
    return record


def _parse_line(line: str, where: str, name: str, number: int) -> Sample:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not valid JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected a JSON object with question, document and golds")
    try:
        return _parse_sample(record, name, number)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: not a sample: {_describe_fault(error)}") from error
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _describe_fault(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _parse_sample(record: dict[str, Any], name: str, number: int) -> Sample:
    identity = str(record.get("id", f"{name}-{number}"))
    judged_by = str(record.get("metric", "contains"))
    load_metric(judged_by)
    document = SampleDocument(str(record.get("name", identity)), [_require_text(record, "document")])
    return Sample(
        id=identity,
        task=str(record.get("task", name)),
        question=_require_text(record, "question"),
        golds=parse_golds(record),
        document=document,
        metric=judged_by,
        length=int(record.get("length", 0)),
        tokens=int(record.get("tokens", 0)),
        seed=int(record.get("seed", 0)),
        language=str(record.get("language", "en")),
        evidence=tuple(_parse_evidence(value, document.length) for value in record.get("evidence", ())),
        memory=MemoryRule(record.get("memory", "notes")),
        metadata=dict(record.get("metadata", {})),
    )


def _require_text(record: dict[str, Any], key: str) -> str:
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key!r} must be a text that is not empty")
    return value


def parse_golds(record: dict[str, Any]) -> tuple[str, ...]:
    """The gold answers under any of the names in use: golds, answers, answer; ValueError when there is none."""
    value = next((record[key] for key in ("golds", "answers", "answer") if key in record), None)
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(gold, str) and gold for gold in values):
        raise ValueError("'golds' (or 'answers', or 'answer') must be a text or a list of texts, none of them empty")
    return tuple(values)


def _parse_evidence(value: dict[str, Any], length: int) -> GoldEvidence:
    found = GoldEvidence(
        start=int(value["start"]),
        end=int(value["end"]),
        note=str(value.get("note", "")),
        key=str(value.get("key", "")),
        replaces=tuple(value.get("replaces", ())),
    )
    if not 0 <= found.start <= found.end <= length:
        raise ValueError(f"evidence {found.start}-{found.end} lies outside the document of {length} characters")
    return found
