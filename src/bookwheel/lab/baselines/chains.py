"""The chains of LangChain and LlamaIndex, with our words and guards, so that what is compared is the way of reading.

    refine        a_1 = model(question, chunk_1)
                  a_k = model(question, a_{k-1}, chunk_k)    the last one is the answer
    map-reduce    n_k = model(question, chunk_k)             side by side: a call begins when an earlier one ends
                  n'_j = model(question, some n_k)           only while the notes together are longer than the window
                  answer = model(question, all notes)

What `refine` carries along is an answer, not a memory: there is no last turn without the document. No call of
`map-reduce` sees two chunks, so it misses facts that matter only because of an earlier one. Collapsing notes is a step
with an empty span at the document's end: the spans still tile the text, and every call is on record.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

from bookwheel.flags import Flag
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.asides import Scene
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.guards import clean, next_memory, trim
from bookwheel.reading.loop import check_question, conclude, converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.reading.ways.whole import ask_once, text_budget, turn_tokens
from bookwheel.text.chunks import split, split_ahead
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Answer, Chunk, Document, Memory, Step

_CALLS_AT_ONCE: Final = 8
_BETWEEN: Final = "\n\n"


async def refine(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield a step for every chunk but the last, whose reply is the answer."""
    template = turn_tokens(question, model, plan, "begin", "whole", "refine")
    plan.check(model.window, question=check_question(question, model, plan), template=template)
    chunks = split(
        document, model.tokenizer, plan.chunk_tokens, start=done[-1].chunk.end if done else 0, index=len(done)
    )
    chunk = next(chunks, None)
    if chunk is None:
        yield await ask_once(question, "", model, plan, "whole")
        return
    before = done[-1].after if done else Memory.blank(plan.memory_tokens)
    for following in chunks:
        step = await _refine_step(question, before, chunk, model, plan, "begin")
        yield step
        before, chunk = step.after, following
    # The only chunk of a document is the whole of it.
    yield _to_answer(await _refine_step(question, before, chunk, model, plan, "whole"))


async def _refine_step(question: str, before: Memory, chunk: Chunk, model: Model, plan: Plan, first: str) -> Step:
    """Rewrite the answer so far with one chunk more."""
    prompts = prompts_for(plan, question)
    template = "refine" if chunk.index else first
    messages = prompts.turn(
        template, question=question, memory=before.text, section=chunk.shown, room=plan.memory_tokens
    )
    conversation = await converse(messages, model, plan.memory_tokens, plan.sampling)
    scene = Scene(memory=before.text, section=chunk.shown, question=question, unchanged=prompts.unchanged)
    after, flags = next_memory(before, conversation.reply, model.tokenizer, scene)
    if not before.text and Flag.KEPT_COMMENT in flags:
        # "The text does not say" is no memory, and an answer where there is none yet.
        text, tokens, _ = trim(clean(conversation.reply.text)[0], before.limit, model.tokenizer)
        after, flags = (
            replace(before, text=text, tokens=tokens),
            tuple(one for one in flags if one is not Flag.KEPT_COMMENT),
        )
    return Step(chunk=chunk, before=before, after=after, conversation=conversation, flags=flags)


def _to_answer(step: Step) -> Answer:
    """Return the last step as the answer; a step that changed nothing gives the answer so far."""
    conversation = step.conversation
    answer = conclude(replace(conversation, reply=replace(conversation.reply, text=step.after.text)))
    return replace(answer, conversation=conversation, flags=tuple(dict.fromkeys((*step.flags, *answer.flags))))


