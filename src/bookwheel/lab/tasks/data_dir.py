"""The data folder, its layout and its files; and the records of any file.

It is a folder with the layout below, or one file of the user's own questions beside it. Files may be packed with gzip.

    qa_en/ qa_zh/     question sets in their official formats, train and dev apart
    wiki/             paragraphs to hide the right ones among
    books/            en_*.txt and zh_*.txt
    wordlists/        nouns, adjectives and verbs

Records are one JSON array, JSON Lines, an object with a list, or Parquet; with a byte order mark or not. The text of a
file is in memory as a whole, its records one at a time: some sets are gigabytes of JSON in one array.
"""

import ast
import gzip
import json
import os
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.packaged import PACKAGE
from bookwheel.plugins import require_extra

VARIABLE: Final = "BOOKWHEEL_DATA"
_USUAL: Final = (Path("shared/data"), Path("../shared/data"))
_WORDS: Final = "wordlists/wonderwords_lists.json"
_ADVICE: Final = (
    "Point --data or BOOKWHEEL_DATA to a folder with qa_en/, qa_zh/, wiki/, books/ and wordlists/ holding the public "
    "sets (HotpotQA, 2WikiMultihopQA, MuSiQue, SQuAD, CMRC 2018, DRCD) in their official formats, or point --data "
    "to one question file of yours; the tasks that only need generated text work without any."
)


class DataDir:
    """A data folder, one file of questions, or neither."""

    def __init__(self, root: Path | None = None, file: Path | None = None) -> None:
        self.root = root
        self.file = file

    @classmethod
    def locate(cls, data: Path | None) -> "DataDir":
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

    def list_books(self, *prefixes: str) -> list[Path]:
        """Return the books whose file names begin with the first prefix that any book has, sorted by name."""
        folder = self.root / "books" if self.root else None
        texts = [path for path in folder.iterdir() if ".txt" in path.suffixes] if folder and folder.is_dir() else []
        found = ([path for path in texts if path.name.startswith(prefix)] for prefix in prefixes)
        return sorted(next(filter(None, found), []))

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


def read_text(path: Path) -> str:
    """Return the text of a file, packed or not, with a byte order mark or not; lines end at line feeds only."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def read_packed(*place: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a packed file of JSON Lines that comes with the package."""
    path = PACKAGE.joinpath("lab", "data", *place)
    yield from map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())


@lru_cache(maxsize=64)
def read_literals(path: Path) -> dict[str, list[Any]]:
    """Return the plain values that a script assigns to each name, in their order; nothing of it runs."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    values: dict[str, list[Any]] = {}
    for node in (one for one in ast.walk(tree) if isinstance(one, ast.Assign)):
        for target in node.targets:
            if isinstance(target, ast.Name):
                with suppress(ValueError):
                    values.setdefault(target.id, []).append(ast.literal_eval(node.value))
    return values


def load_json(path: Path) -> Any:
    """Return the value of a JSON file; InputError names the line of a mistake."""
    return _decode(read_text(path), path)


_BLANK: Final = re.compile(r"[\s\ufeff]*")
# Fields under which files of other projects hold their list of records, after a version or a name.
_LIST: Final = re.compile(r'"(?:data|examples|instances)"\s*:\s*\[')
_HEAD: Final = 400
# A file that begins with an object, and whose second line does too.
_ONE_A_LINE: Final = re.compile(r"[^\n]*\}\s*\n\s*\{")


# What a download may be in place of the file that was wanted, by its first letters.
_NO_RECORDS: Final = {
    b"pk\x03\x04": "a zip archive: unpack it, and give the files in it",
    b"version https://": "a pointer to the file, as git has it without LFS: `git lfs pull` fetches the file itself",
    b"<": "a page of the web, or XML: download the file itself",
}


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A line of JSON Lines that is no JSON."""

    error: InputError


def read_records(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield each record of a file with its number and its place; InputError names the line of a mistake.

    A broken line of JSON Lines is a `BrokenRecord`, as the lines after it can be read. In an array nothing can.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).lower().removeprefix(BOM_UTF8).lstrip()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if what := next((what for begin, what in _NO_RECORDS.items() if head.startswith(begin)), ""):
        raise InputError(f"{path} is {what}")
    if head.startswith(b"par1"):
        yield from _read_parquet(path)
        return
    text = read_text(path)
    start = _skip(text, 0)
    if text.startswith("[", start):
        end = yield from _parse_array(text, start, path)
        if text[end:].strip():
            line = text.count("\n", 0, _skip(text, end)) + 1
            raise InputError(f"{path}, line {line}: not valid JSON: there is more behind the end of the list")
    elif ".jsonl" in path.suffixes or _ONE_A_LINE.match(text, start):
        yield from _parse_lines(text, path)
    elif listed := _LIST.search(text, 0, _HEAD):
        yield from _parse_array(text, listed.end() - 1, path)
    else:
        yield 1, "line 1", _decode(text, path)


def _read_parquet(path: Path) -> Iterator[tuple[int, str, Any]]:
    require_extra("reading Parquet", "parquet", "pyarrow")
    from pyarrow import ArrowException, parquet

    number = 0
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=16):
            for value in batch.to_pylist():
                number += 1
                yield number, f"row {number}", value
    except ArrowException as error:
        raise InputError(f"{path} cannot be read after row {number}: {error}") from error


def _parse_array(text: str, start: int, path: Path) -> Generator[tuple[int, str, Any], None, int]:
    """Yield the values of an array one by one, each with the line on which it begins; return where it ends."""
    place, line, counted, number = _skip(text, start + 1), 1, 0, 0
    while not text.startswith("]", place):
        number += 1
        line += text.count("\n", counted, place)
        counted = place
        where = f"line {line} (record {number})"
        value, place = _decode(text, path, where, start=place)
        yield number, where, value
        place = _skip(text, place)
        if text.startswith(",", place):
            place = _skip(text, place + 1)
        elif not text.startswith("]", place):
            raise InputError(f"{path}, {where}: not valid JSON: a comma or the end of the list is missing after it")
    return place + 1


def _skip(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def read_all_records(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield each record of a file of which none is left out; InputError names a broken line, too."""
    for number, where, record in read_records(path):
        if isinstance(record, BrokenRecord):
            raise record.error
        yield number, where, record


def _parse_lines(text: str, path: Path) -> Iterator[tuple[int, str, Any]]:
    # Not `splitlines`: some texts hold other line separators inside a value.
    start = number = 0
    while start < len(text):
        number += 1
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        start += len(line) + 1
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            value = _decode(line, path, where)
        except InputError as error:
            value = BrokenRecord(error)
        yield number, where, value


def _decode(text: str, path: Path, where: str = "", *, start: int | None = None) -> Any:
    """Return the value of a text, or the value from `start` on with its end; InputError names the line of a mistake."""
    try:
        return json.loads(text) if start is None else json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        line = where if where and start is None else f"line {error.lineno}"
        raise InputError(f"{path}, {line}: not valid JSON: {error.msg}") from error
    except RecursionError:
        place = f", {where}" if where else ""
        raise InputError(f"{path}{place}: its lists and objects are nested too deeply") from None
