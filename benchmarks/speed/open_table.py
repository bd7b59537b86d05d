"""How long a table of so many rows takes to open: its facts and first page, a page far behind, and SQL over it.

    python benchmarks/speed/open_table.py 20000 1000000

The reading is made of replies as `collect` stores them, fifty rows a section, without a model. `first` makes the table
of the replies and keeps it; the others open what was kept. Of more than 20,000 rows only 20,000 are read, and
all are put beside as they would be kept. CPU seconds and seconds on the clock; the peak of memory.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel import TextDocument
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel
from bookwheel.reading.runner import new_reading
from bookwheel.tables.build import load_shown
from bookwheel.types import Chunk, Conversation, Memory, Reply, Status, Step

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS_A_SECTION = 50
_MOST_READ = 20_000
SENTENCE = "every payment: who, amount, due date"
QUERIES = {
    "count": "select count(*) from rows",
    "sum of a group": "select who, count(*), sum(amount_number) from rows group by who",
}


def write_sentence(number: int) -> str:
    return f"Tenant {number % 1000} pays {number} crowns by {number % 27 + 1} June 2027.\n"


async def make_reading(journal: Journal, rows: int) -> str:
    """Store a document and the steps of a reading of it; return the reading's id."""
    sections = ["".join(map(write_sentence, range(at, at + ROWS_A_SECTION))) for at in range(0, rows, ROWS_A_SECTION)]
    kept = journal.keep(TextDocument("".join(sections)))
    model = ScriptedModel(lambda _: "")
    reading = new_reading(kept.info, SENTENCE, model, model.plan, "collect")
    journal.begin(reading)
    memory, start = Memory.blank(model.plan.memory_tokens), 0
    for number, section in enumerate(sections):
        found = [
            {"who": " ".join(words[:2]), "amount": f"{words[3]} crowns", "due date": " ".join(words[6:]), "quote": line}
            for line in section.splitlines()
            for words in [line.rstrip(".").split()]
        ]
        chunk = Chunk(index=number, start=start, end=start + len(section), text="", tokens=len(section) // 4)
        reply = Reply(text=json.dumps({"rows": found, "memory": ""}))
        step = Step(chunk=chunk, before=memory, after=memory, conversation=Conversation(messages=(), reply=reply))
        await journal.add_step(reading.id, step)
        start += len(section)
    await journal.end(replace(reading, status=Status.ANSWERED))
    return reading.id


def put_rows(journal: Journal, id_: str, rows: int) -> None:
    """Keep so many rows in the place of those that were kept, each like one of them."""
    shown, kept = load_shown(journal, id_), journal.kept_rows(id_)
    ((made_of, facts),) = journal._reader.fetch_all("SELECT made_of, facts FROM kept_tables")
    some = [list(record.values()) for record in shown.list_records()]
    known = json.loads(facts)
    known["facts"]["count"] = rows
    kept.keep(made_of, known, ([*some[at % len(some)][:-1], f"{at:010x}"] for at in range(rows)))


def measure(name: str, work: Callable[[], object]) -> object:
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"CPU s": round(time.process_time() - cpu, 2), "s": round(time.perf_counter() - wall, 2)}
    print(json.dumps({"what": name, **figures, "peak MiB": round(peak)}), flush=True)
    return result


def main(rows: int) -> None:
    print(json.dumps({"rows": rows}), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite"
        with Journal(path) as journal:
            id_ = asyncio.run(make_reading(journal, min(rows, _MOST_READ)))
            measure("first", lambda: load_shown(journal, id_))
            if rows > _MOST_READ:
                measure("rows put beside", lambda: put_rows(journal, id_, rows))
        with Journal(path) as journal:
            opened = measure("open, with the first 100 rows", lambda: load_shown(journal, id_).to_json(0, 100))
            assert isinstance(opened, dict)
            assert (opened["count"], len(opened["rows"]), opened["unproven"]) == (rows, 100, 0)
            shown = load_shown(journal, id_)
            measure("a page near the end", lambda: shown.to_json(rows - 200, 100))
            for name, sql in QUERIES.items():
                measure(f"SQL: {name}", lambda sql=sql: shown.query(sql))
            print(json.dumps({"journal MiB": round(path.stat().st_size / 2**20)}), flush=True)


if __name__ == "__main__":
    for word in sys.argv[1:]:
        main(int(word))
