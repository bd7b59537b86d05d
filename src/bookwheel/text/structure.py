"""The parts that a text is written in: paragraphs, clauses, items, rows, turns of a talk, lines of a log, code.

    ## Prices                          heading of the parts below it
    | Plan | Minute |                  header of the rows below it
    | Yearly | 4p |                    row, with its header and heading
    Orders:                            ends with a colon: it leads in the items below it
    - by post                          item, with what leads it in
    07:01 noor: any deploys?           turn
    07:02 juho: one, yesterday         turn; the question before it leads it in

A part is a span of the text. What a reader needs to make sense of it, its heading and its lead, are spans too, so
nothing here is worded anew. Purely lines and their shapes: nothing of sentences, tokens or questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.cells import has_header, split_cells
from bookwheel.text.code import is_program, split_code
from bookwheel.text.lines import (
    CLAUSE_NUMBER,
    ENDS,
    FENCE,
    FILE_HEADER,
    GAPS,
    LONGEST_HEADING,
    MARKED_HEADING,
    NUMBERED,
    RULE,
    SPEAKER,
    STAMPED,
    Line,
    Span,
    is_heading,
    read_lines,
)
from bookwheel.text.references import find_references


class Shape(StrEnum):
    """How a part of a text is written."""

    PROSE = "prose"
    ITEM = "item"
    ROW = "row"
    TURN = "turn"
    CODE = "code"
    REFERENCE = "reference"
    """In a list of what the text cites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A part of a text that stands by itself."""

    start: int
    end: int
    shape: Shape
    heading: Span | None = None
    lead: Span | None = None
    """The header of a row, the line that leads in an item, the question before a turn."""


_ITEM: Final = compile_late(
    rf"\s*>?\s*(?:[-*+•·–]\s+|\**{NUMBERED}\**\s*(?=\S)|§\s*\d|第[一二三四五六七八九十百\d]+[条款章节]|\*\*[^*\n]+\*\*)"
)
_DASH: Final = compile_late(r"\s*[-*+•·–]\s+\S")
_SUBCLAUSE: Final = compile_late(r"\s*\**\d{1,3}\.\d{1,3}")
_CHINESE_SPEAKER: Final = compile_late(r"\s*[\u4e00-\u9fff]{2,6}[:：]\S")
_CODE: Final = compile_late(
    r"(?:[{};]|=>|\)\s*:|\*/)\s*$|^\s*(?:def|class|func|function|import|from|const|let|var|return|if|"
    r"for)\b|^\s*(?://|/\*|\*\s|--\s|#!|@\w+\()"
)
_CODE_SHARE: Final = 0.4
_SHORT_TITLE: Final = 40
_SHORT_TURN: Final = 60
_CELLS: Final = 2
_ROWS: Final = 3
_SAMPLE: Final = 50
"""Rows that tell whether the first of them is a header."""
_PRICE: Final = compile_late(r"\d[.,]\d\d(?!\d)|[£$€¥]\s?\d|\d\s?元")
"""What a row has and a header has not, where no rule below it says that it is one."""
_LATEST_HEADER: Final = 6
"""Rows among which a table's header is looked for."""
_CODE_LINES: Final = 12


def split_parts(text: str) -> list[TextPart]:
    """Return the parts of a text in order; headings, headers and rules of tables are no parts by themselves."""
    lines = read_lines(text)
    files = [at for at, line in enumerate(lines) if FILE_HEADER.match(line.text)]
    parts: list[TextPart] = []
    for at, end in pairwise(sorted({0, *files, len(lines)})):
        name = FILE_HEADER.match(lines[at].text)
        own = lines[at + bool(name) : end]
        title = lines[at].span if name else None
        split = _split_program if _is_program(name[1] if name else "", own) else _split_prose
        told = [line for line in own if not line.is_blank]
        # What is one line looks like a heading with nothing below it.
        whole = [TextPart(start=told[0].start, end=told[-1].end, shape=Shape.PROSE, heading=title)] if told else []
        parts += [*split(own, title)] or whole
    cited = list(find_references(text))
    return [
        # A list's title may stand at the beginning of its first paragraph.
        replace(part, shape=Shape.REFERENCE) if any(part.start < b and a < part.end for a, b in cited) else part
        for part in parts
    ]


