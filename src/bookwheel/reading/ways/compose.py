"""Ways that are put together from parts: `gated+edits`, `parallel+heads`, `ranked+gated+edits+look-back`.

Every reading answers the same few questions, and a part answers one of them:

    preface   what comes before the first chunk                     planned
    course    which chunks, in which order                          parallel, ranked; else the document's order
    gate      whether a chunk is read into memory at all            gated, cascade; else always
    writer    how memory and chunk become the next memory           edits, heads; else the loop's own update
    exit      whether the memory suffices before the end            early-exit, ranked; else never
    review    which chunks are read once more after the last one    look-back; else none

`ComposedWay` is both a part and the sum of parts: a field that is None leaves its question to the others. Two parts
that answer the same question are refused. The steps and the answer are those of the loop, so journal, page and
provenance need to know nothing of any of this.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from bookwheel.errors import InputError
from bookwheel.models.base import Ability, require_ability
from bookwheel.plan import Layout
from bookwheel.reading import loop
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.ahead import split_ahead
from bookwheel.types import Answer, Chunk, Conversation, Flag, Memory, Reply, Step, Usage

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.prompts import Prompts
    from bookwheel.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingContext:
    """What stays the same from the first step of a reading to its answer."""

    document: Document
    question: str
    model: Model
    plan: Plan
    prompts: Prompts
    template: int
    """Tokens of the longest prompt of this way with nothing filled in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a judgement came to."""

    score: float
    """The higher, the more a chunk is worth reading or a memory suffices."""
    usage: Usage
    answer: Answer | None = None
    """The answer that a sufficient memory gave."""


Writer: TypeAlias = Callable[[ReadingContext, Memory, Chunk], Awaitable[Step]]
Gate: TypeAlias = Callable[[ReadingContext, Writer], AbstractAsyncContextManager[Writer]]
Exit: TypeAlias = Callable[[ReadingContext, Memory, Sequence[Step]], Awaitable[Decision | None]]
Course: TypeAlias = Callable[
    [ReadingContext, Writer, Writer, Exit | None, Sequence[Step]], AsyncGenerator[Step | Answer]
]
"""A course gets the gated writer for chunks, the plain one for everything else, the exit, and the steps there are."""
Preface: TypeAlias = Callable[[ReadingContext], Awaitable[Step]]
Opening: TypeAlias = Callable[[ReadingContext, Step], ReadingContext]
Review: TypeAlias = Callable[[ReadingContext, Sequence[Step]], Sequence[Chunk]]


async def rewrite(context: ReadingContext, memory: Memory, chunk: Chunk) -> Step:
    """Write the memory anew: the loop's own update."""
    return await loop.update(context.question, memory, chunk, context.model, context.plan, context.prompts)


async def rewrite_after_all(context: ReadingContext, memory: Memory, chunk: Chunk) -> Step:
    """Write the memory anew where another writer's reply cannot be used."""
    step = await rewrite(context, memory, chunk)
    return replace(step, flags=(*step.flags, Flag.REWRITTEN))


async def read_in_order(
    context: ReadingContext, gated: Writer, plain: Writer, leave: Exit | None, done: Sequence[Step]
) -> AsyncGenerator[Step | Answer]:
    """Read the chunks in the document's order, up to the end or the exit."""
    del plain
    memory = done[-1].after if done else Memory.blank(context.plan.memory_tokens)
    position = done[-1].chunk.end if done else 0
    steps = list(done)
    tokenizer, limit = context.model.tokenizer, context.plan.chunk_tokens
    async for chunk in split_ahead(context.document, tokenizer, limit, start=position):
        verdict = await leave(context, memory, steps) if leave else None
        if verdict and verdict.answer:
            end = max(chunk.end, context.document.length or 0)
            yield leave_unread(replace(chunk, end=end), memory, verdict)
            yield verdict.answer
            return
        step = await gated(context, memory, chunk)
        step = add_usage(step, verdict.usage) if verdict else step
        if leave:
            steps.append(step.without_texts())
        yield step
        memory = step.after


def leave_unread(span: Chunk, memory: Memory, verdict: Decision) -> Step:
    """Return the step that says that a span was not read, as the memory was enough."""
    conversation = Conversation(messages=(), reply=Reply(text="", usage=verdict.usage))
    span = replace(span, text="", tokens=0, pages=(), sources=())
    return Step(
        chunk=span, before=memory, after=memory, conversation=conversation, flags=(Flag.UNREAD,), score=verdict.score
    )


