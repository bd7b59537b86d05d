"""Records of a file: one JSON array, JSON Lines, an object with a list, or Parquet; packed or not, with a mark or not.

The text of a file is in memory as a whole, its records one at a time: some sets are gigabytes of JSON in one array.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.data_dir import read_text
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

_PARQUET: Final = b"PAR1"
_BLANK: Final = re.compile(r"[\s\ufeff]*")
# Fields under which files of other projects hold their list of records, after a version or a name.
_LIST: Final = re.compile(r'"(?:data|examples|instances)"\s*:\s*\[')
_HEAD: Final = 400
# A file that begins with an object, and whose second line does too.
_ONE_A_LINE: Final = re.compile(r"[^\n]*\}\s*\n\s*\{")
_TOO_DEEP: Final = "its lists and objects are nested too deeply"


def read_records(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield each record of a file with its number and its place.

    InputError names the file, and the line of a mistake.
    """
    try:
        with path.open("rb") as file:
            first = file.read(4)
        if first == _PARQUET:
            yield from _read_parquet(path)
            return
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
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
        yield 1, "line 1", _parse_whole(text, path)


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
    decoder = json.JSONDecoder()
    place, line, counted, number = _skip(text, start + 1), 1, 0, 0
    while not text.startswith("]", place):
        number += 1
        line += text.count("\n", counted, place)
        counted = place
        where = f"line {line} (record {number})"
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from error
        except RecursionError:
            raise InputError(f"{path}, {where}: {_TOO_DEEP}") from None
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


def _parse_whole(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from error
    except RecursionError:
        raise InputError(f"{path}: {_TOO_DEEP}") from None


def _parse_lines(text: str, path: Path) -> Iterator[tuple[int, str, Any]]:
    start = number = 0
    while start < len(text):
        number += 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        # Not `splitlines`: some texts hold other line separators inside a value.
        line = text[start:end]
        start = end + 1
        if line.strip():
            try:
                yield number, f"line {number}", json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not valid JSON: {error}") from error
            except RecursionError:
                raise InputError(f"{path}, line {number}: {_TOO_DEEP}") from None
