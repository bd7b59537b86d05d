"""Does a server go on, whatever call within it fails while it reads? Each in turn, as `nth_call.py` for a client.

    python benchmarks/faults/nth_call_served.py [--engine] [--chat] [--places] [--every N] [--offset K]
        [--errors NAME...]

Each call of `bookwheel.models` (with --engine those of the server's engine, of its routes and of the runner of
readings too) that a server makes while it reads raises an error, one call a server. The server is the real one, on
loopback, with a place for one call of the model and for one reading; it asks a model's server on loopback. With --chat
the reading is asked for as a chat, whose client waits on its connection. What must hold:

- the reading ends within its seconds: answered as without the fault, or with an error in our words, or its request was
  refused in such words; none is left open that nobody reads;
- the server goes on: it is healthy, it answers the same question again, and the broken reading is resumed;
- nothing is left for the event loop, a thread or the collector of garbage to complain of.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from nth_call import DEADLINE, ERRORS, PLAN, TEXT, Fault, describe, serve_replies
from outsider import RAW

import bookwheel
from bookwheel.journal import Journal
from bookwheel.models import patience
from bookwheel.models.openai import OpenAIModel
from bookwheel.serve.app import build_app
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.server import Server, bind_socket
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from bookwheel.serve.engine.service import Service
    from bookwheel.types import Reading

SECONDS = 30.0
_HOME = Path(bookwheel.__file__).parent
_MODELS = (str(_HOME / "models"),)
_ENGINE = (
    *(str(_HOME / "serve" / part) for part in ("engine", "http", "openai")),
    *(str(_HOME / "reading" / name) for name in ("runner.py", "budget.py", "several.py", "verdicts.py")),
)


class Relay:
    """The profile function of every thread of a server: it hands on to the fault of the hour."""

    fault: Fault | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.fault:
            self.fault(frame, event, argument)


class Complaints(logging.Handler):
    """What the event loop said of tasks and callbacks that nobody waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append(f"{record.getMessage()}: {record.exc_info and record.exc_info[1]!r}")


RELAY, COMPLAINTS = Relay(), Complaints()


class Served:
    """A server of one fault."""

    def __init__(self, server: Server, service: Service, journal: Journal) -> None:
        self.service, self.journal = service, journal
        self.client = httpx2.Client(base_url=server.address, timeout=SECONDS, trust_env=False)

    def reconnect(self) -> None:
        """Go on with new connections: a fault may have ended the old one."""
        url = self.client.base_url
        self.client.close()
        self.client = httpx2.Client(base_url=url, timeout=SECONDS, trust_env=False)

    def ask(self, document: str, *, chat: bool = False) -> httpx2.Response | None:
        """Ask for a reading; return when it has ended. None where the connection of its request broke."""
        answer = None
        if chat:
            body = {"model": "m", "messages": [{"role": "user", "content": "Who?"}], "document": TEXT}
            path = "/v1/chat/completions"
        else:
            body = {"document": document, "question": "Who?", "way": "sequential", "model": "m"}
            path = "/readings"
        with suppress(httpx2.NetworkError, httpx2.RemoteProtocolError):
            answer = self.client.post(path, json=body)
        self.wait()
        return answer

    def wait(self) -> None:
        """Return when no reading is under way."""
        ends = time.monotonic() + SECONDS
        while len(self.service.readings):
            if time.monotonic() > ends:
                raise TimeoutError
            time.sleep(0.002)


@contextmanager
def serve(port: int, folder: Path) -> Iterator[Served]:
    """Run a server over a model behind a port, in a thread of its own."""
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(folder / "j.sqlite"))
        model = OpenAIModel(name="m", base_url=f"http://127.0.0.1:{port}/v1", plan=PLAN, deadline=DEADLINE)
        limits = Limits(calls=1, readings=1)
        app = build_app(journal=journal, models={"m": model}, settings=ServerSettings(limits=limits))
        server = Server(app, bind_socket("127.0.0.1", 0), grace=1)

        async def live() -> None:
            try:
                await server.serve()
            finally:
                await model.aclose()

        thread = threading.Thread(target=lambda: asyncio.run(live()), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.002)
        served = Served(server, app.state.service, journal)
        try:
            yield served
        finally:
            served.client.close()
            server.should_exit = True
            thread.join(SECONDS)
            if thread.is_alive():
                COMPLAINTS.lines.append("the server does not end")


def play(port: int, fault: Fault, whole: tuple[str, list[int], str] | None, *, chat: bool) -> str:
    """Let one call of a server fail while it reads; return how the reading ended, or what is broken."""
    COMPLAINTS.lines.clear()
    with tempfile.TemporaryDirectory() as name:
        with serve(port, Path(name)) as served:
            sent = {"content-type": "text/plain", "x-filename": "a.txt"}
            document = served.client.post("/documents", content=TEXT.encode(), headers=sent).json()["document"]
            RELAY.fault = fault
            try:
                answer = served.ask(document, chat=chat)
            except (httpx2.TimeoutException, TimeoutError) as error:
                return f"broken: the reading does not end: {error!r}"
            finally:
                RELAY.fault = None
                served.reconnect()
            end = judge(served, answer, whole)
            if whole and not end.startswith("broken"):
                end = check_server(served, document, whole) or end
        gc.collect()
        return f"broken: left behind: {COMPLAINTS.lines[0][:300]}" if COMPLAINTS.lines else end


