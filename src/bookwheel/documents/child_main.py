"""The child's side of `bookwheel.documents.child`: `python -m` with this module works on what its parent sends.

Frames go both ways over pipes: four bytes of length, then JSON. The parent sends one frame for each piece of work. The
answer is `["started"]`, any number of `["item", value]`, and `["done"]` or one of the failures.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EXIT_MEMORY: Final = 70
"""The exit status of a child without memory for a last message."""

_HEADER: Final = 4
# Seconds after which a child without work ends.
_IDLE: Final = 60.0
_NICENESS: Final = 10


def write_frame(stream: IO[bytes], value: Any) -> None:
    """Write one value."""
    # Not escaped to ASCII: on loading, the escapes of two lone surrogates would join to one character.
    content = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    stream.write(len(content).to_bytes(_HEADER, "big"))
    stream.write(content)
    stream.flush()


def read_frame(stream: IO[bytes], most: int = 1 << 31) -> tuple[Any, int] | None:
    """Return one value and its bytes, or None at the end. Raise OverflowError for more than `most` bytes."""
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    size = int.from_bytes(header, "big")
    if size > most:
        raise OverflowError(size)
    content = stream.read(size)
    if len(content) < size:
        return None
    return json.loads(content.decode("utf-8", "surrogatepass")), size


def main() -> None:
    """Work until the parent is gone, or for some time has had nothing to do."""
    frames = os.fdopen(os.dup(1), "wb")
    # What a library prints would break the frames.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _lower_priority()
    jobs: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        try:
            job = jobs.get(timeout=_IDLE)
        except Empty:
            os._exit(0)
        _run(job, frames)


def _receive(stream: IO[bytes], jobs: SimpleQueue[Any]) -> None:
    """Receive work. The end of the stream is the end of the parent, and there is nobody left to work for."""
    while frame := read_frame(stream):
        jobs.put(frame[0])
    os._exit(0)


def _run(job: dict[str, Any], frames: IO[bytes]) -> None:
    write_frame(frames, ["started"])
    try:
        _set_limits(**job["limits"])
        for item in _find_work(job["work"])(*job["arguments"]):
            write_frame(frames, ["item", item])
        last: list[Any] = ["done"]
    except BrokenPipeError:
        os._exit(0)
    except MemoryError:
        last = ["memory"]
    except Exception as error:  # noqa: BLE001  whatever ends the work is reported
        last = _describe_error(error)
    try:
        write_frame(frames, last)
    except MemoryError:
        os._exit(EXIT_MEMORY)


def _find_work(name: str) -> Callable[..., Iterable[Any]]:
    module, _, path = name.partition(":")
    work: Any = importlib.import_module(module)
    for part in path.split("."):
        work = getattr(work, part)
    found: Callable[..., Iterable[Any]] = work
    return found


def _describe_error(error: Exception) -> list[Any]:
    from bookwheel.errors import BookwheelError

    if isinstance(error, BookwheelError):
        return ["bookwheel", type(error).__name__, str(error)]
    if isinstance(error, OSError):
        return ["system", error.errno or 0, error.strerror or str(error), str(error.filename or "")]
    return ["crash", type(error).__name__, str(error)[:1000]]


def _lower_priority() -> None:
    """Let the parent, which answers others meanwhile, run before this process and live longer."""
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123  a device
        file.write("1000")


def _set_limits(*, cpu_seconds: int, memory_bytes: int, output_bytes: int, **_: Any) -> None:
    """Set the limits of this piece of work; where the system has none, the parent's time limit stands alone."""
    try:
        import resource
    except ImportError:  # Windows
        return
    # The limit counts all of a process's time, so what earlier work took is added.
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {
        resource.RLIMIT_CPU: math.ceil(used.ru_utime + used.ru_stime) + cpu_seconds,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_FSIZE: output_bytes,
        resource.RLIMIT_CORE: 0,
    }
    for limit, value in limits.items():
        most = resource.getrlimit(limit)[1]
        soft = value if most == resource.RLIM_INFINITY else min(value, most)
        with suppress(OSError, ValueError):
            resource.setrlimit(limit, (soft, most))


if __name__ == "__main__":
    main()
