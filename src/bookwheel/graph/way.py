"""The way `graph`: facts leave the memory as they are found, and those around the question join it at the end.

    rows_k, m_k = model(columns of a graph, m_{k-1}, chunk_k)     as in `collect`: the memory keeps names, open facts
    joined      = lines of m_K + facts around the question        within the memory's limit; each fact with its quote
    answer      = model(question, joined)

Facts that are far apart meet in the graph, in whichever order the document says them. The cost is the loop's: a call a
chunk, and the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from bookwheel.errors import InputError
from bookwheel.graph.around import find_lines
from bookwheel.graph.facts import ASKED, REQUEST, build_graph
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.estimate import CallCost, CostInputs, DocumentSize, measure_document
from bookwheel.reading.guards import trim
from bookwheel.reading.loop import answer, check_question
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.compose import build_idle_step, read_in_order
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.tables.build import build_table
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.way import Collector, find_room, list_section_calls
from bookwheel.text.lexicon import language_of
from bookwheel.types import Answer, Chunk, Document, DocumentInfo, Memory, Reading, Step

NAME: Final = "graph"
_NOTE: Final = "facts around the question"
# Of the joined memory, for the lines that the model kept; the rest is for facts.
_NOTES_SHARE: Final = 0.25


async def read_by_graph(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield a step for each chunk, one that joins memory and graph, and the answer."""
    check_request(question, model, plan)
    steps = [step.without_texts() for step in done]
    collector = Collector.open(_make_request(question, plan), model, plan, steps)
    context = collector.make_context(document, question)
    if not (steps and steps[-1].conversation.reply.text == _NOTE):
        async with aclosing(read_in_order(context, collector.write, collector.write, None, steps)) as events:
            async for event in events:
                assert isinstance(event, Step)  # No exit is asked for.
                step = event.with_index(len(steps))
                steps.append(step.without_texts())
                yield step
        joined = await asyncio.to_thread(_join, document, question, model, plan, steps)
        yield joined.with_index(len(steps))
        steps.append(joined)
    yield await answer(question, steps[-1].after, model, plan, prompts_for(plan, question))


def check_request(question: str, model: Model, plan: Plan) -> None:
    """Refuse a question, a model that only quotes, and a plan beyond the model's window."""
    if prompts_for(plan, question).quotes:
        raise InputError(
            f"{model.name} only quotes and cannot write facts: name a model that can, with --base-url URL --model NAME"
        )
    check_question(question, model, plan)
    find_room(_make_request(question, plan), model, plan)


def _make_request(question: str, plan: Plan) -> TableRequest:
    language = plan.language or language_of(question)
    request, asked = REQUEST.of_language(language), ASKED.get(language, ASKED["en"])
    return replace(request, sentence=f"{request.sentence}. {asked}: {question}")


def _join(document: Document, question: str, model: Model, plan: Plan, steps: Sequence[Step]) -> Step:
    """Return the step after which the memory holds what was kept and the facts around the question."""
    before = steps[-1].after if steps else Memory.blank(plan.memory_tokens)
    info = DocumentInfo(id="", name=document.name, length=document.length or 0)
    reading = Reading(
        id="", document=info, question=question, plan=plan, model=model.name, way=NAME, steps=tuple(steps)
    )
    graph = build_graph(build_table(reading, document, request=REQUEST))
    notes, tokens, _ = trim(before.text, int(plan.memory_tokens * _NOTES_SHARE), model.tokenizer)
    # A line ends with a sign that may count.
    lines = find_lines(graph, question, model.tokenizer, plan.memory_tokens - tokens - 1)
    text, tokens, _ = trim("\n".join(filter(None, (notes, *lines))), plan.memory_tokens, model.tokenizer)
    end = steps[-1].chunk.end if steps else 0
    step = build_idle_step(Chunk.empty(end), before, note=_NOTE)
    return replace(step, after=Memory(text=text, tokens=tokens, limit=plan.memory_tokens))


def _list_calls(given: CostInputs) -> list[CallCost]:
    return [list_section_calls(given, _make_request(given.question, given.plan), given.size.chunks), given.answering()]


def _measure(document: Document, question: str, model: Model, plan: Plan) -> DocumentSize:
    """Return the size of a document in this way's own chunks."""
    room = find_room(_make_request(question, plan), model, plan)
    return measure_document(document, question, model, replace(plan, chunk_tokens=room.chunk))


GRAPH: Final = WaySpec(run=read_by_graph, list_calls=_list_calls, measure=_measure, check=check_request)
