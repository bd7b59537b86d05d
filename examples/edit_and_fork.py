"""Correct a memory by hand and read on from there. The first reading stays as it was.

`bookwheel edit READING --step K --memory TEXT` does the same on the command line.
"""

import asyncio
import tempfile
from pathlib import Path

from bookwheel import Memory, aread
from bookwheel.journal import Journal
from bookwheel.models.registry import open_model
from bookwheel.reading.runner import run_reading

LOG = Path(__file__).with_name("lighthouse.md")
QUESTION = "How many barrels were counted by the customs men?"
CORRECTION = "The customs men counted the barrels again, and this time they counted sixty-six barrels."


async def main(path: Path) -> None:
    """Read, change the memory after the last step, and answer again."""
    first = await aread(LOG, QUESTION, model="scripted", chunk_tokens=400, journal=path)
    model = await open_model("scripted")
    memory = Memory(text=CORRECTION, tokens=model.tokenizer.count(CORRECTION), limit=first.plan.memory_tokens)
    with Journal(path) as journal:
        fork = journal.fork(first.id, len(first.steps) - 1, memory)
        with journal.claim(fork.id):
            second = await run_reading(fork, journal.document_of(fork.id), model, journal=journal)
    assert first.answer
    assert second.answer
    print(f"before: {first.answer.text}\nafter:  {second.answer.text}")
    assert second.parent == first.id


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place) / "journal.sqlite"))
