"""Every note of the lab can be found from its index."""

from __future__ import annotations

import re
from pathlib import Path

LAB = Path(__file__).parents[2] / "lab"


def test_the_index_names_every_note_and_no_other() -> None:
    named = set(re.findall(r"\((2\S+\.md)\)", (LAB / "README.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in LAB.glob("2*.md")}
