"""What comes before the first chunk, and what after the last one.

    planned       q'  = question + the questions that its answer needs, which the model writes down first
                  m_k = write(q', m_{k-1}, chunk_k)          and the answer is one to the question alone
    look-back     after the last chunk, some are read once more with the memory that the whole document gave

With `planned`, a fact of the second hop is worth noting before the first hop is known. Its first step has an empty span
at the document's beginning and the smaller questions for its memory, so they can be seen, and changed by hand, like a
memory.

Two kinds of chunks deserve `look-back`: those that a gate skipped though their score was near its threshold, and those
that left the memory as it was but hold names and numbers that the final memory holds, the rare ones counting most. They
mattered only because of something that came later. The step of a second reading has the span of the first one and an
index of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil, inf
from typing import Final

from bookwheel.flags import Flag
from bookwheel.plan import Plan
from bookwheel.reading.asides import Scene
from bookwheel.reading.estimate import CallCost
from bookwheel.reading.guards import next_memory
from bookwheel.reading.loop import converse
from bookwheel.reading.ways.compose import ComposedWay
from bookwheel.reading.ways.gates import is_near
from bookwheel.reading.ways.spec import Preface, ReadingContext, Review
from bookwheel.text.matching import Passage, parse_words
from bookwheel.text.ranking import weigh_rarity
from bookwheel.types import Chunk, Memory, Step

_MOST_QUESTIONS: Final = 4
_MOST_TOKENS: Final = 160
# Stands between the question and the smaller ones, and how many lines stand above these.
_BELOW: Final = {"en": "Smaller questions that help to answer it:", "zh": "有助于回答它的小问题:"}
_ABOVE: Final = 3
# A second pass that cost more than a tenth of the first would be a second reading.
_SHARE: Final = 0.1
_LEAST: Final = 2


def _limit_reply(plan: Plan) -> int:
    return min(_MOST_TOKENS, plan.answer_tokens)


async def write_plan(context: ReadingContext) -> Step:
    """Ask for the smaller questions."""
    messages = context.prompts.turn("plan", question=context.question)
    conversation = await converse(messages, context.model, _limit_reply(context.plan), context.plan.sampling)
    blank = Memory.blank(context.plan.memory_tokens)
    plan, flags = next_memory(
        blank, conversation.reply, context.model.tokenizer, Scene(unchanged=context.prompts.unchanged)
    )
    text = "\n".join([line.strip() for line in plan.text.splitlines() if line.strip()][:_MOST_QUESTIONS])
    after = replace(blank, text=text, tokens=context.model.tokenizer.count(text))
    return Step(chunk=Chunk.empty(), before=blank, after=after, conversation=conversation, flags=flags)


def ask_all(context: ReadingContext, step: Step) -> ReadingContext:
    """Return the context with the smaller questions beside the question, as many as there is room for."""
    model, plan, question = context.model, context.plan, context.question.strip()
    room = plan.question_tokens
    if model.window is not None:
        room = min(room, model.window - plan.update_tokens(question=0, template=context.template))
    lines = [question, "", _BELOW[context.prompts.language]]
    for line in step.after.text.splitlines():
        if model.tokenizer.count("\n".join((*lines, line))) > room:
            break
        lines.append(line)
    return replace(context, question="\n".join(lines)) if len(lines) > _ABOVE else context


PLANNED = ComposedWay(
    name="planned",
    preface=Preface(
        write=write_plan,
        apply=ask_all,
        estimate=lambda given: CallCost(
            least=1, most=1, words=given.count_turn("plan"), reply=_limit_reply(given.plan)
        ),
    ),
    turns=("plan",),
)


def count_room(steps: int) -> int:
    """Return how many chunks are read again after so many steps, at most."""
    return max(_LEAST, ceil(_SHARE * steps))


def choose_chunks(context: ReadingContext, steps: Sequence[Step]) -> list[Chunk]:
    """Return the chunks to read again, in the document's order."""
    idle = [
        step
        for step in steps
        if step.before.text == step.after.text and step.chunk.end > step.chunk.start and Flag.UNREAD not in step.flags
    ]
    room = count_room(len(steps))
    least = context.plan.gate.threshold if context.plan.gate else inf
    skipped = [(step.score, step) for step in idle if Flag.SKIPPED in step.flags and step.score is not None]
    near = [step for score, step in sorted(skipped, key=lambda pair: -pair[0]) if is_near(score, least)][:room]
    pointed = _rank_by_memory(context, [step for step in idle if step not in near], steps[-1].after.text)
    chosen = (*near, *pointed[: max(0, room - len(near))])
    return sorted((replace(step.chunk, text="") for step in chosen), key=lambda chunk: chunk.start)


def _rank_by_memory(context: ReadingContext, steps: Sequence[Step], memory: str) -> list[Step]:
    """Return the steps whose chunks hold names or numbers of the memory that the question lacks, the rarest first."""
    asked = {word.index_key for word in parse_words(context.question)}
    known = {word.index_key for line in memory.splitlines() for word in parse_words(line) if word.is_exact} - asked
    held = [known & Passage(context.document.slice(step.chunk.start, step.chunk.end)).index_keys for step in steps]
    holders = Counter(key for keys in held for key in keys)
    weights = [sum(weigh_rarity(holders[key], len(steps)) for key in sorted(keys)) for keys in held]
    ranked = sorted(range(len(steps)), key=lambda place: -weights[place])
    return [steps[place] for place in ranked if weights[place] > 0]


LOOK_BACK = ComposedWay(name="look-back", review=Review(choose=choose_chunks, count=count_room))
