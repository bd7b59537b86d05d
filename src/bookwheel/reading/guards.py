r"""Turn a reply into the next memory, and guard the notes that are there.

The whole reply overwrites the memory, unless it holds no notes: an empty reply, a refusal, or a remark that nothing is
new. Then the old memory stays and a flag says why. What only comes on top of a memory is added below it, by `asides`.
Special tokens, prompt tags and reasoning blocks are removed, and a memory over its limit is cut at a line end.

Small models invent where a section says nothing. A prompt set that asks for quotes therefore admits only lines whose
names and numbers, and nearly all other words, stand in what the model was shown.

>>> from bookwheel.text.tokens import WordTokenizer
>>> before = Memory(text="Signed by Ada.", tokens=4, limit=100)
>>> next_memory(before, Reply(text="No new information."), WordTokenizer(), Scene(memory=before.text))[0].text
'Signed by Ada.'
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bookwheel.flags import Flag
from bookwheel.patterns import compile_late
from bookwheel.reading.asides import Scene, Stance
from bookwheel.text.boxes import change_prose, find_around
from bookwheel.text.lexicon import CJK_DIGITS
from bookwheel.text.matching import UNSPACED, Passage, find_missing_words, parse_words, word_overlap
from bookwheel.text.remarks import is_refusal
from bookwheel.text.sanitize import TAGS
from bookwheel.text.sentences import find_ends
from bookwheel.types import Answer, Finish, Memory, Reply

if TYPE_CHECKING:
    from bookwheel.text.tokens import Tokenizer

_REASONING: Final = compile_late(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE
)
_SPECIAL: Final = compile_late(
    r"<[|｜][^<>|｜\n]{1,60}[|｜]>|</?(?:s|bos|eos|pad|unk|mask)>|<(?:start|end)_of_(?:turn|text)>|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
_TAG: Final = compile_late(rf"<\s*/?\s*(?:{'|'.join(TAGS)}|new_memory|updated_memory)\s*>", re.IGNORECASE)
_FENCE: Final = compile_late(r"\A\s*```[a-z]*\n(.*)\n```\s*\Z", re.DOTALL)
_LABEL: Final = compile_late(
    r"\A\s*(?:#+\s*|\*\*)?(?:"
    r"(?:(?:here(?: is|['’]s| are) )?(?:the |my )?(?:new|updated) (?:memory|notes)|新的?记忆|更新后的?记忆)"
    r"(?:\*\*)?\s*[:：](?:\*\*)?\s*|"
    # A heading alone on its line; "Memory: 16 GB" is a fact.
    r"(?:(?:the |my )?(?:\w+ed |new |current )?(?:memory|notes)|记忆|笔记)(?:\*\*|[:：])*[ \t]*\n\s*|"
    # A line that hands the memory over: "Sure! Here is the updated memory:", "好的，以下是更新后的记忆：".
    r"(?:[^\n:：]{0,30}[,.!] )?(?:here(?: is|['’]s| are)|below (?:is|are)) (?:the|my|your) "
    r"(?:(?:\w+e[dn]|new) (?:memory|notes)|memory)\b"
    r"[^\n:：]{0,60}[:：](?:\*\*)?[ \t]*\n\s*|"
    r"(?:好的?[，。,.]?\s*)?[^\n:：]{0,30}?(?:以下|更新|新|重写|整理|修改)[^\n:：]{0,12}?记忆(?:内容)?(?:已?(?:更新|修改))?(?:如下)?"
    r"[:：](?:\*\*)?[ \t]*\n\s*|[^\n:：]{0,20}?记忆(?:已?更新|修改)如下[:：](?:\*\*)?[ \t]*\n\s*|"
    # A heading alone on its line, dressed or not.
    r"(?:更新后|新|重写后|修改后)的?记忆(?:\*\*)?[ \t]*\n\s*|记忆[（(]\w{1,4}[)）][ \t]*\n\s*|"
    r"【[^】\n]{0,10}记忆】[:：]?\s*\n\s*)",
    re.IGNORECASE,
)
# "（以上为更新后的记忆，约200字。）" below it.
_FAREWELL: Final = compile_late(
    r"\n\s*[(（](?:以上|the above|this is)[^()（）\n]{0,40}(?:记忆|笔记|memory|notes)[^()（）\n]{0,40}[)）]\s*\Z",
    re.IGNORECASE,
)
# The last number, in digits or in Chinese numerals, or the last word of a script with blanks.
_LAST_WORD: Final = compile_late(
    rf"(?:(?P<number>\d[\d.,:]*|[{''.join(CJK_DIGITS)}十百千万亿]+)|(?:(?![{UNSPACED}\d_])\w)+)$"
)
_EMPTY_BOX: Final = compile_late(r"\\boxed\s*\{\s*\}")
# A quote may change a word or two ("was" for "is"); an invented sentence shares far fewer words with the text.
_GROUNDED_SHARE: Final = 0.85


def clean(text: str) -> tuple[str, bool]:
    """Strip reasoning, special tokens, tags, code fence and label; return also whether any was there."""
    bare = change_prose(_REASONING.sub("", text), lambda prose: _TAG.sub("", _SPECIAL.sub("", prose)))
    cleaned = bare != text
    bare = _LABEL.sub("", _FAREWELL.sub("", bare.strip()))
    fenced = _FENCE.match(bare)
    return (fenced[1] if fenced else bare).strip(), cleaned


def find_working(answer: Answer) -> str:
    """Return what the last reply says beside its box, such as how a number was worked out."""
    return find_around(clean(answer.conversation.reply.text)[0])


def next_memory(before: Memory, reply: Reply, tokenizer: Tokenizer, scene: Scene) -> tuple[Memory, tuple[Flag, ...]]:
    """Return the memory after a reply, and its flags. The scene is what the model was shown."""
    text, flags, reason = sift(reply)
    if reply.finish is Finish.LENGTH and (last := _LAST_WORD.search(text)) and last["number"]:
        # Who knows how the number went on.
        text = text[: last.start()].rstrip()
    stance, text = scene.read(text)
    if reason := reason or find_reason(stance, reply):
        return before, (*flags, reason)
    if stance is Stance.ADDITION:
        flags.append(Flag.ADDED)
    if scene.quotes:
        grounded = "\n".join(line for line in text.splitlines() if is_grounded(line, scene.shown))
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


def sift(reply: Reply) -> tuple[str, list[Flag], Flag | None]:
    """Return a reply's text without what is not its own, its flags, and why it says nothing at all, where it does."""
    text, cleaned = clean(reply.text)
    flags = [Flag.TRUNCATED] if reply.finish is Finish.LENGTH else []
    if cleaned:
        flags.append(Flag.CLEANED)
    if reply.finish is Finish.FILTER:
        return text, flags, Flag.FILTERED
    return text, flags, None if re.search(r"\w", text) else Flag.KEPT_EMPTY


