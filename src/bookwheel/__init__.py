"""bookwheel: a language model with a small window reads a document of any length past one small memory.

>>> from bookwheel import read                                   # doctest: +SKIP
>>> read("contract.pdf", "When does the lease end?").answer.text  # doctest: +SKIP
'31 March 2031'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bookwheel.api import aread, read
    from bookwheel.plan import Budget, Plan, Sampling
    from bookwheel.text.documents import TextDocument
    from bookwheel.types import Reading, Status

__all__ = ["Budget", "Plan", "Reading", "Sampling", "Status", "TextDocument", "aread", "read"]

_HOMES = {
    "aread": "api",
    "read": "api",
    "Budget": "plan",
    "Plan": "plan",
    "Sampling": "plan",
    "TextDocument": "text.documents",
    "Reading": "types",
    "Status": "types",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bookwheel' has no attribute {name!r}")
    return getattr(import_module(f"bookwheel.{_HOMES[name]}"), name)