def _is_program(name: str, lines: Sequence[Line]) -> bool:
    told = is_program(name)
    filled = [line for line in lines if not line.is_blank]
    # What people and programs said has times, and code in it.
    if told is not None or len(filled) <= _CODE_LINES or any(STAMPED.match(line.text) for line in filled):
        return bool(told)
    return sum(bool(_CODE.search(line.text)) for line in filled) > _CODE_SHARE * len(filled)


def _split_program(lines: Sequence[Line], heading: Span | None) -> Iterator[TextPart]:
    for block in split_code(lines):
        start, end = lines[block.first].start, lines[block.end - 1].end
        yield TextPart(start=start, end=end, shape=Shape.CODE, heading=heading, lead=block.lead)


def _split_prose(lines: Sequence[Line], heading: Span | None) -> list[TextPart]:
    parts: list[TextPart] = []
    is_below = heading is not None
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.is_blank or RULE.fullmatch(line.text):
            at += 1
        elif FENCE.match(line.text):
            end = next((i for i in range(at + 1, len(lines)) if FENCE.match(lines[i].text)), len(lines))
            parts += _split_program(lines[at + 1 : end], heading)
            at = end + 1
        elif is_heading(lines, at):
            # A heading right below another one belongs to it.
            heading = (heading[0], line.end) if heading and is_below else line.span
            is_below = True
            at += 1
        else:
            end, found = _read_block(lines, at)
            parts += [replace(part, heading=heading) for part in found]
            is_below = False
            at = end
    return parts


def _count_cells(line: str) -> int:
    """Return the cells of a row, or 0 where a line is none."""
    if line.count("|") >= _CELLS:
        return line.strip().strip("|").count("|") + 1
    for mark in ("\t", ";", ","):
        if line.count(mark) >= _CELLS:
            return line.count(mark) + 1
    return len(GAPS.findall(line)) + 1 if GAPS.search(line.strip()) else 0


def _read_block(lines: Sequence[Line], at: int) -> tuple[int, list[TextPart]]:
    """Return the line after the block that begins here, and its parts."""
    end = at
    while end < len(lines) and not lines[end].is_blank and not FENCE.match(lines[end].text):
        if end > at and MARKED_HEADING.match(lines[end].text):
            break
        # A table may stand right below its title, and a note right below the table.
        if end > at and _part_tables(lines[end - 1].text, lines[end].text):
            break
        end += 1
    block = lines[at:end]
    stamped = sum(bool(STAMPED.match(line.text)) for line in block)
    if _is_table(block) and (stamped < len(block) - 1 or "|" in block[0].text):
        rows = [line for line in block if not RULE.fullmatch(line.text)]
        is_ruled = len(rows) < len(block)
        has_none = not is_ruled and (_has_empty_header(lines, at) or not _names_columns([row.text for row in rows]))
        header = None if has_none else _find_header(rows)
        return end, [
            TextPart(
                start=line.start,
                end=line.end,
                shape=Shape.ROW,
                lead=header if header and line.start > header[0] else None,
            )
            for line in rows
            if line.span != header
        ]
    spoken = sum(bool(SPEAKER.match(line.text) or _CHINESE_SPEAKER.match(line.text)) for line in block)
    if max(stamped, spoken) > len(block) // 2:
        test = STAMPED if stamped >= spoken else SPEAKER
        return end, list(_split_turns(block, test, lines[:at]))
    # A line with a colon at its end may lead in a list below it, over at most one blank line.
    above = next((line for line in reversed(lines[max(0, at - 2) : at]) if not line.is_blank), None)
    leads = above and above.text.rstrip().rstrip("*").endswith((":", "："))
    return end, list(_split_items(block, above.span if above and leads else None))


def _is_framed(line: str) -> bool:
    bare = line.strip()
    return bare.startswith("|") and bare.endswith("|") and len(bare) > 1


def _part_tables(above: str, below: str) -> bool:
    """Tell if a table begins or ends between two lines; a log or a talk may have a bar in a line."""
    is_one_framed = _is_framed(above) is not _is_framed(below)
    has_one_bars = _has_bars(above) is not _has_bars(below)
    is_said = any(STAMPED.match(line) or SPEAKER.match(line) for line in (above, below))
    return is_one_framed or (has_one_bars and not is_said)


def _has_bars(line: str) -> bool:
    return " | " in line or line.endswith(" |") or _is_framed(line)


