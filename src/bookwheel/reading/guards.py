r"""Turn a reply into the next memory, and guard the notes that are there.

The whole reply overwrites the memory, unless it holds no notes: an empty reply, a refusal, the word for "unchanged", or
a remark that nothing is new. Then the old memory stays and a flag says why. A short reply that speaks of the section or
the memory and has hardly a word of the old one is a remark, too; what it tells is written below the old memory.
Special tokens, prompt tags and reasoning blocks are removed, and a memory over its limit is cut at a line end.

Small models invent where a section says nothing. A prompt set that asks for quotes therefore admits only lines whose
names and numbers, and nearly all other words, stand in what the model was shown.

>>> from bookwheel.text.tokens import WordTokenizer
>>> before = Memory(text="Signed by Ada.", tokens=4, limit=100)
>>> next_memory(before, Reply(text="No new information."), WordTokenizer(), unchanged="UNCHANGED")[0].text
'Signed by Ada.'
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bookwheel.flags import Flag
from bookwheel.patterns import compile_late
from bookwheel.text.boxes import find_box
from bookwheel.text.matching import Passage, find_missing_words, parse_words, word_overlap
from bookwheel.text.remarks import is_refusal, is_remark
from bookwheel.text.sanitize import TAGS
from bookwheel.types import Finish, Memory, Reply

if TYPE_CHECKING:
    from bookwheel.text.tokens import Tokenizer

_REASONING: Final = compile_late(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE
)
_SPECIAL: Final = compile_late(
    r"<[|｜][^<>|｜\n]{1,60}[|｜]>|</?(?:s|bos|eos|pad|unk|mask)>|<(?:start|end)_of_(?:turn|text)>|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
_TAG: Final = compile_late(rf"[<‹]\s*/?\s*(?:{'|'.join(TAGS)}|new_memory|updated_memory)\s*>", re.IGNORECASE)
_FENCE: Final = compile_late(r"\A\s*```[a-z]*\n(.*)\n```\s*\Z", re.DOTALL)
_LABEL: Final = compile_late(
    r"\A\s*(?:#+\s*|\*\*)?(?:(?:the )?(?:new|updated) (?:memory|notes)|新的?记忆|更新后的?记忆)"
    r"(?:\*\*)?\s*[:：](?:\*\*)?\s*",
    re.IGNORECASE,
)
_EMPTY_BOX: Final = compile_late(r"\\boxed\s*\{\s*\}")
# A quote may change a word or two ("was" for "is"); an invented sentence shares far fewer words with the text.
_GROUNDED_SHARE: Final = 0.85
# What ends the word for unchanged, where more follows.
_AFTER_WORD: Final = r"(?:\s*[.。!！:：,，;；(（\n—–]|\s+-\s)"
# What only a reply about its task says: of a section it says what that does, of the memory that it is there.
_ITSELF: Final = compile_late(
    r"\b(?:this|the) (?:section|passage) (?:\w+ly )?(?:is about|deals|has|holds|contains?|says|states|tells|gives|adds|"
    r"only|just|mentions|describes|speaks|confirms|repeats|does|did|offers|provides|brings)\b|"
    r"\b(?:in|from|by) (?:this|the) section\b|"
    r"\b(?:the|old|previous|existing|current|my) memory\b|\b(?:old|previous|existing|current) notes\b|\bunchanged\W*$|"
    r"本[节段]|该[节段]|这一?[节段]|记忆|笔记",
    re.IGNORECASE,
)
_NOTHING: Final = compile_late(r"\b(?:no|not|nothing|none|unchanged|same)\b|n't\b|没有|无|未|不", re.IGNORECASE)
# The longest reply that can be such a remark, and the share of the old memory's words that a new one has at least.
_LONGEST_COMMENT: Final = 400
_KEPT_SHARE: Final = 0.25
# A longer reply says something worth keeping, whatever it begins with.
_LONGEST_REMARK: Final = 160


def clean(text: str) -> tuple[str, bool]:
    """Strip reasoning, special tokens, tags, code fence and label; return also whether any was there."""
    bare = _TAG.sub("", _SPECIAL.sub("", _REASONING.sub("", text)))
    cleaned = bare != text
    bare = _LABEL.sub("", bare.strip())
    fenced = _FENCE.match(bare)
    return (fenced[1] if fenced else bare).strip(), cleaned


def next_memory(
    before: Memory, reply: Reply, tokenizer: Tokenizer, unchanged: str = "", shown: str | None = None
) -> tuple[Memory, tuple[Flag, ...]]:
    """Return the memory after a reply, and its flags. With `shown`, admit only lines that stand there."""
    text, cleaned = clean(reply.text)
    flags = [Flag.TRUNCATED] if reply.finish is Finish.LENGTH else []
    if cleaned:
        flags.append(Flag.CLEANED)
    text = _drop_unchanged(text, unchanged, before.text)
    reason = Flag.FILTERED if reply.finish is Finish.FILTER else _reason_to_keep(text, unchanged)
    if reason:
        return before, (*flags, reason)
    if before.text and _speaks_of_itself(text, before.text):
        flags.append(Flag.KEPT_COMMENT)
        if not _has_news(text, before.text, unchanged):
            return before, tuple(flags)
        text = f"{before.text}\n{text}"
    if shown is not None:
        grounded = "\n".join(line for line in text.splitlines() if is_grounded(line, shown))
        if grounded != text:
            flags.append(Flag.UNFOUNDED)
        if not grounded.strip():
            return before, tuple(flags)
        text = grounded
    text, tokens, trimmed = trim(text, before.limit, tokenizer)
    if not text:
        return before, (*flags, Flag.KEPT_EMPTY)
    if trimmed:
        flags.append(Flag.TRIMMED)
    return Memory(text=text, tokens=tokens, limit=before.limit), tuple(flags)


def is_grounded(line: str, shown: str) -> bool:
    """Return whether all names and numbers of a line, and nearly all of its other words, stand in what was shown."""
    words, there = parse_words(line), _list_keys(shown)
    return not find_missing_words(words, there) and word_overlap(words, there) >= _GROUNDED_SHARE


@lru_cache(1)  # all lines of a reply are compared with the same text
def _list_keys(text: str) -> set[str]:
    return Passage(text).index_keys


def is_empty(reply: str) -> bool:
    """Return True when a reply has no word besides what is cleaned away and an empty box."""
    return not re.search(r"\w", _EMPTY_BOX.sub("", clean(reply)[0]))


def _drop_unchanged(text: str, unchanged: str, before: str) -> str:
    """Return a reply that begins with the word for unchanged as the word alone, or as the notes behind it.

    Behind the word models explain it. Only lines that the memory has, or the first notes of all, are notes.
    """
    word = unchanged and re.match(rf"[\"'*`]*{re.escape(unchanged)}[\"'*`]*{_AFTER_WORD}", text, re.IGNORECASE)
    if not word:
        return text
    rest = text[word.end() :].strip()
    lines = {line.strip() for line in rest.splitlines()}
    has_notes = not lines.isdisjoint(map(str.strip, before.splitlines())) if before else "\n" in rest
    return rest if has_notes else unchanged


def _reason_to_keep(text: str, unchanged: str) -> Flag | None:
    """Return why the old memory stays, or None when the reply holds notes."""
    if not text or not re.search(r"\w", text):
        return Flag.KEPT_EMPTY
    if unchanged and _says(text, unchanged):
        return Flag.UNCHANGED
    if len(text) <= _LONGEST_REMARK and "\n" not in text:
        if is_refusal(text):
            return Flag.KEPT_REFUSAL
        if is_remark(text):
            return Flag.KEPT_COMMENT
    return None


def _says(text: str, word: str) -> bool:
    """Return whether a reply is one word, with a reason behind it, in a box, or below a line that introduces it."""
    if re.match(rf"[\W_]*{re.escape(word)}(?![\w])", text):
        return True
    *above, last = filter(None, map(str.strip, text.splitlines()))
    boxed, _ = find_box(last)
    bare = (last if boxed is None else boxed).strip("\"'.。!！*_`# ")
    intro = " ".join(above)
    is_intro = len(intro) <= _LONGEST_REMARK and (not intro or intro.endswith((":", "：", "!")) or is_remark(intro))
    return bare.casefold() == word.casefold() and is_intro


def _speaks_of_itself(text: str, before: str) -> bool:
    """Return whether a reply speaks of section or memory, and is no memory: it has hardly a word of the old one."""
    if len(text) > _LONGEST_COMMENT or not _ITSELF.search(text):
        return False
    return word_overlap(parse_words(before), _list_keys(text)) < _KEPT_SHARE


def _has_news(text: str, before: str, unchanged: str) -> bool:
    """Return whether a remark tells something too: a name or number that is new, or anything that is not denied."""
    told = text.replace(unchanged, "") if unchanged else text
    return bool(find_missing_words(parse_words(told), _list_keys(before))) or not _NOTHING.search(text)


def trim(text: str, limit: int, tokenizer: Tokenizer) -> tuple[str, int, bool]:
    """Return the text cut to `limit` tokens, at a line end if possible, its tokens, and whether it was cut."""
    tokens = tokenizer.count(text)
    trimmed = tokens > limit
    while tokens > limit:
        room = text[: max(1, min(tokenizer.fit(text, limit), len(text) - 1))]
        line_end = room.rfind("\n")
        text = (room[:line_end] if line_end > 0 else room).rstrip()
        tokens = tokenizer.count(text)
    return text, tokens, trimmed
