"""Lock files beside the journal. The operating system releases a lock when its process ends, however it ends.

Not filelock: it leaves a file behind for every reading, and does not say which process holds a lock.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Windows denies reading a locked byte, so the lock is on one far behind the process id.
_LOCKED_BYTE: Final = 1 << 30


class LockTaken(Exception):
    """Another process holds the lock; the message is its process id, if it could be read."""


def lock_folder(journal: Path) -> Path:
    """Return the folder beside the journal that holds its lock files."""
    return journal.with_name(f"{journal.name}.locks")


@contextmanager
def hold_lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of this name. Without `wait`, raise LockTaken if another process holds it."""
    handle = _open_locked(path, wait=wait)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        with suppress(OSError):  # Windows cannot remove an open file; it stays, and can be locked again
            path.unlink()
        os.close(handle)


def is_held(path: Path) -> bool:
    """Return True if a living process wrote the lock file. Taking the lock to see would disturb who wants it."""
    try:
        holder = int(path.read_text(encoding="ascii"))
        if sys.platform != "win32":  # where signal 0 would end the process
            os.kill(holder, 0)
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return False
    except PermissionError:  # a process of another user
        return True
    return True


def _open_locked(path: Path, *, wait: bool) -> int:
    """Return a handle that holds the lock of the file with this name."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(handle, wait=wait)
            # The last holder removes its file. If that was ours, its lock guards nothing, and we try again.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BlockingIOError:
            holder = os.read(handle, 20).decode("ascii", "replace")
            os.close(handle)
            raise LockTaken(holder) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> None:
    """Lock the file. Raise BlockingIOError if another process holds it; with `wait`, wait for that process."""
    if sys.platform == "win32":
        _lock_on_windows(handle, wait=wait)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_on_windows(handle: int, *, wait: bool) -> None:
    import msvcrt

    while True:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError as error:
            if not wait:
                raise BlockingIOError(str(error)) from error
        else:
            return
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
