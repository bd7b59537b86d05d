"""Writers whose reply is the size of a change and not that of the memory.

    edits                                                  heads
    ADD: the harbour master in 1911 was Ada Quill          Part 1:
    REPLACE 2: the lamp was relit on 9 March 1912          the harbour master in 1911 was Ada Quill
    DROP 3                                                 Part 2:
                                                           the lamp was relit on 9 March 1912

In `edits` the reply is a list of changes to the memory's numbered lines, and we apply them. A change that cannot be
made is refused and flagged, and the others are made. Where the memory would outgrow its limit, the model names the
lines that serve the question least, and as many of them go as must: a call without the section, a reply of a few words.
In `heads` the memory is four parts of one fixed total, and a reply names and rewrites the one part that its chunk
concerns; the others stay word for word, and so does their provenance. Where that leaves nothing usable, the model is
asked to rewrite the memory after all, and the lines of `heads` are dealt out again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bookwheel.flags import Flag
from bookwheel.reading.asides import Scene
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.guards import clean, find_reason, is_grounded, next_memory, sift
from bookwheel.reading.loop import converse
from bookwheel.reading.ways.compose import ComposedWay, add_usage, rewrite_after_all
from bookwheel.reading.ways.edits import EditKind, apply_edits, parse_edits, split_lines, unnumber
from bookwheel.reading.ways.spec import MemoryWriter, ReadingContext
from bookwheel.text.tokens import Tokenizer
from bookwheel.types import Chunk, Conversation, Finish, Memory, Reply, Step, Usage

# A model that names too few lines to give up is asked once more.
_ROOM_CALLS: Final = 2
# Tokens of room for each that a memory is too long by, as a prompt takes them for less than words.
_WORDS_OVER: Final = 2
# Four were measured to be enough: with more, a step's reply hardly gets shorter and a part soon holds a single line.
PARTS: Final = 4
# Tokens that a heading may take beside its part.
_HEADING_TOKENS: Final = 6
_HEADING: Final = re.compile(
    r"[ \t]*[#*]*[ \t]*(?:Part|部分|第)[ \t]*(\d)[ \t]*(?:部分)?[ \t]*[:：.]?[*]*[ \t]*", re.IGNORECASE
)
_WORDS: Final = {"en": "Part {}:", "zh": "部分{}:"}


async def write_edits(context: ReadingContext, memory: Memory, chunk: Chunk) -> Step:
    """Ask for changes and apply them; ask for the whole memory when they come to nothing."""
    conversation = await _ask(context, "edits", memory, memory.limit, chunk.shown)
    if conversation is None:
        return await rewrite_after_all(context, memory, chunk)
    step, usage = _apply_reply(context, memory, chunk, conversation), conversation.reply.usage
    for _ in range(_ROOM_CALLS):
        if not step or step.after.tokens <= memory.limit:
            break
        over = step.after.tokens - memory.limit
        asked = await _ask(context, "room", step.after, memory.limit, over=over)
        cost = asked.reply.usage if asked else Usage()
        step = _make_room(context, add_usage(step, cost), asked.reply.text) if asked else None
        usage += cost
    return (
        step if step and step.after.tokens <= memory.limit else await rewrite_after_all(context, memory, chunk, usage)
    )


async def _ask(
    context: ReadingContext, turn: str, memory: Memory, room: int, section: str = "", over: int = 0
) -> Conversation | None:
    """Ask about the numbered lines of a memory; None where their numbers leave no room for the reply.

    The plan leaves room for two memories. A list of lines needs half of one, so the numbers may take the rest.
    """
    lines = enumerate(split_lines(memory.text), start=1)
    # A memory that was numbered by hand is not numbered twice.
    numbered = "\n".join(f"{number}. {unnumber(line, number)}" for number, line in lines)
    limit = max(1, room // 2)
    if context.model.tokenizer.count(numbered) > 2 * room - limit:
        return None
    room = over * _WORDS_OVER or limit
    messages = context.prompts.turn(turn, question=context.question, memory=numbered, section=section, room=room)
    return await converse(messages, context.model, limit, context.plan.sampling)


def _make_room(context: ReadingContext, step: Step, reply: str) -> Step | None:
    """Return the step without as many of the lines that a reply names as must go, or all; None where it names none."""
    after, given_up = step.after, step.given_up
    lines = dict(enumerate(split_lines(after.text), start=1))
    for edit in parse_edits(reply)[0]:
        if after.tokens <= after.limit:
            break
        if edit.kind is EditKind.DROP and len(lines) > 1 and (line := lines.pop(edit.line, "")):
            given_up = (*given_up, line)
            text = "\n".join(lines.values())
            after = replace(after, text=text, tokens=context.model.tokenizer.count(text))
    flags = tuple(dict.fromkeys((*step.flags, Flag.GAVE_UP)))
    return replace(step, after=after, flags=flags, given_up=given_up) if given_up != step.given_up else None


def _apply_reply(context: ReadingContext, memory: Memory, chunk: Chunk, conversation: Conversation) -> Step | None:
    """Return the step of a reply, whose memory may be too long, or None where the memory must be rewritten."""
    tokenizer, prompts = context.model.tokenizer, context.prompts
    said, found, reason = sift(conversation.reply)
    edits, refused = parse_edits(said)
    # "REPLACE 1: unchanged" is no new wording.
    word = prompts.unchanged.casefold() or None
    kept = [edit for edit in edits if re.sub(r"[\W_]", "", edit.text).casefold() != word]
    if edits and not kept:
        reason = reason or Flag.UNCHANGED
    edits = kept
    scene = prompts.set_scene(context.question, memory, chunk.shown)
    if reason is Flag.FILTERED or (not edits and (reason := reason or _find_remark(scene, conversation.reply))):
        flags = (*found, reason)
        return Step(chunk=chunk, before=memory, after=memory, conversation=conversation, flags=flags)
    flags = tuple(found)
    if conversation.reply.finish is Finish.LENGTH and edits:
        edits.pop()  # Its text ends where the limit was.
    if scene.quotes:
        grounded = [edit for edit in edits if not edit.text or is_grounded(edit.text, scene.shown)]
        flags = (*flags, Flag.UNFOUNDED) if len(grounded) < len(edits) else flags
        edits = grounded
    text, unmade = apply_edits(memory.text, edits)
    tokens = tokenizer.count(text)
    # A list that empties the memory is no better than an empty reply.
    if len(edits) == unmade or not text:
        return None
    if refused + unmade:
        flags = (*flags, Flag.REFUSED)
    after = memory if text == memory.text else Memory(text=text, tokens=tokens, limit=memory.limit)
    return Step(chunk=chunk, before=memory, after=after, conversation=conversation, flags=flags)


def _find_remark(scene: Scene, reply: Reply) -> Flag | None:
    """Return why a reply leaves the memory as it is, where it only speaks of the section or the memory."""
    return find_reason(scene.read(clean(reply.text)[0])[0], reply)


def split_parts(memory: str) -> list[str]:
    r"""Return the texts of the parts; lines before the first heading belong to the first part.

    >>> split_parts("Part 1:\nAda\nPart 3:\nWheel")
    ['Ada', '', 'Wheel', '']
    """
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    current = 0
    for line in filter(str.strip, memory.splitlines()):
        heading = _HEADING.fullmatch(line)
        if heading and 1 <= int(heading[1]) <= PARTS:
            current = int(heading[1]) - 1
        else:
            parts[current].append(line)
    return ["\n".join(lines) for lines in parts]


def join_parts(parts: Sequence[str], language: str) -> str:
    """Return the memory: every part under its heading, the empty ones too while another one holds something."""
    if not any(parts):
        return ""
    heading = _WORDS.get(language, _WORDS["en"])
    return "\n".join("\n".join(filter(None, (heading.format(n), part))) for n, part in enumerate(parts, start=1))


def deal_out(memory: Memory, tokenizer: Tokenizer) -> list[str]:
    """Return the parts of a memory, with lines that are too many for a part moved to the next."""
    parts, share = split_parts(memory.text), part_tokens(memory.limit)
    if all(tokenizer.count(part) <= share for part in parts):
        return parts
    dealt: list[list[str]] = [[] for _ in range(PARTS)]
    current = 0
    for line in (line for part in parts for line in part.splitlines()):
        if current < PARTS - 1 and dealt[current] and tokenizer.count("\n".join((*dealt[current], line))) > share:
            current += 1
        dealt[current].append(line)
    return ["\n".join(lines) for lines in dealt]


def part_tokens(limit: int) -> int:
    """Return the limit of one part; all parts and their headings together stay within the memory's limit."""
    return max(1, limit // PARTS - _HEADING_TOKENS)


def reply_limit(limit: int) -> int:
    """Return the tokens that a reply may have: one part and its heading."""
    return part_tokens(limit) + _HEADING_TOKENS


async def write_head(context: ReadingContext, memory: Memory, chunk: Chunk) -> Step:
    """Ask for the one part that the chunk concerns, and leave the others as they are."""
    tokenizer, prompts = context.model.tokenizer, context.prompts
    parts = deal_out(memory, tokenizer)
    shown = join_parts(parts, prompts.language)
    if part_tokens(memory.limit) <= _HEADING_TOKENS:
        return await _rewrite_parts(context, memory, chunk)
    room = part_tokens(memory.limit)
    messages = prompts.turn("heads", question=context.question, memory=shown, section=chunk.shown, room=room)
    limit = reply_limit(memory.limit)
    conversation = await converse(messages, context.model, limit, context.plan.sampling)
    said, found, reason = sift(conversation.reply)
    number, text = parse_part(said)
    scene = prompts.set_scene(context.question, memory, chunk.shown)
    if number is None and (reason := reason or _find_remark(scene, conversation.reply)):
        flags = (*found, reason)
        return Step(chunk=chunk, before=memory, after=memory, conversation=conversation, flags=flags)
    if number is not None:
        part = Memory(text=parts[number], tokens=tokenizer.count(parts[number]), limit=part_tokens(memory.limit))
        told = replace(conversation.reply, text=text)
        written, flags = next_memory(part, told, tokenizer, replace(scene, memory=part.text))
        flags = tuple(dict.fromkeys((*found, *flags)))
        parts[number] = written.text
        after = join_parts(parts, prompts.language)
        tokens = tokenizer.count(after)
        if written is part or tokens <= memory.limit:
            after_memory = memory if written is part else Memory(text=after, tokens=tokens, limit=memory.limit)
            return Step(chunk=chunk, before=memory, after=after_memory, conversation=conversation, flags=flags)
    return await _rewrite_parts(context, memory, chunk, conversation.reply.usage)


async def _rewrite_parts(context: ReadingContext, memory: Memory, chunk: Chunk, usage: Usage | None = None) -> Step:
    """Have the memory written anew, without the headings of its parts, of which that prompt says nothing."""
    text = "\n".join(filter(None, split_parts(memory.text)))
    bare = replace(memory, text=text, tokens=context.model.tokenizer.count(text))
    step = await rewrite_after_all(context, bare, chunk, usage)
    return replace(step, before=memory, after=memory if step.after is bare else step.after)


def parse_part(reply: str) -> tuple[int | None, str]:
    """Return the index of the part that a reply rewrites, or None, and its new text."""
    lines = reply.splitlines()
    # Words of politeness may come before the heading.
    start = next((at for at, line in enumerate(lines) if _HEADING.fullmatch(line)), 0)
    first, rest = (lines[start], "\n".join(lines[start + 1 :])) if lines else ("", "")
    heading = _HEADING.match(first)
    if not heading or not 1 <= int(heading[1]) <= PARTS:
        return None, ""
    text = "\n".join(filter(None, (first[heading.end() :].strip(), rest.strip())))
    # A reply that goes on with other parts, or empties the one it names, is not what was asked for.
    if not text or any(_HEADING.fullmatch(line) for line in text.splitlines()):
        return None, ""
    return int(heading[1]) - 1, text


def _shorten_to_edits(given: CostInputs, rewriting: CallCost) -> list[CallCost]:
    memory = rewriting.memory
    # Numbers before its lines make a memory longer, by half at most.
    edits = replace(rewriting, words=given.count_turn("edits"), reply=memory // 2, memory=memory + memory // 2)
    room = replace(edits, least=0, text=0, words=given.count_turn("room"))
    return [edits, replace(room, most=_ROOM_CALLS * room.most)]


EDITS = ComposedWay(
    name="edits", writer=MemoryWriter(write=write_edits, shorten=_shorten_to_edits), turns=("edits", "room")
)
HEADS = ComposedWay(
    name="heads",
    writer=MemoryWriter(
        write=write_head,
        shorten=lambda given, rewriting: [
            replace(rewriting, words=given.count_turn("heads"), reply=reply_limit(rewriting.memory))
        ],
    ),
    turns=("heads",),
)
