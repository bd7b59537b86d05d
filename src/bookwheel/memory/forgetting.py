"""Forget: the memory as if a source had never been there, and a file without its words.

    base      the version before the first piece of what is forgotten
    replay    each later piece, without it, from the base on          kept in a table of its own: it can be interrupted
              where the memory equals the stored version again, the stored ones behind it hold, up to the next
              forgotten piece
    swap      new versions in the place of old ones; texts and answers go       one transaction
    purge     the file is rewritten, its log emptied                  the words stand nowhere in it any more

A fact that another source says too is read from there again, so it stays. A correction by hand is made again where the
line that it corrected is there, or the sentence of a text; one that lacks the words to forget outlives what it
corrected. A picture goes with its text, and where the words to forget were recognised in it. A tombstone says when,
which sources, how many pieces were read again and which lines of the newest memory changed, by their numbers; it holds
no words.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.journal.files import LockTaken
from bookwheel.journal.forgotten import compile_phrase
from bookwheel.journal.memory_rows import (
    BY_HAND,
    ChangedLine,
    MemoryText,
    MemoryVersion,
    Tombstone,
    VersionKind,
    blank_version,
)
from bookwheel.memory.editing import apply_changes, make_edit
from bookwheel.memory.entries import is_inside
from bookwheel.memory.pieces import read_piece
from bookwheel.memory.speakers import list_days
from bookwheel.memory.text_index import rank_passages
from bookwheel.reading.guards import trim
from bookwheel.text.lines import FILE_HEADER, read_lines
from bookwheel.text.matching import parse_words
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Chunk
from bookwheel.views.diff import ChangeKind, LineChange, diff_memories

if TYPE_CHECKING:
    from bookwheel.memory.opened import OpenMemory

# The number under which the masks of a forgetting hold the words to forget, until it has ended.
_PHRASE = 0
_MASK = " "
# Words of a sentence that is found again: fewer may be anybody's.
_LEAST_REPEATED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPreview:
    """What would be forgotten."""

    scope: str
    texts: tuple[MemoryText, ...]
    masks: Mapping[int, str | None]
    versions: int
    """The versions that were made of it."""
    later: int
    """The pieces behind it that may have to be read again."""
    answers: int
    """Those that were given since: any of them may have its words."""
    repeated: tuple[str, ...]
    """Sources that stay, and say a sentence of it again, as a reply does that quotes a mail."""


def preview(
    opened: OpenMemory, *, source: str | None = None, before: str | None = None, text: str | None = None
) -> ForgetPreview:
    """Find what a source said, what is from before a time, or what holds some words; InputError where nothing is."""
    given = {"source": source, "before": before, "text": text}
    scopes = [name for name, value in given.items() if value and value.strip()]
    if len(scopes) != 1:
        raise InputError("say what to forget: a source, words of a text, or a time that it is from before")
    scope, memory = scopes[0], opened.record.number
    texts = opened.tables.list_texts(memory)
    masks: dict[int, str | None] = {}
    if text:
        pattern = compile_phrase(text)
        for one in texts:
            content = opened.tables.load_text(memory, one.number)
            mask = pattern.sub(lambda found: re.sub(r"[^\n]", _MASK, found[0]), content)
            for mark in _list_marks(opened, one, text):
                mask = mask.replace(mark, _MASK * len(mark))
            if mask != content:
                masks[one.number] = mask
    elif source:
        masks = {one.number: None for one in texts if one.source == source}
        # Of a mailbox or a folder each message is a source: its own name stands for all of them.
        masks = masks or {one.number: None for one in texts if is_inside(one.source, source)}
        masks |= _mask_files(opened, {one.number: one.source for one in texts}, source)
    else:
        limit = datetime.fromisoformat(before or "").astimezone(UTC)
        masks = {one.number: None for one in texts if one.instant < limit}
        masks |= _mask_days(opened, {one.number: one for one in texts if one.number not in masks}, limit)
    versions = opened.tables.list_versions(memory, opened.record.plan.memory_tokens)
    written = [version for version in versions if _is_written(version, text or "")]
    if not masks and not written:
        sources = ", ".join(dict.fromkeys(one.source for one in texts[-10:]))
        near = _find_nearest(opened, text) if text else ""
        raise InputError(f"nothing to forget there{near}; the newest sources are: {sources or 'none'}")
    touched = [at for at, version in enumerate(versions) if version.text in masks or version in written]
    first, own = min(touched, default=len(versions)), len(touched)
    since = _find_since({one.number: one for one in texts}, masks, written)
    return ForgetPreview(
        scope=scope,
        texts=tuple(one for one in texts if one.number in masks),
        masks={**masks, **({_PHRASE: text} if text else {})},
        versions=own,
        later=len(versions) - first - own,
        answers=len(opened.tables.list_answers(memory, since)),
        repeated=tuple(_list_repeating(opened, texts, masks)),
    )


def _find_since(
    texts: Mapping[int, MemoryText], masks: Mapping[int, str | None], written: Iterable[MemoryVersion]
) -> str:
    """Return from when on answers may have words of what is forgotten."""
    return min((*(texts[one].arrived for one in masks if one in texts), *(one.kept for one in written)), default="")


def _list_repeating(opened: OpenMemory, texts: Sequence[MemoryText], masks: Mapping[int, str | None]) -> Iterator[str]:
    """Yield the sources of texts that stay whole, and have a sentence of one that goes."""
    gone, staying = set[str](), dict[str, str]()
    sources = {one.number: one.source for one in texts}
    for number, content in opened.tables.load_texts(opened.record.number, list(sources)):
        words = " ".join(re.sub(r"(?m)^[ \t>]+", "", content).split())
        if number not in masks:
            staying[sources[number]] = f"{staying.get(sources[number], '')} {words}"
        elif masks[number] is None:
            gone |= {one for one in list_sentences(words) if len(parse_words(one)) >= _LEAST_REPEATED}
    return (source for source, words in staying.items() if any(one in words for one in gone))


async def forget(
    opened: OpenMemory,
    *,
    source: str | None = None,
    before: str | None = None,
    text: str | None = None,
    watch: Callable[[MemoryVersion], None] = lambda _version: None,
) -> Tombstone:
    """Forget one source, what is from before a time, or some words, with all that came of them."""
    async with opened.hold():
        memory = opened.record.number
        begun = {one.number for one in opened.tables.list_tombstones(memory) if not one.ended}
        await go_on_forgetting(opened, watch)
        try:
            found = await asyncio.to_thread(preview, opened, source=source, before=before, text=text)
        except InputError:
            # One of the same was interrupted, and has ended just now.
            ended = [one for one in opened.tables.list_tombstones(memory) if one.number in begun]
            same = [one for one in ended if one.scope == "source" and source and _is_of(one, source)]
            same += [one for one in ended if one.scope != "source" and not source]
            if not same:
                raise
            return same[-1]
        names = tuple(dict.fromkeys(one.source for one in found.texts)) or (BY_HAND,)
        await asyncio.to_thread(opened.tables.begin_forgetting, opened.record.number, found.scope, names, found.masks)
        await go_on_forgetting(opened, watch)
        return opened.tables.list_tombstones(opened.record.number)[-1]


def _is_of(tombstone: Tombstone, source: str) -> bool:
    return any(one == source or is_inside(one, source) for one in tombstone.sources)


async def go_on_forgetting(opened: OpenMemory, watch: Callable[[MemoryVersion], None] = lambda _version: None) -> None:
    """End the forgettings that were begun. Whoever calls holds the memory."""
    memory = opened.record.number
    for tombstone in opened.tables.list_tombstones(memory):
        if not tombstone.ended:
            await _Replay(opened, tombstone, watch).run()
    if any(not tombstone.is_purged for tombstone in opened.tables.list_tombstones(memory)):
        await asyncio.to_thread(opened.tables.purge)


async def end_interrupted(opened: OpenMemory) -> None:
    """Go on with a forgetting that was interrupted; one that is under way is left to who holds the memory."""
    if any(not tombstone.ended for tombstone in opened.tables.list_tombstones(opened.record.number)):
        with suppress(LockTaken), opened.tables.claim(opened.record.number):
            await go_on_forgetting(opened)


@dataclass(slots=True)
class _Replay:
    """One forgetting, from where it stands to its end."""

    opened: OpenMemory
    tombstone: Tombstone
    watch: Callable[[MemoryVersion], None]
    replays: list[MemoryVersion] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    """The sentences that corrections put right, and a text that stays has, and the lines by hand so far."""

    async def run(self) -> None:
        tables, memory, limit = self.opened.tables, self.opened.record.number, self.opened.record.plan.memory_tokens
        masks = tables.load_masks(memory, self.tombstone)
        phrase = masks.get(_PHRASE) or ""
        texts = {text.number: text for text in tables.list_texts(memory)}
        versions = tables.list_versions(memory, limit)
        made = tables.load_replays(memory, limit)
        newest = state = blank_version(limit)
        self.told = await asyncio.to_thread(self._find_told, versions, texts, masks)
        is_same = True
        since = _find_since(texts, masks, [version for version in versions if _is_written(version, phrase)])
        for old in versions:
            is_gone = old.text in masks and masks[old.text] is None
            if is_gone:
                self.dropped.append(old.version)
            elif is_same and not self._is_touched(old, newest, masks, phrase):
                state = old
            else:
                state = made.get(old.version) or await self._make(old, (newest, state), masks, texts, phrase)
                self.replays.append(state)
            self.told |= {new for _, new in state.changes}
            is_same = (state.memory.text, state.scores) == (old.memory.text, old.scores)
            newest = old
        changed = tuple(_number_changes(diff_memories(newest.memory.text, state.memory.text)))
        replayed = sum(version.text is not None for version in self.replays)
        ended = replace(self.tombstone, replayed=replayed, lines=len(changed), changed=changed)
        await asyncio.to_thread(tables.end_forgetting, memory, ended, self.replays, self.dropped, since)

    def _find_told(
        self, versions: Sequence[MemoryVersion], texts: Mapping[int, MemoryText], masks: Mapping[int, str | None]
    ) -> set[str]:
        befores = (blank_version(0), *versions)
        pairs = zip(befores, versions, strict=False)
        said = {one for before, version in pairs for one in _list_said(version, before)}
        if phrase := masks.get(_PHRASE):
            said |= {_blot_out(phrase, one) for one in said}
        told = set[str]()
        staying = [number for number in texts if masks.get(number, "") is not None] if said else []
        for number, content in self.opened.tables.load_texts(self.opened.record.number, staying):
            words = " ".join((masks.get(number) or content).split())
            told |= {sentence for sentence in said if sentence in words}
        return told

    def _is_touched(
        self, version: MemoryVersion, before: MemoryVersion, masks: Mapping[int, str | None], phrase: str
    ) -> bool:
        """Return whether a piece has other words now, or a correction holds words to forget or of no text."""
        if version.text in masks and self._load_piece(version, masks) != self._load_piece(version, {}):
            return True
        return _is_written(version, phrase) or any(one not in self.told for one in _list_said(version, before))

    def _load_piece(self, version: MemoryVersion, masks: Mapping[int, str | None]) -> str:
        number = version.text or _PHRASE
        content = masks.get(number) or self.opened.tables.load_text(self.opened.record.number, number)
        return content[version.start : version.end]

    async def _make(
        self,
        old: MemoryVersion,
        befores: tuple[MemoryVersion, MemoryVersion],
        masks: Mapping[int, str | None],
        texts: Mapping[int, MemoryText],
        phrase: str,
    ) -> MemoryVersion:
        """Return a version made anew: a piece read again, or a correction made again in what it is now made in."""
        opened = self.opened
        was, before = befores
        if old.kind is VersionKind.EDIT or old.text is None:
            # Of a correction that is not made again, no word stays; of a sentence of a text, what the text keeps.
            changes = [(self._keep_told(one, phrase), new) for one, new in old.changes if not _holds(phrase, new)]
            changes = [pair for pair in changes if any(pair)]
            is_told = all(one in self.told for one in _list_said(old, was))
            if is_told and _drop_lines(was.memory.text, phrase) == before.memory.text:
                # A line that a correction brought the words into is again what it was.
                lines = was.memory.text.splitlines()
                restored = {new: one for one, new in old.changes if _holds(phrase, new) and one in lines}
                text = "\n".join(restored.get(line, line) for line in old.memory.text.split("\n"))
                text = _drop_lines(text, phrase)
            else:
                text, changes = apply_changes(before.memory.text, changes, self.told)
            text = trim(text, before.memory.limit, opened.session.model.tokenizer)[0]
            new = make_edit(opened, before, old.version, text, changes)
        else:
            opened.check_day()
            piece = self._load_piece(old, masks)
            tokens = opened.session.model.tokenizer.count(piece)
            chunk = Chunk(index=0, start=old.start, end=old.end, text=piece, tokens=tokens)
            new = await read_piece(opened, before, texts[old.text], chunk)
        # The time stays that of the old one: what was known when is not changed by who is forgotten.
        new = replace(new, version=old.version, kept=old.kept)
        await asyncio.to_thread(opened.tables.add_replay, opened.record.number, new)
        self.watch(new)
        return new

    def _keep_told(self, line: str, phrase: str) -> str:
        if not _holds(phrase, line):
            return line
        rest = _blot_out(phrase, line)
        return rest if rest in self.told else ""


def _find_nearest(opened: OpenMemory, words: str) -> str:
    """Return words on the sentence with the most of some words, and its source; none where no text has any."""
    asked = QuestionWords(words)
    sentences = (
        (asked.share(sentence), f"“{sentence}” ({passage.text.source})")
        for passage in rank_passages(opened, words, opened.newest(), None)
        for sentence in list_sentences(passage.words)
    )
    share, sentence = max(sentences, default=(0.0, ""))
    return f"; nearest to these words is {sentence}" if share else ""


def _list_said(version: MemoryVersion, before: MemoryVersion) -> list[str]:
    """Return the sentences of texts that a correction put right: what it corrected and the memory lacked."""
    lines = before.memory.text.splitlines() if version.changes else []
    return [old for old, _ in version.changes if old and old not in lines]


def _number_changes(lines: Sequence[LineChange]) -> Iterator[ChangedLine]:
    """Yield where lines changed; one that is gone has the number that it had."""
    old = new = 0
    for line in lines:
        old += line.kind is not ChangeKind.NEW
        new += line.kind is not ChangeKind.GONE
        if line.kind is not ChangeKind.KEPT:
            yield ChangedLine(kind=str(line.kind), line=old if line.kind is ChangeKind.GONE else new)


def _mask_days(opened: OpenMemory, texts: Mapping[int, MemoryText], limit: datetime) -> dict[int, str | None]:
    """Return what remains of texts of later turns when the days before a time are blotted out."""
    masks: dict[int, str | None] = {}
    for number, content in opened.tables.load_texts(opened.record.number, list(texts)):
        if days := list_days(texts[number], content, limit - timedelta(microseconds=1)):
            end = days[-1].end
            # A turn begins at a line's beginning, which stays one.
            masks[number] = re.sub(r"[^\n]", _MASK, content[:end]) + content[end:]
    return masks


def _mask_files(opened: OpenMemory, sources: Mapping[int, str], source: str) -> dict[int, str | None]:
    """Return what remains of folders that are one text each when a file of them, or a folder, is blotted out."""
    masks: dict[int, str | None] = {}
    folders = [number for number, name in sources.items() if is_inside(source, name)]
    for number, content in opened.tables.load_texts(opened.record.number, folders):
        folder = sources[number].rstrip("/")
        file = source.removeprefix(folder)
        names = (file.lstrip("/"), folder.rpartition("/")[2] + file)
        headers = [(line.start, found[1]) for line in read_lines(content) if (found := FILE_HEADER.match(line.text))]
        for (start, name), end in zip(headers, [*(start for start, _ in headers[1:]), len(content)], strict=True):
            if any(name == one or is_inside(name, one) for one in names):
                rest = masks.get(number) or content
                masks[number] = rest[:start] + re.sub(r"[^\n]", _MASK, rest[start:end]) + rest[end:]
    return masks


def _list_marks(opened: OpenMemory, text: MemoryText, phrase: str) -> list[str]:
    """Return the marks of the pictures of a text in which some words were recognised: they show these words."""
    wanted = _fold(phrase)
    found = opened.tables.pictures(opened.record.number).of_text(text.number) if wanted else ()
    return [one.mark for one in found if wanted in _fold("".join(line.text for line in one.lines))]


def _fold(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFC", text).casefold() if sign.isalnum())


def _is_written(version: MemoryVersion, phrase: str) -> bool:
    """Return whether a correction holds words to forget."""
    return any(_holds(phrase, line) for pair in version.changes for line in pair)


def _drop_lines(text: str, phrase: str) -> str:
    return "\n".join(line for line in text.split("\n") if not _holds(phrase, line))


def _blot_out(phrase: str, line: str) -> str:
    """Return a line without some words, as a text that had it has it now."""
    return " ".join(compile_phrase(phrase).sub(_MASK, line).split())


def _holds(phrase: str, line: str) -> bool:
    return bool(phrase and compile_phrase(phrase).search(line))
