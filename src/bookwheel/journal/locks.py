"""Locks beside the journal, which the operating system lets go of when a process ends, however it ends."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class LockTaken(Exception):
    """Somebody else holds the lock; the message is that process's number, where it could be read."""


def lock_folder(journal: Path) -> Path:
    """The folder beside the journal where its locks lie."""
    return journal.with_name(f"{journal.name}.locks")


@contextmanager
def hold_lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of this name; without `wait`, raise Claimed when it is taken."""
    handle = _open(path, wait=wait)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _open(path: Path, *, wait: bool) -> int:
    """A handle that holds the lock of the file which now has this name: the last holder removes the file it held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(handle, wait=wait)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode("ascii", "replace")
            os.close(handle)
            raise LockTaken(holder) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(str(error)) from error
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
