"""Where a text denies something.

>>> [(found.start(), found[0]) for found in find_denials("It isn't open, and never on Sundays: see no. 5.")]
[(5, "n't"), (19, 'never')]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import CJK_NO_NEGATION

# "no. 5" and "no 5" are numbers.
_DENIAL: Final = compile_late(
    rf"(?:{'|'.join(CJK_NO_NEGATION)})|"
    r"(?P<denial>\b(?:not|no(?!\.|\s+\d)|nor|never|neither|without|except)\b|n['’]t\b|[不没無无未非])",
    re.IGNORECASE,
)


def find_denials(text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
    """Yield the words that deny, in their order; a verdict weighs more words, by marks without places."""
    return (found for found in _DENIAL.finditer(text, start, end) if found["denial"])


def denies(text: str) -> bool:
    return any(find_denials(text))
