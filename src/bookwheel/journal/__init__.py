"""Store readings: every finished step is on disk before the next model call.

>>> import tempfile
>>> from pathlib import Path
>>> from bookwheel.journal import Journal
>>> with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
...     journal.readings()
[]
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bookwheel.journal.documents import StoredDocument
    from bookwheel.journal.files import journal_path
    from bookwheel.journal.store import Journal, new_id, open_existing

__all__ = ["Journal", "StoredDocument", "journal_path", "new_id", "open_existing"]

# Imported when they are first used: `bookwheel list` needs only the tables.
_HOMES = {
    "Journal": "store",
    "StoredDocument": "documents",
    "journal_path": "files",
    "new_id": "store",
    "open_existing": "store",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bookwheel.journal' has no attribute {name!r}")
    return getattr(import_module(f"bookwheel.journal.{_HOMES[name]}"), name)
