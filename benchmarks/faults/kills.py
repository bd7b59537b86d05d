"""Readings, resumptions and edits are ended by mixed signals at random moments; nothing may be lost or paid twice.

    python benchmarks/faults/kills.py [KILLS] [SEED]

Every trial is a chain of commands against a counting loopback server: `ask` is ended and resumed, the resumption is
ended and resumed, `edit` is ended and resumed. Each end is SIGKILL, SIGTERM, SIGINT or SIGHUP at a moment drawn between
the command's first call and its end. All steps and answers are compared with those of an undisturbed chain. SIGTERM and
SIGINT must end with 130, or with 0 where the command was through.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER, free_port, wait_for

STEPS = 30
DELAY = 0.05
EDITED_STEP = 12
EDIT = "The keeper wrote nothing of note before this page."
PARAGRAPH = "The keeper wrote the wind, the ships that passed and number {n} of the log before the dawn.\n\n"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
POLITE = frozenset({signal.SIGTERM, signal.SIGINT})
KILLS_PER_TRIAL = 3


@dataclass
class Findings:
    """What the trials showed."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong_codes: list[str] = field(default_factory=list)
    tracebacks: int = 0
    repeated: list[int] = field(default_factory=list)
    differing: int = 0
    too_late: int = 0


def main() -> None:
    """Run the trials and print what was found."""
    kills, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 300, int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "log.txt"
        document.write_text("".join(PARAGRAPH.format(n=n) for n in range(STEPS * 20)))
        port = free_port()
        server = subprocess.Popen([*SERVER, str(port), str(DELAY)])
        try:
            wait_for(port)
            findings, done = Findings(), 0
            chain = Chain(document, port, random.Random(seed), findings)
            expected = chain.run_undisturbed()
            while done < kills:
                chain.run_trial(f"trial-{done}", expected)
                done += KILLS_PER_TRIAL
                if not done % 15:
                    print(f"{done} kills: {findings}", flush=True)
            report(findings, done, seed)
        finally:
            server.kill()
            server.wait()


def report(findings: Findings, kills: int, seed: int) -> None:
    """Print the findings; exit with 1 if anything is wrong."""
    print(f"machine: {os.cpu_count()} cores; seed {seed}; {kills} ends in {kills // KILLS_PER_TRIAL} chains")
    print(f"signals and codes: {dict(sorted(findings.ends.items()))}; after the end: {findings.too_late}")
    print(f"wrong exit codes: {findings.wrong_codes}; tracebacks: {findings.tracebacks}")
    print(f"readings that differ from the undisturbed ones: {findings.differing}")
    print(f"repeated calls an end: max {max(findings.repeated)}, mean {sum(findings.repeated) / kills:.3f}")
    if findings.differing or findings.wrong_codes or findings.tracebacks or max(findings.repeated) > KILLS_PER_TRIAL:
        raise SystemExit(1)


class Chain:
    """ask, resume, edit, resume: undisturbed or with an end in each."""

    def __init__(self, document: Path, port: int, draw: random.Random, findings: Findings) -> None:
        self._document = document
        self._port = port
        self._draw = draw
        self._findings = findings

    def run_undisturbed(self) -> tuple[Any, Any, int]:
        """Return what the reading and its edited fork should be, and the calls that both take."""
        before = self._calls()
        whole = self._finish(self._ask("whole"))
        fork = self._finish(self._edit("whole"))
        return outcome(whole), outcome(fork), self._calls() - before

    def run_trial(self, journal: str, expected: tuple[Any, Any, int]) -> None:
        """Run one chain with three ends, and compare."""
        before = self._calls()
        self._end(self._ask(journal))
        self._end(self._resume(journal))
        whole = self._finish(self._resume(journal))
        self._end(self._edit(journal))
        fork = self._finish(self._resume(journal))
        if not fork["parent"]:
            # The edit was ended before there was a fork, so `last` was the whole reading.
            fork = self._finish(self._edit(journal))
        self._findings.differing += (outcome(whole), outcome(fork)) != expected[:2]
        self._findings.repeated.append(self._calls() - before - expected[2])
        (self._document.parent / f"{journal}.sqlite").unlink()

    def _end(self, command: list[str]) -> None:
        """Start a command and end it after a random call of the at most 30 that it makes."""
        until = self._calls() + self._draw.randint(1, self._draw.randint(1, STEPS))
        process = subprocess.Popen(
            [sys.executable, "-m", "bookwheel", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # A shell's background job, such as this script, ignores SIGINT and hands that down.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - there are no threads
        )
        while self._calls() < until and process.poll() is None:
            time.sleep(0.002)
        time.sleep(self._draw.uniform(0, DELAY))
        kind = self._draw.choice(SIGNALS)
        self._findings.too_late += process.poll() is not None
        process.send_signal(kind)
        _, err = process.communicate()
        self._findings.ends[f"{kind.name} {process.returncode}"] += 1
        self._findings.tracebacks += b"Traceback" in err
        allowed = {0, 130} if kind in POLITE else {0, -kind}
        if process.returncode not in allowed:
            self._findings.wrong_codes.append(f"{kind.name} {process.returncode} {err[-300:]!r}")

    def _finish(self, command: list[str]) -> dict[str, Any]:
        """Run a command to its end and take its JSON."""
        done = subprocess.run(
            [sys.executable, "-m", "bookwheel", *command], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr}")
        record: dict[str, Any] = json.loads(done.stdout)
        return record

    def _ask(self, journal: str) -> list[str]:
        base = f"http://127.0.0.1:{self._port}/v1"
        sizes = ["--chunk-tokens", "590", "--memory-tokens", "200", "--way", "sequential"]
        where = ["--model", "bare", "--base-url", base]
        return ["ask", str(self._document), "What did the keeper write?", *where, *sizes, *self._common(journal)]

    def _resume(self, journal: str) -> list[str]:
        return ["resume", "last", *self._common(journal)]

    def _edit(self, journal: str) -> list[str]:
        return ["edit", "last", "--step", str(EDITED_STEP), "--memory", EDIT, *self._common(journal)]

    def _common(self, journal: str) -> list[str]:
        return ["--journal", str(self._document.parent / f"{journal}.sqlite"), "--json"]

    def _calls(self) -> int:
        """Return how many calls the server has answered."""
        with urlopen(f"http://127.0.0.1:{self._port}/counts") as response:
            counts: dict[str, int] = json.load(response)
        return sum(counts.values())


def outcome(reading: dict[str, Any]) -> Any:
    """Return what must not differ."""
    return reading["status"], reading["answer"], [(s["start"], s["end"], s["memory"]) for s in reading["steps"]]


if __name__ == "__main__":
    main()
