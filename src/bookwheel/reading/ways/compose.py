"""Ways that are put together from parts: `gated+edits`, `parallel+heads`, `ranked+gated+edits+look-back`.

`ComposedWay` is both a part and the sum of parts: a field that is None leaves its question to the others. Two parts
that answer the same question are refused. The steps and the answer are those of the loop, so journal, page and
provenance need to know nothing of any of this.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from bookwheel.errors import InputError
from bookwheel.flags import Flag
from bookwheel.models.base import Ability, Model, require_ability
from bookwheel.plan import Layout, Plan, Rank
from bookwheel.reading import loop
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.spec import (
    Course,
    Decision,
    Exit,
    Gate,
    Leave,
    MemoryWriter,
    Preface,
    ReadingContext,
    Review,
    WaySpec,
    Write,
)
from bookwheel.text.chunks import split_ahead
from bookwheel.types import Answer, Chunk, Conversation, Document, Memory, Reply, Step, Usage


async def rewrite(context: ReadingContext, memory: Memory, chunk: Chunk) -> Step:
    """Write the memory anew: the loop's own update."""
    return await loop.update(context.question, memory, chunk, context.model, context.plan, context.prompts)


async def rewrite_after_all(context: ReadingContext, memory: Memory, chunk: Chunk, usage: Usage | None = None) -> Step:
    """Write the memory anew where another writer's reply, which cost so much, cannot be used."""
    step = add_usage(await rewrite(context, memory, chunk), usage)
    return replace(step, flags=(*step.flags, Flag.REWRITTEN))


def add_usage(step: Step, usage: Usage | None) -> Step:
    """Return the step with the cost of other calls that were made for it."""
    return replace(step, conversation=step.conversation.add_usage(usage)) if usage else step


def build_idle_step(
    chunk: Chunk, memory: Memory, *, usage: Usage | None = None, note: str = "", flags: tuple[Flag, ...] = ()
) -> Step:
    """Return a step that leaves the memory as it is and has no conversation, only what it cost and a note on it."""
    said = Conversation(messages=(), reply=Reply(text=note, usage=usage or Usage()))
    return Step(chunk=chunk, before=memory, after=memory, conversation=said, flags=flags)


