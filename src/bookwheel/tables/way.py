"""The way of reading that collects: rows leave the memory for a table; the memory keeps what the next section needs.

    rows_k, m_k = model(columns, m_{k-1}, chunk_k)      one fresh conversation a chunk
    table       = rows_1 + … + rows_K                   unbounded; the memory stays fixed

The memory holds rows that are still open, aliases ("the Tenant" = Ada Quill) and the running heading; lines that have
no room wait beside it (`carried`). A reply that was cut off at its limit is not used: the section is read again in
two halves, so that no row is lost. Rows whose quote does not stand in the section are asked for once more; what is then
not proven stays in the table and is counted.

It goes together with parts of other ways: `collect+parallel` reads segments side by side, and what a word stands for is
known only within each; `collect+gated` and `collect+cascade` skip sections, which the table says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field, replace
from typing import Final, Self

from bookwheel.errors import InputError, PlanError
from bookwheel.flags import Flag
from bookwheel.models.base import Model, count_messages, find_wrapper
from bookwheel.plan import Plan
from bookwheel.reading.estimate import CallCost, CostInputs, DocumentSize, measure_document
from bookwheel.reading.guards import trim
from bookwheel.reading.loop import check_question, converse
from bookwheel.reading.pictures import SeeingModel
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.reading.ways.compose import ComposedWay, read_in_order
from bookwheel.reading.ways.parallel import SEGMENTS, open_segments, run_segments
from bookwheel.reading.ways.spec import ReadingContext, WaySpec, Write
from bookwheel.tables.carried import WaitingLines
from bookwheel.tables.columns import Kind, TableRequest
from bookwheel.tables.quoted import QuotedRows
from bookwheel.tables.quoted_cells import TURN, find_people
from bookwheel.tables.rows import SectionRows, UnreadableRowsError, parse_rows, place_rows
from bookwheel.text.sentences import find_ends
from bookwheel.types import Answer, Chunk, Conversation, Document, Finish, Memory, Message, Reply, Step, Usage

NAME: Final = "collect"
PARTS: Final = ("parallel", "gated", "cascade")
"""What it goes together with."""
_TRIES: Final = 3
# A section that is shorter than this is not halved again: its reply is too long for another reason.
_LEAST_CHARACTERS: Final = 60
_LEAST_CHUNK: Final = 20
_LEAST_SENTENCE: Final = 6
"""Tokens of a sentence, mostly more."""
_AGAIN: Final = {
    "en": "That is not what was asked for: {fault}. Reply with the corrected JSON object alone.",
    "zh": "这不是所要的回复：{fault}。请只回复改正后的 JSON 对象。",
}
_UNPROVEN: Final = {
    "en": "These rows cannot be taken as they are:\n{rows}\nReply with a JSON object of these rows alone, mended: "
    "names and numbers as they stand there, and verbatim quotes. Leave a row out if the section does not say it. Your "
    "other rows and the memory are kept.",
    "zh": "下面这些行不能照用：\n{rows}\n请只回复一个 JSON 对象，其中只有改好的这些行：名称和数字照原文写，"
    "引文一字不差。这一段没有说到的行请去掉。其余各行和记忆都已保留。",
}


def makes_table(way: str) -> bool:
    return NAME in way.split("+")


def join_parts(gate: str = "", *, is_parallel: bool = False) -> str:
    """Return the name of collecting with these parts; InputError for another gate."""
    if gate and gate not in PARTS[1:]:
        raise InputError(f"collect goes with the gates {' and '.join(PARTS[1:])}, and not with {gate!r}")
    return "+".join((NAME, *(("parallel",) if is_parallel else ()), *((gate,) if gate else ())))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectWay(ComposedWay):
    """Collecting, alone or with segments or a gate."""

    @property
    def spec(self) -> WaySpec:
        """The way with all that is known of it before the first call."""
        return WaySpec(
            run=self,
            needs=self.needs,
            threshold=self.gate.threshold if self.gate else None,
            list_calls=self.list_calls,
            measure=_measure,
            check=check_request,
            is_general=False,
        )

    def combine(self, other: ComposedWay) -> Self:
        """Return the sum of both; InputError for a part that writes or orders in a way of its own."""
        if other.name not in PARTS:
            raise InputError(f"{NAME} goes with {', '.join(PARTS)}, and not with {other.name}")
        combined = ComposedWay.combine(self, other)
        assert isinstance(combined, type(self))  # It is made from this one.
        return combined

    def list_calls(self, given: CostInputs) -> list[CallCost]:
        """Return a call for each chunk at least, and for each of its halves and corrections at most."""
        chunks = given.size.chunks
        most = chunks + (SEGMENTS - 1 if self.course else 0)  # A segment's last chunk can be short.
        calls = [self.gate.estimate(given, chunks, most)] if self.gate else []
        if given.prompts.quotes:
            return [*calls, *_list_asked(given)]
        own = list_section_calls(given, TableRequest.parse(given.question), most)
        return [*calls, replace(own, least=0) if self.gate else own]

    async def __call__(
        self, document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        """Yield a step for each chunk, whose reply holds its rows, then their number as the answer."""
        check_request(question, model, plan)
        request = TableRequest.parse(question)
        prompts = prompts_for(plan, request.sentence)
        steps = [step.without_texts() for step in done]
        if prompts.quotes:
            plain: Write = (await asyncio.to_thread(QuotedRows.find, document, request)).write
            context = _make_context(document, question, model, plan, prompts)
        else:
            collector = Collector.open(request, model, plan, steps, is_alone=not self.course)
            plain, context = collector.write, collector.make_context(document, question)
        opening = self.gate.open(context, plain) if self.gate else nullcontext(plain)
        async with opening as write, aclosing(self._read_sections(context, write, plain, steps)) as events:
            async for event in events:
                step = event.with_index(len(steps))
                steps.append(step.without_texts())
                yield step
        count = sum(len(parse_stored(step.conversation.reply.text, request).rows) for step in steps)
        noun = "行" if prompts.language == "zh" else "row" if count == 1 else "rows"
        yield Answer(text=f"{count} {noun}", conversation=Conversation(messages=(), reply=Reply(text=str(count))))

    async def _read_sections(
        self, context: ReadingContext, write: Write, plain: Write, steps: Sequence[Step]
    ) -> AsyncGenerator[Step]:
        if not self.course:
            events = read_in_order(context, write, plain, None, steps)
        else:
            events = run_segments(await asyncio.to_thread(open_segments, context, write, steps))
        async with aclosing(events):
            async for event in events:
                assert isinstance(event, Step)  # No exit is asked for.
                yield event


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How the window is shared: rows can be as long as the section that they come from."""

    chunk: int
    reply: int
    """Tokens of a reply: the rows of a section, and the memory."""


