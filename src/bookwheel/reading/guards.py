r"""From a reply to the next memory: what a model may and may not do to its notes.

The whole reply overwrites the memory, unless it is no memory at all: nothing, a refusal, the word for "unchanged",
a remark that there was nothing new. Then the old memory stays and a flag says why. What is taken over is cleaned of
special tokens, prompt tags and reasoning blocks, and cut at a line end when it is over its limit.

Small models invent where a section says nothing. A prompt set that asks for quotes therefore lets only those lines in
whose names and numbers, and nearly all other words, stand in what the model was shown.

>>> from bookwheel.text.tokens import WordTokenizer
>>> before = Memory(text="Signed by Ada.", tokens=4, limit=100)
>>> next_memory(before, Reply(text="No new information."), WordTokenizer(), unchanged="UNCHANGED")[0].text
'Signed by Ada.'
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bookwheel.reading.remarks import is_refusal, is_remark
from bookwheel.text.matching import Passage, find_missing_words, parse_words, word_overlap
from bookwheel.text.sanitize import TAGS
from bookwheel.types import Finish, Flag, Memory, Reply

if TYPE_CHECKING:
    from bookwheel.text.tokens import Tokenizer

_REASONING: Final = re.compile(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE
)
_SPECIAL: Final = re.compile(
    r"<[|｜][^<>|｜\n]{1,60}[|｜]>|</?(?:s|bos|eos|pad|unk|mask)>|<(?:start|end)_of_(?:turn|text)>|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
_TAG: Final = re.compile(rf"[<‹]\s*/?\s*(?:{'|'.join(TAGS)}|new_memory|updated_memory)\s*>", re.IGNORECASE)
_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*)\n```\s*\Z", re.DOTALL)
_LABEL: Final = re.compile(
    r"\A\s*(?:#+\s*|\*\*)?(?:(?:the )?(?:new|updated) (?:memory|notes)|新的?记忆|更新后的?记忆)"
    r"(?:\*\*)?\s*[:：](?:\*\*)?\s*",
    re.IGNORECASE,
)
_NEARLY_ALL: Final = 0.85
_LONGEST_REMARK: Final = 160
"""Characters: a longer reply says something worth keeping, whatever it begins with."""


def clean(text: str) -> tuple[str, bool]:
    """The reply without reasoning, special tokens, prompt tags, code fence and label; and whether any was there."""
    bare = _TAG.sub("", _SPECIAL.sub("", _REASONING.sub("", text)))
    cleaned = bare != text
    bare = _LABEL.sub("", bare.strip())
    fenced = _FENCE.match(bare)
    return (fenced[1] if fenced else bare).strip(), cleaned


def next_memory(
    before: Memory, reply: Reply, tokenizer: Tokenizer, unchanged: str = "", shown: str | None = None
) -> tuple[Memory, tuple[Flag, ...]]:
    """The memory after a reply, and what is to be known about it. With `shown`, only what stands there is let in."""
    text, cleaned = clean(reply.text)
    flags = [Flag.TRUNCATED] if reply.finish is Finish.LENGTH else []
    if cleaned:
        flags.append(Flag.CLEANED)
    kept = Flag.FILTERED if reply.finish is Finish.FILTER else _why_keep(text, unchanged)
    if kept:
        return before, (*flags, kept)
    if shown is not None:
        founded = "\n".join(line for line in text.splitlines() if is_founded(line, shown))
        if founded != text:
            flags.append(Flag.UNFOUNDED)
        if not founded.strip():
            return before, tuple(flags)
        text = founded
    text, tokens, trimmed = trim(text, before.limit, tokenizer)
    if not text:
        return before, (*flags, Flag.KEPT_EMPTY)
    if trimmed:
        flags.append(Flag.TRIMMED)
    return Memory(text=text, tokens=tokens, limit=before.limit), tuple(flags)


def is_founded(line: str, shown: str) -> bool:
    """Whether all names and numbers of a line, and nearly all of its other words, stand in what was shown."""
    said, there = parse_words(line), Passage(shown).index_keys
    return not find_missing_words(said, there) and word_overlap(said, there) >= _NEARLY_ALL


def _why_keep(text: str, unchanged: str) -> Flag | None:
    """The reason for which a reply is no memory, if there is one."""
    if not text or not re.search(r"\w", text):
        return Flag.KEPT_EMPTY
    if unchanged and text.strip("\"'.。*` \n").casefold() == unchanged.casefold():
        return Flag.UNCHANGED
    if len(text) <= _LONGEST_REMARK and "\n" not in text:
        if is_refusal(text):
            return Flag.KEPT_REFUSAL
        if is_remark(text):
            return Flag.KEPT_COMMENT
    return None


def trim(text: str, limit: int, tokenizer: Tokenizer) -> tuple[str, int, bool]:
    """The text cut at a line end (or where it must) to hold at most `limit` tokens; its tokens; whether it was cut."""
    tokens = tokenizer.count(text)
    trimmed = tokens > limit
    while tokens > limit:
        room = text[: max(1, min(tokenizer.fit(text, limit), len(text) - 1))]
        line_end = room.rfind("\n")
        text = (room[:line_end] if line_end > 0 else room).rstrip()
        tokens = tokenizer.count(text)
    return text, tokens, trimmed
