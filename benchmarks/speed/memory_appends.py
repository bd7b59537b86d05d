"""Measure what one more text costs a lasting memory at its 1st, 100th and 10,000th text, and many memories a journal.

    python benchmarks/speed/memory_appends.py 10000 1000        texts, memories

The reader is scripted, so the seconds are those of the program and its journal; a model adds its own, once a piece.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults"))
from memory_kills import note_values

from bookwheel.journal import Journal
from bookwheel.memory.append import append
from bookwheel.memory.asking import ask
from bookwheel.memory.opened import begin_memory, open_memory
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.session import Session

PLAN = Plan(chunk_tokens=200, memory_tokens=200)
# Appends over which a figure is taken.
WINDOW = 50


def main(words: list[str]) -> None:
    texts, memories = (int(word) for word in (*words, "10000", "1000")[:2])
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure_appends(Path(folder) / "one.sqlite", texts))
        asyncio.run(measure_memories(Path(folder) / "many.sqlite", memories))


async def measure_appends(path: Path, most: int) -> None:
    print("| text number | calls each | CPU ms each (median) | bytes each |\n|---|---|---|---|")
    with Journal(path) as journal:
        session = Session(model=ScriptedModel(note_values, plan=PLAN), journal=journal)
        await begin_memory(session, "ada", "Everything about Ada", PLAN)
        opened = open_memory(session, "ada")
        marks = {mark for mark in (WINDOW, 100, 1000, 5000, most) if mark <= most}
        seconds: list[float] = []
        calls, size = 0, count_bytes(path)
        for number in range(1, most + 1):
            start, before = time.process_time(), session.model.calls
            await append(opened, f"key{number % 9} = value {number} of the day", source=f"mail-{number}")
            seconds.append(time.process_time() - start)
            calls = max(calls, session.model.calls - before)
            if number in marks:
                now = count_bytes(path)
                each = (now - size) / len(seconds)
                print(f"| {number} | {calls} | {1000 * median(seconds[-WINDOW:]):.1f} | {each:.0f} |", flush=True)
                seconds, calls, size = [], 0, now
        start = time.process_time()
        answer = await ask(opened, "key3 ?")
        print(f"\nA question at {most} texts: {time.process_time() - start:.2f} CPU s, from the {answer.origin}.")


async def measure_memories(path: Path, count: int) -> None:
    with Journal(path) as journal:
        session = Session(model=ScriptedModel(note_values, plan=PLAN), journal=journal)
        start = time.process_time()
        for number in range(count):
            await begin_memory(session, f"memory-{number}", "Everything", PLAN)
        begun = time.process_time() - start
        opened, start = open_memory(session, f"memory-{count // 2}"), time.process_time()
        await append(opened, "key1 = 2", source="mail")
        added = time.process_time() - start
        start = time.process_time()
        listed = len(journal.memories.list_all())
        listing = time.process_time() - start
        print(f"{listed} memories in one journal: {1000 * begun / count:.1f} CPU ms to begin each,")
        print(f"{1000 * added:.1f} for an append, {1000 * listing:.0f} to list all.")


def count_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*") if file.is_file())


if __name__ == "__main__":
    main(sys.argv[1:])
