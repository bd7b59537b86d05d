"""Correct a lasting memory by hand. The versions before stay: erasing is `forget`.

Words that stand in the texts alone are put right there: each of their sentences, corrected, becomes a line of the
memory, said by hand on this day or the one that is given, and supersedes what the text says. It goes with the last
text that has the sentence.
Where nothing has the words, a whole statement is taken as it is: somebody says what holds.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.flags import Flag
from bookwheel.journal.memories import write_time
from bookwheel.journal.memory_rows import MemoryVersion, VersionKind
from bookwheel.memory.days import list_day_lines
from bookwheel.memory.pictures import see
from bookwheel.memory.pieces import MemoryUpdate, read_time
from bookwheel.memory.speakers import TURN, find_turn
from bookwheel.text.lexicon import language_of
from bookwheel.text.matching import UNSPACED, parse_words
from bookwheel.text.sentences import LONGEST, find_ends
from bookwheel.types import Memory
from bookwheel.views.diff import ChangeKind, find_changes

if TYPE_CHECKING:
    from bookwheel.memory.opened import OpenMemory

# Sentences that one correction of texts puts right at most: words that more of them have say too little.
_MOST_SENTENCES: Final = 5
# Characters of a diary's entry before the sentence that is put right.
_LONGEST_LEAD: Final = 240
# Words that a statement has at least, in Chinese signs.
_STATEMENT: Final = {"en": 3, "zh": 5}
_LETTER: Final = rf"[^\W_{UNSPACED}]"
# Where no word goes on; Chinese ones have no borders.
_BORDER: Final = rf"(?:(?<!{_LETTER})|(?!{_LETTER}))"


async def edit(opened: OpenMemory, old: str, new: str, at: datetime | str | None = None) -> MemoryUpdate:
    """Put some words of the newest memory right, or else of its texts; without `old`, `new` is the whole memory.

    `at` is the time from which the correction holds, by default now.
    """
    said, gone = dict[str, str](), set[str]()
    words = re.compile(_BORDER + r"\s+".join(map(re.escape, old.split())) + _BORDER)
    if old and not old.strip():
        raise InputError("the words to correct are blank: give words that the memory or its texts have")

    def put_right(text: str) -> str:
        if old and old not in text:
            written = list_written(opened, opened.newest())
            if held := [line for line in written if words.search(line)]:
                said.update((" ".join(words.sub(lambda _: new, line).split()), line) for line in held)
            else:
                said.update(_correct_sentences(opened, old, new, words) or _take_statement(text, old, new))
                held = [line for line, (_, told) in written.items() if told and told in said.values()]
                if not held and (now := _find_correction(opened, words, text.splitlines())):
                    raise InputError(f"{old!r} was put right already, and the memory says {now!r}: correct that line")
            gone.update(line for line in held if line not in said)
            said.pop("", None)
            lines = [line for line in text.splitlines() if line not in gone]
            return "\n".join([*lines, *(line for line in said if line not in lines)])
        corrected = (text.replace(old, new) if old else new).strip()
        if not corrected and not old:
            raise InputError("the new memory is empty, so nothing was changed")
        if old:
            said.update((new, "") for _, new in list_changes(text, corrected) if new)
        return corrected

    return await rewrite(opened, put_right, said, gone, at)


def list_written(opened: OpenMemory, version: MemoryVersion) -> dict[str, tuple[str, str]]:
    """Return the lines that were written by hand up to a version, with its time and what it corrected first.

    A line holds until somebody takes it back: that a model words the memory anew makes nothing of it untrue.
    """
    lines = dict[str, tuple[str, str]]()
    for kept, changes in opened.tables.list_edits(opened.record.number, version.version):
        for old, new in changes:
            _, told = lines.pop(old, ("", old))
            lines.pop(new, None)
            if new.strip():
                lines[new] = kept, told
    return lines


def _find_correction(opened: OpenMemory, words: re.Pattern[str], lines: Sequence[str]) -> str:
    """Return the line that a correction has put in the place of one with these words, if the memory still has it."""
    edits = opened.tables.list_edits(opened.record.number)
    put = (new for _, changes in reversed(edits) for old, new in changes if words.search(old))
    return next((new for new in put if new and new in lines), "")


def _correct_sentences(opened: OpenMemory, old: str, new: str, words: re.Pattern[str]) -> dict[str, str]:
    """Return the sentences of the texts that have some words, put right, each with what the texts say."""
    new, tables, memory = " ".join(new.split()), opened.tables, opened.record.number
    places = dict[str, tuple[str, int]]()
    for _, content in tables.load_texts(memory, [text.number for text in tables.list_texts(memory)]):
        for place, sentence in _find_sentences(content, words):
            places.setdefault(sentence, (content, place))
            if len(places) > _MOST_SENTENCES:
                many = f"more than {_MOST_SENTENCES} sentences of the texts say {old!r}"
                raise InputError(f"{many}: give more words of the one that is meant")
    if not places:
        return {}
    if not new:
        raise InputError(f"only the texts say {old!r}: words of a text are not edited away but forgotten")
    said = dict[str, str]()
    told = [one for _, one in list_written(opened, opened.newest()).values() if one]
    for sentence, (content, place) in places.items():
        line, who = TURN.sub("", sentence), find_turn(content, place)[0]
        label = _lead_in(content, place, told) or ("" if line.startswith(who) else f"{who}: ")
        said[label + words.sub(lambda _: new, line)] = sentence
    return said


def _lead_in(content: str, place: int, told: Collection[str]) -> str:
    """Return the day of a diary and what stands behind it before a sentence, which is not told whole without.

    Where that is long, or some of it was put right too, it is the day alone.
    """
    entries = list_day_lines(content)
    entry = next((start for start, _ in reversed(entries) if start < place), None)
    if entry is None:
        return ""
    start = next(one for one in reversed([entry, *find_ends(content, entry, place + 1)]) if one <= place)
    day = content[entry:].partition("\n")[0].strip()
    before = " ".join(content[entry:start].split())
    is_short = len(before) <= _LONGEST_LEAD and not any(one in before for one in told)
    return f"{before} ".lstrip() if is_short else f"{day}: "


def _find_sentences(content: str, words: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield each place of some words in a text, with its sentence, or its line of a list without full stops."""
    places = list(words.finditer(content))
    ends = [0, *find_ends(content), len(content)] if places else []
    for found in places:
        start, end = ends[bisect_right(ends, found.start()) - 1], ends[bisect_left(ends, found.end())]
        if end - start > LONGEST:
            start, line_end = content.rfind("\n", 0, found.start()) + 1, content.find("\n", found.end())
            end = len(content) if line_end < 0 else line_end
        yield found.start(), " ".join(content[start:end].split())


