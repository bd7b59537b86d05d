"""Store readings: every finished step is on disk before the next model call.

>>> import tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
...     journal.readings()
[]
"""

from __future__ import annotations

from bookwheel.journal.documents import StoredDocument
from bookwheel.journal.schema import journal_path
from bookwheel.journal.store import Journal, new_id

__all__ = ["Journal", "StoredDocument", "journal_path", "new_id"]
