"""Samples in other projects' files, as lines of ours.

    MemAgent      eval_N.json        {context, input, answers, num_docs}; its RULER files {context, input, outputs}
    LongBench 1   JSON Lines         {context, input, answers, length, dataset, language, _id}
    LongBench 2   JSON array         {context, question, choice_A … choice_D, answer: "A", _id}
    BABILong      JSON Lines         {input, question, target}

Files are one JSON array or JSON Lines, packed with gzip or not, with a byte order mark or not. MemAgent's index files,
whose context is a list of numbers, need its pool of paragraphs and are refused.
"""

from __future__ import annotations

import gzip
import io
import json
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_CHOICES: Final = ("A", "B", "C", "D")
_GZIP: Final = b"\x1f\x8b"


def read_records(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield each record of a file with its number and its place.

    InputError names the file, and the line of a mistake.
    """
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(2) == _GZIP
            raw.seek(0)
            packed: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
            file = io.TextIOWrapper(packed, encoding="utf-8-sig", newline="\n")
            yield from _parse_array(file, path) if _begins_array(file) else _parse_lines(file, path)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _begins_array(file: io.TextIOWrapper) -> bool:
    while (first := file.read(1)).isspace():
        pass
    file.seek(0)
    return first == "["


def _parse_array(file: io.TextIOWrapper, path: Path) -> Iterator[tuple[int, str, Any]]:
    try:
        values = json.load(file)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from error
    yield from ((number, f"record {number}", value) for number, value in enumerate(values, start=1))


def _parse_lines(file: io.TextIOWrapper, path: Path) -> Iterator[tuple[int, str, Any]]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                yield number, f"line {number}", json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not valid JSON: {error}") from error


def adapt_record(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of a known project with our fields; one of ours stays as it is. ValueError for an index file."""
    if "document" in values:
        return dict(values)
    if "target" in values and "question" in values and "input" in values:
        return _rename(values, document="input", golds="target", task="babilong")
    if "context" not in values:
        return dict(values)
    if isinstance(values["context"], list):
        raise ValueError(  # noqa: TRY004 - the caller names the line of every ValueError
            "the context is a list of numbers; put the paragraphs of its pool in their place, as MemAgent's script does"
        )
    if all(f"choice_{letter}" in values for letter in _CHOICES):
        return _adapt_choices(values)
    golds = next((name for name in ("answers", "outputs", "answer") if name in values), "answers")
    question = "question" if "question" in values else "input"
    return _rename(values, document="context", question=question, golds=golds, task=str(values.get("dataset", "")))


def _adapt_choices(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a multiple-choice question with its options in the question; letter and text of the right one count."""
    options = "\n".join(f"({letter}) {values[f'choice_{letter}']}" for letter in _CHOICES)
    letter = str(values["answer"]).strip().strip("()")
    right = values.get(f"choice_{letter}")
    if right is None:
        raise ValueError(f"'answer' must be one of A, B, C, D, not {values['answer']!r}")
    adapted = _rename(values, document="context", golds="answer", task="longbench-2")
    return {
        **adapted,
        "question": f"{values['question']}\n{options}\nAnswer with the letter of the right option.",
        "golds": [letter, str(right)],
        "metric": "exact",
    }


def _rename(values: Mapping[str, Any], *, task: str, **fields: str) -> dict[str, Any]:
    """Return the record with our names for the fields. Lengths of other projects are words or bytes, and stay out."""
    renamed = {ours: values[theirs] for ours, theirs in fields.items() if theirs in values}
    identity = next((values[name] for name in ("id", "_id", "index") if name in values), "")
    language = str(values.get("language") or "en")
    kept = {"id": identity, "language": language, "task": task}
    return {**{name: value for name, value in values.items() if name == "question"}, **kept, **renamed}
