"""Lasting memories as ways of reading, so that they can be measured beside others on a document of sessions.

    memory          each session is read into a lasting memory as it comes; a wish to forget one is carried out
    memory-edits    the same by the way `edits`, memory-heads by `heads`
    notes           the same, but a wish to forget is a sentence like any other: what a system of notes does that
                    cannot replay

A session begins at a line with its number, such as `== Session 3, 5 May 2019 ==`. Nothing of the question is known
before the last session is read. A document without such lines is one session.
"""

import re
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.journal.memory_rows import MemoryVersion
from bookwheel.memory.append import append
from bookwheel.memory.asking import ask
from bookwheel.memory.forgetting import forget
from bookwheel.memory.opened import OpenMemory, begin_memory, open_memory
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.ways.auto import find_default_way
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.session import Session
from bookwheel.types import Answer, Chunk, Conversation, Document, Reply, Step

ABOUT: Final = {
    "en": "Everything that people say of themselves, of their things and of others",
    "zh": "人们所说的关于自己、自己的东西和别人的一切",
}
_HEADING: Final = re.compile(
    r"^\s*(?:==|\[)\s*(?:Session\s+(?P<a>\d+)|第(?P<b>\d+)次谈话)[,，]?\s*(?P<date>[^\n=\]]*?)\s*(?:==|\])\s*$",
    re.MULTILINE,
)
_FORGET: Final = re.compile(
    r"Please forget everything that was said in session (\d+)\.|请忘掉第(\d+)次谈话里说过的一切。"
)
_DATES: Final = ("%d %B %Y", "%Y年%m月%d日", "%Y-%m-%d", "%Y/%m/%d (%a) %H:%M", "%I:%M %p on %d %B, %Y")
_HAN: Final = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkSession:
    """One session of a document."""

    number: int
    at: str
    """Its date, ISO 8601; empty where it has none that is known."""
    start: int
    text: str

    @property
    def source(self) -> str:
        """The id of the session's text in the memory."""
        return f"session {self.number}"


def split_sessions(text: str) -> Iterator[TalkSession]:
    headings = list(_HEADING.finditer(text))
    starts = [0, *(heading.start() for heading in headings)]
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(text)
        if text[start:end].strip():
            heading = headings[number - 1] if number else None
            known = int(heading["a"] or heading["b"]) if heading else 0
            at = _parse_date(heading["date"]) if heading else ""
            yield TalkSession(number=known, at=at, start=start, text=text[start:end])


def _parse_date(text: str) -> str:
    for form in _DATES:
        with suppress(ValueError):
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC).isoformat()
    return ""


async def remember(
    document: Document,
    question: str,
    model: Model,
    plan: Plan,
    done: Sequence[Step] = (),
    *,
    way: str = "",
    replays: bool = True,
) -> AsyncGenerator[Step | Answer]:
    """Read the sessions into a lasting memory one after the other, and ask it."""
    del done
    text = "".join(part.text for part in document.parts())
    about = ABOUT["zh" if _HAN.search(question) else "en"]
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "memory.sqlite") as journal:
        session = Session(model=model, journal=journal)
        # A model that only quotes has one way to keep a memory.
        chosen = way if way and find_default_way(model) == "sequential" else find_default_way(model)
        await begin_memory(session, "memory", about, plan, way=chosen)
        opened = open_memory(session, "memory")
        for one in split_sessions(text):
            async for step in _read_session(opened, one, replays=replays):
                yield step
        found = await ask(opened, question)
    reply = Reply(text=found.answer, usage=found.usage)
    yield Answer(text=found.answer, conversation=Conversation(messages=(), reply=reply))


async def _read_session(opened: OpenMemory, one: TalkSession, *, replays: bool) -> AsyncGenerator[Step]:
    versions = list[MemoryVersion]()
    before = opened.newest()
    update = await append(opened, one.text, source=one.source, at=one.at or None)
    versions += update.versions
    wanted = [first or second for first, second in _FORGET.findall(one.text)] if replays else []
    for number in wanted:
        replayed = list[MemoryVersion]()
        with suppress(InputError):  # there is no such session
            await forget(opened, source=f"session {number}", watch=replayed.append)
        usage = sum((version.usage for version in replayed), start=versions[-1].usage)
        versions[-1] = replace(versions[-1], memory=opened.newest().memory, usage=usage)
    for version in versions:
        words = one.text[version.start : version.end]
        yield Step(
            chunk=Chunk(
                index=version.version - 1,
                start=one.start + version.start,
                end=one.start + version.end,
                text=words,
                tokens=opened.session.model.tokenizer.count(words),
            ),
            before=before.memory,
            after=version.memory,
            conversation=Conversation(messages=(), reply=Reply(text=version.reply, usage=version.usage)),
            flags=version.flags,
        )
        before = version


MEMORY: Final = WaySpec(run=remember, is_general=False)
MEMORY_EDITS: Final = replace(MEMORY, run=partial(remember, way="edits"))
MEMORY_HEADS: Final = replace(MEMORY, run=partial(remember, way="heads"))
NOTES: Final = replace(MEMORY, run=partial(remember, replays=False))