async def read_in_order(
    context: ReadingContext, gated: Write, plain: Write, leave: Leave | None, done: Sequence[Step]
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
        step = add_usage(await gated(context, memory, chunk), verdict.usage if verdict else None)
        if leave:
            steps.append(step.without_texts())
        yield step
        memory = step.after


def leave_unread(span: Chunk, memory: Memory, verdict: Decision) -> Step:
    """Return the step that says that a span was not read, as the memory was enough."""
    span = replace(span, text="", tokens=0, pages=(), sources=())
    return replace(build_idle_step(span, memory, usage=verdict.usage, flags=(Flag.UNREAD,)), score=verdict.score)


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


QUESTIONS: Final = ("preface", "course", "gate", "writer", "exit", "review")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedWay:
    """A part of a way, or a whole way put together from parts."""

    name: str
    preface: Preface | None = None
    course: Course | None = None
    gate: Gate | None = None
    writer: MemoryWriter | None = None
    exit: Exit | None = None
    review: Review | None = None
    turns: tuple[str, ...] = ()
    """The prompts that this adds; each must fit the window."""
    needs: frozenset[Ability] = frozenset()
    """What the model must offer besides replies."""

    @property
    def spec(self) -> WaySpec:
        """The way with all that is known of it before the first call."""
        ranks = bool(self.course and self.course.ranks)
        return WaySpec(
            run=self,
            needs=self.needs,
            threshold=self.gate.threshold if self.gate else None,
            ranks=ranks,
            embeds=lambda plan: ranks and plan.rank is Rank.EMBEDDINGS,
            list_calls=self.list_calls,
        )

    def combine(self, other: Self) -> Self:
        """Return the sum of both; InputError if they answer the same question."""
        if other.name in self.name.split("+"):
            raise InputError(f"{self.name}+{other.name} names {other.name} twice")
        answers: dict[str, Any] = {}
        for name in QUESTIONS:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine and theirs and mine is not theirs:
                raise InputError(f"{self.name} and {other.name} do not go together: both set the {name} of a reading")
            answers[name] = mine or theirs
        return replace(
            self,
            name=f"{self.name}+{other.name}",
            turns=tuple(dict.fromkeys((*self.turns, *other.turns))),
            needs=self.needs | other.needs,
            **answers,
        )

    def list_calls(self, given: CostInputs) -> list[CallCost]:
        """Add up what the parts take."""
        calls: list[CallCost] = []
        plan, chunks = given.plan, given.size.chunks
        if self.preface:
            calls.append(self.preface.estimate(given))
            given = replace(given, more_words=max(0, plan.question_tokens - given.question_tokens))
        merges = self.course.count_merges(chunks) if self.course else 0
        exits = self.exit.list_calls(given) if self.exit else []
        first, most = min(1, chunks) if exits else chunks, chunks + merges  # a segment's last chunk can be short
        if self.gate:
            calls.append(self.gate.estimate(given, first, most))
        calls += self._list_writes(given, 0 if self.gate else first, most, text=given.size.tokens)
        calls += [*(self.course.list_calls(given) if self.course else ()), *exits]
        again = min(chunks, self.review.count(chunks)) if self.review else 0
        calls += self._list_writes(given, 0, again, text=again * plan.chunk_tokens)
        calls += self._list_writes(given, 0, merges, text=merges * plan.memory_tokens)
        return [*calls, given.answering()]

    def _list_writes(self, given: CostInputs, least: int, most: int, *, text: int) -> list[CallCost]:
        """Return the calls that write memories: short ones where a part can, and rewriting if those come to nothing."""
        has_layout = Layout.SECTION_FIRST in given.prompts.updates
        layout = Layout.SECTION_FIRST if has_layout else given.plan.layout
        rewriting = given.rewriting(layout, least=least, most=most, text=text)
        if self.writer is None:
            return [rewriting]
        return [*self.writer.shorten(given, rewriting), replace(rewriting, least=0)]

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
                step = event.with_index(len(steps))
                steps.append(step.without_texts())
                yield step

    async def _read(self, context: ReadingContext, steps: Sequence[Step]) -> AsyncGenerator[Step | Answer]:
        """Yield what is still to do. `steps` holds what is done, and grows with every step that is yielded."""
        question = context.question  # what a preface adds to it is for the reading
        if self.preface:
            if not steps:
                yield await self.preface.write(context)
            context = self.preface.apply(context, steps[0])
        start = 1 if self.preface else 0
        plain = self.writer.write if self.writer else rewrite
        again = _count_repeats(steps)
        if not again:
            async with self.gate.open(context, plain) if self.gate else nullcontext(plain) as gated:
                read, leave = self.course.read if self.course else read_in_order, self.exit.leave if self.exit else None
                async with aclosing(read(context, gated, plain, leave, steps[start:])) as course:
                    async for event in course:
                        yield event
                        if isinstance(event, Answer):
                            return
        first = steps[start : len(steps) - again]
        for chunk in tuple(self.review.choose(context, first) if self.review and first else ())[again:]:
            text = context.document.slice(chunk.start, chunk.end)
            yield await plain(context, steps[-1].after, replace(chunk, text=text))
        memory = steps[-1].after if len(steps) > start else Memory.blank(context.plan.memory_tokens)
        yield await loop.answer(question, memory, context.model, context.plan, context.prompts)

    async def _open(self, document: Document, question: str, model: Model, plan: Plan) -> ReadingContext:
        """Check question, plan and abilities, and choose the layout that lets a server reuse a section."""
        prompts = prompts_for(plan, question)
        for ability in sorted(self.needs):
            await require_ability(model, ability, way=self.name)
        if self.turns and Layout.SECTION_FIRST in prompts.updates:
            plan = replace(plan, layout=Layout.SECTION_FIRST)
        loop.check(question, model, plan, prompts)
        template = loop.template_tokens(model, plan, prompts, *(prompts.turn(name, question="") for name in self.turns))
        plan.check(model.window, question=model.tokenizer.count(question), template=template)
        return ReadingContext(
            document=document, question=question, model=model, plan=plan, prompts=prompts, template=template
        )


def _count_repeats(steps: Sequence[Step]) -> int:
    """Return how many steps at the end read a chunk once more."""
    seen: set[tuple[int, int]] = set()
    for number, step in enumerate(steps):
        span = step.chunk.start, step.chunk.end
        if span in seen and span[0] < span[1]:
            return len(steps) - number
        seen.add(span)
    return 0
