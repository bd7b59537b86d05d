"""What a memory should make likelier where nobody knows the answer: what the frozen reference says, the words in hand.

    s_1 … s_n   the sentences that the question points at, in the document's order
    P_i         s_i and, one hop on, the sentences that the words it brings in point at
    y_i         what the reference answers from s_i or from P_i as its notes, whichever the two together tell more of
    m           the reference's memory after it read s_1 … s_n one after the other, and nothing else
    targets     the y_i that m tells the most of; where it tells of none, those there is most to tell of. Never one that
                the words in hand make likelier by less than a quarter, in probabilities as R is: it would pay for a
                hair as much as for all of it

    asked oak near    oak near elm .   elm has red .     y_1 red: the first sentence alone would answer nothing
    asked oak at      oak at mill .    oak at quay .     y_1 mill, y_2 quay; m is "oak at quay", and y_1 counts no more

That a later sentence overrules an earlier one stands in no text. It is the reader that knows it, or does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from math import fsum
from typing import Final

from bookwheel.documents.opening import TextDocument
from bookwheel.lab.tasks import Sample
from bookwheel.lab.training.config import TrainConfig
from bookwheel.models.base import Model
from bookwheel.plan import Sampling
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.registry import load_way
from bookwheel.reading.worth import MemoryScorer, Target, choose_best, point_at
from bookwheel.text.ranking import list_words
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Step

MARKS: Final = " .!?。！？;；,，"
"""What a sentence ends with that a note does not."""
_GREEDY: Final = Sampling(temperature=0.0)
_LEAST_NEED: Final = 0.25
"""Where the words in hand say an answer with 0.9, it is guessed with 0.65 at most. Of bits 1e-3 for 1e-9 has 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointedSentence:
    """A sentence that a question points at."""

    text: str
    notes: tuple[str, ...]
    """It alone, and with what it points at: a sentence a line, as notes are written."""


def find_sentences(question: str, text: str) -> list[PointedSentence]:
    r"""Return the sentences that a question points at, in the text's order.

    >>> find_sentences("oak near", "Oak near elm. It rained. Elm has red.")[0].notes
    ('Oak near elm', 'Oak near elm\nElm has red')
    """
    # What is said again holds from there on: oak went back to the mill.
    sentences = list(dict.fromkeys(reversed(list_sentences(text))))[::-1]
    asked, pointed = set(list_words(question)), sorted(point_at(question, sentences))
    others = [at for at in range(len(sentences)) if at not in pointed]
    rest = [sentences[at] for at in others]
    found = []
    for at in pointed:
        added = " ".join(word for word in list_words(sentences[at]) if word not in asked)
        hops = [others[place] for place in point_at(added, rest)]
        shown = dict.fromkeys(((at,), tuple(sorted([at, *hops]))))
        notes = tuple("\n".join(sentences[one].rstrip(MARKS) for one in places) for places in shown)
        found.append(PointedSentence(text=sentences[at], notes=notes))
    return found


async def expect_answers(sample: Sample, scorer: MemoryScorer, model: Model, config: TrainConfig) -> list[Target]:
    """Return what the model answers to a sample's question from the document's own sentences."""
    question, plan = sample.question, config.plan
    sentences = await asyncio.to_thread(find_sentences, question, sample.text)
    prompts = prompts_for(plan, question)

    async def say(notes: str) -> str:
        asked = prompts.turn("recall", question=question, memory=notes)
        return (await model.reply(asked, limit=plan.answer_tokens, sampling=_GREEDY)).text.strip()

    async def answer(one: PointedSentence) -> Target | None:
        replies = [(notes, await say(notes)) for notes in one.notes]
        targets = [Target(text=text, cue=question, past=notes) for notes, text in replies if text]
        targets = [one for one in targets if await scorer.find_need(one) >= _LEAST_NEED]
        told = [fsum([(await scorer.score(notes, [target])).bits for notes in one.notes]) for target in targets]
        return targets[told.index(max(told))] if targets else None

    answers = await asyncio.gather(*map(answer, sentences))
    targets = list({one.text: one for one in answers if one}.values())
    if len(targets) < 2:  # noqa: PLR2004 - nothing to choose
        return targets
    alone = await _read_alone([one.text for one in sentences], config.brief or question, model, config)
    told = [await scorer.score(alone, [one]) for one in targets]
    best = choose_best([one.bits for one in told]) or choose_best([one.possible or 0.0 for one in told])
    return [targets[at] for at in best]


async def _read_alone(sentences: Sequence[str], question: str, model: Model, config: TrainConfig) -> str:
    """Return the memory after each sentence was read as a piece of its own."""
    text, steps, way = "", tuple[Step, ...](), load_way(config.way)
    plan = replace(config.plan, sampling=_GREEDY)
    for sentence in sentences:
        text += f"{sentence}\n"
        async with aclosing(way(TextDocument(text), question, model, plan, steps)) as events:
            async for event in events:
                if isinstance(event, Step):
                    steps = (*steps, event)
                    # What comes next is the answer, which nobody needs.
                    if event.chunk.end == len(text):
                        break
    return steps[-1].after.text if steps else ""
