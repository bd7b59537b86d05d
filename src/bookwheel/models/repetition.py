r"""Tell whether a reply has begun to repeat itself, as small models do until their window ends.

    The cat sat.\nThe cat sat.\nThe cat sat.\n …      one period, eight times and over 1,600 characters at least

Equal rows of a table are far fewer, or shorter. Purely characters: the numbers of a list's lines count for nothing, for
what is repeated may be numbered; other numbers are not the same.
"""

from __future__ import annotations

import re
from typing import Final

_LEAST: Final = 1600
"""Characters."""
_TIMES: Final = 8
_LOOKED_AT: Final = 4800
_NUMBER: Final = re.compile(r"^[ \t]*\d+[.)] ", re.MULTILINE)


def is_looping(text: str) -> bool:
    r"""Tell if a text ends with one passage over and over.

    >>> is_looping("The cat sat on the mat.\n" * 100), is_looping("| 0 | 0 |\n" * 100)
    (True, False)
    """
    tail = _NUMBER.sub("", text[-_LOOKED_AT:])[::-1]
    # The longest border of each beginning (Knuth, Morris and Pratt): without it, what is left is the period.
    borders = [0] * len(tail)
    border = 0
    for at in range(1, len(tail)):
        while border and tail[at] != tail[border]:
            border = borders[border - 1]
        border += tail[at] == tail[border]
        borders[at] = border
        if at + 1 >= max(_LEAST, _TIMES * (at + 1 - border)):
            return True
    return False
