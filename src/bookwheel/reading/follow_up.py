"""Answer another question about a document from the memory that a finished reading left; read again if it cannot.

    steps 0 … k    those of the finished reading; the last one has the flag `carried`
    answer         from its memory, if that answers the new question
    else           the way reads the document from its beginning for the new question, as steps k + 1 …

The model is told that the memory was kept for another question, and to say so where it does not have the whole answer.
An answer that holds a number or name that stands nowhere in the document is none either, nor is one that the document
contradicts, by whoever judges the reading. A memory of quotes, as small models have it, is not asked.

    memory    The harbour master is Ada Quill.
    question  What is the harbour master's name?     Ada Quill
              Who lights the lamp of the tower?      the document does not say: it is read again

Every prompt has the earlier question and its answer too (earlier.py), so "and when did she?" means something, also
where there is no memory to ask.

Another way to go on is to read again the sections that were not taken in, or were skipped: `reread` continues the steps
of any way that has one memory, with one more step for each of these sections, flagged `reread`, and answers anew.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from math import inf
from typing import Any, Final

from bookwheel.claims import Verdict
from bookwheel.flags import NOT_TAKEN_IN, Flag
from bookwheel.models.base import Model, count_messages
from bookwheel.patterns import compile_late
from bookwheel.plan import Plan
from bookwheel.reading import loop
from bookwheel.reading.earlier import tell_before
from bookwheel.reading.loop import Way
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.reading.verdicts import RememberingJudge, judge
from bookwheel.text.chunks import fill_in
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.remarks import has_no_answer
from bookwheel.types import Answer, Document, Memory, Reading, Step, Usage, find_gaps
from bookwheel.verdict.judge import judge_answer


def find_unread_sections(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the newest step of each section that the memory knows nothing of."""
    return find_gaps(steps, NOT_TAKEN_IN | {Flag.SKIPPED})


