"""A bit of the journal's log flips after a crash: acknowledged steps are kept, or their loss is told.

    python benchmarks/faults/flipped_log.py [FLIPS] [SEED]

A process adds steps to a reading and versions to a lasting memory, and is killed. Each trial copies the journal, its
log and what lies beside them, flips one bit of the log, and opens the copy as a command would. SQLite ends its recovery
at the first frame whose checksum is wrong, so all later commits are gone. A trial is

    whole     every acknowledged write is there
    refused   some are missing, and opening says so
    damaged   it opens, and `doctor` says so
    silent    some are missing, and neither says anything

Each refused copy is then repaired, as `doctor --repair` does, and what is there is counted again.
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bookwheel.errors import BookwheelError
from bookwheel.journal import Journal
from bookwheel.journal.damage import repair

STEPS = 150
VERSIONS = 50
WRITE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from journal_readings import begin_reading, step
from bookwheel.journal import Journal
from bookwheel.journal.memory_rows import MemoryRecord, MemoryVersion, VersionKind
from bookwheel.plan import Plan
from bookwheel.types import Memory
journal = Journal(Path({path!r}))
reading = begin_reading(journal)
memory = journal.memories.begin(MemoryRecord(name="m", about="all", model="scripted", way="sequential", plan=Plan()))
for index in range({steps}):
    asyncio.run(journal.add_step(reading.id, step(index, f"note {{index}} " * 20)))
    if index < {versions}:
        noted = Memory(text=f"line {{index}}", tokens=2, limit=60)
        version = MemoryVersion(version=index + 1, kind=VersionKind.READ, memory=noted)
        journal.memories.add_version(memory.number, version)
print("written", flush=True)
sys.stdin.read()
"""


def main() -> None:
    """Run the trials and print what was found."""
    flips, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 1
    random_, fates, left = random.Random(seed), Counter[str](), list[int]()
    with tempfile.TemporaryDirectory() as folder:
        crashed = Path(folder) / "crashed"
        crashed.mkdir()
        write_and_kill(crashed / "journal.sqlite")
        size = (crashed / "journal.sqlite-wal").stat().st_size
        print(f"{flips} flips, seed {seed}: {STEPS} steps and {VERSIONS} versions acknowledged, log of {size:,} bytes")
        for trial in range(flips):
            copy = Path(folder) / f"trial-{trial}"
            shutil.copytree(crashed, copy, ignore=shutil.ignore_patterns("*.locks"))
            flip(copy / "journal.sqlite-wal", random_)
            fate, steps = open_copy(copy / "journal.sqlite")
            fates[fate] += 1
            if fate == "refused":
                steps = repair_copy(copy / "journal.sqlite")
            left += [steps] if fate != "whole" else []
            shutil.rmtree(copy)
    print(", ".join(f"{fate} {fates[fate]}" for fate in ("whole", "refused", "damaged", "silent")))
    if left:
        print(f"steps there in the end, where some were missing: {min(left)} to {max(left)}")
        print(f"all {STEPS} there: {sum(steps == STEPS for steps in left)} of {len(left)}")


def write_and_kill(path: Path) -> None:
    """Write in another process, and kill it once all is acknowledged."""
    tests = Path(__file__).resolve().parents[2] / "tests" / "journal"
    code = WRITE.format(tests=str(tests), path=str(path), steps=STEPS, versions=VERSIONS)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout
        began = time.perf_counter()
        if not re.fullmatch("written\n", writer.stdout.readline()):
            raise SystemExit("the writer failed")
        print(f"written in {time.perf_counter() - began:.2f} s")
        writer.send_signal(signal.SIGKILL)


def flip(path: Path, random_: random.Random) -> None:
    """Flip one bit."""
    content = bytearray(path.read_bytes())
    content[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
    path.write_bytes(content)


def open_copy(path: Path) -> tuple[str, int]:
    """Return the trial's fate, and the steps that can be read."""
    try:
        with Journal(path) as journal:
            steps = journal.progress("last")[0]
            memory = journal.memories.find("m").number
            versions = len(journal.memories.list_versions(memory, 60))
            damage = journal.find_damage()
    except BookwheelError as error:
        # Nothing at all was recovered: as silent as fewer steps, for an empty journal opens without a word.
        return ("silent", 0) if re.search("no readings yet|no memory", str(error)) else ("refused", 0)
    if (steps, versions) == (STEPS, VERSIONS) and not damage:
        return "whole", steps
    return ("damaged" if damage else "silent"), steps


def repair_copy(path: Path) -> int:
    """Repair a copy, and return the steps that are there then."""
    try:
        repair(path)
        with Journal(path) as journal:
            return journal.progress("last")[0]
    except BookwheelError as error:
        print(f"not repaired: {error}")
        return 0


if __name__ == "__main__":
    main()
