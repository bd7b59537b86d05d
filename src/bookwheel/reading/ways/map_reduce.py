"""Map-reduce: notes from every chunk by itself, then one answer from all notes, as LangChain and LlamaIndex do it.

    n_k    = model(question, chunk_k)                  side by side, a wave of calls at a time
    n'_j   = model(question, some n_k)                 only while the notes together are longer than the window
    answer = model(question, all notes)

No chunk knows of another, so a fact that only matters because of an earlier one is easily passed over. A collapse of
notes is a step with an empty span at the document's end: the spans still tile the text, and every call is on record.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from bookwheel.reading.guards import next_memory, trim
from bookwheel.reading.loop import check_question, conclude, converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.single_turn import room, template_tokens
from bookwheel.text.chunks import split
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Chunk, Flag, Memory, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Document

_WAVE: Final = 8
"""Calls under way at once."""
_BETWEEN: Final = "\n\n"


async def map_reduce(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """A step for every chunk, one for every collapse of notes, then the answer."""
    template = template_tokens(question, model, plan, "map", "collapse", "combine")
    plan.check(model.window, question=check_question(question, model, plan), template=template)
    steps = [step for step in done if step.chunk.end > step.chunk.start]
    kept = done[len(steps) :]
    position = steps[-1].chunk.end if steps else 0
    chunks = split(document, model.tokenizer, plan.chunk_tokens, start=position, index=len(steps))
    async for step in _waves(_noted(question, chunk, model, plan) for chunk in chunks):
        steps.append(step)
        yield step
    limit = room(question, model, plan, "combine", plan.answer_tokens)
    notes = _texts(steps)
    while len(notes) > 1 and model.tokenizer.count(escape_markup(_BETWEEN.join(notes))) > limit:
        sheets = grouped(notes, model, room(question, model, plan, "collapse", plan.memory_tokens))
        shorter, kept = list(kept[: len(sheets)]), kept[len(sheets) :]
        ahead = enumerate(sheets[len(shorter) :], start=len(steps) + len(shorter))
        async for step in _waves(_collapsed(question, _after(steps, n), sheet, model, plan) for n, sheet in ahead):
            shorter.append(step)
            yield step
        steps += shorter
        notes = _texts(shorter)
    messages = prompts_for(plan, question).baseline("combine", question=question, memory=_BETWEEN.join(notes))
    yield conclude(await converse(messages, model, plan.answer_tokens, plan.sampling))


def _texts(steps: Sequence[Step]) -> list[str]:
    """The notes of those steps that found something."""
    return [step.after.text for step in steps if step.after.text]


def _after(steps: Sequence[Step], index: int) -> Chunk:
    """The empty span where a collapse of notes has its place."""
    end = steps[-1].chunk.end
    return Chunk(index=index, start=end, end=end, text="", tokens=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Notes that are to be made shorter together."""

    notes: Memory
    cut: bool
    """Even two of them were too long for the window, and both were cut."""


def grouped(notes: Sequence[str], model: Model, limit: int) -> list[Sheet]:
    """Neighbouring notes put together, as many as the limit holds but two at least, so that they grow fewer."""
    groups: list[list[str]] = [[]]
    for note in notes:
        together = _BETWEEN.join((*groups[-1], note))
        if len(groups[-1]) > 1 and model.tokenizer.count(escape_markup(together)) > limit:
            groups.append([])
        groups[-1].append(note)
    return [_sheet(group, model, limit) for group in groups]


def _sheet(notes: Sequence[str], model: Model, limit: int) -> Sheet:
    """One set of notes within the limit."""
    text = _BETWEEN.join(notes)
    cut = model.tokenizer.count(escape_markup(text)) > limit
    if cut:
        share = max(1, limit // len(notes) - model.tokenizer.count(_BETWEEN))
        text = _BETWEEN.join(trim(escape_markup(note), share, model.tokenizer)[0] for note in notes)
    return Sheet(notes=Memory(text=text, tokens=model.tokenizer.count(text), limit=limit), cut=cut)


async def _noted(question: str, chunk: Chunk, model: Model, plan: Plan) -> Step:
    """What one chunk holds for the question."""
    prompts = prompts_for(plan, question)
    said = await converse(
        prompts.baseline("map", question=question, section=chunk.text), model, plan.memory_tokens, plan.sampling
    )
    blank = Memory.blank(plan.memory_tokens)
    after, flags = next_memory(blank, said.reply, model.tokenizer, prompts.unchanged)
    return Step(chunk=chunk, before=blank, after=after, conversation=said, flags=flags)


async def _collapsed(question: str, place: Chunk, sheet: Sheet, model: Model, plan: Plan) -> Step:
    """Notes made shorter; a reply that is none leaves as much of them as a reply may have."""
    prompts = prompts_for(plan, question)
    messages = prompts.baseline("collapse", question=question, memory=sheet.notes.text)
    said = await converse(messages, model, plan.memory_tokens, plan.sampling)
    text, tokens, trimmed = trim(sheet.notes.text, plan.memory_tokens, model.tokenizer)
    fallback = Memory(text=text, tokens=tokens, limit=plan.memory_tokens)
    after, flags = next_memory(fallback, said.reply, model.tokenizer, prompts.unchanged)
    if sheet.cut or (trimmed and after is fallback):
        flags = (*flags, Flag.TRIMMED)
    return Step(chunk=place, before=sheet.notes, after=after, conversation=said, flags=tuple(dict.fromkeys(flags)))


async def _waves(calls: Iterable[Coroutine[None, None, Step]]) -> AsyncGenerator[Step]:
    """The steps of all calls in order. When one fails, what the wave has before it is given first."""
    waiting = iter(calls)
    while wave := list(islice(waiting, _WAVE)):
        for outcome in await asyncio.gather(*wave, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