def reread_above(threshold: float) -> Way:
    """Return a way that reads the sections that were not taken in, and of the skipped ones those that score enough."""

    async def read_sections(
        document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        prompts = prompts_for(plan, question)
        loop.check(question, model, plan, prompts)
        memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
        sections = [s for s in find_unread_sections(done) if s.score is None or s.score >= threshold]
        for index, section in enumerate(sections, start=len(done)):
            chunk = replace(fill_in(section.chunk, document, model.tokenizer, plan.chunk_tokens), index=index)
            step = await loop.update(question, memory, chunk, model, plan, prompts)
            yield replace(step, flags=(*step.flags, Flag.REREAD), score=None)
            memory = step.after
        yield await loop.answer(question, memory, model, plan, prompts)

    return read_sections


reread: Final = reread_above(-inf)


# A chat's turns stand in the question, each under its role; the last one of the user is what is asked now.
_TURN: Final = compile_late(r"(?:\A|\n\n)user: (.*?)(?=\n\n(?:user|assistant|tool|function): |\Z)", re.DOTALL)
# Characters among which a word of the question is looked for, and one in how many such windows may have it: what
# stands nearly everywhere, such as the name of the hero, says nothing of what is asked.
_WINDOW: Final = 2000
_RARE: Final = 5


def carry_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of a finished reading as the beginning of another one."""
    *before, last = (
        replace(step, flags=tuple(flag for flag in step.flags if flag is not Flag.CARRIED)) for step in steps
    )
    return (*before, replace(last, flags=(*last.flags, Flag.CARRIED)))


def count_carried(steps: Sequence[Step]) -> int:
    """Return how many steps another reading has made."""
    return next((at + 1 for at in reversed(range(len(steps))) if Flag.CARRIED in steps[at].flags), 0)


def continue_way(steps: Sequence[Step], way: Way) -> Way:
    """Return the way by which a reading with these steps goes on."""
    carried = count_carried(steps)
    if any(Flag.REREAD in step.flags for step in steps[carried:]):
        return reread
    return follow_up(way) if carried else way


def follow_up(way: Way) -> Way:
    """Return a way that answers from the carried memory, and reads in the given way if that fails."""

    async def read_follow_up(
        document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        carried = count_carried(done)
        spent = Usage()
        prompts = prompts_for(plan, question)
        # Passages that were quoted for one question say nothing about another.
        if carried == len(done) and not prompts.quotes:
            messages = prompts.turn("follow_up", question=question, memory=done[-1].after.text)
            final = loop.conclude(await loop.converse(messages, model, plan.answer_tokens, plan.sampling))
            if await asyncio.to_thread(_suffices, final, document, question, done):
                judged, is_denied = await _judge(final, document, question, model, plan, done)
                if not is_denied:
                    yield judged
                    return
            spent = final.conversation.reply.usage
        own = tuple(step.with_index(step.chunk.index - carried) for step in done[carried:])
        events = way(document, question, model, plan, own)
        async with aclosing(events):
            async for event in events:
                paid = replace(event, conversation=event.conversation.add_usage(spent))
                spent = Usage()
                yield paid.with_index(paid.chunk.index + carried) if isinstance(paid, Step) else paid

    return read_follow_up


async def tell_parent(parent: Reading, question: str, model: Model, plan: Plan) -> Plan:
    """Return the plan of a question that follows another one, with what was asked and answered before."""
    prompts = prompts_for(plan, question)
    if plan.earlier or prompts.quotes:
        return plan

    def tell() -> str:
        count = model.tokenizer.count
        return tell_before(parent, count, question_room(model, plan, prompts) - count(question))

    # A server's tokenizer waits for the network.
    return replace(plan, earlier=await asyncio.to_thread(tell))


def question_room(model: Model, plan: Plan, prompts: Prompts, *, has_rules: bool = False) -> int:
    """Return how many tokens a question may have with what was said before it, within the plan and the window.

    `has_rules`: some of that are instructions, which stand apart.
    """
    room = plan.question_tokens
    if model.window is not None:
        template = loop.template_tokens(model, plan, prompts)
        update = plan.update_tokens(question=0, template=template)
        room = min(room, model.window - update, model.window - plan.answer_turn_tokens(question=0, template=template))
    frames = ["earlier", *(["instructions"] if has_rules and "instructions" in prompts.turns else [])]
    return room - sum(count_messages(prompts.turn(name, question=""), model.tokenizer) for name in frames)


def _suffices(final: Answer, document: Document, question: str, steps: Sequence[Step]) -> bool:
    if has_no_answer(final):
        return False
    _, claims = judge_answer(final.text, question, steps, document)
    return bool(claims) and not any(claim.missing or claim.verdict is Verdict.ABSENT for claim in claims)


async def _judge(
    final: Answer, document: Document, question: str, model: Model, plan: Plan, steps: Sequence[Step]
) -> tuple[Answer, bool]:
    """Return an answer with what its judge has replied, which is not asked again, and whether it is contradicted."""
    if plan.schema:  # it gets its form, and is judged, later
        return final, False

    async def keep(judged: Mapping[str, Any]) -> None:
        nonlocal final
        final = replace(final, judged=judged)

    by = RememberingJudge(model, {}, keep)
    _, claims = await judge(final.text, question, steps, document, plan=plan, model=by)
    return final, any(claim.verdict is Verdict.CONTRADICTED for claim in claims)


def asks_for_more(question: str, known: str, document: Document) -> bool:
    """Return whether a question has a rare word of the document that the memory `known` has not.

    With none of its words known, a frequent one is enough. A model that is asked nevertheless says what it knows.
    """
    words = QuestionWords(find_newest_turn(question))
    seen = words.find(known)
    held = words.count_windows(document, _WINDOW, beside=seen)
    rare = max(1, held.windows // _RARE)
    return any(count <= rare or not seen for count in held.counts.values())


def find_newest_turn(question: str) -> str:
    """Return what the user typed last: clients put earlier turns, instructions and passages before it."""
    turns = _TURN.findall(question)
    return (turns[-1] if turns else question).rstrip().rpartition("\n\n")[2]
