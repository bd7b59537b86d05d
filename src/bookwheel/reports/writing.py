"""Write a section from its rows, and keep only sentences that name rows which bear them out.

    rows        [1] who: Ada Quill; amount: 12 crowns: "Ada Quill pays 12 crowns"
    sentence    Ada Quill pays 12 crowns [1].           kept: the words of row 1 bear it out
                Ada Quill is rich [1].                  left out: they do not
                Ada Quill pays gladly.                  left out: it names no row

What rows bear out only in part is left out too: what they do not say of it may be made up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bookwheel.claims import BORNE_OUT, Verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.reading.loop import converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.matching import Passage, find_missing_words, parse_words
from bookwheel.text.sentences import list_sentences
from bookwheel.verdict.judge import judge_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan

_TURN: Final = "report"
_CITED: Final = re.compile(r"\s*[\[【]\s*(\d+(?:\s*[,，;、]\s*\d+)*)\s*[\]】]")
_AND: Final = re.compile(r"\s+(?:and|while|whereas|but)\s+|[;；]\s*|，而")
_LEAST_WORDS: Final = 4
_DEGREES: Final = (Verdict.QUOTED, Verdict.SUPPORTED, Verdict.PARTLY, Verdict.NOT_FOUND)
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

    @property
    def named(self) -> str:
        """The first value of the row: whom or what it is about, where its quote has another name."""
        return self.said.partition(";")[0].partition(": ")[2]

    def describe(self) -> str:
        """Return where it stands."""
        places = f"characters {self.start:,}–{self.end:,}" if self.start is not None and self.end is not None else ""
        return ", ".join(filter(None, (self.source, f"p. {self.page}" if self.page else "", places)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSentence:
    """A sentence of a report with what it rests on."""

    text: str
    numbers: tuple[int, ...]
    verdict: Verdict

    @property
    def is_kept(self) -> bool:
        """Its sources bear it out as a whole."""
        return bool(self.numbers) and self.verdict in BORNE_OUT

    def format(self) -> str:
        """Return the sentence with its sources behind it."""
        return f"{self.text} {''.join(f'[{number}]' for number in self.numbers)}"


async def write_sentences(
    title: str, brief: str, sources: Sequence[SourceLine], model: Model, plan: Plan
) -> tuple[WrittenSentence, ...]:
    """Return the sentences that a model writes of a section, each checked against the rows that it names."""
    prompts, known = prompts_for(plan, brief), {one.number: one for one in sources}
    written: list[WrittenSentence] = []
    for group in _group(sources, model, plan):
        lines = "\n".join(f'[{one.number}] {one.said}: "{one.quote}"' for one in group)
        messages = prompts.turn(_TURN, question=f"{brief}\n{title}", section=lines)
        said = await converse(messages, model, plan.answer_tokens, plan.sampling)
        written += check_sentences(said.reply.text, known)
    # The same sentence twice is one, with the sources of both.
    joined: dict[tuple[str, Verdict], WrittenSentence] = {}
    for one in written:
        same = joined.setdefault((one.text, one.verdict), one)
        numbers = tuple(dict.fromkeys((*same.numbers, *one.numbers)))
        joined[one.text, one.verdict] = replace(same, numbers=numbers)
    return tuple(joined.values())


def check_sentences(text: str, sources: Mapping[int, SourceLine]) -> Iterator[WrittenSentence]:
    """Yield the sentences of a text with the sources that they name and the verdict on them."""
    for sentence in _split(text):
        numbers = [int(number) for found in _CITED.findall(sentence) for number in re.findall(r"\d+", found)]
        known = tuple(dict.fromkeys(number for number in numbers if number in sources))
        plain = _MARK.sub("", " ".join(_CITED.sub("", sentence).split()))
        if not any(map(str.isalnum, plain)):
            continue
        verdict = _judge(plain, [sources[number] for number in known]) if known else Verdict.NOT_FOUND
        if len(known) < len(set(numbers)):  # It names a row that is not there.
            verdict = Verdict.NOT_FOUND
        yield WrittenSentence(text=plain, numbers=known, verdict=verdict)


def _split(text: str) -> Iterator[str]:
    """Yield the sentences, each with the sources that stand behind its full stop."""
    for line in text.splitlines():
        # "It rained. [1]" names its source behind the stop.
        moved = re.sub(r"([.!?。！？])((?:\s*[\[【]\s*\d[\d\s,，;、]*[\]】])+)", r"\2\1", line)
        yield from list_sentences(moved)


def _judge(sentence: str, sources: Sequence[SourceLine]) -> Verdict:
    """Return what the sources say to a sentence: to the whole, or to each of the statements that it joins."""
    verdict = _judge_whole(sentence, sources)
    parts = _AND.split(sentence)
    if verdict not in BORNE_OUT and len(parts) > 1 and all(len(part.split()) >= _LEAST_WORDS for part in parts):
        are_said = all(_judge_whole(part, sources) in BORNE_OUT for part in parts)
        return Verdict.SUPPORTED if are_said else verdict
    return verdict


def _judge_whole(sentence: str, sources: Sequence[SourceLine]) -> Verdict:
    """Return what one source says to a sentence: its numbers and names must all stand in the same one."""
    exact, verdicts = parse_words(sentence), [Verdict.NOT_FOUND]
    for one in sources:
        words = f"{one.quote}.\n{one.said}.\n{one.named}: {one.quote}."
        if not find_missing_words(exact, Passage(words).index_keys):
            _, claims = judge_answer(sentence, "", (), TextDocument(words))
            verdicts.append(_join_verdicts({claim.verdict for claim in claims}))
    return min(verdicts, key=_DEGREES.index)


def _join_verdicts(verdicts: set[Verdict]) -> Verdict:
    if verdicts and verdicts <= BORNE_OUT:
        return Verdict.SUPPORTED if Verdict.SUPPORTED in verdicts else Verdict.QUOTED
    return Verdict.PARTLY if verdicts and verdicts <= {*BORNE_OUT, Verdict.PARTLY} else Verdict.NOT_FOUND


def _group(sources: Sequence[SourceLine], model: Model, plan: Plan) -> Iterator[list[SourceLine]]:
    """Yield as many sources as a chunk has room for."""
    group: list[SourceLine] = []
    used = 0
    for one in sources:
        tokens = model.tokenizer.count(f'[{one.number}] {one.said}: "{one.quote}"\n')
        if group and used + tokens > plan.chunk_tokens:
            yield group
            group, used = [], 0
        group.append(one)
        used += tokens
    if group:
        yield group
