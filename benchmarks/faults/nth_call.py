"""Does a reading end right, whatever call of the model's client fails? Each in turn, as SQLite tests its allocations.

    python benchmarks/faults/nth_call.py [--library] [--places] [--stream] [--every N] [--offset K] [--errors NAME...]

A profile function counts the calls of Python and of C that are made in `bookwheel.models` (with --library those in the
HTTP libraries too), and raises an error in place of the n-th. With --places each place of the code counts three times
at most: its first call, one between and its last. The reading is one of three chunks from a server on loopback. It must
end, within its seconds, answered with the same steps and the same answer; or say in our words that it stopped, and a
resume without faults must end so. Anything else is broken, and printed; so is what a reading leaves for the collector
of garbage or the event loop to complain about. Where nothing is read yet, the caller may get the error itself.
"""

from __future__ import annotations

import argparse
import asyncio
import dis
import gc
import inspect
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import bookwheel
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BookwheelError
from bookwheel.journal import Journal
from bookwheel.models.openai import OpenAIModel
from bookwheel.plan import Plan
from bookwheel.reading.budget import BudgetedModel

if TYPE_CHECKING:
    from types import FrameType

    from bookwheel.types import Reading

TEXT = "Ada wound the clock. " * 90
PLAN = Plan(chunk_tokens=256, memory_tokens=64, answer_tokens=32)
ERRORS = {"memory": MemoryError, "os": lambda: OSError(24, "too many open files"), "value": lambda: ValueError("odd")}
_OURS = str(Path(bookwheel.__file__).parent / "models")
_LIBRARY = ("/httpx2/", "/httpcore2/", "/aiohttp/", "/openai/", "/anyio/")
_SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
SECONDS = 60.0
DEADLINE = 8.0
"""Seconds after which the client gives up a call, and what waits for ever is tried again."""


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        usage = {"prompt_tokens": 900, "completion_tokens": 9}
        said = {"content": "\\boxed{Ada}"}
        choice = {"index": 0, "finish_reason": "stop", "delta" if asked.get("stream") else "message": said}
        body = json.dumps({"choices": [choice], "usage": usage})
        is_chat, is_stream = self.path.endswith("/chat/completions"), asked.get("stream")
        self._send(200 if is_chat else 404, f"data: {body}\n\ndata: [DONE]\n\n" if is_stream else body, is_stream)

    def do_GET(self) -> None:
        self._send(404, "{}", is_stream=False)

    def _send(self, status: int, body: str, is_stream: Any) -> None:
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        pass


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that broke off."""


def serve_replies() -> int:
    """Start the model's server in a thread; return its port."""
    server = _QuietServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


