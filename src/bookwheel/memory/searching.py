"""Find the passages of a memory's texts that a question is put to: those with its rarest words, the newest first.

Lines that were written by hand are passages too, from the day that they were written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.journal.memory_rows import BY_HAND, MemoryText, MemoryVersion
from bookwheel.memory.editing import list_written
from bookwheel.memory.files import split_line
from bookwheel.memory.passages import MemoryPassage, cut_passages, format_header, leave_out_repeated
from bookwheel.reading.prompts import language_of, prompts_for
from bookwheel.text.ranking import QuestionWords

if TYPE_CHECKING:
    from datetime import datetime

    from bookwheel.memory.opened import OpenMemory

# Who quotes weighs the best few windows of any number of chunks; to a small model Chinese is three times the tokens.
_ROOM: Final = {"en": 1, "zh": 3}


def keep_index(opened: OpenMemory) -> None:
    """Keep the words of the texts that have come, where they are enough for a block."""
    is_quoted = prompts_for(opened.record.plan, opened.record.about).quotes
    opened.index.keep(opened.tables, opened.record.number, is_quoted=is_quoted)


def rank_passages(
    opened: OpenMemory, question: str, version: MemoryVersion, until: datetime | None
) -> list[MemoryPassage]:
    """Return the passages with the rarest words of the question that fit a chunk; without any, the newest ones."""
    tables, memory, plan = opened.tables, opened.record.number, opened.record.plan
    asked, is_quoted = QuestionWords(question), prompts_for(plan, opened.record.about).quotes
    written = [(one, asked.find(one.words)) for one in _list_written(opened, version)]
    places, total = opened.index.find(tables, memory, asked, until, is_quoted=is_quoted)
    held = [*(place.held for place in places), *(words for _, words in written)]
    ranked = asked.rank(held, total + len(written))
    ranked = [at for at in ranked if held[at]] or ranked
    chosen, room = list[MemoryPassage](), plan.chunk_tokens * (_ROOM[language_of(question)] if is_quoted else 1)
    for at in ranked:
        if at < len(places):
            place = places[at]
            text = replace(tables.find_text(memory, place.text), at=place.at)
            words = tables.load_text(memory, place.text)[place.start : place.end]
            passage = MemoryPassage(text=text, start=place.start, words=words)
        else:
            passage = written[at - len(places)][0]
        header = "" if is_quoted else format_header(passage.text)
        room -= opened.session.model.tokenizer.count(header + passage.words) + 2
        if room < 0 and chosen:
            break
        chosen.append(passage)
    return leave_out_repeated(chosen)


def _list_written(opened: OpenMemory, version: MemoryVersion) -> list[MemoryPassage]:
    """Return the lines that were written by hand up to a version, newest first, as passages of texts of their own."""
    written = dict[tuple[str, str], list[str]]()
    for line, (kept, _) in list_written(opened, version).items():
        path, words = split_line(line)
        written.setdefault((kept, path or BY_HAND), []).append(words)
    passages = list[MemoryPassage]()
    for (kept, source), parts in reversed(written.items()):
        words = "\n".join(parts)
        text = MemoryText(
            number=0, source=source, at=kept, arrived=kept, sha256="", characters=len(words), position=len(words)
        )
        passages += [MemoryPassage(text=text, start=start, words=part) for start, part in cut_passages(words)]
    return passages