def find_reason(stance: Stance, reply: Reply) -> Flag | None:
    """Return why the memory stays where a reply only speaks of the reading."""
    if stance is Stance.REMARK:
        return Flag.KEPT_REFUSAL if is_refusal(clean(reply.text)[0]) else Flag.KEPT_COMMENT
    return Flag.UNCHANGED if stance is Stance.UNCHANGED else None


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


def trim(text: str, limit: int, tokenizer: Tokenizer) -> tuple[str, int, bool]:
    """Return the text cut to `limit` tokens, its tokens, and whether it was cut.

    The cut is at the end of a line, else of a sentence, else of a word; it is never within a number.
    """
    tokens = tokenizer.count(text)
    trimmed = tokens > limit
    while tokens > limit:
        room = text[: max(1, min(tokenizer.fit(text, limit), len(text) - 1))]
        text = room[: _find_cut(room, text[len(room) : len(room) + 1])].rstrip()
        tokens = tokenizer.count(text)
    return text, tokens, trimmed


def _find_cut(room: str, following: str) -> int:
    line_end = room.rfind("\n")
    if line_end > 0:
        return line_end
    ends = [end for end in find_ends(room) if len(room) / 2 < end < len(room)]
    last = _LAST_WORD.search(room) if re.match(r"[\w.,]", following) else None
    return ends[-1] if ends else (last and last.start()) or len(room)
