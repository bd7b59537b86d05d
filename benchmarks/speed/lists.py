"""Lists and searches of a journal with 10,000 readings: seconds, the best of several rounds.

    python benchmarks/speed/lists.py [ROUNDS] [READINGS] [OTHER/src]

With a second source tree, both are measured in the same rounds, each in processes of its own and on a journal that it
has made. A command's time is that of its process, start and all; the others are measured inside one process, after a
first call.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "src"
COMMANDS = ("list", "list --search walrus", "list --json --limit 50")
MAKE = """
import sys
from bookwheel import TextDocument, read
from bookwheel.journal.files import connect, journal_path
read(TextDocument("The wheel is red. " * 40, "wheels.txt"), "Which colour has the wheel?", model="scripted")
connection = connect(journal_path())
columns = [row[1] for row in connection.execute("PRAGMA table_info(readings)") if row[1] not in ("number", "checksum")]
chosen = ", ".join({"id": "printf('%012x', value)", "question": "question || ' ' || value"}.get(c, c) for c in columns)
connection.execute("BEGIN")
connection.execute(
    f"INSERT INTO readings ({', '.join(columns)}) SELECT {chosen} FROM readings, generate "
    .replace("generate", "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT ?) TABLE)")
    .replace("TABLE", "SELECT * FROM n"),
    (int(sys.argv[1]) - 1,),
)
connection.execute("COMMIT")
connection.close()
"""
MEASURE = """
import inspect, json, sys, time
from bookwheel.journal import Journal, journal_path
deep = int(sys.argv[1]) - 100
with Journal(journal_path()) as journal:
    oldest = journal.readings(limit=1, offset=deep - 1)[0].id
    calls = {
        "newest 50": {"limit": 50},
        "50 behind a deep offset": {"limit": 50, "offset": deep},
        "50 behind a reading": {"limit": 50, "before": oldest},
        "search without a match": {"limit": 50, "search": "walrus"},
        "search with a few matches": {"limit": 50, "search": "wheel? 77"},
    }
    if "before" not in inspect.signature(journal.readings).parameters:
        del calls["50 behind a reading"]
    found = {}
    for name, values in calls.items():
        journal.readings(**values)
        began = time.perf_counter()
        journal.readings(**values)
        found[name] = time.perf_counter() - began
print(json.dumps(found))
"""


def main() -> None:
    """Measure, and print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    readings = sys.argv[2] if len(sys.argv) > 2 else "10000"
    trees = {"here": HERE} | ({"other": Path(sys.argv[3]).resolve()} if len(sys.argv) > 3 else {})
    walls: dict[str, dict[str, list[float]]] = {name: {} for name in trees}
    cpus: dict[str, dict[str, list[float]]] = {name: {} for name in trees}
    with tempfile.TemporaryDirectory() as folder:
        environments = {}
        for name, tree in trees.items():
            journal = str(Path(folder) / f"{name}.sqlite")
            environments[name] = {**os.environ, "PYTHONPATH": str(tree), "BOOKWHEEL_JOURNAL": journal, "COLUMNS": "120"}
            subprocess.run([sys.executable, "-c", MAKE, readings], env=environments[name], check=True)
        for _ in range(rounds):
            for name, environment in environments.items():
                for command in COMMANDS:
                    wall, cpu = run([sys.executable, "-m", "bookwheel", *command.split()], environment)
                    walls[name].setdefault(f"`{command}`", []).append(wall)
                    cpus[name].setdefault(f"`{command}`", []).append(cpu)
                measured = subprocess.run(
                    [sys.executable, "-c", MEASURE, readings], env=environment, check=True, capture_output=True
                )
                for call, seconds in json.loads(measured.stdout).items():
                    walls[name].setdefault(call, []).append(seconds)
    print(f"{readings} readings, {rounds} rounds; wall milliseconds: best (median); CPU of the best for commands\n")
    print("| |" + "".join(f" {name} |" for name in trees))
    print("|---|" + "---|" * len(trees))
    for row in walls["here"]:
        print(f"| {row} |" + "".join(f" {cell(walls[name].get(row), cpus[name].get(row))} |" for name in trees))


def run(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall and the CPU seconds of a process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cell(walls: list[float] | None, cpus: list[float] | None) -> str:
    """Return the figures of one row and tree."""
    if not walls:
        return "–"
    cpu = f"; CPU {1000 * min(cpus):.0f}" if cpus else ""
    return f"{1000 * min(walls):.0f} ({1000 * statistics.median(walls):.0f}){cpu}"


if __name__ == "__main__":
    main()
