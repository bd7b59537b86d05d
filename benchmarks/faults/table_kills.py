"""Rows lost or doubled when graphs and reports are killed while they read, and whether the report goes on.

python benchmarks/faults/table_kills.py [--kills 60] [--seed 0] [--what graph report]

SIGKILL at a random moment after the first call of each process, then the same order again: `resume` for a graph,
`--update` for a report. The model is scripted: it writes every record that its section states. At the end the graph has
each record once, and the report a sentence for each, with its source; what was read before a kill is not read again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel import TextDocument, acollect_graph, aresume
from bookwheel.graph.api import load_graph
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reports.api import areport, find_state
from bookwheel.reports.report import ReportState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.types import Message

PLAN = Plan(chunk_tokens=400, memory_tokens=200, answer_tokens=1500, question_tokens=300)
RECORD = re.compile(r"(Tenant \d+) pays (\d+) crowns by (\d+ June 2027)\.")
ROW = re.compile(r"\[(\d+)\] who: (Tenant \d+); amount: (\d+) crowns; due date: (\d+ June 2027)")
OUTLINE = "# Payments\n\n## Who pays\nevery payment: who, amount, due date\n"
FILLER = "The wind rose from the west and the boats stayed in."
_COUNT = 30
_MOST_KILLS = 12
_told: list[int] = []
"""Of one graph or report; a busy machine may never come to an end within half a second."""


def write_documents(seed: int) -> list[tuple[str, str]]:
    """Return two documents with different records."""
    rng, texts = random.Random(seed), []
    for number in range(2):
        lines = [FILLER] * 200
        for n in range(_COUNT):
            who = f"Tenant {number * _COUNT + n}"
            record = f"{who} pays {rng.randrange(10, 9999)} crowns by {rng.randrange(1, 28)} June 2027."
            lines.insert(rng.randrange(len(lines) + 1), record)
        texts.append((f"lease-{number}.txt", "\n".join(lines)))
    return texts


def reply(messages: Sequence[Message]) -> str:
    """Write every record: as a fact, as a row, or as a sentence of a report."""
    text = messages[0].content
    for pipe in _told:
        os.write(pipe, b".")
    if "Write one section of a report" in text:
        return " ".join(f"{who} pays {much} crowns by {due} [{n}]." for n, who, much, due in ROW.findall(text))
    section = text.partition("<section>\n")[2].partition("\n</section>")[0]
    rows: list[dict[str, str]] = []
    for found in RECORD.finditer(section):
        who, much, due = found.groups()
        row = {"subject": who, "relation": "pays", "object": f"{much} crowns", "quote": found[0]}
        rows.append(
            row if "relation" in text else {"who": who, "amount": f"{much} crowns", "due date": due, "quote": found[0]}
        )
    return json.dumps({"rows": rows, "memory": "nothing is open"})


def make_model() -> ScriptedModel:
    return ScriptedModel(reply, plan=PLAN, window=6000, seconds_per_call=0.03)


async def make_graph(folder: Path, seed: int) -> None:
    journal = folder / "journal.sqlite"
    with Journal(journal) as store:
        has_begun = bool(store.readings())
    if has_begun:
        await aresume("last", model=make_model(), journal=journal)
    else:
        await acollect_graph(TextDocument(write_documents(seed)[0][1]), model=make_model(), journal=journal)


async def make_report(folder: Path, seed: int) -> None:
    documents = [TextDocument(text, name) for name, text in write_documents(seed)]
    journal, out = folder / "journal.sqlite", folder / "report.md"
    await areport(documents, "what is paid", outline=OUTLINE, out=out, update=True, model=make_model(), journal=journal)


def check_graph(folder: Path, seed: int) -> list[str]:
    wanted = sorted((who, f"{much} crowns") for who, much, _ in RECORD.findall(write_documents(seed)[0][1]))
    found = sorted((fact.subject, fact.object) for fact in load_graph("last", journal=folder / "journal.sqlite").facts)
    return [] if found == wanted else [f"{len(found)} facts of {len(wanted)}"]


def check_report(folder: Path, seed: int) -> list[str]:
    wanted = {found[0] for _, text in write_documents(seed) for found in RECORD.finditer(text)}
    text = (folder / "report.md").read_text(encoding="utf-8").partition("## Sources")[0]
    written = [found[0] for found in RECORD.finditer(re.sub(r" \[\d+(?:, \d+)*\]\.", ".", text))]
    state = ReportState.load(find_state(folder / "report.md"))
    named = [one for ids in state.readings.values() for one in ids]
    with Journal(folder / "journal.sqlite") as store:
        kept = [one.id for one in store.readings()]
    faults = [] if sorted(written) == sorted(wanted) else [f"{len(written)} sentences of {len(wanted)}"]
    return faults if sorted(named) == sorted(kept) else [*faults, f"{len(kept)} readings, {len(named)} of them named"]


JOBS: dict[str, tuple[Callable[..., Any], Callable[[Path, int], list[str]]]] = {
    "graph": (make_graph, check_graph),
    "report": (make_report, check_report),
}


def run_child(what: str, folder: Path, seed: int, wait: float | None) -> bool:
    """Run the job in a process of its own, killed so many seconds after its first call; return whether it ended."""
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        _told.append(told)
        try:
            asyncio.run(JOBS[what][0](folder, seed))
            code = 0
        finally:
            os._exit(code)
    os.close(told)
    os.read(heard, 1)  # Its first call, or its end without one.
    os.close(heard)
    end = None if wait is None else time.monotonic() + wait
    while end is None or time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.waitstatus_to_exitcode(status):
                raise SystemExit(f"{what} in {folder} ended with {os.waitstatus_to_exitcode(status)}")
            return True
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def count_steps(folder: Path) -> int:
    """Return how many sections the journal has after a kill."""
    with Journal(folder / "journal.sqlite") as store:
        return sum(len(store.reading(one.id).steps) for one in store.readings())


def run_with_kills(what: str, kills: int, seed: int) -> dict[str, object]:
    """Kill and go on until so many kills were made; return what differs from the documents."""
    rng, made, ended, faults = random.Random(f"{what}{seed}"), 0, 0, list[str]()
    steps = list[int]()
    while made < kills:
        with tempfile.TemporaryDirectory() as name:
            folder, here = Path(name), 0
            while not run_child(what, folder, seed + ended, 0.5 * rng.random() if here < _MOST_KILLS else None):
                made, here = made + 1, here + 1
                steps.append(count_steps(folder))
            faults += JOBS[what][1](folder, seed + ended)
            ended += 1
    left = sum(map(bool, steps))
    return {"what": what, "kills": made, "with steps": left, "most steps": max(steps), "ended": ended, "faults": faults}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--what", nargs="+", choices=[*JOBS], default=[*JOBS])
    given = options.parse_args()
    for what in given.what:
        print(json.dumps(run_with_kills(what, given.kills, given.seed)), flush=True)


if __name__ == "__main__":
    main()
