"""What a second outsider sends to the doors: requests, redirects, addresses, tables, graphs, journals, files that grow.

    python benchmarks/faults/outsider_doors.py [WORD...]

Written before the code behind these doors was looked at. Each case has its own invariant: no status 500, nothing
that is sent and not read or refused, an end within seconds, nothing that a terminal, a sheet or a page obeys.
Words choose the cases whose names have them. Prints those that broke.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outsider import OBEYED, RAW
from outsider_networks import list_addresses, list_redirects, list_texts, list_waits
from outsider_requests import MOST_SECONDS, Case, list_memories, list_messages
from outsider_tables import list_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def list_journals() -> Iterator[Case]:
    def cut(share: float) -> Callable[[bytes], bytes]:
        return lambda log: log[: int(len(log) * share)]

    bends: dict[str, Callable[[bytes], bytes]] = {
        "gone": lambda _: b"",
        "a tenth": cut(0.1),
        "half": cut(0.5),
        "nearly all": cut(0.99),
        "all but the last page": lambda log: log[: -(4096 + 24)],
        "zeros at its end": lambda log: log[:-9000] + bytes(9000),
        "its head alone": lambda log: log[:32],
        "its middle left out": lambda log: log[: len(log) // 3] + log[len(log) * 2 // 3 :],
        "its end written twice": lambda log: log + log[-(4096 + 24) :],
    }
    for name, bend in bends.items():

        def attack(folder: Path, bend: Callable[[bytes], bytes] = bend) -> str:
            from flipped_log import open_copy, write_and_kill

            write_and_kill(folder / "journal.sqlite")
            log = folder / "journal.sqlite-wal"
            log.write_bytes(bend(log.read_bytes()))
            fate, steps = open_copy(folder / "journal.sqlite")
            told = subprocess.run(
                [sys.executable, "-m", "bookwheel", "doctor", "--journal", folder / "journal.sqlite"],
                capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
            return f"{steps} steps are left and nobody says so: {told.stdout[-200:]}" if fate == "silent" else ""

        yield f"log: {name}", attack
    yield "resume, ten times and after the end", _resume


def _resume(folder: Path) -> str:
    import bookwheel
    from bookwheel import Status, TextDocument
    from bookwheel.errors import Refused
    from bookwheel.models.scripted import ScriptedModel, keyword_reader

    calls = 0

    def fail_often(messages: Any) -> str:
        nonlocal calls
        calls += 1
        if calls % 2 == 0:
            raise Refused("not now")
        return str(keyword_reader(messages))

    journal, text = folder / "j.sqlite", TextDocument("Ada wound the clock. " * 900)
    reading = bookwheel.read(
        text, "Who?", model=ScriptedModel(fail_often), journal=journal, chunk_tokens=900, way="sequential"
    )
    for _ in range(40):
        if reading.status is Status.ANSWERED:
            break
        before = len(reading.steps)
        reading = bookwheel.resume(reading.id, model=ScriptedModel(fail_often), journal=journal)
        if len(reading.steps) < before:
            return "lost steps"
    spent = calls
    for _ in range(5):
        again = bookwheel.resume(reading.id, model=ScriptedModel(fail_often), journal=journal)
    starts = [step.chunk.start for step in reading.steps]
    if calls != spent or again.usage != reading.usage or len(set(starts)) != len(starts):
        return f"{calls - spent} calls after the end; usage {again.usage} and {reading.usage}"
    return "" if reading.status is Status.ANSWERED else f"never ends: {reading.status}"


def list_follows() -> Iterator[Case]:
    yield "follow: one line of 60 MB", _follow(lambda path: path.write_bytes(b"x" * (60 << 20)), most=500)
    yield "follow: zeros and no UTF-8", _follow(lambda path: path.write_bytes(b"\x00\xff\xfe\n" * 900))
    yield "follow: a folder", _follow(lambda path: path.mkdir(), may_end=True)
    yield (
        "follow: a command that never ends",
        _follow(lambda path: path.write_text("Ada is here.\n" * 9), "--run", "sleep 999"),
    )
    yield (
        "follow: a command that is none",
        _follow(lambda path: path.write_text("Ada is here.\n" * 9), "--run", "/no/such"),
    )
    silent = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
    yield (
        "follow: a post that is never answered",
        _follow(lambda path: path.write_text("Ada is here.\n" * 9), "--post", address),
    )


def _follow(
    make: Callable[[Path], object], *more: str, most: int = 400, may_end: bool = False
) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        journal, path = folder / "j.sqlite", folder / "a.log"
        make(path)
        command = [sys.executable, "-m", "bookwheel", "memory"]
        begin = [*command, "new", "m", "--about", "all", "--model", "scripted", "--journal", journal]
        subprocess.run(begin, check=True, capture_output=True)
        tell = ["--tell", "Who is here?"] if more else []
        follow = [*command, "follow", "m", path, "--journal", journal, "--every", "0.2", *tell, *more]
        with (
            (folder / "said").open("w+") as said,
            subprocess.Popen(follow, stdout=said, stderr=said) as follower,
        ):
            time.sleep(MOST_SECONDS - 5)
            status = Path(f"/proc/{follower.pid}/status")
            peak = status.read_text().partition("VmHWM:")[2].split() if follower.poll() is None else ["0"]
            follower.send_signal(2)
            try:
                follower.wait(20)
            except subprocess.TimeoutExpired:
                follower.kill()
                return "an interrupt does not end it within 20 s"
            said.seek(0)
            words = said.read()
        if found := RAW.search(words) or OBEYED.search(words.replace("\r", "")):
            return f"says {found[0]!r}: {words[-300:]!r}"
        if follower.returncode not in {0, 130, *((2,) if may_end else ())}:
            return f"ended with {follower.returncode}: {words[-300:]}"
        return f"took {int(peak[0]) // 1000} MB" if int(peak[0]) > most * 1000 else ""

    return attack


GROUPS = (
    list_messages,
    list_memories,
    list_tables,
    list_addresses,
    list_redirects,
    list_waits,
    list_texts,
    list_journals,
    list_follows,
)


def main() -> int:
    """Run all cases, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    words = parser.parse_args().words
    count = broken = 0
    for name, attack in (case for group in GROUPS for case in group()):
        if words and not any(word in name for word in words):
            continue
        folder, began = Path(tempfile.mkdtemp()), time.perf_counter()
        try:
            what = attack(folder)
        except Exception as error:  # noqa: BLE001 - what is looked for
            what = f"!{type(error).__name__}: {error}"[:300]
        shutil.rmtree(folder, ignore_errors=True)
        seconds = time.perf_counter() - began
        what = what or (f"took {seconds:.0f} s" if seconds > MOST_SECONDS + 25 else "")
        count, broken = count + 1, broken + bool(what)
        if what or seconds > 2:
            print(f"{'! ' if what else '  '}{name:60} {seconds:5.1f} s  {what[:400]}", flush=True)
    print(f"{count} cases, {broken} broke something")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
