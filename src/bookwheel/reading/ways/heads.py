"""Heads: the memory is four parts of one fixed total, and a step rewrites only the part that its chunk concerns.

    Part 1:
    the harbour master in 1911 was Ada Quill
    Part 2:
    the lamp was relit on 9 March 1912

The reply names the part and is at most a quarter as long as a memory. The other parts stay word for word, and so does
their provenance. A reply that names no part falls back to rewriting the memory, whose lines are then dealt out again.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.reading.guards import next_memory
from bookwheel.reading.loop import converse
from bookwheel.reading.ways.compose import ComposedWay, MemoryWriter, ReadingContext, add_usage, rewrite_after_all
from bookwheel.types import Chunk, Memory, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.reading.estimate import CallCost, CostInputs
    from bookwheel.text.tokens import Tokenizer

# Four were measured to be enough: with more, a step's reply hardly gets shorter and a part soon holds a single line.
PARTS: Final = 4
# Tokens that a heading may take beside its part.
_HEADING_TOKENS: Final = 6
_HEADING: Final = re.compile(
    r"[ \t]*[#*]*[ \t]*(?:Part|部分|第)[ \t]*(\d)[ \t]*(?:部分)?[ \t]*[:：.]?[*]*[ \t]*", re.IGNORECASE
)
_WORDS: Final = {"en": "Part {}:", "zh": "部分{}:"}


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
        return await rewrite_after_all(context, memory, chunk)
    messages = prompts.turn("heads", question=context.question, memory=shown, section=chunk.text)
    limit = reply_limit(memory.limit)
    conversation = await converse(messages, context.model, limit, context.plan.sampling)
    blank = Memory.blank(limit)
    quotes = f"{memory.text}\n{chunk.text}\n{context.question}" if prompts.quotes else None
    reply, flags = next_memory(blank, conversation.reply, tokenizer, prompts.unchanged, quotes)
    if reply is blank:
        return Step(chunk=chunk, before=memory, after=memory, conversation=conversation, flags=flags)
    number, text = parse_part(reply.text)
    if number is not None:
        parts[number] = text
        after = join_parts(parts, prompts.language)
        tokens = tokenizer.count(after)
        if tokens <= memory.limit:
            after_memory = Memory(text=after, tokens=tokens, limit=memory.limit)
            return Step(chunk=chunk, before=memory, after=after_memory, conversation=conversation, flags=flags)
    return add_usage(await rewrite_after_all(context, memory, chunk), conversation.reply.usage)


def parse_part(reply: str) -> tuple[int | None, str]:
    """Return the index of the part that a reply rewrites, or None, and its new text."""
    first, _, rest = reply.partition("\n")
    heading = _HEADING.match(first)
    if not heading or not 1 <= int(heading[1]) <= PARTS:
        return None, ""
    text = "\n".join(filter(None, (first[heading.end() :].strip(), rest.strip())))
    # A reply that goes on with other parts, or empties the one it names, is not what was asked for.
    if not text or any(_HEADING.fullmatch(line) for line in text.splitlines()):
        return None, ""
    return int(heading[1]) - 1, text


def _shorten(given: CostInputs, rewriting: CallCost) -> CallCost:
    return replace(rewriting, words=given.count_turn("heads"), reply=reply_limit(rewriting.memory))


HEADS = ComposedWay(name="heads", writer=MemoryWriter(write=write_head, shorten=_shorten), turns=("heads",))
