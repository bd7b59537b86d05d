"""Follow a log: how far behind a follower is, what it costs, and what it holds in memory.

    python benchmarks/speed/follow_log.py 1000 600 20000000

A writer appends so many lines a second for so many seconds; the state of a door changes every 60 seconds. The command
follows it with the scripted model, a standing question and a limit of tokens a day. Every 5 seconds the lines that were
written and not read yet are counted. CPU is that of the follower alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread

from bookwheel.journal import Journal

LINE = "2026-11-24T10:{:02}:{:02} service-{} handled request {} of client {} in {} ms\n"
DOOR = "2026-11-24T10:{:02}:{:02} the state of the door is {} since second {}\n"
STATES = ("open", "shut", "locked", "ajar")
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def write_log(path: Path, rate: int, seconds: int, written: list[int]) -> None:
    """Append lines at an even pace; `written` has the lines and bytes so far."""
    began = time.monotonic()
    with path.open("a") as log:
        for second in range(seconds):
            minute, rest = divmod(second, 60)
            lines = [
                LINE.format(minute, rest, number % 7, second * rate + number, number % 97, number % 311)
                for number in range(rate)
            ]
            if rest == 0:
                lines[-1] = DOOR.format(minute, rest, STATES[minute % len(STATES)], second)
            for part in range(10):
                block = "".join(lines[part * rate // 10 : (part + 1) * rate // 10])
                log.write(block)
                log.flush()
                written[0] += block.count("\n")
                written[1] += len(block)
                time.sleep(max(0.0, began + second + (part + 1) / 10 - time.monotonic()))


def read_process(number: int) -> tuple[float, float]:
    """Return the CPU seconds and the resident MiB of a process."""
    values = Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / TICKS, int(values[21]) * PAGE / (1 << 20)


def main(rate: int, seconds: int, most_tokens: int) -> None:
    """Write and follow, then print what was measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, journal = folder / "door.log", folder / "journal.sqlite"
        log.touch()
        command = [sys.executable, "-m", "bookwheel", "memory"]
        shared = ["--journal", str(journal), "--json"]
        about = ["--about", "the state of the door", "--model", "scripted", "--max-tokens-per-day", str(most_tokens)]
        subprocess.run([*command, "new", "door", *about, *shared], check=True, stdout=subprocess.DEVNULL)
        asked = ["--tell", "What is the state of the door?"]
        with (folder / "events").open("wb") as out:
            follower = subprocess.Popen([*command, "follow", "door", str(log), *asked, *shared], stdout=out)
        written = [0, 0]
        writer = Thread(target=write_log, args=(log, rate, seconds, written), daemon=True)
        began = time.monotonic()
        writer.start()
        print("| second | lines behind | CPU s | MiB |\n|---|---|---|---|")
        behind, ended = [0.0], 0.0
        with Journal(journal) as watched:
            tables = watched.memories
            record = tables.find("door")
            while writer.is_alive() or behind[-1] > 0:
                time.sleep(5)
                place = tables.find_place(record.number, str(log))
                read = json.loads(place)["position"] if place else 0
                waiting = sum(text.characters - text.position for text in tables.list_waiting(record.number))
                behind.append((written[1] - read + waiting) / max(1, written[1]) * written[0])
                cpu, size = read_process(follower.pid)
                ended = time.monotonic() - began
                if len(behind) % 12 == 1 or not writer.is_alive():
                    print(f"| {ended:.0f} | {behind[-1]:,.0f} | {cpu:.0f} | {size:.0f} |", flush=True)
            versions = tables.list_versions(record.number, record.plan.memory_tokens)
            tokens = tables.count_tokens_today(record.number)
        follower.terminate()
        follower.wait()
        events = [json.loads(line) for line in (folder / "events").read_text("utf-8").splitlines()]
        answers = [event["answer"] for event in events if event["event"] == "answer"]
        calls = sum(version.usage.calls for version in versions)
        print(
            f"{written[0]:,} lines in {seconds} s, read to the end {ended - seconds:.0f} s later; at most "
            f"{max(behind):,.0f} lines behind\n{calls} calls to read, {len(answers)} answers told, {tokens:,} tokens "
            f"of {most_tokens:,}\n{journal.stat().st_size / (1 << 20):.0f} MiB of journal for "
            f"{written[1] / (1 << 20):.0f} MiB of log\n" + "\n".join(answers)
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
