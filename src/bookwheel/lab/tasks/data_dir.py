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
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE: Final = "BOOKWHEEL_DATA"
_USUAL: Final = (Path("shared/data"), Path("../shared/data"))
_GZIP: Final = b"\x1f\x8b"
_BOOKS: Final = "books"
_WIKI: Final = "wiki/wiki_paragraphs_en.jsonl"


class DataDir:
    """A data folder, one file of questions, or neither."""

    def __init__(self, root: Path | None = None, file: Path | None = None) -> None:
        self.root = root
        self.file = file
        self._words: dict[str, list[str]] | None = None

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

    def find_wiki(self) -> Path | None:
        """Return the file of paragraphs for distractors."""
        return self.find(_WIKI)

    def load_words(self) -> dict[str, list[str]]:
        """Return nouns, adjectives and verbs of lower-case letters; empty without the lists."""
        if self._words is None:
            path = self.find("wordlists/wonderwords_lists.json")
            self._words = load_word_lists(path) if path else {}
        return self._words


_ADVICE: Final = (
    "Point --data or BOOKWHEEL_DATA to a folder with qa_en/, qa_zh/, wiki/, books/ and wordlists/ holding the public "
    "sets (HotpotQA, 2WikiMultihopQA, MuSiQue, SQuAD, CMRC 2018, DRCD) in their official formats, or point --data "
    "to one question file of yours; the tasks that only need generated text work without any."
)


def load_raw_words(data_dir: DataDir) -> dict[str, list[str]]:
    """Return the lists of words as they are, with names and hyphens; empty without the lists."""
    path = data_dir.find("wordlists/wonderwords_lists.json")
    value = load_json(path) if path else {}
    return {name: list(words) for name, words in value.items()} if isinstance(value, dict) else {}


@lru_cache(maxsize=4)
def load_word_lists(path: Path) -> dict[str, list[str]]:
    """Load the lists of words, each sorted and without repeats."""
    value = load_json(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected an object with lists of words")
    return {
        name: sorted({word for word in words if word.isascii() and word.isalpha() and word.islower()})
        for name, words in value.items()
    }


def open_text(path: Path) -> TextIO:
    """Open a text file, packed or not, with a byte order mark or not, whose lines end at line feeds only."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
        if is_packed:
            return gzip.open(path, "rt", encoding="utf-8-sig", newline="\n")
        return path.open(encoding="utf-8-sig", newline="\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def read_text(path: Path) -> str:
    """Return the whole text of a file."""
    try:
        with open_text(path) as file:
            return file.read()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def load_json(path: Path) -> Any:
    """Return the value of a JSON file; InputError names the line of a mistake."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from error


def load_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the values of a JSON Lines file with their line numbers; InputError names the line of a mistake."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {number}: not valid JSON: {error.msg}") from error
