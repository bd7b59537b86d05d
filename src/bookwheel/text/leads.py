"""What a section that begins in the midst of something belongs to: its file, headings, definition, table or turn.

    ===== post/client.py (continued) =====      the file, in a document of several
    class Client:                               headings and definitions around the section, the outermost first
    From: Cy Dent, 4 May                        the mail or letter, and whose words its quoted lines are
    On 3 May, Joan wrote:
    | Order | Date | Paid on |                  the header of its table, what leads in its list, who is speaking
    […]                                         what the section before this one had

It is shown above the section's text, and is no part of it: places count as if it were not there. It is told by the text
before the section alone, so that a reading that is resumed sees what it would have seen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lines import CHAPTER, FILE_HEADER, Line, is_heading, read_lines, write_file_header
from bookwheel.types import Document, FindLead

OMITTED: Final = "[…]"
# Characters before a section: in which its file, headings and definitions stand, and in which a table or list began
# that goes on; of the section itself; of what is looked through at once for the beginning of a table.
_FAR: Final = 20_000
_NEAR: Final = 3000
_AHEAD: Final = 1000
_BLOCK: Final = 1 << 20
_LONGEST_LINE: Final = 200
_LONGEST_CHAPTER: Final = 80
_DEEPEST: Final = 6
_PARAGRAPH: Final = compile_late(r"\n[ \t]*\r?\n")
_HEAD: Final = compile_late(r"\A\[[^\]\n]*\] ")
_SENDER: Final = compile_late(r"(?:From|Von|De|发件人)[:：]\s*\S")
_SENT: Final = compile_late(r"(?:Date|Sent|Subject|Datum|Gesendet|Betreff|Objet|日期|发送时间|主题)[:：]\s*\S")
_HASHES: Final = compile_late(r" {0,3}(#{1,6})\s")


class WithLeads:
    """A document that says above each of its chunks what that belongs to."""

    __slots__ = ()

    def open_leads(self: Document) -> FindLead:
        return Leads(self).find


class Leads:
    """Finds what the sections of a document belong to, in the document's order."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._block = 0
        """Where the block of lines begins that the last section ended in."""
        self._seen = 0
        self._lines: list[Line] = []
        """The lines before the last section, with their places in the document."""
        self._end = 0

    def find(self, start: int, text: str, source: str) -> str:
        """Return the lines to show above a text that begins at a character of the document."""
        ahead = text[:_AHEAD]
        first = next((line for line in read_lines(ahead) if not line.is_blank), None)
        if not start or first is None or FILE_HEADER.match(first.text):
            return ""
        lines = self._read_far(start)
        at = next((at for at in reversed(range(len(lines))) if FILE_HEADER.match(lines[at].text)), None)
        name = ""
        if at is not None and (named := FILE_HEADER.match(lines[at].text)):
            lines, name = lines[at + 1 :], named[1]
        elif FILE_HEADER.match(self._document.slice(0, _LONGEST_LINE).partition("\n")[0]) or _is_within_turn(
            text, source
        ):
            name = source
        header = write_file_header(name) if name else ""
        # A program is told by its name, which stands above it.
        near = header + self._read_near(start).rpartition(header or "\0")[2]
        found = [write_file_header(f"{name} (continued)").rstrip()] if name else []
        found += _find_around(lines, near, ahead, first)
        return "".join(f"{line}\n" for line in (*dict.fromkeys(found), OMITTED)) if found else ""

    def _read_far(self, start: int) -> list[Line]:
        """Return the lines that a section's file, headings and definitions stand in; few are read again for each."""
        first = max(0, start - _FAR)
        known = self._lines if start >= self._end else []
        # More may stand behind what was the last line then.
        again = known[-1].start if known else first
        at = bisect_right(known, first, key=lambda line: line.start) - 1
        if at < 0 or again <= first:
            again, kept = first, []
        else:
            cut = known[at]
            kept = [Line(first, max(first, cut.end), cut.text[first - cut.start :]), *known[at + 1 : -1]]
        self._lines = [*kept, *read_lines(self._document.slice(again, start), again)]
        self._end = start
        return self._lines

    def _read_near(self, start: int) -> str:
        """Return the last lines before a section, with the beginning of a block that goes on in it."""
        first = max(0, start - _NEAR)
        near = self._document.slice(first, start)
        ends = [found.end() for found in _PARAGRAPH.finditer(near)] if first else [0]
        if ends:
            return near[ends[0] :]
        block = self._find_block(first)
        head, _, _ = self._document.slice(block, min(block + _AHEAD, first)).rpartition("\n")
        _, _, tail = near.partition("\n")
        return f"{head}\n{tail}"

    def _find_block(self, place: int) -> int:
        """Return where the block of lines around a place begins; nothing is looked through twice."""
        if self._seen > place:
            self._block = self._seen = 0
        at = place
        while at > self._seen:
            first = max(self._seen, at - _BLOCK)
            if ends := [found.end() for found in _PARAGRAPH.finditer(self._document.slice(first, at))]:
                self._block = first + ends[-1]
                break
            at = first
        self._seen = place
        return self._block


