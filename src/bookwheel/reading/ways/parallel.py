"""Parallel: segments of the document are read side by side, and their memories are merged by the same loop.

    m_k^s  = write(question, m_{k-1}^s, chunk_k^s)          for each segment s, all at once
    m      = write(question, m, "section": m_last^s)        for s = 2 … S, beginning with the first segment's memory

A segment asks for its next chunk only when its last step is durable; the others' calls go on meanwhile. So the steps
come in the order in which they end, and a resumed reading finds each segment's state from the spans of its steps.
Merging is a step with an empty span at the document's end. A fact whose meaning depends on an earlier segment can be
missed, as no segment knows what the others found.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from bookwheel.errors import InputError
from bookwheel.reading.ways.compose import ComposedWay, build_idle_step
from bookwheel.reading.ways.spec import Course, Leave, ReadingContext, Write
from bookwheel.text.chunks import DocumentHead, split, split_ahead
from bookwheel.types import Chunk, Document, Memory, Step

# Eight calls at once is what one GPU batches with little loss; a merge for each more would eat the gain.
SEGMENTS: Final = 8
# A segment of fewer chunks costs a merge and saves hardly anything.
_LEAST_CHUNKS: Final = 3
# Characters after the ideal boundary in which a paragraph, line or word may end.
_REACH: Final = 2000


class Segment:
    """One segment under way."""

    def __init__(self, context: ReadingContext, write: Write, start: int, end: int, done: Sequence[Step]) -> None:
        mine = [step for step in done if start <= step.chunk.start < end]
        self.end = end
        self.memory = mine[-1].after if mine else Memory.blank(context.plan.memory_tokens)
        position = mine[-1].chunk.end if mine else start
        head = DocumentHead(context.document, end)
        self._chunks = split_ahead(head, context.model.tokenizer, context.plan.chunk_tokens, start=position)
        self._context = context
        self._write = write

    async def read_next(self) -> Step | None:
        """Read the next chunk; None at the segment's end."""
        chunk = await anext(self._chunks, None)
        if chunk is None:
            return None
        step = await self._write(self._context, self.memory, chunk)
        self.memory = step.after
        return step


def open_segments(context: ReadingContext, write: Write, done: Sequence[Step]) -> list[Segment]:
    """Return the segments of a document, each where its last step ended."""
    length = context.document.length
    if length is None:
        length = sum(len(part.text) for part in context.document.parts())
    cut = split(context.document, context.model.tokenizer, context.plan.chunk_tokens)
    # A reading goes on in its segments, though another tokenizer would cut others.
    first = next((step.chunk for step in done if step.chunk.start == 0 < step.chunk.end), None) or next(cut, None)
    count = count_segments(length // first.end) if first else 0
    bounds = [0, *(_find_boundary(context.document, length * n // count) for n in range(1, count)), length]
    spans = itertools.pairwise(dict.fromkeys(bounds))
    return [Segment(context, write, start, end, done) for start, end in spans]


async def read_side_by_side(
    context: ReadingContext, gated: Write, plain: Write, leave: Leave | None, done: Sequence[Step]
) -> AsyncGenerator[Step]:
    """Read the segments, then merge their memories in the document's order."""
    if leave:
        raise InputError("parallel and early-exit do not go together: no segment knows what the others found")
    model, plan = context.model, context.plan
    # Two memories together are merged, in the place of memory and chunk.
    widest = replace(plan, chunk_tokens=max(plan.chunk_tokens, plan.memory_tokens))
    widest.check(model.window, question=model.tokenizer.count(context.question), template=context.template)
    segments = open_segments(context, gated, done)
    # Closed with this course: calls that are under way would go on, and cost.
    async with aclosing(run_segments(segments)) as steps:
        async for step in steps:
            yield step
    merged = [step for step in done if step.chunk.start == step.chunk.end]
    memories = [segment.memory for segment in segments if segment.memory.text]
    memory = merged[-1].after if merged else next(iter(memories), Memory.blank(context.plan.memory_tokens))
    place = Chunk.empty(segments[-1].end if segments else 0)
    if not merged:
        # Costs no call, and makes the memory that merging begins with the newest one of the reading.
        yield build_idle_step(place, memory, note=_describe_segments(len(segments), len(memories)))
    for other in memories[max(1, len(merged)) :]:
        step = await plain(context, memory, replace(place, text=other.text, tokens=other.tokens))
        yield step
        memory = step.after


def _describe_segments(segments: int, memories: int) -> str:
    if segments < 2:  # noqa: PLR2004 - side by side
        return f"read in one go: a segment has {_LEAST_CHUNKS} chunks at least"
    return f"{segments} segments were read side by side; {memories} memories are merged"


def count_segments(chunks: int) -> int:
    """Return the segments that a document of so many chunks is read in."""
    return min(SEGMENTS, chunks // _LEAST_CHUNKS)


def _find_boundary(document: Document, place: int) -> int:
    """Return the end of the next paragraph, line, sentence or word after a place."""
    ahead = document.slice(place, place + _REACH)
    for mark in ("\n\n", "\n", ". ", "。", " "):
        found = ahead.find(mark)
        if found >= 0:
            return place + found + len(mark)
    return place


async def run_segments(segments: Sequence[Segment]) -> AsyncGenerator[Step]:
    """Yield the steps of all segments as they end. What ended beside a failing call is yielded before the failure."""
    under_way = {asyncio.ensure_future(segment.read_next()): segment for segment in segments}
    try:
        while under_way:
            ended, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            failed = None
            for call in [call for call in under_way if call in ended]:
                segment = under_way.pop(call)
                if call.exception():
                    failed = failed or call
                elif step := call.result():
                    yield step
                    under_way[asyncio.ensure_future(segment.read_next())] = segment
            if failed:
                failed.result()
    finally:
        for call in under_way:
            call.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


PARALLEL = ComposedWay(
    name="parallel",
    course=Course(read=read_side_by_side, count_merges=lambda chunks: max(0, count_segments(chunks) - 1)),
)
