"""Rows with named columns as files: CSV, JSON lines, Parquet, and workbooks, which are only written.

The format is told by the name's ending. The files of `batch`, of `collect` and of graphs are read and written here.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Final

from bookwheel.documents.decoding import read_text
from bookwheel.errors import InputError, explain_failure
from bookwheel.plugins import require_extra

Row = dict[str, Any]
FORMATS: Final = (".csv", ".jsonl", ".parquet")
TARGETS: Final = (*FORMATS, ".xlsx")
# What these files are, and the extra and the package that write them.
_EXTRAS: Final = {
    ".parquet": ("Parquet tables", "parquet", "pyarrow"),
    ".xlsx": ("workbooks", "documents", "xlsxwriter"),
    ".docx": ("Word documents", "documents", "docx"),
}
# Spreadsheets and some editors write a mark of their own at the beginning of a file.
_ENCODING: Final = "utf-8-sig"
# What a spreadsheet shows as it is, though it begins with a sign: a number, with its unit and what it lies between.
_NUMBER: Final = re.compile(r"[-+\u2212]\d+(?:[., ]\d+)*(?:\s?[%‰°€$£]|\s[a-zA-Z]{1,6}\d?)?(?:\s\([^()=@A-Z]*\))?")
_CHINESE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def check_format(path: Path, formats: Iterable[str] = FORMATS, what: str = "table") -> str:
    """Return the format that a file's name says; InputError where it is none of these, or needs an extra."""
    kind = path.suffix.lower()
    if kind not in formats:
        raise InputError(f"{path} is no {what}: its name must end in {', '.join(formats)}")
    if kind in _EXTRAS:
        require_extra(*_EXTRAS[kind])
    return kind


def check_target(path: Path) -> str:
    """Return the format of a table to write; InputError where it cannot be written."""
    return check_format(path, TARGETS)


def read_table(path: Path) -> list[Row]:
    if not path.exists():
        raise InputError(f"{path} does not exist")
    kind = check_format(path)
    try:
        rows = _READERS[kind](path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or 'it is damaged'}") from error
    except UnicodeError as error:
        raise InputError(f"{path} cannot be read: it is not in UTF-8. Save it in that encoding.") from error
    except csv.Error as error:
        raise InputError(f"{path} cannot be read: its quotes or line ends are broken. Save it again as CSV.") from error
    except ValueError as error:
        raise InputError(f"{path} cannot be read: it is damaged. Save it again.") from error
    if not rows:
        raise InputError(f"{path} has no rows")
    return rows


def write_table(path: Path, rows: Sequence[Row], columns: Sequence[str] = ()) -> None:
    """Write the rows, with these columns and every other that any of them has."""
    kind = check_target(path)
    columns = list(dict.fromkeys((*columns, *(name for row in rows for name in row))))
    with explain_failure(path, "written"), replace_whole(path) as new:
        _WRITERS[kind](new, rows, columns)


@contextmanager
def replace_whole(path: Path) -> Iterator[Path]:
    """Give the path of a draft that takes this name when it is whole; after an error nothing of it is left.

    A link stays, and leads to the new file. A pipe or a device, which no file may replace, is written to as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()
    draft = path.with_name(f"{path.name}.unfinished")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _read_csv(path: Path) -> list[Row]:
    reader = csv.DictReader(StringIO(read_text(path), newline=""))
    names = [name for name in reader.fieldnames or () if name]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path} cannot be read: its header names {doubled!r} twice")
    rows = [dict(row) for row in reader]
    for number, row in enumerate(rows, start=1):
        # A question with a comma and no quotes would lose its end.
        if None in row:
            advice = "put a text that has a comma in quotes"
            raise InputError(f"{path} cannot be read: row {number} has more cells than the header: {advice}")
    return rows


def _read_lines(path: Path) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(StringIO(read_text(path), newline=None), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} cannot be read: line {number} is not JSON") from error
        if not isinstance(row, dict):
            raise InputError(f"{path} cannot be read: line {number} must be a JSON object")
        rows.append(row)
    return rows


def _read_parquet(path: Path) -> list[Row]:
    from pyarrow import parquet

    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows


def _write_csv(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    # A column's name is a cell too.
    cells = [[_to_cell(name) for name in columns]]
    cells += ([_to_cell(row.get(name, "")) for name in columns] for row in rows)
    # Without the mark the spreadsheet program that opens the file in China takes UTF-8 for the code page of Windows.
    is_chinese = any(_CHINESE.search(cell) for line in cells for cell in line if isinstance(cell, str))
    with path.open("w", encoding=_ENCODING if is_chinese else "utf-8", newline="", errors="replace") as file:
        csv.writer(file).writerows(cells)


def _to_cell(value: Any) -> Any:
    """Return a value for a cell; a text that a spreadsheet would run as a formula gets a quote before it."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    # In any width, and behind blanks and signs that are not seen, which a spreadsheet may drop.
    first = next((c for c in value if unicodedata.category(c)[0] not in "CZ"), "")
    runs = value[:1] in "\t\r\n" or unicodedata.normalize("NFKC", first)[:1] in {"=", "+", "-", "@", "\u2212"}
    return f"'{value}" if value and runs else value


def _write_lines(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    del columns
    lines = (json.dumps(row, default=str) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_parquet(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(_make_printable(rows, columns)), path)


def _write_workbook(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    from bookwheel.tables.workbooks import write_workbook

    write_workbook(path, _make_printable(rows, columns), columns)


def _make_printable(rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    return [{name: _to_printable(row.get(name)) for name in columns} for row in rows]


def _to_printable(value: Any) -> Any:
    """Return a text without lone surrogates, which neither Parquet nor a workbook can hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


_READERS: Final = {".csv": _read_csv, ".jsonl": _read_lines, ".parquet": _read_parquet}
_WRITERS: Final = {".csv": _write_csv, ".jsonl": _write_lines, ".parquet": _write_parquet, ".xlsx": _write_workbook}
