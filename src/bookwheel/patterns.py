r"""Regular expressions that are compiled when they are first used.

There are some hundreds of them, and compiling those that a command does not need took a tenth of its start.

>>> word = compile_late(r"\w+")
>>> word.findall("two words")
['two', 'words']
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class _Late:
    """Stands for a pattern; from its first use on, the compiled one's methods are its own."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def compile_late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the regular expression; a mistake in it shows at its first use."""
    return _Late(pattern, flags)  # type: ignore[return-value]  # it has the methods
