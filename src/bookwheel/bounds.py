"""Bounds of numbers, for annotations: `Annotated[int, Ge(1), Le(9)]`. The schema holds values to them; pydantic too.

>>> Ge(1).holds(0), Ge(1).describe()
(False, 'at least 1')
"""

from __future__ import annotations

from functools import partial
from math import inf
from operator import ge, gt, le, lt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS = {"ge": (ge, "at least"), "gt": (gt, "above"), "le": (le, "at most"), "lt": (lt, "below")}
"""By the names that pydantic has for them."""


class Bound:
    """One end of what a number may be."""

    def __init__(self, kind: str, limit: float) -> None:
        self.kind, self.limit = kind, limit

    def holds(self, value: float) -> bool:
        """Return True for a value inside the bound; what is not a number is inside none."""
        return bool(_KINDS[self.kind][0](value, self.limit))

    def describe(self) -> str:
        return "a finite number" if self.limit == inf else f"{_KINDS[self.kind][1]} {self.limit}"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), self.kind: self.limit}


Ge, Gt, Le, Lt = (partial(Bound, kind) for kind in _KINDS)
