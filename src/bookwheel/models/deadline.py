"""An end for every call of a library, also where it does not end when it is cancelled. Knows nothing of HTTP.

`asyncio.timeout` cancels a call and then waits for it. A library that misses the end of a task of its own would wait
with it for ever. So each call has a task here, which is broken off and, where even that fails, left behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from bookwheel.errors import ModelError

_T = TypeVar("_T")

# A call that is cancelled closes its connection, and has nothing else to do.
_SECONDS_TO_END: Final = 5.0
_MOST_LEFT: Final = 100

_left: Final[set[asyncio.Task[Any]]] = set()
"""What still runs of calls that nobody waits for. The event loop does not keep tasks alive."""
_log: Final = logging.getLogger(__name__)


async def end_within(
    seconds: float, call: Coroutine[Any, Any, _T], discard: Callable[[_T], Coroutine[Any, Any, None]] | None = None
) -> _T:
    """Return what a call returns. Raise TimeoutError where it takes longer; discard what nobody gets any more."""
    loop = asyncio.get_running_loop()
    # Those of a loop that has ended hold up nobody.
    left = sum(task.get_loop() is loop for task in tuple(_left))
    if left >= _MOST_LEFT:
        call.close()
        raise ModelError(f"{left} calls to the model's server never ended. Start the program again.")
    task = asyncio.create_task(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _end(task, discard)
        raise
    if done and not task.cancelled():
        return task.result()
    await _end(task, discard)
    raise TimeoutError


async def _end(task: asyncio.Task[_T], discard: Callable[[_T], Coroutine[Any, Any, None]] | None) -> None:
    """Cancel a task whose result nobody gets. It has some seconds, also where this wait for it is cancelled too."""
    task.cancel()
    task.add_done_callback(partial(_forget, discard))
    asyncio.get_running_loop().call_later(_SECONDS_TO_END, _break_off, task)
    await asyncio.wait({task}, timeout=_SECONDS_TO_END)


def _break_off(task: asyncio.Task[Any]) -> None:
    """Close what a task runs; without it, the task ends as soon as it is woken."""
    if not task.done():
        _log.warning("a call to the model's server did not end when it was cancelled, and is broken off")
        _left.add(task)
        with suppress(Exception):
            task.get_coro().close()
        task.cancel()


def _forget(discard: Callable[[_T], Coroutine[Any, Any, None]] | None, task: asyncio.Task[_T]) -> None:
    _left.discard(task)
    if not task.cancelled() and not task.exception() and discard:
        discarding = asyncio.create_task(discard(task.result()))
        _left.add(discarding)
        discarding.add_done_callback(partial(_forget, None))
