"""A server is ended in the middle of its readings, and `ask` while it keeps a large document; nothing may be lost.

    python benchmarks/faults/kills_of_servers.py [KILLS] [SEED]

Half of the ends hit `bookwheel serve` after a random call of a reading: a new server resumes the reading, and its steps
and answer are compared with those of an undisturbed one. The other half hit `ask` at a random moment of keeping 20 MB:
`ask` is run again on the same journal, whose document must come out whole. The signals are those of kills.py.
"""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from kills import DELAY, PARAGRAPH, SIGNALS, STEPS, outcome

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER, free_port, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 20_000_000
"""Characters."""
SIZES = {"chunk_tokens": 590, "memory_tokens": 200}


class Endpoint:
    """The counting loopback server, as a process."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process = subprocess.Popen([*SERVER, str(self.port), str(DELAY)])
        wait_for(self.port)

    @property
    def url(self) -> str:
        """The address that models are reached at."""
        return f"http://127.0.0.1:{self.port}/v1"

    def count(self) -> int:
        """Return how many calls were answered."""
        with urlopen(f"http://127.0.0.1:{self.port}/counts") as response:
            return sum(json.load(response).values())


def call(port: int, path: str, body: Any = None) -> dict[str, Any]:
    """Return the JSON of a request to bookwheel's server."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"http://127.0.0.1:{port}{path}", data=data, headers={"Content-Type": "application/json"})
    with urlopen(request) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def begin(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a command of bookwheel that takes SIGINT."""
    return subprocess.Popen(
        [sys.executable, "-m", "bookwheel", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - there are no threads
    )


@contextmanager
def serving(endpoint: Endpoint, journal: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a server on the journal."""
    port = free_port()
    where = ["--model", "bare", "--base-url", endpoint.url, "--journal", str(journal)]
    process = begin(["serve", "--port", str(port), "--no-token", "--quiet", *where])
    try:
        for _ in range(400):
            try:
                call(port, "/healthz")
                break
            except URLError:
                time.sleep(0.05)
        yield port, process
    finally:
        process.kill()
        process.communicate()


def wait_until_over(port: int, reading: str) -> Any:
    """Return what must not differ of a reading that has ended."""
    while (found := call(port, f"/readings/{reading}"))["status"] == "reading":
        time.sleep(0.05)
    return outcome(found)


def read_undisturbed(endpoint: Endpoint, journal: Path, text: str) -> Any:
    """Return what a reading by a server should be."""
    with serving(endpoint, journal) as (port, _):
        return wait_until_over(port, start(port, text))


def start(port: int, text: str) -> str:
    """Start a reading and return its name."""
    body = {"text": text, "question": "What did the keeper write?", "way": "sequential", "plan": SIZES}
    return str(call(port, "/readings", body)["reading"])


def end_server(endpoint: Endpoint, journal: Path, text: str, draw: random.Random, ends: Counter[str]) -> Any:
    """End a server in the middle of a reading, resume it on a new one, and return the reading's outcome."""
    with serving(endpoint, journal) as (port, process):
        until = endpoint.count() + draw.randint(1, STEPS - 2)
        reading = start(port, text)
        while endpoint.count() < until and process.poll() is None:
            time.sleep(0.005)
        kind = draw.choice(SIGNALS)
        process.send_signal(kind)
        process.wait()
        ends[f"serve {kind.name} {process.returncode}"] += 1
    with serving(endpoint, journal) as (port, _):
        status = call(port, f"/readings/{reading}")["status"]
        if status not in {"reading", "answered"}:
            call(port, f"/readings/{reading}/resume", {})
        return wait_until_over(port, reading)


def end_keeping(endpoint: Endpoint, journal: Path, large: Path, draw: random.Random, ends: Counter[str]) -> bool:
    """End `ask` while it keeps a large document; return whether the next one has it whole."""
    where = ["--model", "bare", "--base-url", endpoint.url, "--journal", str(journal), "--way", "bm25"]
    command = ["ask", str(large), "What did the keeper write?", *where]
    process = begin(command)
    time.sleep(draw.uniform(0.3, 4.0))
    kind = draw.choice(SIGNALS)
    process.send_signal(kind)
    _, err = process.communicate()
    ends[f"ask {kind.name} {process.returncode}{' traceback' if b'Traceback' in err else ''}"] += 1
    again = subprocess.run([sys.executable, "-m", "bookwheel", *command, "--quiet"], capture_output=True, check=False)
    listed = subprocess.run(
        [sys.executable, "-m", "bookwheel", "list", "--json", "--journal", str(journal)],
        capture_output=True,
        check=True,
    )
    shas = {one["document"]["id"] for one in json.loads(listed.stdout)}
    whole = hashlib.sha256(large.read_bytes()).hexdigest()
    return again.returncode == 0 and shas == {whole}


def main() -> None:
    """Run the trials and print what was found."""
    kills, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 40, int(sys.argv[2]) if len(sys.argv) > 2 else 1
    draw, ends = random.Random(seed), Counter[str]()
    differing = broken = 0
    endpoint = Endpoint()
    try:
        with tempfile.TemporaryDirectory() as folder:
            text = "".join(PARAGRAPH.format(n=n) for n in range(STEPS * 20))
            large = Path(folder) / "large.txt"
            large.write_text("".join(PARAGRAPH.format(n=n) for n in range(LARGE // len(PARAGRAPH))))
            expected = read_undisturbed(endpoint, Path(folder) / "whole.db", text)
            for number in range(kills // 2):
                journal = Path(folder) / f"serve-{number}.db"
                differing += end_server(endpoint, journal, text, draw, ends) != expected
                broken += not end_keeping(endpoint, Path(folder) / f"keep-{number}.db", large, draw, ends)
                print(f"{2 * number + 2} ends: {differing} differ, {broken} broken, {dict(ends)}", flush=True)
    finally:
        endpoint.process.kill()
    if differing or broken or any("traceback" in name for name in ends):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
