"""A report in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.lab.evaluation.sections import Section, Table


def to_markdown(title: str, sections: Iterable[Section]) -> str:
    """Return the report as Markdown."""
    return "\n\n".join([f"# {_escape(title)}", *(_section(section) for section in sections)]) + "\n"


def _section(section: Section) -> str:
    tables = (text for table in section.tables for text in (_escape(table.caption), _table(table)) if text)
    return "\n\n".join([f"## {section.title}", *map(_escape, section.words), *tables])


def _table(table: Table) -> str:
    return "\n".join([_line(table.header), _line(["---"] * len(table.header)), *map(_line, table.rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escape(cell) for cell in cells)} |"


def _escape(text: str) -> str:
    """Escape text so that it stays in one table cell and no character of it acts as markup."""
    if text == "---":
        return text
    return re.sub(r"[\\|<>`*#]|\](?=[(\[:])|(?<!\w)_|_(?!\w)", r"\\\g<0>", " ".join(sanitize(text).split()))
