"""Write rows as a workbook (XLSX), by an extra of its own; reading one is a matter of documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import xlsxwriter

from bookwheel.errors import InputError

_MOST_SHEET_ROWS: Final = 1_048_575


def write_workbook(path: Path, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Write rows as a sheet; what looks like a formula or a link stays text."""
    if len(rows) > _MOST_SHEET_ROWS:
        raise InputError(f"a sheet holds {_MOST_SHEET_ROWS:,} rows and there are {len(rows):,}: write .csv or .parquet")
    # Texts stay texts, whatever sign they begin with: none is a formula or a link.
    settings = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(path, settings)
    sheet = book.add_worksheet("rows")
    for number, row in enumerate([dict(zip(columns, columns, strict=True)), *rows]):
        for at, name in enumerate(columns):
            value = row.get(name)
            if isinstance(value, bool | int | float):
                sheet.write(number, at, value)
            elif value is not None:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                if sheet.write_string(number, at, text):
                    raise InputError(f"{name!r} of row {number} is too long for a cell: write .csv or .jsonl")
    sheet.freeze_panes(1, 0)
    book.close()
