"""Check the sentences of a report against the rows that they name.

A sentence stands in the report where it names a row and the row's own words bear it out (`verdict/statements.py`);
other words than the row's are kept with a mark and the passage to compare, and all else is left out. With `--verdict
model` the model judges what no row says in so many words: its yes keeps a sentence with a mark, its no leaves it out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bookwheel.claims import BORNE_OUT, Verdict
from bookwheel.errors import BudgetReached, ModelError
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.loop import converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.verdicts import ModelJudge, choose_judge
from bookwheel.text.sentences import list_sentences
from bookwheel.verdict.statements import find_nearest, has_exact_words, judge_statement
from bookwheel.views.verdicts import describe_pages

_CITED: Final = re.compile(r"\s*[\[【]\s*(\d+(?:\s*[,，;、]\s*\d+)*)\s*[\]】]")
_MARK: Final = re.compile(r"^(?:[-*•·]|#+|\d+[.)、])\s+")


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
    step: int = 0
    reading: str = ""
    is_by_hand: bool = False
    """A person has changed the row: its values count, and no longer the words that it was found in."""
    is_seen: bool = False
    """The model saw it in a picture: its values count, and no words bear it out."""

    @property
    def words(self) -> str:
        """What a sentence must say: the row's words in the document; the row itself where its values count."""
        return self.said if self.is_by_hand or self.is_seen else self.quote

    def format(self) -> str:
        quoted = "" if self.words is self.said else f': "{self.quote}"'
        return f"[{self.number}] {self.said}{quoted}"

    @property
    def named(self) -> str:
        """The first value of the row: whom or what it is about, where its quote has another name."""
        return self.said.partition(";")[0].partition(": ")[2]

    def describe(self) -> str:
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
    """The words of the source that is nearest to it; empty where it names none."""

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
        return f"{self.text} {''.join(f'[{mark}{number}]' for number in self.numbers)}"

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
        elif verdict in BORNE_OUT and any(one.is_seen for one in mine):
            verdict = Verdict.PARTLY
        yield WrittenSentence(text=plain, numbers=known, verdict=verdict, passage=find_nearest(plain, mine))


def _split(text: str) -> Iterator[str]:
    """Yield the sentences, each with the sources that stand behind its full stop."""
    for line in text.splitlines():
        # "It rained. [1]" names its source behind the stop.
        moved = re.sub(r"([.!?。！？])((?:\s*[\[【]\s*\d[\d\s,，;、]*[\]】])+)", r"\2\1", line)
        yield from list_sentences(moved)


_TURN: Final = "report"


async def write_sentences(
    title: str, brief: str, sources: Sequence[SourceLine], model: Model, plan: Plan
) -> tuple[WrittenSentence, ...]:
    """Return the sentences that a model writes of a section, each checked against the rows that it names."""
    prompts, known = prompts_for(plan, brief), {one.number: one for one in sources}
    judge = choose_judge(brief, model, plan)
    written: list[WrittenSentence] = []
    for group in _group(sources, model, plan):
        lines = "\n".join(one.format() for one in group)
        messages = prompts.turn(_TURN, question=f"{brief}\n{title}", section=lines)
        said = await converse(messages, model, plan.answer_tokens, plan.sampling)
        checked = check_sentences(said.reply.text, known)
        written += await asyncio.gather(*(_ask(one, known, judge, f"{brief}\n{title}") for one in checked))
    # The same sentence twice is one, with the sources of both.
    joined: dict[tuple[str, Verdict], WrittenSentence] = {}
    for one in written:
        same = joined.setdefault((one.text, one.verdict), one)
        numbers = tuple(dict.fromkeys((*same.numbers, *one.numbers)))
        joined[one.text, one.verdict] = replace(same, numbers=numbers)
    return tuple(joined.values())


async def _ask(
    written: WrittenSentence, sources: Mapping[int, SourceLine], judge: ModelJudge | None, question: str
) -> WrittenSentence:
    """Return a sentence with what the judge says to it, where there is one and its rows' own words do not tell.

    A number or name that no row has is wrong whatever a judge says. Where the judge fails, the words decide.
    """
    rows = [sources[number] for number in written.numbers]
    if judge is None or written.verdict in BORNE_OUT or not has_exact_words(written.text, rows):
        return written
    section = "\n".join(one.format() for one in rows)
    try:
        said = await judge.ask("supports", section=section, memory=written.text, question=question)
    except (ModelError, BudgetReached):
        said = None
    if said is None:
        return written
    return replace(written, verdict=Verdict.PARTLY if said >= judge.threshold else Verdict.NOT_FOUND)


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
