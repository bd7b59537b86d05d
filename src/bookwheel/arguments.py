"""The arguments of the Python functions, checked: a wrong type is an InputError that says what to give instead.

The settings are the options of `bookwheel ask` by their names: `Connection` and `bookwheel.plan.SETTINGS` list them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, cast

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.types import Document

Source: TypeAlias = "str | Path | Sequence[str | Path] | Document"
_P = ParamSpec("_P")
_T = TypeVar("_T")


def check_questions(question: object) -> list[str]:
    questions = list(question) if isinstance(question, list | tuple) else [question]
    if not questions:
        raise InputError("no questions: give at least one")
    if wrong := [one for one in questions if not isinstance(one, str)]:
        raise InputError(f"the question must be text, not {type(wrong[0]).__name__}: read(source, question)")
    return cast("list[str]", questions)


def find_own_model(model: object) -> Model | None:
    """Return the caller's own model; None for a name."""
    if model is None or isinstance(model, str):
        return None
    if not hasattr(model, "reply"):
        raise InputError(f"model must be a name or an object with `reply`, not {type(model).__name__}")
    return cast("Model", model)


def resolve_journal(journal: object) -> Path:
    """Return the journal's file, by default the user's."""
    from bookwheel.journal import journal_path

    if journal is None:
        return journal_path()
    if not isinstance(journal, str | Path) or not str(journal).strip():
        raise InputError(f"journal must be the path of a file, not {journal!r}")
    return Path(journal)


def name_reading(reading: object) -> str:
    name = reading if isinstance(reading, str) else getattr(reading, "id", None)
    if not isinstance(name, str):
        raise InputError(f"name the reading by its id, or give the Reading, not {type(reading).__name__}")
    return name


def open_source(source: object, *, everything: bool = False, ocr: str = "") -> Document:
    """Return the source as a document."""
    from bookwheel.documents.opening import open_document

    if isinstance(source, (str, Path)):
        return open_document([source], everything=everything, ocr=ocr)
    if isinstance(source, bytes) or hasattr(source, "read"):
        raise InputError(
            f"{type(source).__name__} is no document: give the file's path, or its text as TextDocument(text)"
        )
    if isinstance(source, Sequence):
        if wrong := [part for part in source if not isinstance(part, str | Path)]:
            raise InputError(f"a list of sources holds paths, folders and URLs, not {type(wrong[0]).__name__}")
        return open_document(source, everything=everything, ocr=ocr)
    if not hasattr(source, "parts"):
        raise InputError(f"{type(source).__name__} is no document: give a path, a URL, a folder or TextDocument(text)")
    return cast("Document", source)


def make_blocking(function: Callable[_P, Coroutine[Any, Any, _T]], name: str) -> Callable[_P, _T]:
    """Return an async function as one for scripts, under another name."""

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return run_now(function(*args, **kwargs))

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"{function.__doc__}\n    Works inside a notebook's event loop too."
    return run


def run_now(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end, also inside a notebook's event loop."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # `asyncio.run` refuses to run inside a running loop, so the work gets a thread and a loop of its own.
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, work).result()
