"""Find the passages of a memory's texts that a question is put to: those with its rarest words, the newest first.

Lines that were written by hand are passages too, from the day that they were written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.journal.memory_rows import BY_HAND, MemoryText
from bookwheel.memory.days import list_days
from bookwheel.memory.files import split_line
from bookwheel.memory.opened import FoundPlace
from bookwheel.memory.passages import MemoryPassage, cut_passages
from bookwheel.memory.pieces import format_header
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from bookwheel.journal.memory_rows import MemoryVersion
    from bookwheel.memory.opened import OpenMemory

_ASKS: Final = ("?", "？")


def rank_passages(
    opened: OpenMemory, question: str, version: MemoryVersion, until: datetime | None
) -> list[MemoryPassage]:
    """Return the passages with the rarest words of the question that fit a chunk; without any, the newest ones."""
    memory, plan, asked = opened.record.number, opened.record.plan, QuestionWords(question)
    written = [(one, asked.find(one.words)) for one in _list_written(opened, version)]
    places = _find_places(opened, asked, until, is_quoted=prompts_for(plan, question).quotes)
    held = [*(place.held for _, place in places), *(words for _, words in written)]
    ranked = asked.rank(held)
    ranked = [at for at in ranked if held[at]] or ranked
    chosen, room = list[MemoryPassage](), plan.chunk_tokens
    for at in ranked:
        if at < len(places):
            text, place = places[at]
            words = opened.tables.load_text(memory, text.number)[place.start : place.end]
            passage = MemoryPassage(text=replace(text, at=place.at), start=place.start, words=words)
        else:
            passage = written[at - len(places)][0]
        room -= opened.session.model.tokenizer.count(format_header(passage.text) + passage.words) + 2
        if room < 0 and chosen:
            break
        chosen.append(passage)
    return chosen


def _find_places(
    opened: OpenMemory, asked: QuestionWords, until: datetime | None, *, is_quoted: bool
) -> list[tuple[MemoryText, FoundPlace]]:
    """Return the passages of all texts up to a time with what each has of the question, those of newest texts first.

    A standing question looks through each text once.
    """
    texts = opened.tables.list_texts(opened.record.number)
    texts.sort(key=lambda one: (one.instant, one.number), reverse=True)
    found = opened.searched.find(f"{asked.question}\n{until or ''}")
    new = {one.number: one for one in texts if (one.number, one.sha256) not in found}
    for number, content in opened.tables.load_texts(opened.record.number, list(new)):
        text = new[number]
        found[number, text.sha256] = list(_search(text, content, asked, until, is_quoted=is_quoted))
    return [(text, place) for text in texts for place in found.get((text.number, text.sha256), ())]


def _search(
    text: MemoryText, content: str, asked: QuestionWords, until: datetime | None, *, is_quoted: bool
) -> Iterator[FoundPlace]:
    """Yield the passages of a text that say something, those of its newest day first; none has words of two days."""
    for day in reversed(list_days(text, content, until)):
        for start, words in cut_passages(content[day.start : day.end], is_quoted=is_quoted):
            if _only_asks(words):
                continue
            at = day.start + start
            yield FoundPlace(start=at, end=at + len(words), at=day.at, held=asked.find_held(words))


def _only_asks(words: str) -> bool:
    """Return whether a passage has nothing but questions: what a chat asked before is no answer to it."""
    if not words.rstrip().endswith(_ASKS):
        return False
    sentences = (words[start:end].strip() for start, end in split_sentences(words))
    return all(sentence.endswith(_ASKS) for sentence in sentences if sentence)


def _list_written(opened: OpenMemory, version: MemoryVersion) -> list[MemoryPassage]:
    """Return the lines of a version that were written by hand, newest first, as passages of a text of their own."""
    edits = opened.tables.list_edits(opened.record.number, version.version)
    left = set(version.memory.text.splitlines()) if edits else set()
    passages = list[MemoryPassage]()
    for kept, changes in reversed(edits):
        written = dict[str, list[str]]()
        for new in (new for _, new in changes if new.strip() and new in left):
            left.discard(new)
            path, words = split_line(new)
            written.setdefault(path or BY_HAND, []).append(words)
        for source, lines in written.items():
            words = "\n".join(lines)
            text = MemoryText(
                number=0, source=source, at=kept, arrived=kept, sha256="", characters=len(words), position=len(words)
            )
            passages += [MemoryPassage(text=text, start=start, words=part) for start, part in cut_passages(words)]
    return passages
