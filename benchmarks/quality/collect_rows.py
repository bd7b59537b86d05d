"""Rows found of rows planted, by `collect` and by one memory, with a model that reads truly; then after kills.

python benchmarks/quality/collect_rows.py             recall, precision, calls by number of records and length
python benchmarks/quality/collect_rows.py --kills 50  SIGKILL while it reads, edits, `resume`: rows lost or doubled

The model is scripted: it writes every record that its section states, and forgets nothing that its memory has room
for. So the figures are of the method and the code, and not of a model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel import TextDocument, acollect, aread
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.tables.api import edit_table, load_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Message

SENTENCE = "every payment: who, amount, due date"
RECORD = re.compile(r"((?:[A-Z]\w+ )+\d+) pays (\d+) crowns by (\d+ \w+ 20\d\d)\.")
NAMES = ("Tenant", "Odo Farr", "Ada Quill", "Guest")
FILLER = (
    "The wind rose from the west and the boats stayed in.",
    "Nobody was paid on that day.",
    "The lamp was trimmed.",
)
PLAN = Plan(chunk_tokens=2000, memory_tokens=1024, answer_tokens=1024, question_tokens=200)
WINDOW = 8192


def write_document(records: int, words: int, seed: int) -> tuple[str, set[tuple[str, str, str]]]:
    """Return a text of about so many words with the records at random places, and the records."""
    rng = random.Random(seed)
    golds = [
        (f"{rng.choice(NAMES)} {n}", str(rng.randrange(10, 10_000)), f"{rng.randrange(1, 28)} June 2027")
        for n in range(records)
    ]
    lines = [rng.choice(FILLER) for _ in range(max(0, words - 8 * records) // 8)]
    for gold in golds:
        lines.insert(rng.randrange(len(lines) + 1), "{} pays {} crowns by {}.".format(*gold))
    return "\n".join(lines), set(golds)


def find_records(text: str) -> list[tuple[str, str, str]]:
    return [match.groups() for match in RECORD.finditer(text)]


def between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


def extract(messages: Sequence[Message]) -> str:
    """Write every record of the section as a row."""
    found = RECORD.finditer(between(messages[0].content, "section"))
    rows = [{"who": f[1], "amount": f"{f[2]} crowns", "due date": f[3], "quote": f[0]} for f in found]
    return json.dumps({"rows": rows, "memory": "nothing is open"})


def remember(messages: Sequence[Message]) -> str:
    """Write the memory anew: what it has and every record of the section, a line each; at the end, all of it."""
    text = messages[-1].content
    lines = [
        *between(text, "memory").splitlines(),
        *("{} pays {} crowns by {}.".format(*one) for one in find_records(between(text, "section"))),
    ]
    kept = "\n".join(dict.fromkeys(line for line in lines if RECORD.search(line)))
    return f"\\boxed{{{kept}}}" if "<section>" not in text else kept or "UNCHANGED"


async def measure(records: int, words: int, seed: int, journal: Path) -> dict[str, object]:
    text, golds = write_document(records, words, seed)
    document, began = TextDocument(text), time.process_time()
    table = await acollect(document, SENTENCE, model=ScriptedModel(extract, plan=PLAN, window=WINDOW), journal=journal)
    seconds = time.process_time() - began
    rows = [(row.cells[0], row.cells[1].split()[0], row.cells[2]) for row in table.rows]
    memory = ScriptedModel(remember, plan=PLAN, window=WINDOW)
    reading = await aread(document, SENTENCE, model=memory, way="sequential", journal=journal)
    kept = set(find_records(reading.answer.text))
    return {
        "records": records,
        "words": words,
        "collect recall": len(set(rows) & golds) / max(1, len(golds)),
        "precision": len(set(rows) & golds) / max(1, len(rows)),
        "doubles": len(rows) - len(set(rows)),
        "proven": 1 - table.unproven / max(1, len(rows)),
        "one memory recall": len(kept & golds) / max(1, len(golds)),
        "calls": table.reading.usage.calls,
        "CPU s": round(seconds, 2),
    }


CHILD = """
import asyncio, sys, bookwheel
sys.path.insert(0, {here!r})
import collect_rows as c
model = c.ScriptedModel(c.extract, plan=c.PLAN, window=c.WINDOW, seconds_per_call=0.03)
text, _ = c.write_document(200, 20_000, 7)
def tell(_event):
    print("step", flush=True)