def find_room(request: TableRequest, model: Model, plan: Plan) -> Room:
    """Return the room of a section and its reply; PlanError where the window has none."""
    if model.window is None:
        return Room(chunk=max(1, plan.chunk_tokens // 2), reply=plan.memory_tokens + plan.chunk_tokens // 2)
    words = prompts_for(plan, request.sentence).turn(NAME, question=request.to_prompt())
    template = count_messages(words, model.tokenizer) + model.template_tokens
    room = model.window - template - plan.memory_tokens
    chunk = min(plan.chunk_tokens, (room - plan.memory_tokens) // 2)
    if chunk < _LEAST_CHUNK:
        raise PlanError(
            f"the window of {model.name} has {model.window} tokens: question and memory leave {max(0, chunk)} for a "
            f"section; lower --memory-tokens {plan.memory_tokens} or name fewer columns"
        )
    return Room(chunk=chunk, reply=room - chunk)


def check_request(question: str, model: Model, plan: Plan) -> None:
    """Refuse a question without columns, and a plan beyond the model's window."""
    request = TableRequest.parse(question)
    quotes = prompts_for(plan, question).quotes
    if quotes and request.is_written:
        raise InputError(
            f"{model.name} only quotes and cannot write rows: name a model that can, with --base-url URL --model NAME"
        )
    if not request.is_written:  # The words of a graph are ours: nobody can shorten them.
        check_question(request.sentence, model, plan)
    if not quotes:
        find_room(request, model, plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """Reads the sections of one reading."""

    request: TableRequest
    model: Model
    plan: Plan
    prompts: Prompts
    room: Room
    waiting: WaitingLines | None = None
    """None where segments are read side by side: which lines wait would hang on which is faster."""

    @classmethod
    def open(
        cls, request: TableRequest, model: Model, plan: Plan, done: Sequence[Step] = (), *, is_alone: bool = True
    ) -> Self:
        """Return the collector of a request that goes on after some steps; PlanError where the window has no room."""
        prompts, room = prompts_for(plan, request.sentence), find_room(request, model, plan)
        waiting = WaitingLines(tokenizer=model.tokenizer) if is_alone else None
        last = Memory.blank(plan.memory_tokens)
        for step in done if waiting else ():
            assert waiting  # It is there.
            wrote = parse_stored(step.conversation.reply.text, request).memory
            waiting.follow(last, step.before, wrote, step.after)
            last = step.after
        return cls(request=request, model=model, plan=plan, prompts=prompts, room=room, waiting=waiting)

    def make_context(self, document: Document, question: str) -> ReadingContext:
        """Return what the parts of other ways are told of the reading; chunks are as long as a reply has room for."""
        plan = replace(self.plan, chunk_tokens=self.room.chunk)
        return _make_context(document, question, self.model, plan, self.prompts)

    async def write(self, _context: ReadingContext, before: Memory, chunk: Chunk) -> Step:
        """Read one chunk, in as many calls as it takes."""
        if self.waiting:
            before = self.waiting.recall(before, chunk.text)
        reader = _ChunkReader(collector=self, lead=chunk.lead)
        said, first = await reader.read(chunk.text, before.text)
        text = said.memory or before.text
        if self.waiting:
            after = self.waiting.keep(text, before.text, before.limit)
        else:
            text, tokens, is_trimmed = trim(text, before.limit, self.model.tokenizer)
            after = Memory(text=text, tokens=tokens, limit=before.limit)
            reader.flags += [Flag.TRIMMED] if is_trimmed else []
        conversation = replace(first, reply=Reply(text=said.to_json(self.request.columns), usage=reader.usage))
        flags = tuple(dict.fromkeys(reader.flags))
        return Step(chunk=chunk, before=before, after=after, conversation=conversation, flags=flags)


@dataclass(kw_only=True)
class _ChunkReader:
    """Reads one chunk, and adds up what that costs."""

    collector: Collector
    lead: str = ""
    usage: Usage = field(default_factory=Usage)
    flags: list[Flag] = field(default_factory=list)

    async def read(self, section: str, memory: str) -> tuple[SectionRows, Conversation]:
        """Return what a section holds, and the first conversation about it."""
        plan, model = self.collector.plan, self.collector.model
        question = self.collector.request.to_prompt()
        messages = self.collector.prompts.turn(NAME, question=question, memory=memory, section=f"{self.lead}{section}")
        if (words := self.collector.prompts.turns.get("picture_rows")) and self._list_shown(section, memory):
            messages = (*messages[:-1], replace(messages[-1], content=f"{messages[-1].content} {words}", tokens=None))
        first, said = await self._ask(messages, section, memory)
        if said is not None:
            return said, first
        if first.reply.finish is Finish.LENGTH and len(section) > _LEAST_CHARACTERS:
            cut = _find_middle(section)
            left, _ = await self.read(section[:cut], memory)
            between, *_ = trim(left.memory or memory, plan.memory_tokens, model.tokenizer)
            right, _ = await self.read(section[cut:], between)
            # What the second half was not given is no less known.
            kept = set(between.splitlines())
            spilled = [line for line in left.memory.splitlines() if line not in kept]
            notes = "\n".join(dict.fromkeys((*spilled, *(right.memory or left.memory).splitlines())))
            seen = tuple(dict.fromkeys((*left.seen, *right.seen)))
            return SectionRows(rows=(*left.rows, *right.rows), memory=notes, seen=seen), first
        # The section was not taken in, which is a gap of the reading.
        self.flags.append(Flag.FILTERED if first.reply.finish is Finish.FILTER else Flag.KEPT_EMPTY)
        return SectionRows(), first

    async def _ask(
        self, messages: tuple[Message, ...], section: str, memory: str
    ) -> tuple[Conversation, SectionRows | None]:
        """Ask until the reply can be used; None where it cannot. Unproven rows are asked for once more."""
        plan, model, columns = self.collector.plan, self.collector.model, self.collector.request.columns
        language = prompts_for(plan, self.collector.request.sentence).language
        first: Conversation | None = None
        said: SectionRows | None = None
        for attempt in range(_TRIES):
            limit = self.collector.room.reply
            if model.window is not None:
                limit = min(limit, model.window - count_messages(messages, model.tokenizer) - model.template_tokens)
            if limit < plan.memory_tokens:
                break  # There is no room to ask again.
            talk = await converse(messages, model, limit, plan.sampling)
            self.usage += talk.reply.usage
            first = first or talk
            if talk.reply.finish is Finish.LENGTH:
                # Half a table is none; the caller takes half the section.
                first = replace(first, reply=replace(first.reply, finish=Finish.LENGTH))
                break
            try:
                better = parse_rows(talk.reply.text, columns, by_order=attempt > 0)
                better = replace(better, seen=self._list_shown(section, memory))
            except UnreadableRowsError as fault:
                advice = _AGAIN.get(language, _AGAIN["en"]).format(fault=fault)
            else:
                is_second, said = said is not None, _keep_proven(said, better, section, memory)
                placed = place_rows(said, section, memory)
                unproven = [one for one in placed if not (one.is_proven or one.is_seen)]
                if is_second or not unproven:
                    break
                faults = (f"- {one.row.to_json(columns)}: {one.tell_faults(columns, language)}" for one in unproven)
                advice = _UNPROVEN.get(language, _UNPROVEN["en"]).format(rows="\n".join(faults))
            messages = talk.go_on(advice)
        assert first is not None
        return first, said

    def _list_shown(self, section: str, memory: str) -> tuple[str, ...]:
        """Return the labels of the pictures that a model that can see is shown with a section and its memory."""
        seeing = find_wrapper(self.collector.model, SeeingModel)
        return seeing.list_shown(f"{memory}\n{section}") if seeing else ()


def _keep_proven(old: SectionRows | None, new: SectionRows, section: str, memory: str) -> SectionRows:
    """Return the newer reply, with the proven rows and the memory of the older one that it left out."""
    if old is None:
        return new
    kept = [placed.row for placed in place_rows(old, section, memory) if placed.is_proven or placed.is_seen]
    known = {row.cells for row in new.rows}
    both = replace(new, rows=(*(row for row in kept if row.cells not in known), *new.rows))
    # In the section's order, for the last of those that say otherwise counts.
    placed = sorted(place_rows(both, section, memory), key=lambda one: one.span[0] if one.span else len(section))
    return replace(both, rows=tuple(one.row for one in placed), memory=new.memory or old.memory)


def _find_middle(text: str) -> int:
    """Return the end of a line or sentence near the middle of a text."""
    middle = len(text) // 2
    quarter = len(text) // 4
    lines = [text.rfind("\n", quarter, middle) + 1, text.find("\n", middle, len(text) - quarter) + 1]
    ends = [at for at in lines if at > 0] or list(find_ends(text, quarter, len(text) - quarter))
    return min(ends, key=lambda at: abs(at - middle), default=middle)


def _make_context(document: Document, question: str, model: Model, plan: Plan, prompts: Prompts) -> ReadingContext:
    return ReadingContext(document=document, question=question, model=model, plan=plan, prompts=prompts, template=0)


def parse_stored(text: str, request: TableRequest) -> SectionRows:
    """Return the rows of a stored reply; none where it is a note of another kind."""
    try:
        return SectionRows.from_json(text, request.columns)
    except UnreadableRowsError:
        return SectionRows()


def _list_asked(given: CostInputs) -> list[CallCost]:
    """Return the calls of a model that quotes: none, or about each sentence who it is about, and until when."""
    columns = TableRequest.parse(given.question).columns
    if find_people(columns) is None or TURN not in given.prompts.turns:
        return []
    questions = 1 + sum(one.kind is Kind.DATE for one in columns)
    most, text = questions * (1 + given.size.tokens // _LEAST_SENTENCE), questions * given.size.tokens
    return [CallCost(least=0, most=most, words=given.count_turn(TURN), reply=1, text=text)]


def list_section_calls(given: CostInputs, request: TableRequest, most: int) -> CallCost:
    """Return a call for each chunk at least, and for each of its halves and corrections at most."""
    words = count_messages(given.prompts.turn(NAME, question=request.to_prompt()), given.model.tokenizer)
    return CallCost(
        least=given.size.chunks,
        most=_TRIES * most,
        words=words + given.model.template_tokens,
        reply=find_room(request, given.model, given.plan).reply,
        memory=given.plan.memory_tokens,
        text=_TRIES * given.size.tokens,
    )


def _measure(document: Document, question: str, model: Model, plan: Plan) -> DocumentSize:
    """Return the size of a document in this way's own chunks."""
    request = TableRequest.parse(question)
    if not prompts_for(plan, question).quotes:
        plan = replace(plan, chunk_tokens=find_room(request, model, plan).chunk)
    return measure_document(document, question, model, plan)


COLLECT: Final = CollectWay(name=NAME)
