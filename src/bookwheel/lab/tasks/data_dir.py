"""The data folder: its place, its layout and its files.

It is a folder with the layout below, or one file of the user's own questions beside it. Files may be packed with gzip.

    qa_en/ qa_zh/     question sets in their official formats, train and dev apart
    wiki/             paragraphs to hide the right ones among
    books/            en_*.txt and zh_*.txt
    wordlists/        nouns, adjectives and verbs
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import InputError

VARIABLE: Final = "BOOKWHEEL_DATA"
_USUAL: Final = (Path("shared/data"), Path("../shared/data"))
_GZIP: Final = b"\x1f\x8b"
_BOOKS: Final = "books"
_WORDS: Final = "wordlists/wonderwords_lists.json"


class DataDir:
    """A data folder, one file of questions, or neither."""

    def __init__(self, root: Path | None = None, file: Path | None = None) -> None:
        self.root = root
        self.file = file

    @classmethod
    def locate(cls, data: Path | None) -> DataDir:
        """Find the data folder: at `data`, else where BOOKWHEEL_DATA points, else in one of the usual places.

        Where `data` is a file of questions, the folder is looked for as well: its paragraphs, books and words are
        what the questions' own paragraphs are hidden among.
        """
        usual = next((path for path in _USUAL if path.is_dir()), None)
        named = os.environ.get(VARIABLE, "")
        if named and Path(named).is_dir():
            usual = Path(named)
        if data is None and not named:
            return cls(usual)
        path = data if data is not None else Path(named)
        if path.is_dir():
            return cls(path)
        if path.is_file():
            return cls(usual, path)
        origin = "--data" if data is not None else VARIABLE
        raise InputError(f"{origin} points to {path}, which is neither a folder nor a file. {_ADVICE}")

    def find(self, name: str) -> Path | None:
        """Return the path of a file of the layout, packed or not; None when it is missing."""
        if self.root is None:
            return None
        return next((path for path in (self.root / name, self.root / f"{name}.gz") if path.is_file()), None)

    def require(self, name: str, purpose: str) -> Path:
        """Return the path of a file of the layout; InputError when it is missing."""
        path = self.find(name)
        if path is None:
            where = f"{self.root} has no {name}" if self.root else "there is no data folder"
            raise InputError(f"{purpose} needs {name}[.gz] and {where}. {_ADVICE}")
        return path

    def list_books(self, prefix: str) -> list[Path]:
        """Return the books whose file names begin with `prefix`, sorted by name."""
        if self.root is None or not (folder := self.root / _BOOKS).is_dir():
            return []
        return sorted(path for path in folder.iterdir() if path.name.startswith(prefix) and ".txt" in path.suffixes)

    @cached_property
    def raw_words(self) -> dict[str, list[str]]:
        """The lists of words as they are, with names and hyphens; empty without the lists."""
        path = self.find(_WORDS)
        value = load_json(path) if path else {}
        if not isinstance(value, dict):
            raise InputError(f"{path}: expected an object with lists of words")
        return {name: list(words) for name, words in value.items()}

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """Nouns, adjectives and verbs of lower-case letters, each list sorted and without repeats."""
        return {
            name: sorted({word for word in words if word.isascii() and word.isalpha() and word.islower()})
            for name, words in self.raw_words.items()
        }


_ADVICE: Final = (
    "Point --data or BOOKWHEEL_DATA to a folder with qa_en/, qa_zh/, wiki/, books/ and wordlists/ holding the public "
    "sets (HotpotQA, 2WikiMultihopQA, MuSiQue, SQuAD, CMRC 2018, DRCD) in their official formats, or point --data "
    "to one question file of yours; the tasks that only need generated text work without any."
)


def read_text(path: Path) -> str:
    """Return the text of a file, packed or not, with a byte order mark or not; lines end at line feeds only."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if raw.startswith(_GZIP) else raw).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def load_json(path: Path) -> Any:
    """Return the value of a JSON file; InputError names the line of a mistake."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from error