def list_unread(left: Iterable[Chunk], memory: Memory, verdict: Decision, done: Sequence[Step] = ()) -> list[Step]:
    """Return a step for each span that was not read, without those that `done` has.

    The first one carries the cost of the judgement.
    """
    spans: list[Chunk] = []
    for chunk in sorted(left, key=lambda chunk: chunk.start):
        if spans and spans[-1].end == chunk.start:
            spans[-1] = replace(spans[-1], end=chunk.end)
        else:
            spans.append(chunk)
    free = replace(verdict, usage=Usage())
    steps = [leave_unread(span, memory, free if number else verdict) for number, span in enumerate(spans)]
    return steps[sum(Flag.UNREAD in step.flags for step in done) :]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedWay:
    """A part of a way, or a whole way put together from parts."""

    name: str
    preface: Preface | None = None
    opening: Opening | None = None
    """Applies the preface's step to the rest of the reading."""
    course: Course | None = None
    gate: Gate | None = None
    writer: Writer | None = None
    exit: Exit | None = None
    review: Review | None = None
    turns: tuple[str, ...] = ()
    """The prompts that this adds; each must fit the window."""
    needs: frozenset[Ability] = frozenset()
    """What the model must offer besides replies."""
    needs_one: frozenset[Ability] = frozenset()
    """Of these it must offer one."""
    is_exclusive: bool = False
    """Stands alone: no other part goes with it."""

    def combine(self, other: Self) -> Self:
        """Return the sum of both; InputError if they answer the same question."""
        values: dict[str, Any] = {
            "name": f"{self.name}+{other.name}",
            "turns": tuple(dict.fromkeys((*self.turns, *other.turns))),
            "needs": self.needs | other.needs,
            "needs_one": self.needs_one | other.needs_one,
        }
        if other.name in self.name.split("+"):
            raise InputError(f"{self.name}+{other.name} names {other.name} twice")
        for name in (field.name for field in fields(self) if field.name not in values):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine and theirs and mine is not theirs:
                raise InputError(f"{self.name} and {other.name} do not go together: both set the {name} of a reading")
            values[name] = mine or theirs
        if values["is_exclusive"]:
            raise InputError(f"{values['name']}: {self.name if self.is_exclusive else other.name} stands alone")
        return replace(self, **values)

    async def __call__(
        self, document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        """Read as the parts say. Nothing is asked of the model before the plan and its abilities are checked."""
        context = await self._open(document, question, model, plan)
        # A way keeps all of its steps, but none of their texts.
        steps = [step.without_texts() for step in done]
        async with aclosing(self._read(context, steps)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    yield event
                    return
                step = number_step(event, len(steps))
                steps.append(step.without_texts())
                yield step

    async def _read(self, context: ReadingContext, steps: Sequence[Step]) -> AsyncGenerator[Step | Answer]:
        """Yield what is still to do. `steps` holds what is done, and grows with every step that is yielded."""
        if self.preface and self.opening:
            if not steps:
                yield await self.preface(context)
            context = self.opening(context, steps[0])
        start = 1 if self.preface else 0
        plain = self.writer or rewrite
        again = _count_repeats(steps)
        if not again:
            async with self.gate(context, plain) if self.gate else nullcontext(plain) as gated:
                course = (self.course or read_in_order)(context, gated, plain, self.exit, steps[start:])
                async with aclosing(course):
                    async for event in course:
                        yield event
                        if isinstance(event, Answer):
                            return
        first = steps[start : len(steps) - again]
        for chunk in tuple(self.review(context, first) if self.review and first else ())[again:]:
            text = context.document.slice(chunk.start, chunk.end)
            yield await plain(context, steps[-1].after, replace(chunk, text=text))
        memory = steps[-1].after if len(steps) > start else Memory.blank(context.plan.memory_tokens)
        yield await loop.answer(context.question, memory, context.model, context.plan, context.prompts)

    async def _open(self, document: Document, question: str, model: Model, plan: Plan) -> ReadingContext:
        """Check question, plan and abilities, and choose the layout that lets a server reuse a section."""
        prompts = prompts_for(plan, question)
        for ability in sorted(self.needs):
            await require_ability(model, ability, way=self.name)
        if self.turns and Layout.SECTION_FIRST in prompts.updates:
            plan = replace(plan, layout=Layout.SECTION_FIRST)
        loop.check(question, model, plan, prompts)
        empty = [prompts.turn(name, question="") for name in self.turns]
        words = max((sum(model.tokenizer.count(m.content) for m in turn) for turn in empty), default=0)
        words += model.template_tokens + model.tokenizer.count(prompts.blank)
        template = max(words, loop.template_tokens(model, plan, prompts))
        plan.check(model.window, question=model.tokenizer.count(question), template=template)
        return ReadingContext(
            document=document, question=question, model=model, plan=plan, prompts=prompts, template=template
        )


def number_step(step: Step, index: int) -> Step:
    """Return the step with this index. A chunk that is read twice has two steps."""
    return step if step.chunk.index == index else replace(step, chunk=replace(step.chunk, index=index))


def add_usage(step: Step, usage: Usage) -> Step:
    """Return the step with the cost of judgements that were made for it."""
    return replace(step, conversation=step.conversation.add_usage(usage))


def _count_repeats(steps: Sequence[Step]) -> int:
    """Return how many steps at the end read a chunk once more."""
    seen: set[tuple[int, int]] = set()
    for number, step in enumerate(steps):
        span = step.chunk.start, step.chunk.end
        if span in seen and span[0] < span[1]:
            return len(steps) - number
        seen.add(span)
    return 0
