"""A reading of 30 steps is killed with SIGKILL at random moments and resumed; nothing may be lost or paid twice.

    python benchmarks/kills.py [KILLS] [SEED]

Every trial starts `bookwheel ask` against a counting loopback server, kills it at a moment drawn between its first
call and its end, resumes with `bookwheel resume last`, and compares all steps with those of an undisturbed run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

STEPS = 30
DELAY = 0.02
PARAGRAPH = "The keeper wrote the wind, the ships that passed and number {n} of the log before the dawn.\n\n"


def main() -> None:
    """Run the trials and print what was found."""
    kills, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 1
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "log.txt"
        document.write_text("".join(PARAGRAPH.format(n=n) for n in range(STEPS * 20)))
        port = free_port()
        here = Path(__file__).parent
        server = subprocess.Popen([sys.executable, str(here / "loopback.py"), str(port), str(DELAY)])
        try:
            wait_for(port)
            trials(document, port, kills, draw, seed)
        finally:
            server.kill()
            server.wait()


def trials(document: Path, port: int, kills: int, draw: random.Random, seed: int) -> None:
    """All trials against one server."""
    began = time.perf_counter()
    undisturbed = run(ask(document, port, "whole"))
    took = time.perf_counter() - began
    expected = [step["memory"] for step in undisturbed["steps"]]
    before = counts(port)
    each = dict.fromkeys(before, 1)
    repeated, wrong, killed_at = [], 0, []
    for number in range(kills):
        journal = f"trial-{number}"
        known = sum(counts(port).values())
        process = subprocess.Popen(ask(document, port, journal), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while sum(counts(port).values()) == known and process.poll() is None:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, max(0.1, took - 1.0)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        at = sum(counts(port).values()) - known
        killed_at.append(at)
        ended = run(["resume", "last", *common(document, port, journal)])
        again = counts(port)
        repeated.append(sum(again.values()) - known - len(each))
        steps = [step["memory"] for step in ended["steps"]]
        wrong += steps != expected or ended["status"] != "answered" or ended["answer"] != undisturbed["answer"]
    print(f"machine: {os.cpu_count()} cores; seed {seed}; {kills} kills of a reading of {len(expected)} steps")
    print(
        f"killed after call number: min {min(killed_at)}, median {sorted(killed_at)[kills // 2]}, max {max(killed_at)}"
    )
    print(f"killed before the end: {sum(at < len(each) for at in killed_at)} of {kills}")
    print(f"readings that differ from the undisturbed one: {wrong}")
    print(f"repeated calls a kill: max {max(repeated)}, mean {sum(repeated) / kills:.3f}")
    if wrong or max(repeated) > 1:
        raise SystemExit(1)


def common(document: Path, port: int, journal: str) -> list[str]:
    """Options of both commands."""
    base = f"http://127.0.0.1:{port}/v1"
    kept = document.parent / f"{journal}.sqlite"
    return ["--model", "bare", "--base-url", base, "--journal", str(kept), "--json"]


def ask(document: Path, port: int, journal: str) -> list[str]:
    """Return the command that reads."""
    words = [str(document), "What did the keeper write?", "--chunk-tokens", "590", "--memory-tokens", "200"]
    return [sys.executable, "-m", "bookwheel", "ask", *words, *common(document, port, journal)]


def run(arguments: list[str]) -> dict[str, Any]:
    """Run a command to its end and take its JSON."""
    command = arguments if arguments[0] == sys.executable else [sys.executable, "-m", "bookwheel", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def counts(port: int) -> dict[str, int]:
    """How often the server answered each prompt."""
    with urlopen(f"http://127.0.0.1:{port}/counts") as response:
        found: dict[str, int] = json.load(response)
    return found


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Until the server listens."""
    for _ in range(200):
        try:
            counts(port)
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the loopback server did not start")


if __name__ == "__main__":
    main()