class Fault:
    """Raises an error in place of the n-th call; counts them where n is below 0."""

    def __init__(self, at: int, error: Any, places: tuple[str, ...]) -> None:
        self.calls, self.where = 0, ""
        self.places: dict[tuple[str, int, str], list[int]] = {}
        self.left: list[str] = []
        """What Python and the event loop complained of."""
        self._at, self._error, self._places = at, error, places

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in {"call", "c_call"}:
            return
        name = frame.f_code.co_filename
        if not any(place in name for place in self._places):
            return
        what = frame.f_code.co_name if event == "call" else argument.__name__
        # Nor does the release of a lock or of a place in a queue fail.
        if what in {"__exit__", "release"} or (event == "call" and _is_resumed(frame)):
            return
        self.calls += 1
        if self._at < 0:
            self.places.setdefault((name, frame.f_lasti, frame.f_code.co_qualname + event), []).append(self.calls - 1)
        elif self.calls - 1 == self._at:
            self.where = f"{Path(name).name}:{frame.f_lineno} {what}"
            raise self._error()

    def choose(self, *, places: bool) -> list[int]:
        """Return the calls that were counted; with `places`, the first, one between and the last of each place."""
        if not places:
            return list(range(self.calls))
        return sorted({at for calls in self.places.values() for at in (calls[0], calls[len(calls) // 2], calls[-1])})

    def complain(self, _loop: Any, context: dict[str, Any]) -> None:
        """Keep what the event loop says of a task that nobody waits for."""
        self.left.append(f"{context['message']}: {context.get('exception')!r}")

    def complain_of_garbage(self, found: Any) -> None:
        """Keep what Python says of an error that nobody can get."""
        self.left.append(f"{found.err_msg or 'Exception ignored in'} {found.object!r}: {found.exc_value!r}")


def _is_resumed(frame: FrameType) -> bool:
    """Tell a coroutine that goes on or is closed from a call: an error raised there passes by its `except`s."""
    if not frame.f_code.co_flags & _SUSPENDABLE:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return dis.opname[code[at]] != "RESUME" or code[at + 1] != 0


async def read(port: int, folder: Path, fault: Fault, *, stream: bool) -> tuple[Reading | None, str]:
    """Read with a fault; return the reading as it ended, and what was raised to the caller."""
    model = OpenAIModel(name="m", base_url=f"http://127.0.0.1:{port}/v1", plan=PLAN, stream=stream, deadline=DEADLINE)
    raised = ""
    asyncio.get_running_loop().set_exception_handler(fault.complain)
    sys.unraisablehook = fault.complain_of_garbage
    sys.setprofile(fault)
    try:
        # The waits between two tries are no calls of the client.
        with patch.object(BudgetedModel, "sleep", lambda _self, _seconds: asyncio.sleep(0)):
            await asyncio.wait_for(_ask(model, folder), SECONDS)
    except BookwheelError as error:
        raised = f"ours: {type(error).__name__}"
    except BaseException as error:  # noqa: BLE001 - what comes out is what is measured
        raised = f"{type(error).__name__}: {error}"
    finally:
        sys.setprofile(None)
        await model.aclose()
    gc.collect()
    await asyncio.sleep(0)
    with Journal(folder / "j.sqlite") as journal:
        found = journal.readings()
        return (journal.reading(found[0].id) if found else None), raised


async def _ask(model: OpenAIModel, folder: Path) -> None:
    await bookwheel.aread(TextDocument(TEXT), "Who?", model=model, journal=folder / "j.sqlite", way="sequential")


def describe(reading: Reading) -> tuple[str, list[int], str]:
    """Return what has to be the same."""
    answer = reading.answer.text if reading.answer else ""
    return str(reading.status), [step.chunk.start for step in reading.steps], answer


async def judge(port: int, fault: Fault, whole: tuple[str, list[int], str], *, stream: bool) -> str:
    """Return how a reading with one fault ended: answered, told, or what is broken."""
    with tempfile.TemporaryDirectory() as name:
        reading, raised = await read(port, Path(name), fault, stream=stream)
        if fault.left:
            return f"broken: left behind: {fault.left[0][:300]}"
        if reading is None:
            return "raised before it began" if raised else "broken: not stored"
        if describe(reading) == whole and not raised:
            return "answered"
        if reading.steps and raised and not raised.startswith("ours"):
            return f"broken: {raised}"
        model = OpenAIModel(
            name="m", base_url=f"http://127.0.0.1:{port}/v1", plan=PLAN, stream=stream, deadline=DEADLINE
        )
        try:
            resumed = await bookwheel.aresume(reading.id, model=model, journal=Path(name) / "j.sqlite")
        finally:
            await model.aclose()
        return "told, and resumed" if describe(resumed) == whole else f"broken: {describe(resumed)}"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="store_true", help="calls of the HTTP library too")
    parser.add_argument("--places", action="store_true", help="three calls of each place, not every call")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="each N-th call")
    parser.add_argument("--offset", type=int, default=0, help="begin with this call")
    parser.add_argument("--errors", nargs="+", default=list(ERRORS), choices=list(ERRORS))
    options = parser.parse_args()
    port = serve_replies()
    places = (_OURS, *_LIBRARY) if options.library else (_OURS,)
    for _ in range(2):  # The first reading imports.
        count = Fault(-1, None, places)
        with tempfile.TemporaryDirectory() as name:
            good, raised = await read(port, Path(name), count, stream=options.stream)
    if good is None or raised:
        raise SystemExit(f"the reading without a fault: {raised}")
    # What is imported is no garbage: to look through it each time would take longer than the readings.
    gc.collect()
    gc.freeze()
    whole, began = describe(good), time.monotonic()
    chosen = count.choose(places=options.places)[options.offset :: options.every]
    print(f"{count.calls:,} calls at {len(count.places):,} places, {len(chosen):,} of them fail; {whole}", flush=True)
    for error in options.errors:
        ends: Counter[str] = Counter()
        for number, at in enumerate(chosen):
            if number % 50 == 49:  # a run that is ended tells how far it came
                print(f"  {error}: {dict(ends)} so far", flush=True)
            fault = Fault(at, ERRORS[error], places)
            end = await judge(port, fault, whole, stream=options.stream)
            ends[end.split(":", maxsplit=1)[0]] += 1
            if end.startswith("broken"):
                print(f"  {error} at {at} ({fault.where}): {end}", flush=True)
        print(f"{error}: {dict(ends)}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
