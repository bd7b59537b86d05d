"""Work in the background that whoever began it may leave before its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

_Work = TypeVar("_Work", bound="asyncio.Future[Any]")


def let_leave(work: _Work) -> _Work:
    """Return the work as it is; an error in it that nobody asks for any more is not written as a traceback."""
    work.add_done_callback(_take_error)
    return work


def _take_error(work: asyncio.Future[Any]) -> None:
    if not work.cancelled():
        work.exception()
