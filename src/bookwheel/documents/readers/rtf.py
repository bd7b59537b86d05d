"""Read RTF: its text with tables, notes, headers and footers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_MOST_RTF: Final = 64 << 20
# The converter drops these groups with their words. Without their names they are text of the place where they stand.
_NAMED_GROUPS: Final = re.compile(r"\{(?:\\\*)?\\(?:footnote|header[lrf]?|footer[lrf]?|annotation|shptxt)\b ?")
_ROW: Final = re.compile(r"^([^|\n]+\|.*)\|\s*$", re.MULTILINE)
_BLANK_LINES: Final = re.compile(r"\n\s*\n+")


def read_rtf(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the document as one part."""
    del warnings
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError as error:
        raise MissingExtra("reading RTF", "documents") from error
    with source.open() as file:
        data = file.read(_MOST_RTF + 1)
    if len(data) > _MOST_RTF:
        raise SourceError(f"{source.name} is over {_MOST_RTF >> 20} MiB of RTF: save it as text first")
    # RTF is ASCII; what is beyond it is escaped, or in the code page that the converter finds.
    markup = _NAMED_GROUPS.sub(r"{\\par ", data.decode("cp1252", "replace"))
    try:
        text = str(rtf_to_text(markup, errors="replace"))  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError, TypeError, RecursionError) as error:
        raise SourceError(f"{source.name} is damaged RTF: {error}. Save it again, or save it as text.") from error
    text = _ROW.sub(lambda row: " | ".join(cell.strip() for cell in row[1].split("|")), text.replace("\xa0", " "))
    if text := _BLANK_LINES.sub("\n\n", text).strip():
        yield Part(text=f"{text}\n", source=source.name)