def _find_around(lines: Sequence[Line], near: str, ahead: str, first: Line) -> Iterator[str]:
    """Yield the headings and definitions that a text stands under, and what leads in its first part."""
    # Whoever only lists documents starts without it.
    from bookwheel.text.structure import Shape, split_parts

    text, border = near + ahead, len(near)
    part = next((one for one in split_parts(text) if one.end > border), None)
    if part and part.shape is Shape.CODE:
        yield from _climb_definitions(lines, first.indent)
        return
    yield from _climb_headings(lines, first.text)
    yield from _climb_mail(lines, first)
    if part and part.lead and part.lead[1] <= border and part.shape is not Shape.TURN:
        yield _shorten(text[slice(*part.lead)].partition("\n")[0].strip(), _LONGEST_LINE)


def _is_within_turn(text: str, source: str) -> bool:
    """Return whether a text goes on with a turn: its source has who speaks and when, and it begins with neither."""
    speaker, comma, _ = source.partition("#")[2].partition(", ")
    return bool(comma) and not _HEAD.sub("", text.lstrip(), count=1).startswith(speaker)


def _climb_definitions(lines: Sequence[Line], indent: int) -> list[str]:
    """Return the lines that define what a line indented so far is inside of."""
    from bookwheel.text.code import find_name

    found: list[str] = []
    for line in reversed(lines):
        if line.is_blank or line.indent >= indent:
            continue
        indent = line.indent
        if find_name(line.text):
            found.append(_shorten(line.text.rstrip(), _LONGEST_LINE))
    return found[::-1]


def _climb_headings(lines: Sequence[Line], first: str) -> list[str]:
    """Return the headings with number signs that a line is below of, or the chapter."""
    found: list[str] = []
    own = _HASHES.match(first)
    level = len(own[1]) if own else _DEEPEST + 1
    for line in reversed(lines):
        heading = _HASHES.match(line.text)
        if heading and len(heading[1]) < level:
            level = len(heading[1])
            found.append(_shorten(line.text.strip(), _LONGEST_LINE))
    if not found and not own and not CHAPTER.match(first):
        found = [line.text.strip() for line in lines if CHAPTER.match(line.text) and len(line.text) < _LONGEST_CHAPTER][
            -1:
        ]
    return found[::-1]


def _climb_mail(lines: Sequence[Line], first: Line) -> Iterator[str]:
    """Yield who wrote the mail or letter that a line is of, and when, and above which quoted lines it stands."""
    if _SENDER.match(first.text):
        return
    at = next((at for at in reversed(range(len(lines))) if _SENDER.match(lines[at].text)), None)
    if at is not None and not any(is_heading(lines, below) for below in range(at + 1, len(lines))):
        yield _shorten(lines[at].text.strip(), _LONGEST_LINE)
        below = takewhile(lambda line: not line.is_blank, lines[at + 1 :])
        yield from (_shorten(line.text.strip(), _LONGEST_LINE) for line in below if _SENT.match(line.text))
    is_within = bool(lines) and not lines[-1].is_blank and _is_quoted(lines[-1])
    if _is_quoted(first) or is_within:
        above = list(takewhile(lambda line: not line.is_blank, dropwhile(_is_quoted, reversed(lines))))[:2]
        # It may go over two lines.
        if above and above[0].text.rstrip().endswith((":", "：")):
            yield _shorten(" ".join(line.text.strip() for line in reversed(above)), _LONGEST_LINE)


def _is_quoted(line: Line) -> bool:
    return line.text.lstrip().startswith(">")


def _shorten(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[:most].rstrip()} …"
