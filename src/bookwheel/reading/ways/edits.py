"""The changes that a reply lists, and the memory after them. Purely lines: nothing of models, chunks or prompts.

ADD: the harbour master in 1911 was Ada Quill
REPLACE 2: the lamp was relit on 9 March 1912
DROP 3
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from bookwheel.text.chinese_numbers import parse_cjk_number

# Between the numbers of several lines: "1-3", "2, 4 and 5".
_AND: Final = r"(?:[-–—,、]|and|和)"
_NUMBERS: Final = re.compile(r"(\d+)(?:\s*[-–—]\s*(\d+))?")
# "(no longer needed)" behind a line that goes.
_WHY: Final = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_ENDED: Final = re.compile(r"[.!?…。！？;；][\"'”’»)\]）」』*_`]*$")
# The words that models write for each kind of change.
_VERBS: Final = {
    "add": "ADD|INSERT|添加|新增|增加|补充|加入",
    "replace": "REPLACE|UPDATE|CHANGE|替换|修改|更新|更正",
    "drop": "DROP|REMOVE|DELETE|删除|删去|移除",
}
_VERB: Final = "|".join(_VERBS.values())
# "将第2行替换为：", "替换第六行：".
_TURNED: Final = re.compile(rf"(?:将|把)?(第\d{{1,4}}行)({_VERB})为?(?=\s*[:：])")
_EDIT: Final = re.compile(
    rf"\s*(?:(?:[-*•]|\d{{1,3}}[.)、])\s+)?(?P<bold>[*_`]*)(?P<verb>{_VERB})"
    rf"\s*(?:LINES?\s*|第)?(?P<lines>\d{{1,4}}(?:\s*{_AND}\s*\d{{1,4}})*)?\s*行?为?(?:\s+(?:WITH|BY)\b)?(?P<end>[*_`]*)\s*"
    r"(?:[:：.](?P<close>[*_`]*)\s*(?P<text>.*))?\s*",
    re.IGNORECASE,
)
# The number that a line is shown with; "9. März 1912" is a day, in any language.
_NUMBER: Final = re.compile(r"(?!\d{1,2}\.\s+[^\W\d_]{3,10}\.?\s+\d{4}\b)(\d{1,4})[.)、]\s+")
# Lines that one change may name as a range.
_MOST_LINES: Final = 100


class EditKind(StrEnum):
    """What a change does with a line."""

    ADD = "add"
    REPLACE = "replace"
    DROP = "drop"


_KINDS: Final = {verb: EditKind(kind) for kind, verbs in _VERBS.items() for verb in verbs.split("|")}
_NUMERAL: Final = re.compile("(?<=第)[一二三四五六七八九十百]+(?=行)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEdit:
    """One change to the memory's lines."""

    kind: EditKind
    line: int = 0
    """The line's number, from 1; 0 for a new one."""
    text: str = ""


def parse_edits(reply: str) -> tuple[list[MemoryEdit], int]:
    r"""Return the changes that a reply lists, and how many of its lines are none.

    >>> parse_edits("ADD: Ada signed.\nDROP 2\nand so on")[0][1]
    MemoryEdit(kind=<EditKind.DROP: 'drop'>, line=2, text='')
    """
    edits, others, is_open = list[MemoryEdit](), 0, False
    for line in reply.splitlines():
        found = _parse_edit(line)
        if found:
            edits += found
        elif line.strip() and is_open:  # The line before goes on.
            edits[-1] = replace(edits[-1], text=f"{edits[-1].text} {line.strip()}")
        elif line.strip():
            others += 1
        is_open = bool(line.strip() and edits and edits[-1].text) and not _ENDED.search(line.rstrip())
    return edits, others


def _parse_edit(line: str) -> list[MemoryEdit]:
    """Return the changes that a line says; of several lines that one text replaces, the others go."""
    line = _NUMERAL.sub(lambda numeral: parse_cjk_number(numeral[0]), line)
    line = _TURNED.sub(r"\2\1", line)
    found = _EDIT.fullmatch(line) or _EDIT.fullmatch(_WHY.sub("", line))
    if not found:
        return []
    kind = _KINDS[found["verb"].upper()]
    ranges = [(int(first), int(last or first)) for first, last in _NUMBERS.findall(found["lines"] or "")]
    numbers = [number for first, last in ranges for number in range(first, min(last, first + _MOST_LINES) + 1)]
    text = (found["text"] or "").strip()
    # Where the whole change is in bold, the marks at its end close those before it.
    if (bold := found["bold"]) and not found["end"] and not found["close"]:
        text = text.removesuffix(bold)
    if (kind is not EditKind.ADD and not any(numbers)) or (kind is EditKind.DROP) == bool(text):
        return []
    first, *others = [0] if kind is EditKind.ADD else numbers
    dropped = [MemoryEdit(kind=EditKind.DROP, line=number) for number in others]
    return [*dropped, MemoryEdit(kind=kind, line=first, text=text)]


def apply_edits(memory: str, edits: Sequence[MemoryEdit]) -> tuple[str, int]:
    r"""Return the memory after the changes, and how many were refused.

    Numbers are those of the lines before the first change. A line that goes twice, or is not there, is refused; a new
    wording of it is a new line.

    >>> apply_edits("one\ntwo", [MemoryEdit(kind=EditKind.DROP, line=1), MemoryEdit(kind=EditKind.ADD, text="three")])
    ('two\nthree', 0)
    """
    lines: dict[int, str] = dict(enumerate(split_lines(memory), start=1))
    added: list[str] = []
    changed: set[int] = set()
    refused, is_list = 0, _is_list([edit.text for edit in edits if edit.kind is EditKind.ADD])
    for edit in edits:
        is_there = edit.line in lines and edit.line not in changed
        if edit.text and not is_there:
            kept = [line for line in lines.values() if line]
            # The next line's number is told from the lines before the changes, or from what they leave.
            shown = {len(lines) + len(added) + 1, len(kept) + len(added) + 1}
            text, bare = edit.text, _drop_number(edit.text)
            if bare not in (*kept, *added) and text not in (*kept, *added):
                added.append(bare if is_list or _find_number(text) in shown else text)
        elif not is_there:
            refused += 1
        else:
            changed.add(edit.line)
            lines[edit.line] = unnumber(edit.text, edit.line)
    return "\n".join((*(line for line in lines.values() if line), *added)), refused


def _is_list(texts: Sequence[str]) -> bool:
    """Tell if several new lines are numbered one after the other."""
    numbers = [_find_number(text) for text in texts]
    return len(numbers) > 1 and 0 not in numbers and all(other == one + 1 for one, other in pairwise(numbers))


def _find_number(text: str) -> int:
    """Return the number that a line seems to be shown with; 0 for none."""
    return int(found[1]) if (found := _NUMBER.match(text)) else 0


def _drop_number(text: str) -> str:
    return text[found.end() :] if (found := _NUMBER.match(text)) else text


def unnumber(line: str, number: int) -> str:
    """Return a line without its number, where it begins with that."""
    return _drop_number(line) if _find_number(line) == number else line


def split_lines(memory: str) -> list[str]:
    """Return the lines that are numbered: those that are not blank."""
    return [line.rstrip() for line in memory.splitlines() if line.strip()]
