"""How well passages answer one question, as the way `quotes` measures it.

    surprise(text) = - mean log-probability of the question's tokens after the text
    gain(text)     = 1 - surprise(text) / surprise(no text)     the share of the surprise that the text takes away
                     + WORDS * share of the question's own words that stand in the text
    worth(text)    = gain(text) + weight * log-odds, by the model's judgement, that the text answers the question

The weight is the plan's `judgement_weight`.

What the best passage leaves open may stand in another part of the document. The second passage may say nothing of the
question by itself:

    question   In which town was the keeper born who lit the lamp at Sallow Point in 1891?
    best       The lamp at Sallow Point was lit in 1891 by Amos Thorne, a quiet man.      tells who, not where
    second     Amos Thorne was a cooper's son from Brill.                                 no word of the question

    words      those of the question that the best passage lacks, and the names and numbers that it adds
    windows    the few with the rarest of these words, from the few chunks of the whole document that have them
    gain       of the best passage and a window, read as one text
    worth      that gain and the judgement of the same text, for the two with the most gain
    joins      the window with the most, if both together have twice the least that one passage must have,
               and enough more than the best one has by itself
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from bookwheel.models.base import Ability, Copies, JudgingModel, Model, copy_spans, find_abilities
from bookwheel.plan import Plan
from bookwheel.reading.prompts import Prompts
from bookwheel.reading.ways.answer_checks import (
    find_date_start,
    find_figure_end,
    is_change,
    is_conditional,
    is_denied,
    is_hearsay,
    is_label,
    is_other_day,
    is_signature,
    lacks_number,
)
from bookwheel.reading.ways.document_index import index_passages
from bookwheel.reading.ways.gates import ask_judgement, score_question
from bookwheel.reading.ways.passages import GAP, overlaps, split_windows
from bookwheel.text.comparatives import find_alternatives
from bookwheel.text.questions import SUMS, Style, can_answer, find_style, leaves_open
from bookwheel.text.ranking import QuestionWords, find_stems
from bookwheel.text.sentences import split_sentences
from bookwheel.types import Chunk, Document, Message, Usage
from bookwheel.verdict.parsing import NOT, STRUCK, parse

if TYPE_CHECKING:
    from bookwheel.models.copying import CopiedSpan


# Of the question's words, the share that a sentence must have to say yes or no: then four of five are right; or to have
# the answer where the likeliest one is of a sentence that has this much less.
_LEAST: Final = 0.5
_MORE: Final = 0.25


def choose_answer(passage: str, words: QuestionWords) -> str:
    """Return the part of a passage that answers a question."""
    body = passage.rpartition(GAP)[2]
    sentences = split_sentences(body) if find_style(words.question) is Style.SENTENCE else []
    if not sentences:
        return body
    shares = [len(find_stems(body[start:end]) & words.stems) for start, end in sentences]
    # The one after it may have the "because".
    at = shares.index(max(shares))
    return body[sentences[at][0] : sentences[min(at + 1, len(shares) - 1)][1]].strip()


def choose_span(spans: Sequence[CopiedSpan], passage: str, words: QuestionWords) -> CopiedSpan | None:
    """Return the likeliest span; that of another sentence where it has more of the question.

    A small model takes a name from the sentence beside: "Malik Osei is the chair now. The shed key is with Petra Lunn."
    """
    if not spans:
        return None
    shares = [(end, words.share(passage[start:end])) for start, end in split_sentences(passage)]
    homes = [next(share for end, share in shares if one.start < end) for one in spans]
    most = max(homes)
    return spans[homes.index(most) if most >= _LEAST and most - homes[0] >= _MORE else 0]


def is_sure_span(best: CopiedSpan, spans: Sequence[CopiedSpan], passage: str, words: QuestionWords) -> bool:
    """Return whether no other words of the passage may be meant, and the sentence of these is what is asked about.

    "A book of ten adult swims is £46." is not, where juniors are asked about and named beside it; nor is the price of
    one where it is asked what all cost.
    """
    others = [one.logprob for one in spans[:_RIVALS] if one.end <= best.start or best.end <= one.start]
    home = next(passage[start:end] for start, end in split_sentences(passage) if best.start < end)
    # What is no sum by its own words answers nothing of the kind.
    if SUMS.search(words.question) and not SUMS.search(home):
        return False
    is_alone = words.share(passage) - words.share(home) < _MOST_LEFT
    return is_alone and bool(others) and best.logprob - max(others) >= LEAD


def find_deciding(passages: Sequence[str], words: QuestionWords) -> str:
    """Return the sentence of some passages that says yes or no; empty where none has enough of the question's words."""
    bodies = [passage.rpartition(GAP)[2] for passage in passages]
    sentences = [body[start:end] for body in bodies for start, end in split_sentences(body)]
    best = max(sentences, key=words.share, default="")
    return best if words.share(best) >= _LEAST else ""


