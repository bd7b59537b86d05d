"""The parts of a report's layout: text and tables, which the Markdown and HTML writers render."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the server's description reads annotations at run time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of finished texts, with a caption that explains its numbers."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: Mapping[str, str] = field(default_factory=dict)
    """Addresses for cells of exactly these texts."""


def format_length(tokens: int) -> str:
    """Return the name of a length; files of samples need not say theirs."""
    return f"{tokens:,}" if tokens else "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with paragraphs and tables."""

    title: str
    words: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
