"""bookwheel: a language model with a small window reads a document of any length past one small memory.

>>> from bookwheel import read                                   # doctest: +SKIP
>>> read("contract.pdf", "When does the lease end?").answer.text  # doctest: +SKIP
'31 March 2031'
"""

from __future__ import annotations

from importlib import import_module

# Not from typing, whose import takes longer than `bookwheel --help`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bookwheel.api import aread, aresume, read, resume
    from bookwheel.claims import Claim, Evidence, Verdict
    from bookwheel.documents.opening import TextDocument
    from bookwheel.flags import Flag
    from bookwheel.graph.api import acollect_graph, collect_graph
    from bookwheel.memory.lasting import LastingMemory
    from bookwheel.models.base import Model
    from bookwheel.plan import Budget, Layout, Plan, Sampling
    from bookwheel.reading.loop import Way
    from bookwheel.tables.api import acollect, collect
    from bookwheel.types import (
        Answer,
        Chunk,
        Conversation,
        Document,
        Finish,
        Memory,
        Message,
        Reading,
        Reply,
        Status,
        Step,
        Usage,
    )
    from bookwheel.views.verdicts import list_cautions

__all__ = [
    "Answer",
    "Budget",
    "Chunk",
    "Claim",
    "Conversation",
    "Document",
    "Evidence",
    "Finish",
    "Flag",
    "LastingMemory",
    "Layout",
    "Memory",
    "Message",
    "Model",
    "Plan",
    "Reading",
    "Reply",
    "Sampling",
    "Status",
    "Step",
    "TextDocument",
    "Usage",
    "Verdict",
    "Way",
    "__version__",
    "acollect",
    "acollect_graph",
    "aread",
    "aresume",
    "collect",
    "collect_graph",
    "list_cautions",
    "read",
    "resume",
]

# Names are imported when they are first used, so that `import bookwheel` stays fast.
_HOMES = {
    "acollect": "tables.api",
    "acollect_graph": "graph.api",
    "collect_graph": "graph.api",
    "collect": "tables.api",
    "aread": "api",
    "aresume": "api",
    "list_cautions": "views.verdicts",
    "read": "api",
    "resume": "api",
    "LastingMemory": "memory.lasting",
    "Model": "models.base",
    "Claim": "claims",
    "Evidence": "claims",
    "Verdict": "claims",
    "Budget": "plan",
    "Layout": "plan",
    "Plan": "plan",
    "Sampling": "plan",
    "Way": "reading.loop",
    "TextDocument": "documents.opening",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("bookwheel")
    if name not in __all__:
        raise AttributeError(f"module 'bookwheel' has no attribute {name!r}")
    return getattr(import_module(f"bookwheel.{_HOMES.get(name, 'types')}"), name)


def __dir__() -> list[str]:
    return __all__