def judge(served: Served, answer: httpx2.Response | None, whole: tuple[str, list[int], str] | None) -> str:
    """Return how the reading of a fault ended."""
    if answer is not None and RAW.search(answer.text):
        return f"broken: words of Python: {answer.text[:200]}"
    readings = served.journal.readings()
    if not readings:
        if answer is None:
            return "cut off before it began"
        is_told = answer.status_code >= 400
        return f"{'refused before it began' if is_told else 'broken: no reading'}, with {answer.status_code}"
    reading: Reading = served.journal.reading(readings[0].id)
    if whole is None or describe(reading) == whole:
        return f"answered, {describe(reading)}" if whole is None else "answered"
    return check_end(reading) or resume(served, reading.id, whole)


def check_end(reading: Reading) -> str:
    """Return what is broken of how a reading ended without its answer."""
    if reading.status is Status.READING:
        return "broken: left open, and nobody reads it"
    if RAW.search(reading.error):
        return f"broken: words of Python: {reading.error}"
    is_told = reading.error or reading.status is Status.ANSWERED
    return "" if is_told else f"broken: {reading.status} without a word"


def resume(served: Served, id_: str, whole: tuple[str, list[int], str]) -> str:
    """Resume a reading without a fault; return how it ended."""
    answer = served.client.post(f"/readings/{id_}/resume", json={})
    served.wait()
    now = describe(served.journal.reading(id_))
    return "told, and resumed" if now == whole else f"broken: resumed, {answer.status_code}: {now} {answer.text[:200]}"


def check_server(served: Served, document: str, whole: tuple[str, list[int], str]) -> str:
    """Return what is broken of the server after its fault."""
    try:
        if (status := served.client.get("/healthz").status_code) != 200:
            return f"broken: /healthz gives {status}"
        answer = served.ask(document)
        if answer is None:
            return "broken: the connection of the next reading"
        if answer.status_code != 201:
            return f"broken: the next reading is refused: {answer.status_code} {answer.text[:200]}"
        again = describe(served.journal.reading(answer.json()["reading"]))
    except (httpx2.HTTPError, TimeoutError) as error:
        return f"broken: the next reading does not end: {error!r}"
    return "" if again == whole else f"broken: the next reading: {again}"


def main() -> int:
    """Let the chosen calls fail, one server each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="store_true", help="calls of the server's engine and routes too")
    parser.add_argument("--chat", action="store_true", help="ask as a chat")
    parser.add_argument("--places", action="store_true", help="three calls of each place, not every call")
    parser.add_argument("--every", type=int, default=1, help="each N-th call")
    parser.add_argument("--offset", type=int, default=0, help="begin with this call")
    parser.add_argument("--errors", nargs="+", default=list(ERRORS), choices=list(ERRORS))
    options = parser.parse_args()
    # Waits between two tries are no calls: a quarter of a second, which is drawn anew, would only take time.
    patience._SHORTEST_WAIT = patience._LONGEST_WAIT = 0.01  # type: ignore[misc]
    logging.getLogger("asyncio").addHandler(COMPLAINTS)
    for name in ("bookwheel", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    threading.excepthook = lambda found: COMPLAINTS.lines.append(f"a thread ended: {found.exc_value!r}")
    sys.unraisablehook = lambda found: COMPLAINTS.lines.append(f"{found.object!r}: {found.exc_value!r}")
    threading.setprofile(RELAY)
    port = serve_replies()
    places = (*_MODELS, *_ENGINE) if options.engine else _MODELS
    for _ in range(2):  # The first reading imports.
        count = Fault(-1, None, places)
        good = play(port, count, None, chat=options.chat)
    if not good.startswith("answered"):
        raise SystemExit(f"the reading without a fault: {good}")
    whole = ("answered", [0, 819, 1638], "Ada")
    if repr(whole) not in good:
        raise SystemExit(f"the reading without a fault: {good}")
    gc.collect()
    gc.freeze()
    chosen = count.choose(places=options.places)[options.offset :: options.every]
    print(f"{count.calls:,} calls at {len(count.places):,} places, {len(chosen):,} of them fail", flush=True)
    is_broken, began = False, time.monotonic()
    for error in options.errors:
        ends: Counter[str] = Counter()
        for number, at in enumerate(chosen):
            if number % 50 == 49:
                print(f"  {error}: {dict(ends)} so far", flush=True)
            fault = Fault(at, ERRORS[error], places)
            end = play(port, fault, whole, chat=options.chat)
            ends[end.split(":", maxsplit=1)[0]] += 1
            if end.startswith("broken"):
                is_broken = True
                print(f"  {error} at {at} ({fault.where}): {end}", flush=True)
        print(f"{error}: {dict(ends)}, {time.monotonic() - began:.0f} s", flush=True)
    return is_broken


if __name__ == "__main__":
    sys.exit(main())