async def map_reduce(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield a step for every chunk, one for every collapse of notes, then the answer."""
    template = turn_tokens(question, model, plan, "map", "collapse", "combine")
    plan.check(model.window, question=check_question(question, model, plan), template=template)
    steps = [step for step in done if step.chunk.end > step.chunk.start]
    kept = done[len(steps) :]
    position = steps[-1].chunk.end if steps else 0
    chunks = split_ahead(document, model.tokenizer, plan.chunk_tokens, start=position, index=len(steps))
    calls = (_take_notes(question, chunk, model, plan) async for chunk in chunks)
    # Closed with this way: calls that are under way would go on, and cost.
    async with aclosing(_run_side_by_side(calls)) as noted:
        async for step in noted:
            steps.append(step)
            yield step
    limit = text_budget(question, model, plan, "combine", plan.answer_tokens)
    notes = [step.after.text for step in steps if step.after.text]
    while len(notes) > 1 and model.tokenizer.count(escape_markup(_BETWEEN.join(notes))) > limit:
        groups = _group_notes(notes, model, text_budget(question, model, plan, "collapse", plan.memory_tokens))
        shorter, kept = list(kept[: len(groups)]), kept[len(groups) :]
        ahead = enumerate(groups[len(shorter) :], start=len(steps) + len(shorter))
        # The empty span at the end is where collapsing has its place.
        place = Chunk(index=0, start=steps[-1].chunk.end, end=steps[-1].chunk.end, text="", tokens=0)
        collapses = (_collapse(question, replace(place, index=n), group, model, plan) for n, group in ahead)
        async with aclosing(_run_side_by_side(_iterate(collapses))) as collapsed:
            async for step in collapsed:
                shorter.append(step)
                yield step
        steps += shorter
        notes = [step.after.text for step in shorter if step.after.text]
    messages = prompts_for(plan, question).turn("combine", question=question, memory=_BETWEEN.join(notes))
    yield conclude(await converse(messages, model, plan.answer_tokens, plan.sampling))


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoteGroup:
    """Notes that one call shortens together."""

    notes: Memory
    is_cut: bool
    """Two notes were too long for the window, so both were cut."""


def _group_notes(notes: Sequence[str], model: Model, limit: int) -> list[_NoteGroup]:
    """Group neighbouring notes: as many as the limit holds, but two at least, so that they become fewer."""
    groups: list[list[str]] = [[]]
    for note in notes:
        together = _BETWEEN.join((*groups[-1], note))
        if len(groups[-1]) > 1 and model.tokenizer.count(escape_markup(together)) > limit:
            groups.append([])
        groups[-1].append(note)
    return [_make_group(group, model, limit) for group in groups]


def _make_group(notes: Sequence[str], model: Model, limit: int) -> _NoteGroup:
    """Join notes, cut to the limit where they are too long."""
    text = _BETWEEN.join(notes)
    is_cut = model.tokenizer.count(escape_markup(text)) > limit
    if is_cut:
        share = max(1, limit // len(notes) - model.tokenizer.count(_BETWEEN))
        text = _BETWEEN.join(trim(escape_markup(note), share, model.tokenizer)[0] for note in notes)
    return _NoteGroup(notes=Memory(text=text, tokens=model.tokenizer.count(text), limit=limit), is_cut=is_cut)


async def _take_notes(question: str, chunk: Chunk, model: Model, plan: Plan) -> Step:
    """Note what one chunk says about the question."""
    prompts = prompts_for(plan, question)
    conversation = await converse(
        prompts.turn("map", question=question, section=chunk.shown, tokens=chunk.tokens, room=plan.memory_tokens),
        model,
        plan.memory_tokens,
        plan.sampling,
    )
    blank = Memory.blank(plan.memory_tokens)
    scene = Scene(section=chunk.shown, question=question, unchanged=prompts.unchanged)
    after, flags = next_memory(blank, conversation.reply, model.tokenizer, scene)
    return Step(chunk=chunk, before=blank, after=after, conversation=conversation, flags=flags)


async def _collapse(question: str, place: Chunk, group: _NoteGroup, model: Model, plan: Plan) -> Step:
    """Shorten notes; when the reply is unusable, keep as much of them as a reply may have."""
    prompts = prompts_for(plan, question)
    messages = prompts.turn("collapse", question=question, memory=group.notes.text, room=plan.memory_tokens)
    conversation = await converse(messages, model, plan.memory_tokens, plan.sampling)
    text, tokens, trimmed = trim(group.notes.text, plan.memory_tokens, model.tokenizer)
    fallback = Memory(text=text, tokens=tokens, limit=plan.memory_tokens)
    scene = Scene(memory=fallback.text, question=question, unchanged=prompts.unchanged)
    after, flags = next_memory(fallback, conversation.reply, model.tokenizer, scene)
    if group.is_cut or (trimmed and after is fallback):
        flags = (*flags, Flag.TRIMMED)
    return Step(
        chunk=place, before=group.notes, after=after, conversation=conversation, flags=tuple(dict.fromkeys(flags))
    )


async def _run_side_by_side(calls: AsyncIterable[Coroutine[None, None, Step]]) -> AsyncGenerator[Step]:
    """Yield the steps of all calls in order, some calls at a time; those before a failed one are yielded first."""
    waiting = aiter(calls)
    running: deque[asyncio.Task[Step]] = deque()
    try:
        while True:
            while len(running) < _CALLS_AT_ONCE and (call := await anext(waiting, None)):
                running.append(asyncio.create_task(call))
            if not running:
                return
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _iterate(calls: Iterable[Coroutine[None, None, Step]]) -> AsyncGenerator[Coroutine[None, None, Step]]:
    for call in calls:
        yield call


def _list_refine_calls(given: CostInputs) -> list[CallCost]:
    memory, most, text = given.plan.memory_tokens, max(1, given.size.chunks), given.size.tokens
    words = max(map(given.count_turn, ("refine", "begin", "whole")))
    return [CallCost(least=most, most=most, words=words, reply=memory, memory=memory, text=text)]


def _list_map_reduce_calls(given: CostInputs) -> list[CallCost]:
    """Return a call for each chunk, those that shorten notes together, and the answer from all of them."""
    chunks, tokens, memory = given.size.chunks, given.size.tokens, given.plan.memory_tokens
    words = given.count_turn("map")
    notes = CallCost(least=chunks, most=chunks, words=words, reply=memory, text=tokens)
    # Each call that shortens notes makes one of two at least, so all together read each note twice at most.
    room, words = chunks * memory, given.count_turn("collapse")
    shorten = CallCost(least=0, most=max(0, chunks - 1), words=words, reply=memory, text=2 * room)
    words = given.count_turn("combine")
    answer = CallCost(least=1, most=1, words=words, reply=given.plan.answer_tokens, text=room)
    return [notes, shorten, answer]


REFINE = WaySpec(run=refine, list_calls=_list_refine_calls, is_serial=True)
MAP_REDUCE = WaySpec(run=map_reduce, list_calls=_list_map_reduce_calls)
