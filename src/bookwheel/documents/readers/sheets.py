"""Read a workbook (XLSX, XLSB, XLS, ODS) sheet by sheet, each as a table under its name.

A formula shows the value that was saved with it.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from bookwheel.documents.readers.tables import format_rows
from bookwheel.documents.sources import to_printable
from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings


def read_sheets(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every sheet with values. Its source is the file and the sheet: `stores.xlsx#2025`."""
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise MissingExtra("reading XLSX, XLS and ODS", "documents") from error
    with source.open() as file:
        try:
            workbook = calamine.load_workbook(file)
            for sheet in workbook.sheets_metadata:
                if sheet.typ is not calamine.SheetTypeEnum.WorkSheet:
                    continue
                if sheet.visible is not calamine.SheetVisibleEnum.Visible:
                    warnings.add("sheets that are hidden, and are read too", f"{source.name}#{sheet.name}")
                rows = workbook.get_sheet_by_name(sheet.name).to_python()
                if table := "\n".join(format_rows([_to_text(value) for value in row] for row in rows)):
                    name = to_printable(sheet.name)
                    yield Part(text=f"## {name}\n\n{table}\n\n", source=f"{source.name}#{name}")
        except calamine.PasswordError as error:
            raise SourceError(f"{source.name} needs a password: save it without one") from error
        except (calamine.CalamineError, ValueError, OSError) as error:
            raise SourceError(f"{source.name} is a damaged workbook: {error}. Save it again as .xlsx.") from error


def _to_text(value: Any) -> str:
    """Return a cell as a spreadsheet shows it, in the plainest format."""
    if isinstance(value, float):
        # 15 digits are what a spreadsheet keeps; the rest is noise of binary fractions.
        return f"{value:.15g}" if abs(value) < 1e15 else str(value)  # noqa: PLR2004
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return str(value)
