"""The pool of paragraphs that MemAgent's index files number: all of HotpotQA's, sorted, each once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.lab.tasks.imports.records import read_records

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedPool:
    """Paragraphs by number, and the questions of the same file."""

    documents: tuple[str, ...]
    questions: tuple[str, ...]


@lru_cache(maxsize=1)
def load_numbered_pool(path: Path) -> NumberedPool:
    """Load HotpotQA's file; a paragraph is its title, a line break and its sentences."""
    documents: set[str] = set()
    questions: list[str] = []
    for _, where, record in read_records(path):
        try:
            documents.update(f"{title}\n{''.join(sentences)}" for title, sentences in record["context"])
            questions.append(record["question"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}, {where}: not a question of HotpotQA with its paragraphs: {error}") from error
    return NumberedPool(documents=tuple(sorted(documents)), questions=tuple(questions))
