"""Cut what a file tells of several days into texts of their own, each with its time.

    inbox.mbox       a text for each message: inbox.mbox#1 of 2 March, inbox.mbox#2 of 3 March
    chat.txt         a text for each day of talk, or for some quiet ones, of which each turn keeps its own time
    diary.txt        the same, by the lines that are a day alone
    minutes          a text for each file of the folder: minutes/2026-01-12.md of the day that its name has
    notes.txt        one text, of the day that its head has, or of the time at which it arrived

So a question as of a day knows no later message, the newest value is the one that was said last, and of an export that
has grown only what is new is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from difflib import SequenceMatcher
from typing import Final
from zlib import crc32

from bookwheel.memory.days import find_head_day, split_days
from bookwheel.memory.pieces import read_time
from bookwheel.memory.speakers import TURN
from bookwheel.types import Part

# Lines of a paragraph that is short.
_PARAGRAPH: Final = 12
# Characters of a text of talk: a day that has less goes together with the next.
_LEAST: Final = 500
_DAY_IN_NAME: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedText:
    """A text to be read into a memory."""

    content: str | Sequence[Part]
    source: str
    at: datetime | str | None
    """Its time; None for the time of its arrival."""
    is_changed: bool = False
    """It is new of a file that was changed, whatever that had before."""

    @property
    def words(self) -> str:
        """The text, without what its parts have of pages and pictures."""
        return join_words(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """A file or another document, whose texts are to be read into a memory."""

    parts: Sequence[Part]
    name: str
    named: str
    """The id of the source; empty for a stream without one."""


def is_inside(source: str, named: str) -> bool:
    """Return whether a text is a message of a mailbox, or a file of a folder, that has this id."""
    return source.startswith((f"{named}#", f"{named}/"))


def join_words(content: str | Iterable[Part]) -> str:
    """Return the words of a text, or of the parts of a document."""
    return content if isinstance(content, str) else "".join(part.text for part in content)


@dataclass(slots=True)
class _EntryParts:
    """Parts that go together: of one message, of some days of talk, or of no time."""

    entry: str
    at: str = ""
    pieces: list[Part] = field(default_factory=list)
    length: int = 0

    def add(self, part: Part) -> None:
        self.pieces.append(part)
        self.length += len(part.text)
        self.at = part.at or self.at

    def find_file(self, document: str) -> str:
        """Return the file of a folder that it is from; empty where the document is a file."""
        file = self.pieces[-1].source.partition("#")[0]
        return "" if file in {document, "-"} or "://" in file else file

    def goes_on(self, part: Part) -> bool:
        if part.entry != self.entry or _is_header(part.text):
            return False
        if part.entry or not (part.at and self.at):
            return True
        then, now = _parse(self.at), _parse(part.at)
        return self.at[:10] == part.at[:10] or (self.length < _LEAST and now >= then)


def split_file(file: NewFile, at: datetime | str | None = None) -> list[DatedText]:
    """Return the texts of a file in the order of their times; with a time given, it is one text of that time."""
    if at is not None:
        return [DatedText(content=tuple(file.parts), source=file.named, at=at)]
    texts = list[DatedText]()
    for run in _list_runs(file.parts):
        words = join_words(run.pieces)
        if not words.strip():
            continue
        source = _name(file.named, file.name, run.entry or run.find_file(file.name))
        # A file of another id still has its name.
        if (at := run.at or _find_day(file.name if source == file.named else source) or _find_day(source)) or any(
            part.pictures for part in run.pieces
        ):
            texts.append(DatedText(content=tuple(run.pieces), source=source, at=at or find_head_day(words)))
            continue
        for day in _list_runs(split_days(run.pieces)):
            texts.append(DatedText(content=tuple(day.pieces), source=source, at=day.at or find_head_day(words)))
    return order_texts(texts)


def _is_plain(text: DatedText) -> bool:
    """Return whether it has nothing but words: no pages and no pictures."""
    return isinstance(text.content, str) or not any(one.pictures or one.page is not None for one in text.content)


def _find_day(source: str) -> str | None:
    """Return the one day that the name of a file has; one to come says until when it holds, and not when it is from."""
    days = {f"{year}-{month}-{day}" for year, _, month, day in _DAY_IN_NAME.findall(source.rpartition("/")[2])}
    try:
        day = date.fromisoformat(*days) if len(days) == 1 else date.max
        return day.isoformat() if day <= datetime.now().astimezone().date() else None
    except ValueError:
        return None


def skip_parts(parts: Sequence[Part], start: int) -> list[Part]:
    """Return the parts from a character of their text on."""
    left = list[Part]()
    for part in parts:
        if start < len(part.text):
            left.append(replace(part, text=part.text[start:]) if start > 0 else part)
        start = max(0, start - len(part.text))
    return left


def mark_lines(words: str) -> list[str]:
    """Return a short sum for each line that says something: what tells it from others, and none of its words."""
    lines = [line.strip() for line in words.splitlines()]
    return [f"{crc32(line.encode('utf-8', 'surrogatepass')):08x}" for line in lines if line and not _is_header(line)]


def leave_out_known(text: DatedText, known: Sequence[str]) -> DatedText | None:
    """Return what a text of a changed file has beside the lines that the file had, whose sums are `known`, in order.

    A changed line comes with its paragraph, and the single line above that; of a long paragraph with the line before.
    Of a talk only the new turns come.
    None where nothing is new; all where less than half is known.
    """
    lines = text.words.splitlines()
    if not _is_plain(text):
        return text
    told = [at for at, line in enumerate(lines) if line.strip() and not _is_header(line)]
    blocks = SequenceMatcher(None, known, mark_lines(text.words)).get_matching_blocks()
    same = {told[at] for block in blocks for at in range(block.b, block.b + block.size)}
    if 2 * len(same) < len(told):
        return text
    kept, before = set[int](), range(0)
    for paragraph in _list_paragraphs(lines):
        if new := [at for at in paragraph if at not in same and at in told]:
            if TURN.match(lines[paragraph[0]]):  # Each turn of a talk says who speaks, and when.
                kept |= {*new}
                continue
            whole = len(paragraph) <= _PARAGRAPH
            kept |= {*paragraph} if whole else {one for at in new for one in (at - 1, at) if one in paragraph}
            kept |= {*before} if len(before) == 1 else set()
        before = paragraph
    words = "".join(
        f"{lines[at]}\n" if at + 1 in kept or TURN.match(lines[at]) else f"{lines[at]}\n\n" for at in sorted(kept)
    )
    return replace(text, content=f"{words.rstrip()}\n") if kept else None


def _list_paragraphs(lines: Sequence[str]) -> Iterator[range]:
    start = 0
    for at in (*(at for at, line in enumerate(lines) if not line.strip()), len(lines)):
        if start < at:
            yield range(start, at)
        start = at + 1


def order_texts(texts: Sequence[DatedText]) -> list[DatedText]:
    """Return texts in the order of their times; those of no time come last."""
    dated = sorted((one for one in texts if one.at), key=lambda one: _parse(one.at or ""))
    return [*dated, *(one for one in texts if not one.at)]


def _parse(at: datetime | str) -> datetime:
    return datetime.fromisoformat(read_time(at))


def _list_runs(parts: Iterable[Part]) -> Iterator[_EntryParts]:
    run: _EntryParts | None = None
    for part in parts:
        if run is None or not run.goes_on(part):
            # The line with a file's name stands before what it holds.
            lead = run.pieces if run and _is_header(join_words(run.pieces)) else []
            if run and not lead:
                yield run
            run = _EntryParts(entry=part.entry, pieces=lead)
        run.add(part)
    if run:
        yield run


def _is_header(text: str) -> bool:
    words = text.strip()
    return words.startswith("===== ") and words.endswith(" =====") and "\n" not in words


def _name(named: str, document: str, entry: str) -> str:
    """Return the id of a text: that of its file or folder, with the message or file inside."""
    if not entry:
        return named
    return named + entry.removeprefix(document) if entry.startswith(document) else f"{named.rstrip('/')}/{entry}"
