"""Where the words of a memory's texts stand, and the passages with a question's rarest words, the newest first.

    block    the passages of some texts in order of arrival, and the words of each     kept with the texts
    rest     the newest texts, too few yet for a block          looked through again by whoever opens the memory

What is forgotten of a text takes its block along (journal/memory_indexes.py); what is left of it is then indexed anew.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from array import array
from bisect import bisect
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

from bookwheel.journal.memories import MemoryTables
from bookwheel.journal.memory_rows import BY_HAND, MemoryText, MemoryVersion
from bookwheel.memory.editing import list_written
from bookwheel.memory.files import split_line
from bookwheel.memory.passages import MemoryPassage, cut_passages, format_header, leave_out_repeated, only_asks
from bookwheel.memory.speakers import list_days
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.document_index import name_index, pack_blocks, unpack_blocks
from bookwheel.text import lexicon
from bookwheel.text.lexicon import MONTH_NAMES, language_of, stem
from bookwheel.text.matching import parse_words
from bookwheel.text.ranking import PackedWords, QuestionWords, WordIndex, find_stems

if TYPE_CHECKING:
    from bookwheel.memory.opened import OpenMemory


TEXTS: Final = 256
"""Of a block; what has less is looked through again by each program that asks."""
_CHARACTERS: Final = 1 << 17
# Numbers of a passage: its day, its span.
_FIELDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlace:
    """A passage of a text, and the words of a question that it has."""

    text: int
    instant: datetime
    """The time of its text."""
    start: int
    end: int
    at: str
    """The time of its day."""
    held: frozenset[str]


class _TextBlock:
    """The passages of some texts, those of the newest day of each first, and their words."""

    def __init__(self) -> None:
        self.texts: list[MemoryText] = []
        self.days = list[tuple[int, str, str, str]]()
        """For each day of a text: its number, its time, the time of its first turn, that of the day."""
        self.spans = array("I")
        self.words: WordIndex | PackedWords = WordIndex()

    def add(self, text: MemoryText, content: str, *, is_short: bool, until: datetime | None = None) -> None:
        """Look through the next text, up to a time; no passage has words of two days, and none only asks."""
        self.texts.append(text)
        assert isinstance(self.words, WordIndex)
        days = list_days(text, content, until)
        for day in reversed(days):
            self.days.append((text.number, text.at, days[0].since, day.at))
            for start, words in cut_passages(content[day.start : day.end], is_short=is_short):
                if not only_asks(words):
                    at = day.start + start
                    self.spans.extend((len(self.days) - 1, at, at + len(words)))
                    self.words.add(find_stems(words), len(words))

    def to_blocks(self) -> list[bytes]:
        """Return it as bytes: what is said in plain letters, so that a search can tell what was forgotten."""
        assert isinstance(self.words, WordIndex)
        words, *numbers = self.words.to_blocks()
        days = json.dumps(self.days).encode()
        return [days, words, *(zlib.compress(one, 1) for one in (self.spans.tobytes(), *numbers))]

    @classmethod
    def from_blocks(cls, blocks: Sequence[bytes]) -> Self:
        """Return the block that such bytes are of."""
        block = cls()
        days, words, *rest = blocks
        spans, *numbers = map(zlib.decompress, rest)
        block.days = [tuple(day) for day in json.loads(days)]
        block.spans.frombytes(spans)
        block.words = PackedWords([words, *numbers])
        return block

    def count(self, until: datetime | None) -> int:
        """Return the number of passages of texts that are wholly of before a time."""
        if until is None:
            return len(self.spans) // _FIELDS
        is_known = [_parse(day[1]) <= until for day in self.days]
        return sum(is_known[day] for day in self.spans[::_FIELDS])

    def find(self, stems: Iterable[str], until: datetime | None) -> Iterator[FoundPlace]:
        """Yield the passages with some of these words, of texts that are wholly of before a time, in their order."""
        held: dict[int, set[str]] = {}
        for word in stems:
            for at in self.words.find(word):
                held.setdefault(at, set()).add(word)
        yield from self._describe(sorted(held.items()), until)

    def list_all(self, until: datetime | None) -> Iterator[FoundPlace]:
        """Yield all passages of texts that are wholly of before a time."""
        return self._describe(((at, ()) for at in range(len(self.spans) // _FIELDS)), until)

    def _describe(self, held: Iterable[tuple[int, Iterable[str]]], until: datetime | None) -> Iterator[FoundPlace]:
        for place, words in held:
            day, start, end = self.spans[_FIELDS * place : _FIELDS * (place + 1)]
            number, text_at, _, at = self.days[day]
            instant = _parse(text_at)
            if until is None or instant <= until:
                yield FoundPlace(text=number, instant=instant, start=start, end=end, at=at, held=frozenset(words))


class TextIndex:
    """The index of a memory's texts, as far as this program has it.

    Several may share the newest texts: who asks takes them away and puts them back looked through, and who asks
    meanwhile looks through them for itself. So nobody waits, and no more is held than the rest of each memory.
    """

    def __init__(self, newest: list[_TextBlock] | None = None) -> None:
        self._kept: dict[int, _TextBlock] = {}
        self._newest = [] if newest is None else newest
        self._rest = _TextBlock()
        self._changing = threading.Lock()

    def find(
        self, tables: MemoryTables, memory: int, asked: QuestionWords, until: datetime | None, *, is_short: bool
    ) -> tuple[list[FoundPlace], int]:
        """Return the passages up to a time with some words of a question, or all if none has any; and how many all are.

        Those of the newest texts come first, of one text those of its newest day.
        """
        with self._take_newest():
            blocks = self._refresh(tables, memory, is_short=is_short)
            searched: list[tuple[_TextBlock, datetime | None]] = [(block, until) for block in blocks]
            days = [day for block in blocks for day in block.days] if until else []
            # Of texts that began before the time and went on after it.
            numbers = sorted({n for n, at, since, _ in days if until and _parse(since) <= until < _parse(at)})
            if numbers:
                cut = _TextBlock()
                for number, content in tables.load_texts(memory, numbers):
                    cut.add(tables.find_text(memory, number), content, is_short=is_short, until=until)
                searched.append((cut, None))
            found = [place for block, limit in searched for place in block.find(asked.stems, limit)]
            found = found or [place for block, limit in searched for place in block.list_all(limit)]
            found.sort(key=lambda place: (place.instant, place.text), reverse=True)
            return found, sum(block.count(limit) for block, limit in searched)

    def keep(self, tables: MemoryTables, memory: int, *, is_short: bool) -> None:
        """Index what has come since the last block, if it is enough for one; questions then find it there."""
        with self._take_newest():
            self._refresh(tables, memory, is_short=is_short)

    @contextmanager
    def _take_newest(self) -> Generator[None]:
        with self._changing:
            self._rest = _TextBlock()
            with suppress(IndexError):
                self._rest = self._newest.pop()
            yield
            self._newest[:] = [self._rest]

    def _refresh(self, tables: MemoryTables, memory: int, *, is_short: bool) -> list[_TextBlock]:
        """Take what others have kept, and look through the texts that are in no block."""
        indexes = tables.indexes(memory, name_index("short passages" if is_short else "passages"))
        numbers, loose = indexes.list_all()
        kept = dict[int, _TextBlock]()
        for number in numbers:
            block = self._kept.get(number) or unpack_blocks(indexes.load(number), _TextBlock.from_blocks)
            if block is None:  # damaged, or of texts that were forgotten in this moment
                indexes.drop(number)
                return self._refresh(tables, memory, is_short=is_short)
            kept[number] = block
        self._kept = kept
        blocks = list(kept.values())
        borders = sorted(block.days[0][0] for block in blocks)
        for texts in _group(loose, borders):
            is_last = texts[-1] is loose[-1] and bisect(borders, texts[-1].number) == len(borders)
            block, self._rest = self._rest, _TextBlock()
            if block.texts != texts[: len(block.texts)]:
                block = _TextBlock()
            new = {text.number: text for text in texts[len(block.texts) :]}
            for number, content in tables.load_texts(memory, list(new)):
                block.add(new[number], content, is_short=is_short)
            if is_last and not _is_full(texts):
                self._rest = block
            else:
                indexes.keep(texts, pack_blocks(block.to_blocks(), level=0))
            blocks.append(block)
        return blocks


def _group(texts: Sequence[MemoryText], borders: Sequence[int]) -> Iterator[list[MemoryText]]:
    """Yield the texts of each block to be; none goes over a border, where a block begins that is there."""
    group: list[MemoryText] = []
    for text in texts:
        if group and (_is_full(group) or bisect(borders, group[-1].number) != bisect(borders, text.number)):
            yield group
            group = []
        group.append(text)
    if group:
        yield group


def _is_full(texts: Sequence[MemoryText]) -> bool:
    return len(texts) >= TEXTS or sum(text.characters for text in texts) >= _CHARACTERS


def _parse(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(UTC)


# With as many passages in all, those without a word of the question fill the room that is left.
_FEW: Final = 400
# Who quotes weighs the best few windows of any number of chunks; to a small model Chinese is three times the tokens.
_ROOM: Final = {"en": 1, "zh": 3}
# Stems that say little, however rare they are among a few texts; a name with an ending is that of a file.
_IDLE: Final = frozenset(
    map(stem, lexicon.words("take get go come give make have use do need want keep now today still currently current"))
)
_FILE: Final = re.compile(r"[\w-]+(?:[ .][\w-]+)*\.[a-z]\w{1,4}\b")
# Tokens of a chunk that holds a few long passages.
_FEW_LONG: Final = 1200


def _is_short(opened: OpenMemory) -> bool:
    """Return whether its passages are short: who quotes needs few words around an answer, and one is not enough."""
    plan = opened.record.plan
    return plan.chunk_tokens < _FEW_LONG or prompts_for(plan, opened.record.about).quotes


def keep_index(opened: OpenMemory) -> None:
    """Keep the words of the texts that have come, where they are enough for a block."""
    opened.index.keep(opened.tables, opened.record.number, is_short=_is_short(opened))


def rank_passages(
    opened: OpenMemory, question: str, version: MemoryVersion, until: datetime | None
) -> list[MemoryPassage]:
    """Return the passages with the rarest words of the question that fit a chunk; without any, the newest ones.

    The name of a text's file and of its month are words that it has; the names of what the memory is about say nothing.
    Of a small memory, a model that reads is shown the others too, as far as there is room.
    """
    tables, memory, plan = opened.tables, opened.record.number, opened.record.plan
    asked, is_short = QuestionWords(question), _is_short(opened)
    is_quoted = prompts_for(plan, opened.record.about).quotes
    written = [(one, asked.find(one.words)) for one in _list_written(opened, version)]
    places, total = opened.index.find(tables, memory, asked, until, is_short=is_short)
    files = _find_named(tables, memory, question)
    rest = list[FoundPlace]()
    if files or (not is_quoted and total <= _FEW):
        known = {(place.text, place.start) for place in places}
        everything, _ = opened.index.find(tables, memory, QuestionWords(""), until, is_short=is_short)
        rest = [place for place in everything if (place.text, place.start) not in known]
        places += [place for place in rest if place.text in files]
    months = {stem(month): at for at, month in enumerate(MONTH_NAMES, 1) if stem(month) in asked.stems}
    # What was written by hand is newer than all texts.
    held = [words for _, words in written] + [_add_names(place, files, months) for place in places]
    lines: list[MemoryPassage | FoundPlace] = [*(line for line, _ in written), *places]
    idle = _IDLE | {stem(word.index_key) for word in parse_words(opened.record.about) if word.text[:1].isupper()}
    ranked = asked.rank([words - idle for words in held], total + len(written))
    ranked = [at for at in ranked if held[at]] or ranked
    found = [lines[at] for at in ranked]
    found += [place for place in rest if place.text not in files and not is_quoted and total <= _FEW]
    chosen, room = list[MemoryPassage](), plan.chunk_tokens * (_ROOM[language_of(question)] if is_quoted else 1)
    for one in found:
        passage = one if isinstance(one, MemoryPassage) else _load_passage(tables, memory, one)
        header = "" if is_quoted else format_header(passage.text)
        room -= opened.session.model.tokenizer.count(header + passage.words) + 2
        if room < 0 and chosen:
            break
        chosen.append(passage)
    return leave_out_repeated(chosen)


def _find_named(tables: MemoryTables, memory: int, question: str) -> dict[int, str]:
    """Return the numbers of the texts whose files a question names, and the names."""
    if not _FILE.search(question):
        return {}
    names = ((text.number, text.source.rpartition("/")[2].casefold()) for text in tables.list_texts(memory))
    return {number: name for number, name in names if name in question.casefold()}


def _add_names(place: FoundPlace, files: Mapping[int, str], months: Mapping[str, int]) -> frozenset[str]:
    """Return the words of a question that a passage has, the names of its file and month among them."""
    named = {files[place.text]} if place.text in files else set[str]()
    return place.held | named | {word for word, month in months.items() if place.at[5:7] == f"{month:02}"}


def _load_passage(tables: MemoryTables, memory: int, place: FoundPlace) -> MemoryPassage:
    text = replace(tables.find_text(memory, place.text), at=place.at)
    words = tables.load_text(memory, place.text)[place.start : place.end]
    return MemoryPassage(text=text, start=place.start, words=words)


def _list_written(opened: OpenMemory, version: MemoryVersion) -> list[MemoryPassage]:
    """Return the lines that were written by hand up to a version, newest first, as passages of texts of their own."""
    written = dict[tuple[str, str], list[tuple[str, str]]]()
    for line, (kept, told) in list_written(opened, version).items():
        path, words = split_line(line)
        written.setdefault((kept, path or BY_HAND), []).append((words, told))
    passages = list[MemoryPassage]()
    for (kept, source), parts in reversed(written.items()):
        words = "\n".join(line for line, _ in parts)
        text = MemoryText(
            number=0, source=source, at=kept, arrived=kept, sha256="", characters=len(words), position=len(words)
        )
        passages += [
            MemoryPassage(text=text, start=start, words=part, told=tuple(parts)) for start, part in cut_passages(words)
        ]
    return passages
