"""Traditional Chinese characters as their simplified ones, character by character."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final

_HAN: Final = re.compile("[\u3400-\u9fff]")


def simplify(text: str) -> str:
    """Return the text with simplified characters; other scripts stay as they are."""
    return text.translate(_load_table()) if _HAN.search(text) else text


@cache
def _load_table() -> dict[int, str]:
    """Load the pairs: one line of traditional characters, one of simplified ones in the same order."""
    file = resources.files("bookwheel") / "lab" / "scoring" / "simplified.txt"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    traditional, simplified = "".join(lines[::2]), "".join(lines[1::2])
    return dict(zip(map(ord, traditional), simplified, strict=True))
