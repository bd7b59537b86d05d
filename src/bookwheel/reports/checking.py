"""Check the sentences of a report against the rows that they name.

A sentence stands in the report where it names a row and the row's own words bear it out (`verdict/statements.py`);
other words than the row's are kept with a mark and the passage to compare, and all else is left out: of a row that no
other sentence names, its own words then stand there. With `--verdict model` the model judges what no row says in so
many words: its yes keeps a sentence with a mark, its no leaves it out.

A section whose rows are too many for one request is written part by part, each from the rows that come next and the
last sentences before it. A reply that was cut off is not used: its rows are written of in two halves.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bookwheel.claims import BORNE_OUT, Verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BudgetReached, ModelError
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.loop import converse
from bookwheel.reading.model_judge import ModelJudge
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.verdicts import settle_judge
from bookwheel.text.cells import split_cells
from bookwheel.text.matching import Passage, find_missing_words, parse_words
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Finish
from bookwheel.verdict.copies import find_quotes, is_findable
from bookwheel.verdict.sources import PlacedParts
from bookwheel.verdict.statements import has_exact_words, judge_statement
from bookwheel.views.verdicts import describe_pages

_CITED: Final = re.compile(r"\s*[\[【]\s*(\d+(?:\s*[,，;、]\s*\d+)*)\s*[\]】]")
# What a mail quotes of another.
_REPLIED: Final = re.compile(r"^[ \t]*(?:>[ \t]*)+", re.MULTILINE)
_MARK: Final = re.compile(r"^(?:[-*•·]|#+|\d+[.)、])\s+")


_MARKS: Final = {
    "en": ("says otherwise than {}", "puts right: {}", "[{}] says otherwise further on or puts it right"),
    "zh": ("与 {} 说法不同", "更正了：{}", "[{}] 在后文另有说法，或作了更正"),
}
"""What a row is to others, for the writer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A numbered source of a report: a row, its words in the document and their place."""

    number: int
    said: str
    """The row in words: "who: Ada Quill; amount: 12 crowns"."""
    quote: str
    document: str
    """The id of its document."""
    source: str = ""
    page: int | None = None
    start: int | None = None
    end: int | None = None
    lines: tuple[int, ...] = ()
    """The first and the last line of its file, where that has lines."""
    step: int = 0
    reading: str = ""
    is_by_hand: bool = False
    """A person has changed the row: its values count, and no longer the words that it was found in."""
    is_seen: bool = False
    """The model saw it in a picture: its values count, and no words bear it out."""
    others: tuple[int, ...] = ()
    """The numbers of rows that say otherwise of the same, also in other documents."""
    later: int | None = None
    """The one of them that stands further on, or puts this one right."""
    corrects: str = ""
    """What was said before and is put right here."""

    @property
    def words(self) -> str:
        """What a sentence must say: the row's words in the document; the row itself where its values count."""
        return self.said if self.is_by_hand or self.is_seen else self.quote

    def format(self, language: str = "en") -> str:
        """Return the row as its writer is shown it. Numbers in brackets that its words have are none of rows."""
        quoted = "" if self.words is self.said else f': "{self.quote}"'
        shown = _CITED.sub(r" (\1)", f"{self.said}{quoted}")
        others = ", ".join(f"[{one}]" for one in self.others if one != self.later)
        than, corrects, later = _MARKS.get(language, _MARKS["en"])
        marks = [
            than.format(others) if others else "",
            corrects.format(self.corrects) if self.corrects else "",
            later.format(self.later) if self.later else "",
        ]
        marked = f" ({'; '.join(filter(None, marks))})" if any(marks) else ""
        return f"[{self.number}] {shown}{marked}"

    def tell(self) -> WrittenSentence:
        """Return the row's own words as a sentence, with whom or what it is about where they do not name it."""
        known = {*Passage(self.words).index_keys}
        is_named = self.words is self.said or not find_missing_words(parse_words(self.named), known)
        text = " ".join(_REPLIED.sub(" ", self.words).split())
        if text.startswith("|"):  # A row of a table.
            text = ", ".join(filter(None, split_cells(text)))
        text = text if is_named else f"{self.named}: “{text}”"
        verdict = Verdict.PARTLY if self.is_seen else Verdict.QUOTED
        return WrittenSentence(text=text, numbers=(self.number,), verdict=verdict, passage=self.words)

    @property
    def named(self) -> str:
        """The first value of the row: whom or what it is about, where its quote has another name."""
        return self.said.partition(";")[0].partition(": ")[2]

    def describe(self) -> str:
        if self.lines:
            return f"{self.source}:{'-'.join(map(str, dict.fromkeys(self.lines)))}"
        places = f"characters {self.start:,}–{self.end:,}" if self.start is not None and self.end is not None else ""
        return ", ".join(filter(None, (self.source, describe_pages([self.page] if self.page else []), places)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSentence:
    """A sentence of a report with what it rests on."""

    text: str
    numbers: tuple[int, ...]
    verdict: Verdict
    """Partly: it says its sources in other words, or one was seen in a picture alone, and is marked."""
    passage: str = ""
    """The words of the sources that it names, and of what says otherwise further on; empty where it names none."""

    @property
    def is_kept(self) -> bool:
        """It stands in the report, with a mark or without."""
        return bool(self.numbers) and (self.verdict in BORNE_OUT or self.is_marked)

    @property
    def is_marked(self) -> bool:
        """Its words are not those of the documents: whoever reads it compares them."""
        return self.verdict is Verdict.PARTLY

    def format(self) -> str:
        """Return the sentence with its sources behind it; ≈ marks other words than theirs."""
        mark = "≈" if self.is_marked else ""
        # A row's own words may end before their full stop.
        stop = "" if not self.text[-1:].isalnum() else "。" if self.text[-1] > "\u2e80" else "."
        return f"{self.text}{stop} {''.join(f'[{mark}{number}]' for number in self.numbers)}"

    def compare(self) -> str:
        """Return the sentence beside the passage that it names."""
        text = self.format() if self.is_kept else self.text
        return f"{text} — there: “{' '.join(self.passage.split())}”" if self.passage else text


def check_sentences(text: str, sources: Mapping[int, SourceLine]) -> Iterator[WrittenSentence]:
    """Yield the sentences of a text with the sources that they name and the verdict on them."""
    for sentence in _split(text):
        numbers = [int(number) for found in _CITED.findall(sentence) for number in re.findall(r"\d+", found)]
        known = tuple(dict.fromkeys(number for number in numbers if number in sources))
        plain = _MARK.sub("", " ".join(_CITED.sub("", sentence).split()))
        if not any(map(str.isalnum, plain)):
            continue
        mine = [sources[number] for number in known]
        verdict = judge_statement(plain, mine)
        if len(known) < len(set(numbers)):  # It names a row that is not there, so nothing bears it out.
            verdict, known = Verdict.NOT_FOUND, ()
        is_lead = plain.endswith((":", "：")) and not any(map(str.isdigit, plain))
        if is_lead and not known:  # "Here is the section:"
            continue
        if verdict in BORNE_OUT and any(one.is_seen for one in mine):
            verdict = Verdict.PARTLY
        yield _mark_later(WrittenSentence(text=plain, numbers=known, verdict=verdict), sources)


def _mark_later(written: WrittenSentence, sources: Mapping[int, SourceLine]) -> WrittenSentence:
    """Return a sentence with its passage, marked where it tells a row without what another says in its place."""
    mine = [sources[number] for number in written.numbers]
    later = _list_later(mine, sources)
    is_marked = bool(later) and written.verdict in BORNE_OUT
    return replace(
        written,
        verdict=Verdict.PARTLY if is_marked else written.verdict,
        passage="” … “".join(dict.fromkeys(one.words for one in (*mine, *later))),
    )


def _list_later(rows: Sequence[SourceLine], sources: Mapping[int, SourceLine]) -> list[SourceLine]:
    """Return what others say in the place of rows, and is none of these rows itself."""
    known = {one.number for one in rows}
    return [sources[one.later] for one in rows if one.later and one.later in sources and one.later not in known]


def _split(text: str) -> Iterator[str]:
    """Yield the sentences, each with the sources that stand behind its full stop."""
    for line in text.splitlines():
        # "It rained. [1]" names its source behind the stop.
        moved = re.sub(r"([.!?。！？])((?:\s*[\[【]\s*\d[\d\s,，;、]*[\]】])+)", r"\2\1", line)
        yield from list_sentences(moved)


_TURN: Final = "report"
_PART: Final = "report_part"
"""What is asked where a section is written part by part."""


async def write_sentences(
    title: str, brief: str, sources: Sequence[SourceLine], model: Model, plan: Plan
) -> tuple[WrittenSentence, ...]:
    """Return the sentences that a model writes of a section, each checked against the rows that it names."""
    prompts, known = prompts_for(plan, brief), {one.number: one for one in sources}
    judge = await settle_judge(brief, model, plan)
    written: list[WrittenSentence] = []
    asked, groups = f"{brief}\n{title}", [*_group(sources, model, plan)]
    turn = _TURN if len(groups) == 1 else _PART
    while groups:
        group = groups.pop(0)
        said = await converse(
            prompts.turn(
                turn,
                question=asked,
                memory=_find_end(written, model, plan),
                section=_format_lines(group, prompts.language),
            ),
            model,
            plan.answer_tokens,
            plan.sampling,
        )
        if said.reply.finish is Finish.LENGTH and len(group) > 1:
            groups[:0], turn = (group[: len(group) // 2], group[len(group) // 2 :]), _PART
            continue
        checked = check_sentences(said.reply.text, known)
        written += await asyncio.gather(*(_ask(one, known, judge, asked) for one in checked))
    written = [*_tell_lost(written, known)]
    # The same sentence twice is one, with the sources of both; what stands in the text is not left out of it.
    kept = {one.text for one in written if one.is_kept}
    joined: dict[tuple[str, Verdict], WrittenSentence] = {}
    for one in [one for one in written if one.is_kept or one.text not in kept]:
        same = joined.setdefault((one.text, one.verdict), one)
        numbers = tuple(dict.fromkeys((*same.numbers, *one.numbers)))
        joined[one.text, one.verdict] = replace(same, numbers=numbers)
    return tuple(joined.values())


async def _ask(
    written: WrittenSentence, sources: Mapping[int, SourceLine], judge: ModelJudge | None, question: str
) -> WrittenSentence:
    """Return a sentence with what the judge says to it, where there is one and its rows' own words do not tell.

    A number or name that neither a row nor the name of its document has is wrong whatever a judge says. Where the judge
    fails, or copies what no row says, the words decide.
    """
    rows = [sources[number] for number in written.numbers]
    names = " ".join(one.source for one in rows)
    if judge is None or written.verdict in BORNE_OUT or not has_exact_words(written.text, rows, names):
        return written
    section = _format_lines([*rows, *_list_later(rows, sources)], judge.prompts.language, least=1)
    try:
        said, quotes = await judge.ask_support(written.text, question, section)
    except (ModelError, BudgetReached):
        said, quotes = None, ""
    if said is None or said < judge.threshold:
        return written if said is None else replace(written, verdict=Verdict.NOT_FOUND)
    copied = [line for line in quotes.splitlines() if is_findable(line)]
    if copied and not any(find_quotes(PlacedParts(TextDocument(section)), line) for line in copied):
        return written
    return replace(written, verdict=Verdict.PARTLY)


def _tell_lost(written: Sequence[WrittenSentence], sources: Mapping[int, SourceLine]) -> Iterator[WrittenSentence]:
    """Yield the sentences, and behind one that is left out the words of its rows that no kept one names.

    Of a section of which none is kept, all rows stand in their own words.
    """
    told = {number for one in written if one.is_kept for number in one.numbers}
    for one in written:
        yield one
        for number in one.numbers if not one.is_kept else ():
            if number not in told:
                told.add(number)
                yield _mark_later(sources[number].tell(), sources)
    yield from () if told else (_mark_later(one.tell(), sources) for one in sources.values())


def _find_end(written: Sequence[WrittenSentence], model: Model, plan: Plan) -> str:
    """Return the last sentences that are kept, as many as a memory has room for."""
    end = ""
    for one in reversed([one for one in written if one.is_kept]):
        longer = f"{one.format()} {end}".strip()
        if model.tokenizer.count(longer) > plan.memory_tokens:
            break
        end = longer
    return end


def _format_lines(sources: Sequence[SourceLine], language: str, *, least: int = 2) -> str:
    """Return the rows as their writer is shown them, below the names of their documents where there are so many."""
    lines: list[str] = []
    names = [one.source for one in sources]
    for one, before in zip(sources, [None, *names], strict=False):
        if len({*names}) >= least and one.source and one.source != before:
            lines.append(f"{one.source}:")
        lines.append(one.format(language))
    return "\n".join(lines)


def _group(sources: Sequence[SourceLine], model: Model, plan: Plan) -> Iterator[list[SourceLine]]:
    """Yield as many sources as a chunk has room for."""
    group: list[SourceLine] = []
    used = 0
    for one in sources:
        tokens = model.tokenizer.count(f"{one.format()}\n")
        if group and used + tokens > plan.chunk_tokens:
            yield group
            group, used = [], 0
        group.append(one)
        used += tokens
    if group:
        yield group
