"""An open journal for each test."""

import sys
from pathlib import Path

import pytest

from bookwheel.journal import Journal

sys.path.insert(0, str(Path(__file__).parent))  # the processes that tests start import journal_readings too


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "home" / "journal.sqlite") as opened:
        yield opened