async def main():
    if {reading!r}:
        print("begins", flush=True)
        await bookwheel.aresume({reading!r}, model=model, journal={journal!r})
    else:
        await bookwheel.acollect(bookwheel.TextDocument(text), c.SENTENCE, model=model, journal={journal!r}, watch=tell)
asyncio.run(main())
"""


def run_with_kills(kills: int, seed: int) -> dict[str, int]:
    """Kill the collecting process while its table runs, until so many kills were made; compare tables with the text.

    Between two runs a person edits: every second table has a row removed and a value changed, which must stay.
    """
    rng, made, wrong, tables, lost = random.Random(seed), 0, 0, 0, 0
    _, golds = write_document(200, 20_000, 7)
    while made < kills:
        with tempfile.TemporaryDirectory() as folder:
            journal, reading, edited = str(Path(folder) / "journal.sqlite"), "", dict[str, str | None]()
            here = 0
            # A busy machine may never end within half a second, so a table has its end after so many kills.
            while _run_child(journal, reading, rng if here < _MOST_KILLS else None) != 0:
                made, here = made + 1, here + 1
                reading = "last" if Path(journal).exists() and _has_reading(journal) else ""
                if reading and tables % 2 and len(edited) < len(_EDITS):
                    _edit_by_hand(journal, edited)
            rows = load_table("last", journal=journal).rows
            left = {row.cells[0]: row.cells for row in rows}
            wanted = {who for who, _, _ in golds} - {who for who, value in edited.items() if value is None}
            wrong += sorted(row.cells[0] for row in rows) != sorted(wanted)
            lost += any(left[who][1] != value for who, value in edited.items() if value)
            values = {(row.cells[0], row.cells[1].split()[0], row.cells[2]) for row in rows if not row.is_by_hand}
            wrong += not values <= golds
            tables += 1
            print({"kills": made, "tables": tables, "tables that differ": wrong, "edits lost": lost}, flush=True)
    return {"kills": made, "tables": tables, "tables that differ": wrong, "edits lost": lost}


_EDITS = (None, "1 crown")
_MOST_KILLS = 12


def _run_child(journal: str, reading: str, rng: random.Random | None) -> int:
    """Run until the end, or until a random moment after the reading was seen to run; return how it ended."""
    code = CHILD.format(here=str(Path(__file__).parent), journal=journal, reading=reading)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        child.stdout.readline()
        try:
            child.wait(timeout=rng.random() * 0.6 if rng else None)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        return child.wait()


def _edit_by_hand(journal: str, edited: dict[str, str | None]) -> None:
    rows = [row for row in load_table("last", journal=journal).rows if row.cells[0] not in edited]
    if rows:
        value = _EDITS[len(edited)]
        edit_table("last", rows[0].id, None if value is None else {"amount": value}, journal=journal)
        edited[rows[0].cells[0]] = value


def _has_reading(journal: str) -> bool:
    from bookwheel.journal import Journal

    with Journal(Path(journal)) as store:
        return bool(store.readings())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    if given.kills:
        print(run_with_kills(given.kills, given.seed))
        return
    for records, words in (
        (5, 7_000),
        (50, 7_000),
        (179, 50_000),
        (500, 100_000),
        (2_000, 100_000),
        (2_000, 1_000_000),
    ):
        with tempfile.TemporaryDirectory() as folder:
            print(asyncio.run(measure(records, words, given.seed, Path(folder) / "journal.sqlite")), flush=True)


if __name__ == "__main__":
    main()