# The model knows what a text is about, and hardly sees whether a name or a number of the question is in it.
WORDS: Final = 0.5
# A window's own gain says more than its chunk's, which sees more text but fewer details.
_CHUNK_SHARE: Final = 0.5
# Chunks whose windows are looked through for the words; that costs no call.
_CHUNKS: Final = 6
# Windows that are measured together with the best passage, and those of them that are judged with it.
MEASURED: Final = 4
JUDGED: Final = 2
LEAST_ODDS: Final = -1.0
"""The least log-odds of a passage that answers."""
SURE: Final = -3.5
"""The least log-probability of a short answer. Of those between -2 and this, 19 of 33 out of right passages are exact;
in whole readings fewer, as passages are wrong too (lab/2026-11-29-short-answers.md). Nothing below it was counted."""
LEAD: Final = 7.0
"""By how much the log-probability of a sure short answer is above that of any other words of the passage."""
# Short answers that are compared with it; and the share of the question's words that its sentence may lack, and its
# passage has.
_RIVALS: Final = 5
_MOST_LEFT: Final = 0.35
# A question with one fact seldom gains that much by a second passage; one with two nearly always does.
_ENOUGH: Final = 0.4
SURE_POLAR: Final = 3.0
"""The least difference between the log-probabilities of yes and no; below it the weights here guess."""


@dataclass(frozen=True, slots=True)
class ScoredQuote:
    """A passage that competes for a place in the memory."""

    text: str
    chunk: float
    """The gain of the chunk it is from; infinite for a line that the user wrote."""
    window: float
    judgement: float | None = None
    """The weighted log-odds that it answers the question; None until it is judged."""

    @property
    def gain(self) -> float:
        """What speaks for it before it is judged."""
        return self.window + _CHUNK_SHARE * self.chunk

    @property
    def worth(self) -> float:
        return self.window + (self.judgement or 0.0)

    @property
    def rank(self) -> float:
        """The order in which passages take their places."""
        return self.worth + _CHUNK_SHARE * self.chunk


class ShortAnswer(NamedTuple):
    """An answer of the document's own words, or yes or no."""

    text: str
    is_sure: bool = True


