"""Files whose records have a document and a question apart: MemAgent, LongBench, BABILong, InfiniteBench."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bookwheel.lab.tasks.imports.pool import load_numbered_pool
from bookwheel.lab.tasks.rendering import number_documents

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LETTERS: Final = "ABCDEFGH"


def adapt_context(values: Mapping[str, Any], pool: Path | None) -> dict[str, Any]:
    """Return a question about a context. A context of numbers stands for paragraphs of the pool."""
    if isinstance(values["context"], list):
        values = {**values, "context": _resolve_numbers(values, pool)}
    golds = next((name for name in ("answers", "outputs", "answer") if name in values), "answers")
    question = "question" if "question" in values else "input"
    return rename(values, document="context", question=question, golds=golds, task=str(values.get("dataset", "")))


def _resolve_numbers(values: Mapping[str, Any], path: Path | None) -> str:
    if path is None or not path.is_file():
        raise ValueError(
            "the context is a list of numbers into a pool of paragraphs; point --data to the pool, the HotpotQA file "
            "that the index file was made from (hotpot_dev_distractor_v1.json)"
        )
    pool = load_numbered_pool(path)
    wrong = next((one for one in values["context"] if not 0 <= one < len(pool.documents)), None)
    if wrong is not None:
        raise ValueError(
            f"the context names paragraph {wrong} and {path} has {len(pool.documents)}: it is another file"
        )
    index = values.get("index")
    # The numbers say nothing by themselves: with another file they would name other paragraphs, and nobody would see.
    if isinstance(index, int) and pool.questions[index : index + 1] != (values.get("input"),):
        raise ValueError(f"question {index} of {path} is not the record's: the index file was made from another file")
    return number_documents(pool.documents[one] for one in values["context"])


def adapt_babilong(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of BABILong."""
    return rename(values, document="input", golds="target", task="babilong")


def adapt_choices(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a multiple-choice question with its options in the question; letter and text of the right one count."""
    options = values.get("options") or _named_choices(values)
    letters = _LETTERS[: len(options)]
    given = values["answer"][0] if isinstance(values["answer"], list) and values["answer"] else values["answer"]
    letter = str(given).strip().strip("()")
    if letter not in letters and given in options:  # InfiniteBench names the text
        letter = letters[options.index(given)]
    if not letter or letter not in letters:
        raise ValueError(f"'answer' must be one of {', '.join(letters)}, not {given!r}")
    question = values.get("question") or values.get("input")
    listed = "\n".join(f"({one}) {text}" for one, text in zip(letters, options, strict=False))
    return {
        **rename(values, document="context", golds="answer", task="longbench-2" if "choice_A" in values else ""),
        "question": f"{question}\n{listed}\nAnswer with the letter of the right option.",
        "golds": [letter, str(options[letters.index(letter)])],
        "metric": "exact",
    }


def _named_choices(values: Mapping[str, Any]) -> list[Any]:
    return [values[f"choice_{letter}"] for letter in _LETTERS if f"choice_{letter}" in values]


def rename(values: Mapping[str, Any], *, task: str, **fields: str) -> dict[str, Any]:
    """Return the record with our names for the fields. Lengths of other projects are words or bytes, and stay out."""
    renamed = {ours: values[theirs] for ours, theirs in fields.items() if theirs in values}
    identity = next((values[name] for name in ("id", "_id", "index") if name in values), "")
    language = str(values.get("language") or "en")
    kept = {"id": identity, "language": language, "task": task}
    return {**{name: value for name, value in values.items() if name == "question"}, **kept, **renamed}
