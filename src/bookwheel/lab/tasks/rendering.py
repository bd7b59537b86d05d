"""How paragraphs are written into a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def number_documents(texts: Iterable[str]) -> str:
    """Return the texts under numbers from 1, as RULER and MemAgent write them."""
    return "\n\n".join(f"Document {number}:\n{text}" for number, text in enumerate(texts, start=1))
