"""Run untrusted work, such as the conversion of a document, in a child process with limits, which can be killed.

    def convert(path: str) -> Iterator[list[str]]:      # a function of a module that the child can import
        yield ["part", "Some text"]

    for kind, text in run_in_child(convert, "report.pdf", name="report.pdf"): ...

The arguments and the items that `convert` yields are JSON values; any str survives, lone surrogates too. Items arrive
as they are made. Errors of bookwheel and of the system that the function raises are raised here with their type and
message; what else ends it is a SourceError that begins with `name`:

    ConversionLimit    it took more time, processor time, memory or output than its ChildLimits; the child was killed
    ConverterCrash     the child died, or the function raised another exception

Call it from any thread. Async code calls it through `await run_cancellable(function, …)`, and gets CancelledError: then
the child is killed at once. A generator that is closed before its end kills its child as well. Limits come from the
caller, else from the scope around it (`run_cancellable(…, limits=…)`), else from `ChildLimits()`.

At most MOST_CHILDREN run at once; the next caller waits, and the wait can be cancelled. So take all items of one
conversion before you begin another in the same thread: two generators that wait for a second child each would wait for
ever. Short work that somebody looks on at (`is_urgent`), such as the picture of a page, has as many children of its
own: it never waits for conversions, which take minutes and run at a low priority. Children are started by exec, never
forked from this process and its threads, and serve several conversions: the first takes an interpreter's start more,
later ones about a millisecond. Plain text needs no child.

A child is `python -m bookwheel.documents.child`, where the frames are told that go both ways. It has no keys of ours in
its environment, no signals of the terminal and a temporary folder of its own that goes with it, and it ends with this
process, however this ends. It is not a sandbox: it can read files. Called in a child, `run_in_child` does the work
right there.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bookwheel import errors
from bookwheel.documents.cancellation import ChildLimits, check_cancelled, current_scope
from bookwheel.documents.child import EXIT_MEMORY, read_frame, write_frame
from bookwheel.errors import BookwheelError, ConversionLimit, ConverterCrash, SourceError, WorkCancelled

MOST_CHILDREN: Final = max(2, min(8, os.cpu_count() or 1))
"""Children at work at once in this process."""

# What a parser may need of the environment. Everything else stays here, above all keys.
_ENVIRONMENT: Final = frozenset({"PATH", "HOME", "LANG", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "PYTHONHOME"})
_FOLDERS: Final = ("TMPDIR", "TEMP", "TMP")
# Set in a child, to its niceness. It starts no children of its own: its limits hold for all that it does.
_IS_CHILD: Final = "BOOKWHEEL_CHILD"
# Conversions that one child serves: parsers leak, and a fresh one costs little among so many.
_MOST_JOBS: Final = 200
# Seconds between two looks at whether a waiting caller was cancelled.
_LOOK: Final = 0.1
_LEAST_LOOK: Final = 0.01

_ADVICE: Final = "It may be damaged: save it again, or convert it to text yourself."


def run_in_child(
    work: Callable[..., Iterable[Any]],
    *arguments: Any,
    name: str,
    limits: ChildLimits | None = None,
    is_urgent: bool = False,
) -> Generator[Any]:
    """Yield the items of `work(*arguments)`, run in a child process. `name` is what messages call the document."""
    if _IS_CHILD in os.environ:
        yield from work(*arguments)
        return
    scope = current_scope()
    limits = limits or scope.limits or ChildLimits()
    job = {"work": f"{work.__module__}:{work.__qualname__}", "arguments": arguments, "limits": asdict(limits)}
    cancelled = WorkCancelled(f"the conversion of {name} was cancelled")
    pool = _urgent_pool if is_urgent else _pool
    with pool.lend(job, name) as child, scope.on_cancel(child.killer(cancelled)):
        yield from child.items(name, limits)


def close_children() -> None:
    """End the idle children; new work starts new ones."""
    for pool in (_pool, _urgent_pool):
        pool.close()


class _Child:
    """One process, which does one piece of work at a time."""

    def __init__(self, name: str, niceness: int) -> None:
        self.jobs = 0
        self.is_idle = True
        self._end: BookwheelError | None = None
        self._lock = threading.Lock()
        # What a parser needs, the import path of this process, and a folder of its own.
        names = [name for name in os.environ if name.upper() in _ENVIRONMENT or name.startswith("LC_")]
        kept = {name: os.environ[name] for name in names}
        try:
            path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
            self._folder = tempfile.mkdtemp(prefix="bookwheel-child-")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "bookwheel.documents.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**kept, _IS_CHILD: str(niceness), "PYTHONPATH": path, **dict.fromkeys(_FOLDERS, self._folder)},
                # Ctrl-C in a terminal goes to a whole group; this process decides what happens to its children.
                start_new_session=True,
            )
        except OSError as error:
            raise SourceError(
                f"{name} cannot be converted: no process can be started for it ({error.strerror or error}). "
                f"Free memory, or disk space in {tempfile.gettempdir()}, and try again."
            ) from error
        assert self._process.stdin
        assert self._process.stdout
        self._requests, self._frames = self._process.stdin, self._process.stdout

    def begin(self, job: dict[str, Any]) -> bool:
        """Send the work. Return False if the child has ended, as an idle one does after a while."""
        with self._lock:
            self.jobs += 1
            self.is_idle = False
        try:
            write_frame(self._requests, job)
            return read_frame(self._frames) is not None
        except OSError:
            return False

    def items(self, name: str, limits: ChildLimits) -> Iterator[Any]:
        """Yield the items; raise the error that ended the work."""
        size, for_pictures = limits.output_bytes, limits.picture_seconds
        stop = self.killer(_limit_error(name, f"{limits.seconds:g} seconds"))
        with closing(_Clock(limits.seconds, stop)) as clock:
            while True:
                try:
                    # The time that the caller takes for an item does not count.
                    with clock.run():
                        frame = read_frame(self._frames, size)
                except OverflowError:
                    self.killer(_limit_error(name, f"{limits.output_bytes >> 20} MiB of text"))()
                    frame = None
                if frame is None:
                    raise self._explain_end(name, limits)
                (kind, *values), taken = frame
                size -= taken
                if kind == "item":
                    yield values[0]
                    continue
                if kind == "more":
                    more = min(float(values[0]), for_pictures)
                    for_pictures -= more
                    clock.add(more)
                    continue
                self.is_idle = kind in {"done", "bookwheel", "system"}
                if kind == "done":
                    return
                raise _rebuild_error(kind, values, name, limits)

    def killer(self, reason: BookwheelError) -> Callable[[], None]:
        """Return a function that kills the process, from any thread, unless it has gone on to other work."""
        job = self.jobs

        def kill() -> None:
            with self._lock:
                if job == self.jobs and not self.is_idle:
                    self._end = self._end or reason
                    self._process.kill()

        return kill

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._frames):
            with suppress(OSError):  # closing flushes a request that the process did not take
                stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _explain_end(self, name: str, limits: ChildLimits) -> BookwheelError:
        status = self._process.wait()
        if self._end:
            return self._end
        if status == -getattr(signal, "SIGXCPU", 0):
            return _limit_error(name, f"{limits.cpu_seconds} seconds of processor time")
        if status == EXIT_MEMORY:
            return _limit_error(name, f"{limits.memory_bytes >> 20} MiB of memory")
        if status == -getattr(signal, "SIGKILL", 0):
            advice = "mostly because the machine has no memory left: close other programs and try again"
            return ConverterCrash(f"{name} was not converted: its converter was ended from outside, {advice}")
        reason = signal.Signals(-status).name if status < 0 else f"status {status}"
        return ConverterCrash(f"{name} cannot be converted: its converter died of it ({reason}). {_ADVICE}")


class _Clock:
    """Calls `stop` once it has run for some seconds in all: one thread, however often it runs."""

    def __init__(self, seconds: float, stop: Callable[[], None]) -> None:
        self._left = seconds
        self._began: float | None = None
        self._stop = stop
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def run(self) -> Iterator[None]:
        with self._lock:
            self._began = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._left -= time.monotonic() - self._began
                self._began = None

    def add(self, seconds: float) -> None:
        with self._lock:
            self._left += seconds

    def close(self) -> None:
        self._closed.set()

    def _watch(self) -> None:
        left = self._left
        # While it stands, it is looked at again as late as it could have run out.
        while not self._closed.wait(max(left, _LEAST_LOOK)):
            with self._lock:
                left = self._left - (time.monotonic() - self._began if self._began else 0.0)
                if self._began and left <= 0:
                    self._stop()
                    return


def _limit_error(name: str, what: str) -> ConversionLimit:
    return ConversionLimit(f"{name} takes more than {what} to convert: convert it to text yourself if you trust it")


def _rebuild_error(kind: str, values: list[Any], name: str, limits: ChildLimits) -> Exception:
    if kind == "memory":
        return _limit_error(name, f"{limits.memory_bytes >> 20} MiB of memory")
    if kind == "system":
        number, message, filename = values
        return OSError(number, message, filename or None)
    type_name, message = values
    if kind == "bookwheel":
        known = getattr(errors, type_name, SourceError)
        # Not by a call: some of these types make their message from other arguments.
        error: BookwheelError = known.__new__(known)
        error.args = (message,)
        return error
    crash = ConverterCrash(f"{name} cannot be converted: its converter did not expect what it holds. {_ADVICE}")
    crash.add_note(f"{type_name}: {message}")  # for who mends the converter; users are shown the message alone
    return crash


class _Pool:
    """The children of this process: a bounded number at work, as many idle."""

    def __init__(self, niceness: int) -> None:
        self._niceness = niceness
        self.forget()

    def forget(self) -> None:
        """Begin without children; a process that was forked leaves them to its parent."""
        self._slots = threading.BoundedSemaphore(MOST_CHILDREN)
        self._lock = threading.Lock()
        self._idle: list[_Child] = []

    @contextmanager
    def lend(self, job: dict[str, Any], name: str) -> Iterator[_Child]:
        """Hold a child that has begun the work. Raise WorkCancelled if the caller is cancelled while it waits."""
        check_cancelled()
        slots = self._slots  # the one to give back, whatever `forget` has done meanwhile
        while not slots.acquire(timeout=_LOOK):
            check_cancelled()
        try:
            child = self._begin(job, name)
            try:
                yield child
            finally:
                if child.is_idle and child.jobs < _MOST_JOBS:
                    with self._lock:
                        self._idle.append(child)
                else:
                    child.end()
        finally:
            slots.release()

    def _begin(self, job: dict[str, Any], name: str) -> _Child:
        """Return an idle child, or a new one, that has begun the work."""
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            child = idle or _Child(name, self._niceness)
            if child.begin(job):
                return child
            child.end()
            if idle is None:
                raise ConverterCrash(f"{name} cannot be converted: the process for it does not start")

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()


# The parent, which answers others meanwhile, runs before conversions.
_pool: Final = _Pool(niceness=10)
_urgent_pool: Final = _Pool(niceness=0)
atexit.register(close_children)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)
    os.register_at_fork(after_in_child=_urgent_pool.forget)
