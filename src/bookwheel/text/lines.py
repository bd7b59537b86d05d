"""The lines of a text with their places; which are headings; and of which lines of a file some characters are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import SMALL_NUMBERS, words

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end."""

    start: int
    end: int
    text: str

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    @property
    def span(self) -> Span:
        return self.start, self.end

    @property
    def indent(self) -> int:
        """How many blanks it begins with."""
        return len(self.text) - len(self.text.lstrip())


def read_lines(text: str, first: int = 0) -> list[Line]:
    """Return the lines of a text that begins at a place, whatever ends them."""
    whole = text.splitlines(keepends=True)
    starts = accumulate(map(len, whole), initial=first)
    bodies = (line.rstrip("\r\n") for line in whole)
    return [Line(start, start + len(body), body) for start, body in zip(starts, bodies, strict=False)]


FILE_HEADER: Final = compile_late(r"={5} (\S.*) ={5}\s*$")
"""What stands above each file of a document that has several."""
_AROUND: Final = compile_late(r"\n?={5} \S.* ={5}\n")
# Texts that are written anew when they are read, so that their lines are not those of the file.
_REWRITTEN: Final = words(
    "html htm xhtml svg csv tsv ipynb eml mbox mht mhtml pdf docx pptx xlsx xlsb xls ods odt odp odg rtf epub "
    "gz zip vtt srt jsonl php asp aspx jsp"
)
_BLOCK: Final = 1 << 20


def write_file_header(name: str) -> str:
    return f"===== {name} =====\n"


def has_lines(source: str) -> bool:
    """Return whether a source is read line by line as it stands, told by its name."""
    suffix = source.rpartition(".")[2].lower() if "." in source else ""
    return bool(source) and "#" not in source and "://" not in source and suffix not in _REWRITTEN


