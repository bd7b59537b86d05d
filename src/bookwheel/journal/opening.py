"""Open a journal to look something up in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bookwheel.journal.store import Journal

if TYPE_CHECKING:
    from pathlib import Path


def open_existing(path: Path) -> Journal | None:
    """Open a journal, only for reading where this user may not write to it. Return None if there is no such file."""
    if not path.exists():
        return None
    can_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return Journal(path, read_only=not can_write)