def _names_columns(rows: Sequence[str]) -> bool:
    """Tell if the first row of a table that marks none is its header: no price, and not the first of names in pairs."""
    have_numbers = [any(map(str.isdigit, row)) for row in rows]
    is_above_numbers = not have_numbers[0] and any(have_numbers)
    are_pairs = not is_above_numbers and all(row.count("|") == 1 for row in rows)
    is_row = are_pairs or _PRICE.search(rows[0]) or has_header([split_cells(row) for row in rows[:_SAMPLE]]) is False
    return not is_row


def _has_empty_header(lines: Sequence[Line], at: int) -> bool:
    """Tell if a row with nothing in it, and its rule, stand above: so a table without a header is written."""
    above = [line.text for line in lines[max(0, at - 2) : at]]
    return len(above) == 2 and not above[0].strip(" |") and all(map(_is_framed, above))  # noqa: PLR2004


def _find_header(rows: Sequence[Line]) -> Span | None:
    """Return a table's header: the first row, save for titles above it that leave most cells empty."""
    mark = next((mark for mark in "|\t;," if all(mark in line.text for line in rows)), None)
    filled = [sum(map(bool, map(str.strip, line.text.split(mark)))) for line in rows[:_LATEST_HEADER]] if mark else [1]
    at = next(at for at, count in enumerate(filled) if 2 * count >= max(filled))
    return rows[at].span if len(rows) > at + 1 and not STAMPED.match(rows[at].text) else None


def _is_table(block: Sequence[Line]) -> bool:
    rows = [line for line in block if not RULE.fullmatch(line.text)]
    if sum("|" in line.text for line in rows) == len(rows) and len(rows) > 1:
        return True
    if len(rows) < _ROWS or any(STAMPED.match(line.text) and not GAPS.search(line.text) for line in rows[1:2]):
        return False
    separators = [mark for mark in (",", ";", "\t") if all(line.text.count(mark) >= _CELLS for line in rows)]
    tight = [
        mark for mark in separators if mark == "\t" or sum(f"{mark} " in line.text for line in rows) < len(rows) / 2
    ]
    if tight:
        return True
    return sum(_count_cells(line.text) > 1 and bool(GAPS.search(line.text.strip())) for line in rows) > 0.7 * len(rows)


def _split_turns(block: Sequence[Line], test: re.Pattern[str], earlier: Sequence[Line]) -> Iterator[TextPart]:
    """Yield turns and lines of a log; a short one, and what follows a question, is led in by the one before."""
    before: Line | None = next((line for line in reversed(earlier[-2:]) if test.match(line.text)), None)
    start = block[0]
    lines: list[list[Line]] = []
    for line in block:
        if test.match(line.text) or not lines:
            lines.append([])
        lines[-1].append(line)
    for turn in lines:
        start, end = turn[0], turn[-1]
        length = end.end - start.start
        is_short = test is STAMPED and length < _SHORT_TURN
        leads = before is not None and (before.text.rstrip().endswith(("?", "？")) or is_short)
        yield TextPart(start=start.start, end=end.end, shape=Shape.TURN, lead=before.span if leads and before else None)
        before = Line(start.start, end.end, "\n".join(line.text for line in turn))


def _is_title(line: str, below: str) -> bool:
    """Return whether a numbered line is the title of what stands below it.

    That is clauses ("3. Payment" over "3.1 The fee is due …"), or items with a dash ("4. Actions." over "- Ada to …").
    """
    words = line.strip()
    if len(words) > LONGEST_HEADING or not CLAUSE_NUMBER.match(words):
        return False
    if _DASH.match(below):
        return len(words) <= _SHORT_TITLE and not words.endswith(("?", "!", ";", ",", "？", "！", "；", "，"))
    return not words.endswith(ENDS) and bool(_SUBCLAUSE.match(below))


def _split_items(block: Sequence[Line], lead: Span | None) -> Iterator[TextPart]:
    """Yield paragraphs and items. A line with a colon at its end, or a numbered title, leads in the items below it."""
    open_: list[Line] = []

    def close() -> Iterator[TextPart]:
        if open_:
            shape = Shape.ITEM if _ITEM.match(open_[0].text) else Shape.PROSE
            yield TextPart(start=open_[0].start, end=open_[-1].end, shape=shape, lead=lead)
            open_.clear()

    for line in block:
        if open_ and _ITEM.match(line.text):
            ends = open_[-1].text.rstrip().endswith((":", "："))
            if len(open_) == 1 and _is_title(open_[0].text, line.text):
                lead = open_.pop().span
            elif ends and not _ITEM.match(open_[0].text):
                lead = open_[-1].span
            yield from close()
        open_.append(line)
    yield from close()