def skip_file_header(cut: Callable[[int, int], str], begins: int) -> int:
    """Return where a file's own text begins, behind what stands above it."""
    header = _AROUND.match(cut(begins, begins + _BLOCK // 1024))
    return begins + (header.end() if header else 0)


def find_lines(cut: Callable[[int, int], str], begins: int, start: int, end: int) -> tuple[int, int]:
    """Return the first and the last line, counted from 1, of the characters from `start` up to `end`.

    `cut` returns characters of the document, in which the file and what stands above it begin at `begins`.
    """
    begins = skip_file_header(cut, begins)
    first = 1 + sum(cut(at, min(at + _BLOCK, start)).count("\n") for at in range(begins, start, _BLOCK))
    return first, first + cut(start, end).rstrip("\n").count("\n")


NUMBERED: Final = (
    r"(?:\(?\d{1,3}(?:\.\d{1,3})*[.)、]|\d{1,3}(?:\.\d{1,3})+|\(?[a-z][.)]|[(（][一二三四五六七八九十\d]+[)）]|"
    r"[一二三四五六七八九十]+、)"
)
CLAUSE_NUMBER: Final = compile_late(rf"\**(?:{NUMBERED}|§\s*\d+|第[一二三四五六七八九十百\d]+[条款章节])")
MARKED_HEADING: Final = compile_late(
    r"\s*#{1,6}\s+[^\n]*[^\n.。!！]\s*$|\s*\*\*[^*\n]{1,80}\*\*\s*$|={3,}.*={3,}\s*$|【[^】]{1,30}】\s*$"
)
RULE: Final = compile_late(r"[\s|:=_*+-]+")
FENCE: Final = compile_late(r"\s*(?:```|~~~)")
_TIME: Final = r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?/\d\d?/\d{2,4}|\d\d?[:.]\d\d(?::\d\d)?|\d{4}年\d\d?月)"
# As programs write it: ISO 8601, syslog, glog, web servers, logfmt.
_LOGGED: Final = (
    r"\d{4}-\d\d-\d\dT\d\d:?\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:\d\d|"
    r"\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:|(?:ts|time|timestamp)=\S"
)
STAMPED: Final = compile_late(rf"\s*[\[(<]?(?:{_TIME}\b|{_LOGGED})")
SPEAKER: Final = compile_late(
    r"\s*(?:\*\*)?(?:[A-Z\u4e00-\u9fff@][\w.'@\u4e00-\u9fff-]*)(?: [\w.'()-]+){0,3}(?:\*\*)?\s*[:：](?:\*\*)?\s+\S"
)
GAPS: Final = compile_late(r"\S(?: {2,}|\t)\S")
LONGEST_HEADING: Final = 70
_HASHES: Final = compile_late(r" {0,3}(#{1,6})\s+(\S.*)")
_COUNT: Final = (
    rf"(?:\d{{1,3}}|[ivxlcdm]{{1,8}}|the \w+|first|last|{'|'.join(SMALL_NUMBERS[1:20])}|"
    r"(?:twenty|thirty|forty|fifty)(?:[- ]\w+)?)"
)
CHAPTER: Final = compile_late(
    rf"\s*(?:(?:chapter|book|part|volume|section|act|scene|letter) {_COUNT}(?:$|\s*$|[.:,—–-].*)|"
    rf"(?:appendix|annex|schedule|exhibit) (?:{_COUNT}|[a-z])(?:\s*$|\s*[.:,—–-].*)|"
    r"(?:第[一二三四五六七八九十百零〇\d]+[章回卷节部篇]|附[件录表][一二三四五六七八九十\d]+)"
    r"(?:\s|$|[:：\u4e00-\u9fff])|[ivxlcdm]{1,7}\.?\s*$)",
    re.IGNORECASE,
)
_LOUD: Final = compile_late(r"\s*(?=.*[A-Z]{3})[^a-z]+$")
ENDS: Final = (".", "!", "?", "。", "！", "？", ";", "；", ",", "，", ":", "：")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of a text."""

    start: int
    level: int
    """1 is the highest."""
    title: str


def list_headings(text: str, most: int = 2000) -> list[Heading]:
    """Return the headings for a table of contents: those with number signs, else chapters, else lines that look so.

    Where there are more than `most`, the lowest levels are left out.
    """
    lines = read_lines(text)
    found: list[Heading] = []
    is_fenced = False
    for line in lines:
        is_fenced ^= bool(FENCE.match(line.text))
        if not is_fenced and (match := _HASHES.match(line.text)):
            found.append(Heading(start=line.start, level=len(match[1]), title=match[2].strip(" *#")))
    for test in () if found else (CHAPTER, _LOUD):
        titles = (line for line in lines if len(line.text) <= LONGEST_HEADING and test.match(line.text))
        found = [Heading(start=line.start, level=1, title=line.text.strip()) for line in titles]
        if found:
            break
    if not found:
        titles = (line for at, line in enumerate(lines) if not line.is_blank and is_heading(lines, at))
        found = [Heading(start=line.start, level=1, title=line.text.strip(" *=【】")) for line in titles]
    while len(found) > most and any(heading.level > 1 for heading in found):
        deepest = max(heading.level for heading in found)
        found = [heading for heading in found if heading.level < deepest]
    return found[:most]


def is_heading(lines: Sequence[Line], at: int) -> bool:
    """Tell if one of these lines is a heading of what comes below it."""
    line = lines[at].text.strip()
    if MARKED_HEADING.match(lines[at].text):
        return True
    if len(line) > LONGEST_HEADING or line.endswith(ENDS) or "|" in line or STAMPED.match(line):
        return False
    before = at == 0 or lines[at - 1].is_blank or bool(RULE.fullmatch(lines[at - 1].text))
    after = at + 1 == len(lines) or lines[at + 1].is_blank or bool(RULE.fullmatch(lines[at + 1].text))
    if not before:
        return False
    is_loud = line.isupper() and any(map(str.isalpha, line))
    # The blanks behind a clause's number make no table.
    words = CLAUSE_NUMBER.sub("", line, count=1).strip()
    is_line = after and not GAPS.search(words) and not SPEAKER.match(line) and any(map(str.isalpha, line))
    # A numbered title goes before its clauses; a numbered line of a list has another one below it.
    return is_loud or (is_line and (not line.startswith(("-", "*", "•", ">")) or bool(CLAUSE_NUMBER.match(line))))
