"""A night in minutes: a reading of 700 calls against a faulty server with outages, killed and resumed, ends right.

    python benchmarks/faults/overnight.py [--calls 700] [--kills 3] [--rate 0.02] [--outages 40:90,240:90] [--seed 1]

The server of fault_server.py chains the memories, so the answer is right only if every section was taken in once and in
order. It is compared with an undisturbed run. A call is repeated when the server had answered it before; that may
happen for the call under way at a kill, and for a fault that kept a good reply from arriving.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import free_port, wait_for

# Characters of a chunk of 100 tokens, by the estimate that stands in for an unknown tokenizer.
CHUNK = 320


def main() -> None:
    """Read undisturbed, read disturbed, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=700)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--outages", default="40:90,240:90")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay", type=float, default=0.2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "log.txt"
        lines = (f"{n:06d} the keeper wrote the wind and the ships that passed." for n in range(options.calls * 8))
        document.write_text("\n".join(lines)[: (options.calls - 1) * CHUNK - 10])
        undisturbed, _, _ = read(document, "whole", ["--seed", "0"], 0, random.Random(0))
        faulty = ["--rate", str(options.rate), "--seed", str(options.seed), "--delay", str(options.delay)]
        began = time.perf_counter()
        reading, counts, kills = read(
            document, "night", [*faulty, "--outages", options.outages], options.kills, random.Random(options.seed)
        )
    report(options, undisturbed, reading, counts, kills, time.perf_counter() - began)


def report(
    options: argparse.Namespace,
    undisturbed: dict[str, Any],
    reading: dict[str, Any],
    counts: dict[str, Any],
    kills: int,
    seconds: float,
) -> None:
    """Print what was found; exit with 1 if anything is wrong."""
    spans = [(step["start"], step["end"]) for step in reading["steps"]]
    differing = sum(
        a["memory"] != b["memory"] for a, b in zip(undisturbed["steps"], reading["steps"], strict=False)
    ) + abs(len(undisturbed["steps"]) - len(reading["steps"]))
    faults = sum(counts["faults"].values())
    print(f"machine: {os.cpu_count()} cores; seed {options.seed}; {seconds:.0f} s")
    print(f"calls of an undisturbed reading: {len(undisturbed['steps']) + 1}")
    print(f"kills: {kills}; outages: {options.outages} (seconds from the first call : length)")
    print(f"requests that an outage turned away: {counts['turned_away']}")
    print(f"faults: {faults}, {len(counts['faults'])} kinds: {counts['faults']}")
    print(f"calls answered more than once: {counts['repeated']}")
    print(f"status: {reading['status']}; sections not taken in: {len(reading['gaps'])}")
    print(f"steps that differ from the undisturbed reading: {differing}")
    is_right = reading["answer"] == undisturbed["answer"] and all(
        end == start for (_, end), (start, _) in itertools.pairwise(spans)
    )
    print(f"answer: {reading['answer']} ({'right' if is_right else 'WRONG'})")
    if differing or not is_right or reading["gaps"] or counts["repeated"] > kills + faults:
        raise SystemExit(1)


def read(
    document: Path, name: str, server: list[str], kills: int, draw: random.Random
) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Run one reading to its end, with so many kills at random; return its JSON, the server's counts, the kills."""
    port = free_port()
    here = Path(__file__).parent
    process = subprocess.Popen([sys.executable, str(here / "fault_server.py"), str(port), *server])
    try:
        wait_for(port)
        journal = ["--journal", str(document.parent / f"{name}.sqlite"), "--json", "--timeout", "5", "--deadline", "20"]
        sizes = ["--chunk-tokens", "100", "--memory-tokens", "60", "--answer-tokens", "60", "--way", "sequential"]
        where = ["--model", "chain", "--base-url", f"http://127.0.0.1:{port}/v1"]
        command = ["ask", str(document), "What did the keeper write?", *where, *sizes, *journal]
        total = document.stat().st_size // CHUNK
        at = sorted(draw.sample(range(total // 10, total * 9 // 10), kills))
        for calls in at:
            code = run_until(command, port, calls)
            print(f"killed after {counts_of(port)['answered']} answered calls: {code}", flush=True)
            command = ["resume", "last", *journal]
        done = subprocess.run([sys.executable, "-m", "bookwheel", *command], stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise SystemExit(f"{command} ended with {done.returncode}: {done.stdout.decode()[:2000]}")
        return json.loads(done.stdout), counts_of(port), len(at)
    finally:
        process.kill()
        process.wait()


def run_until(command: list[str], port: int, calls: int) -> int:
    """Run a command and kill it when the server has answered so many calls."""
    process = subprocess.Popen([sys.executable, "-m", "bookwheel", *command], stdout=subprocess.DEVNULL)
    while counts_of(port)["answered"] < calls:
        if process.poll() is not None:
            raise SystemExit(f"{command} ended with {process.returncode} before it could be killed")
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    return process.wait()


def counts_of(port: int) -> dict[str, Any]:
    """Return what the server has counted."""
    with urlopen(f"http://127.0.0.1:{port}/counts") as response:
        counts: dict[str, Any] = json.load(response)
    return counts


if __name__ == "__main__":
    main()
