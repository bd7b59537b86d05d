"""A deadline that counts only the time for which its owner waits."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Seconds: a busy owner must not make the timer start anew all the time.
_SHORTEST_TIMER: Final = 0.1


class WaitDeadline:
    """Calls `expire` once its owner has waited longer than `seconds` in all."""

    def __init__(self, seconds: float, expire: Callable[[], None]) -> None:
        self._left = seconds
        self._expire = expire
        self._is_over = False
        self._since: float | None = None
        self._timer = self._start_timer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._timer.cancel()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time of this block."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            since, self._since = self._since, None
            self._left -= time.monotonic() - since

    def _start_timer(self) -> threading.Timer:
        timer = threading.Timer(max(_SHORTEST_TIMER, self._left), self._look)
        timer.daemon = True
        timer.start()
        return timer

    def _look(self) -> None:
        since = self._since
        if since is not None and time.monotonic() - since >= self._left:
            self._expire()
        elif not self._is_over:  # its owner was busy with an item meanwhile
            self._timer = self._start_timer()
