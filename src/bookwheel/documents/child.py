"""What a child process does: it takes work from its parent (`documents.children`), and sends back what that yields.

Frames go both ways over pipes: four bytes of length, then JSON. The parent sends one frame for each piece of work.
The answer is `["started"]`, any number of `["item", value]` and `["more", seconds]`, and `["done"]` or one of the
failures. Reading a picture takes seconds, whatever document it is in: `allow_more` adds them to the limits, and who
reads pictures keeps to `ChildLimits.picture_seconds`.
"""

from __future__ import annotations

import json
import math
import os
import pkgutil
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Final

from bookwheel.documents.cancellation import CancelScope, ChildLimits
from bookwheel.errors import BookwheelError

EXIT_MEMORY: Final = 70
"""The exit status of a child without memory for a last message."""
_HEADER: Final = 4
# Seconds after which a child without work ends.
_IDLE: Final = 60.0
# Where a child writes to; None in every other process.
_frames: IO[bytes] | None = None


def allow_more(seconds: float) -> None:
    """Add seconds to the limits of the work that this child does; nothing happens in a process that is none."""
    if _frames is None:
        return
    write_frame(_frames, ["more", seconds])
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, most = resource.getrlimit(resource.RLIMIT_CPU)
        more = soft + math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (more if most == resource.RLIM_INFINITY else min(more, most), most))


def write_frame(stream: IO[bytes], value: Any) -> None:
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
    global _frames  # noqa: PLW0603 - one for the process
    frames = os.fdopen(os.dup(1), "wb")
    _frames = frames
    # What a library prints would break the frames.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with suppress(OSError, AttributeError, KeyError):
        os.nice(int(os.environ["BOOKWHEEL_CHILD"]))
    # The parent lives longer.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    jobs: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        try:
            job = jobs.get(timeout=_IDLE)
        except Empty:
            os._exit(0)
        _work(job, frames)


def _receive(stream: IO[bytes], jobs: SimpleQueue[Any]) -> None:
    """Receive work. The end of the stream is the end of the parent, and there is nobody left to work for."""
    while frame := read_frame(stream):
        jobs.put(frame[0])
    os._exit(0)


def _work(job: dict[str, Any], frames: IO[bytes]) -> None:
    write_frame(frames, ["started"])
    try:
        _set_limits(**job["limits"])
        with CancelScope(ChildLimits(**job["limits"])):
            for item in pkgutil.resolve_name(job["work"])(*job["arguments"]):
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


def _describe_error(error: Exception) -> list[Any]:
    if isinstance(error, BookwheelError):
        return ["bookwheel", type(error).__name__, str(error)]
    if isinstance(error, OSError) and error.errno:  # without a number it is a library's own
        return ["system", error.errno, error.strerror or "", str(error.filename or "")]
    return ["crash", type(error).__name__, str(error)[:1000]]


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
    # The module that readers import: this one, which runs as `__main__`, is a copy of it.
    from bookwheel.documents.child import main

    main()