def _take_statement(memory: str, old: str, new: str) -> dict[str, str]:
    """Return a statement as the line that it is; InputError where it is none, or a line of the memory was meant."""
    keys = {word.key for word in parse_words(old)}
    for line in memory.splitlines() if keys else ():
        if keys <= {word.key for word in parse_words(line)}:
            raise InputError(f"the memory does not say {old!r} but {line!r}: give its words as they stand")
    if len({word.key for word in parse_words(new) if word.is_distinctive}) < _STATEMENT[language_of(new)]:
        advice = "say what holds in a whole sentence, or add it as a text"
        raise InputError(f"neither the memory nor its texts say {old!r}: {advice}")
    return {" ".join(new.split()): ""}


async def rewrite(
    opened: OpenMemory,
    change: Callable[[str], str],
    said: Mapping[str, str] | None = None,
    gone: Collection[str] = (),
    at: datetime | str | None = None,
) -> MemoryUpdate:
    """Put what a function makes of the newest memory's text in its place, as a new version, in its turn.

    `said` has for each new line that corrects a text what the text says, `gone` the lines by hand that hold no more.
    Where there is no room for what was said, it is kept beside the memory: it answers from its version all the same.
    """
    said = {} if said is None else said
    since = read_time(at) if at is not None else write_time()
    # What is forgotten takes along all that was said since its correction.
    if datetime.fromisoformat(since) > datetime.now(UTC):
        raise InputError(f"{at} is to come: a correction holds from now or earlier; add as a text what will hold then")
    async with opened.hold():
        before = opened.newest()
        text = await asyncio.to_thread(change, before.memory.text)
        if text == before.memory.text and not gone:
            return MemoryUpdate(before=before, after=before)
        beside = [line for line in said if line in text.splitlines() and line not in before.memory.text.splitlines()]
        if beside and _count_tokens(opened, text) > before.memory.limit:
            text = "\n".join(line for line in text.splitlines() if line not in beside)
        else:
            beside = []
        changes = [(old or said.get(new, ""), new) for old, new in list_changes(before.memory.text, text)]
        changes += [(said[line], line) for line in beside]
        changes += [(line, "") for line in gone if line not in dict(changes)]
        after = replace(make_edit(opened, before, before.version + 1, text, changes), kept=since)
        await asyncio.to_thread(opened.tables.add_version, opened.record.number, after)
        notes = tuple(f"the memory has no room for {line!r}: it is kept beside it, and answers" for line in beside)
        return MemoryUpdate(before=before, after=after, versions=(after,), notes=notes)


def _count_tokens(opened: OpenMemory, text: str) -> int:
    return see(opened, opened.session.model, text).tokenizer.count(text)


def make_edit(
    opened: OpenMemory, before: MemoryVersion, number: int, text: str, changes: Sequence[tuple[str, str]]
) -> MemoryVersion:
    """Return the version with this text; InputError where it is over the memory's limit."""
    tokens, limit = _count_tokens(opened, text), opened.record.plan.memory_tokens
    if tokens > limit:
        raise InputError(
            f"the new memory has {tokens} tokens and may have {limit}: shorten it, or begin one with more tokens"
        )
    return MemoryVersion(
        version=number,
        kind=VersionKind.EDIT,
        memory=Memory(text=text, tokens=tokens, limit=limit),
        flags=(Flag.EDITED,),
        scores={line: score for line, score in before.scores.items() if line in text.splitlines()},
        changes=tuple(changes),
    )


def list_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines that differ, old and new; an empty one is none."""
    return [
        ("" if line.kind is ChangeKind.NEW else line.old_text, "" if line.kind is ChangeKind.GONE else line.text)
        for line in find_changes(before, after)
    ]


def apply_changes(
    text: str, changes: Iterable[tuple[str, str]], told: Container[str] = ()
) -> tuple[str, list[tuple[str, str]]]:
    """Make a correction in another memory; return it with the changes made.

    A line that is not there has none, but where it is a sentence of a text or a line by hand, of those in `told`.

    >>> apply_changes("Ada: room 12", [("Ada: room 12", "Ada: room 31"), ("Bo: room 3", "Bo: room 4")])
    ('Ada: room 31', [('Ada: room 12', 'Ada: room 31')])
    """
    lines, made = text.splitlines(), list[tuple[str, str]]()
    for old, new in changes:
        if old and old in lines:
            at = lines.index(old)
            lines[at : at + 1] = [new] if new else []
        elif new and (not old or old in told) and new not in lines:
            lines.append(new)
        elif new or old not in told:
            continue
        made.append((old, new))
    return "\n".join(lines), made
