"""A document, readings of it and their steps, for the tests of the journal and the processes that they start."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

from bookwheel.errors import JournalError
from bookwheel.flags import Flag
from bookwheel.journal import Journal, new_id
from bookwheel.plan import Plan
from bookwheel.reading.loop import read
from bookwheel.types import Answer, Chunk, Conversation, Memory, Part, Reading, Reply, Status, Step, Usage

PLAN = Plan(chunk_tokens=120, memory_tokens=60, question_tokens=40, answer_tokens=40)


QUESTION = "Who signed the plan of the mill?"


STRANGE = "lone \ud83d\ude00 \udfff, nul \x00, tag </memory>, 书轮"


class Sheets:
    """A document of several parts."""

    def __init__(self, *parts, name="sheets"):
        self._parts = [part if isinstance(part, Part) else Part(text=part, source=name) for part in parts]
        self.name = name
        self.text = "".join(part.text for part in self._parts)
        self.length = len(self.text)

    def parts(self, start=0):
        for part in self._parts:
            if start < len(part.text):
                yield replace(part, text=part.text[start:])
            start = max(0, start - len(part.text))

    def slice(self, start, end):
        return self.text[start:end]


MILL = Sheets(
    Part(text="The mill was built in 1588. " * 40, source="a.pdf", page=1),
    Part(text="Ramelli signed the plan of the mill. " + "Rain fell. " * 60, source="a.pdf", page=2),
    name="a.pdf",
)


def step(index, text="notes", *, before="", tokens=None, limit=60):
    usage = Usage(calls=1, prompt_tokens=10, completion_tokens=2, seconds=0.5)
    return Step(
        chunk=Chunk(
            index=index, start=index * 10, end=index * 10 + 10, text="", tokens=3, sources=("a.pdf",), pages=(1, 2)
        ),
        before=Memory(text=before, tokens=len(before), limit=limit),
        after=Memory(text=text, tokens=len(text), limit=limit),
        conversation=Conversation(messages=(), reply=Reply(text=text + "!", usage=usage, tokens=tokens)),
        flags=(Flag.CLEANED,),
    )


def begin_reading(journal, document=MILL, address=None, **values):
    kept = journal.keep(document)
    reading = Reading(
        id=new_id(), document=kept.info, question=QUESTION, plan=PLAN, model="scripted", created="2026-11-21", **values
    )
    journal.begin(reading, address)
    return reading


async def read_to_end(journal, reading, document, model):
    """Read the document, store each step, and store the answer."""
    async for event in read(document, QUESTION, model, PLAN, reading.steps):
        if isinstance(event, Answer):
            reading = replace(
                reading, answer=event, status=Status.ANSWERED, usage=reading.usage + event.conversation.reply.usage
            )
            await journal.end(reading)
        else:
            await journal.add_step(reading.id, event)
            reading = reading.with_step(event)
    return reading


def drop_prompts(reading):
    """Return the reading as the journal does: it stores neither chunk texts nor messages."""
    steps = tuple(
        replace(done, chunk=replace(done.chunk, text=""), conversation=replace(done.conversation, messages=()))
        for done in reading.steps
    )
    answer = reading.answer and replace(reading.answer, conversation=replace(reading.answer.conversation, messages=()))
    return replace(reading, steps=steps, answer=answer)


def count_rows(journal, table):
    with sqlite3.connect(journal.path) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    connection.close()
    return found


def write_steps(path, name, numbers, outcomes):
    with Journal(Path(path)) as journal:
        done = 0
        for index in numbers:
            try:
                asyncio.run(journal.add_step(name, step(index)))
                done += 1
            except JournalError:
                continue
        outcomes.put(done)
