"""Measure how near to linear a batch on a Ray cluster is with 1, 2 and 4 workers.

    python benchmarks/speed/ray_share.py [--documents 24] [--chunks 40] [--delay 0.1]

A server on loopback takes `delay` seconds for each reply, so a worker waits most of the time, as with a real model. The
documents differ. Needs the extra `ray`; every worker is a process of this machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bookwheel.batch.cluster import ActorSettings, read_on_cluster
from bookwheel.batch.rows import BatchRow, make_rows
from bookwheel.batch.run import BatchSettings
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import Budget, Plan

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER, free_port, wait_for

QUESTION = "What did the keeper write?"
LINE = "The keeper of light {number} wrote down the wind and the ships that passed, and all was calm again.\n"
PLAN = Plan(chunk_tokens=500, memory_tokens=100, answer_tokens=60)


def write_documents(folder: Path, count: int, chunks: int) -> list[BatchRow]:
    """Write documents of so many chunks each, and return a row for each."""
    lines = chunks * PLAN.chunk_tokens // 25
    for number in range(count):
        (folder / f"{number}.txt").write_text("".join(LINE.format(number=number * lines + at) for at in range(lines)))
    return make_rows([{"source": f"{n}.txt", "question": QUESTION} for n in range(count)], [], folder, "table")


def measure(rows: list[BatchRow], settings: ActorSettings, workers: int) -> tuple[float, float, int]:
    """Return seconds in all, documents a second once every worker has given its first, and how many were answered."""
    began, ended, answered = time.monotonic(), [], 0
    for _, outcome in read_on_cluster(rows, "local", settings, Budget(), most_actors=workers):
        ended.append(time.monotonic())
        answered += outcome.status == "answered"
    return ended[-1] - began, (len(ended) - workers) / (ended[-1] - ended[workers - 1]), answered


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=24)
    parser.add_argument("--chunks", type=int, default=40)
    parser.add_argument("--delay", type=float, default=0.1)
    given = parser.parse_args()
    port, alone = free_port(), 0.0
    server = subprocess.Popen([*SERVER, str(port), str(given.delay)])
    try:
        wait_for(port)
        address = ModelAddress(model="bare", url=f"http://127.0.0.1:{port}/v1", window=8192)
        settings = ActorSettings(batch=BatchSettings(plan=PLAN, address=address), connection={})
        print("| workers | seconds | documents a second | answered | share of linear |\n|---|---|---|---|---|")
        with tempfile.TemporaryDirectory() as folder:
            rows = write_documents(Path(folder), given.documents, given.chunks)
            for workers in (1, 2, 4):
                seconds, rate, answered = measure(rows, settings, workers)
                alone = alone or rate
                share = rate / alone / workers
                print(f"| {workers} | {seconds:.1f} | {rate:.2f} | {answered} | {share:.2f} |", flush=True)
    finally:
        server.kill()


if __name__ == "__main__":
    # As many workers as asked for on fewer cores: they wait for the server.
    os.environ.setdefault("RAY_OVERRIDE_RESOURCES", '{"CPU": 8}')
    main()