class QuestionScorer:
    """Measures how much of one question texts explain, and adds up what that costs."""

    def __init__(self, model: JudgingModel, prompts: Prompts, question: str, weight: float = 0.0) -> None:
        self.question = question
        self.prompts = prompts
        self.weight = weight
        """What a judgement counts beside a gain; where it is 0, none is asked for."""
        self.words = QuestionWords(question)
        self.two = find_alternatives(question)
        """Those that the question names to choose between."""
        self.usage = Usage()
        self._alone: float | None = None
        """The question's surprise without a text; asked for once."""
        self._model = model

    def messages(self, text: str) -> tuple[Message, ...]:
        """Return the prompt after which the question is scored."""
        return self.prompts.turn("about", question="", section=text)

    async def gain(self, text: str) -> float:
        """Return how much of the question a text explains."""
        if self._alone is None:
            self._alone = await self._measure_surprise("")
        explained = 1 - await self._measure_surprise(text) / self._alone if self._alone else 0.0
        return explained + WORDS * self.words.share(text)

    async def judge(self, text: str) -> float:
        """Return the log-odds that a text answers the question, by the model's judgement."""
        judgement = await ask_judgement(self._model, self.prompts, "answers", question=self.question, section=text)
        self.usage += judgement.usage
        yes, no = judgement.logprobs
        return yes - no

    async def weigh(self, text: str) -> float:
        return self.weight * await self.judge(text)

    def answers(self, quote: ScoredQuote, least_gain: float) -> bool:
        """Return whether a passage answers: by its judgement, or by its gain where it was not judged."""
        if self.weight and quote.judgement is not None:
            return quote.judgement >= self.weight * LEAST_ODDS
        return quote.worth >= least_gain

    async def answer(self, passage: str, second: str = "") -> ShortAnswer:
        """Return the short answer out of a passage, or of two that answer together; else their own words."""
        # What is struck out says nothing.
        passage, second = (STRUCK.sub("", text) for text in (passage, second))
        whole, style = f"{passage} {second}" if second else passage, find_style(self.question)
        unsure = f"{passage}\n{second}" if second else passage.rpartition(GAP)[2]
        if style is Style.POLAR:
            deciding = find_deciding((passage, second), self.words)
            is_so = not parse(deciding).marks[NOT] if deciding else await self._judge_polarity(whole)
            word = "" if is_so is None else self.prompts.options[not is_so]
            if not word or (is_so and leaves_open(self.question, whole)):
                return ShortAnswer(unsure, is_sure=False)
            if lacks_number(self.question, whole):
                return ShortAnswer(unsure, is_sure=False)
            is_sure = not is_conditional(deciding, self.question) and not is_hearsay(deciding, self.question, whole)
            return ShortAnswer(f"{word}{'.' if word.isascii() else '。'}", is_sure=is_sure)
        copies = Copies()
        if style is Style.SPAN and "short" in self.prompts.turns:
            asked = self.prompts.turn("short", question=self.question, section=whole)
            copies = await copy_spans(self._model, asked, whole, GAP)
            self.usage += copies.usage
        if not copies.spans:
            is_whole = second and style is not Style.SPAN
            return ShortAnswer(unsure if is_whole else choose_answer(second or passage, self.words))
        named = find_stems(" ".join(self.two.names)) if self.two else set[str]()
        fit = [
            one
            for one in copies.spans
            if one.logprob >= SURE
            and can_answer(self.question, whole[one.start : one.end])
            and not is_label(self.question, whole, one.start, one.end)
            and not is_denied(self.question, whole, one.start)
            and not is_change(self.question, whole, one.start)
            and not is_signature(whole, one.start, one.end)
            and (not self.two or find_stems(whole[one.start : one.end]) & named)
        ]
        best = choose_span(fit, whole, self.words)
        if best is None:
            return ShortAnswer(unsure, is_sure=False)
        text = whole[find_date_start(self.question, whole, best.start) : find_figure_end(whole, best.end)]
        is_sure = not second and is_sure_span(best, copies.spans, whole, self.words)
        return ShortAnswer(text, is_sure=is_sure and not is_other_day(self.question, text))

    async def _judge_polarity(self, passage: str) -> bool | None:
        """Return whether a passage answers yes, by a model that was taught to say so; None where it is not sure."""
        if "short" not in self.prompts.turns or Ability.JUDGE not in await find_abilities(self._model):
            return None
        judgement = await ask_judgement(self._model, self.prompts, "short", question=self.question, section=passage)
        self.usage += judgement.usage
        yes, no = judgement.logprobs
        return yes > no if abs(yes - no) >= SURE_POLAR else None

    async def _measure_surprise(self, text: str) -> float:
        likelihood = await score_question(self._model, self.prompts, self.question, text)
        self.usage += likelihood.usage
        return -likelihood.mean

    def take_usage(self) -> Usage:
        """Return the cost since the last call, and begin anew."""
        usage, self.usage = self.usage, Usage()
        return usage


@dataclass(frozen=True, slots=True)
class SecondPassage:
    """A passage that answers together with the best one."""

    chunk: Chunk
    """Where it stands."""
    text: str
    gain: float
    """How much of the question both explain together."""


async def find_second(
    best: ScoredQuote, places: Iterable[Chunk], document: Document, scorer: QuestionScorer, model: Model, plan: Plan
) -> SecondPassage | None:
    """Return the passage that answers together with the best one; None if the best one is better alone.

    The places are those of the document's chunks, whose texts are not needed.
    """
    words = scorer.words.beyond(best.text)
    # In a thread: a server's tokenizer waits for the network.
    windows = await asyncio.to_thread(_find_windows, best, words, places, document, model, plan)
    found = [
        SecondPassage(windows[text], text, await scorer.gain(f"{best.text} {text}"))
        for text in words.choose(list(windows), MEASURED)
    ]
    found.sort(key=lambda second: -second.gain)
    worths = [
        second.gain + scorer.weight * await scorer.judge(f"{best.text} {second.text}") for second in found[:JUDGED]
    ]
    enough = max(best.worth + _ENOUGH, 2 * plan.least_gain)
    return found[worths.index(max(worths))] if worths and max(worths) >= enough else None


def _find_windows(
    best: ScoredQuote, words: QuestionWords, places: Iterable[Chunk], document: Document, model: Model, plan: Plan
) -> dict[str, Chunk]:
    """Return the windows that have any of the words and fit the memory beside the best passage, with their chunks."""
    in_order = sorted(places, key=lambda place: place.start)
    starts, found = [place.start for place in in_order], [set[str]() for _ in in_order]
    for word, start in index_passages(document).find_holders(words.stems):
        found[bisect_right(starts, start) - 1].add(word)
    best_places = [in_order[at] for at in words.rank(found)[:_CHUNKS]]
    chunks = [replace(place, text=document.slice(place.start, place.end)) for place in best_places]
    return {
        window: chunk
        for chunk in chunks
        for window in split_windows(chunk.text, model.tokenizer, plan.memory_tokens // 2)
        if words.find(window)
        and not overlaps(window, best.text)
        and model.tokenizer.count(f"{best.text}\n{window}") <= plan.memory_tokens
    }
