"""Answers out of a program's text, told by its names: where one is defined, what calls it, which variables are read.

    Where is RETRIES set?               src/net.py:12: RETRIES = 3
    What calls close_ledger?            in settle, src/books.py:88: close_ledger(day)
    Which environment variables are     src/main.go:31: os.Getenv("LEDGER_DSN")
    read?

No model is asked: a small one tells a definition from a call no better than by chance. Each line names its file and its
line, which the verdict looks up. Where the names of a question stand nowhere in code, or it asks for something else,
there is no such answer.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Final

from bookwheel.flags import Flag
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.ways.compose import list_unread
from bookwheel.reading.ways.document_index import cut_chunks, index_passages
from bookwheel.reading.ways.passages import Window
from bookwheel.reading.ways.spec import Decision
from bookwheel.reading.ways.table_answers import ToldAnswer
from bookwheel.text.code import (
    closes,
    find_name,
    has_bare_calls,
    has_only_imports,
    has_settings,
    is_program,
    is_remark,
    is_test,
)
from bookwheel.text.lines import FILE_HEADER, find_lines, has_lines, skip_file_header
from bookwheel.text.ranking import QuestionWords, find_stems
from bookwheel.text.structure import Shape
from bookwheel.types import Document, Memory, Step, Usage

_FILES: Final = re.compile(FILE_HEADER.pattern, re.MULTILINE)
_NAME: Final = re.compile(r"`?(?P<name>(?:[A-Za-z_$][\w$]*(?:\.|::))*[A-Za-z_$][\w$]*)(?:\(\))?`?")
_LOOKS_SO: Final = re.compile(r"\w_\w|^_\w|[a-z][A-Z]|[A-Z][a-z]+[A-Z]|[`$:]|\w\.\w|\(\)$")
_IN_CAPITALS: Final = re.compile(r"[A-Z][A-Z0-9]{2,}")
_CALLS: Final = re.compile(
    r"^\s*(?:so |and )?(?:what|who|which|where|list|show|find|all|the)\b.*?\b(?P<verb>call(?:s|ed|ers?|ing)?|"
    r"us(?:es?|ed|ages?|ing)|invok(?:es?|ed|ing)|rais(?:es?|ed)|throw(?:s|n)?|referenc(?:es?|ed)|import(?:s|ed)?|"
    r"return(?:s|ed)?|instantiat(?:es?|ed)|depends? on)\b",
    re.IGNORECASE,
)
_NO_CALLS: Final = re.compile(
    r"\b(?:used? for|does \S+ (?:call|use|raise|return|import)|when\b.*\bused)\b", re.IGNORECASE
)
_DEFINES: Final = re.compile(
    r"\b(?:where|which (?:file|module|package|line))\b.*\b(?:define[sd]?|declare[sd]?|implement(?:s|ed)?|set|"
    r"located|lives?|come from|configured|created|is|are)\b|\bdefinition of\b|"
    r"^\s*(?:what is|what's|show(?: me)?)\s+\S+\s*\??\s*$",
    re.IGNORECASE,
)
_IS_DEFINED: Final = re.compile(
    r"\b(?:is|are)\s+([A-Za-z_$][\w$]*)\s+(?:defined|declared|implemented|set|assigned)\b", re.IGNORECASE
)
_SETS: Final = re.compile(r"\b(?:set|assigned|configured)\b", re.IGNORECASE)
_WORDS: Final = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|(?:(?<!\S)#|//).*")
"""Texts between quotes, and a remark behind a line."""
_ENVIRONMENT: Final = re.compile(r"\benv(?:ironment)?[ -]?var(?:iable)?s?\b", re.IGNORECASE)
_READS: Final = re.compile(
    r"(?:(?<!del )\bos\.environ(?:\.get\(|\[(?![^\]\n]*\]\s*=[^=])|\.pop\(|\.setdefault\()|[gG]et_?[eE]nv\(|"
    r"LookupEnv\(|env::var(?:_os)?\(|\bENV(?:\.fetch\(|\[)|[gG]etEnvironmentVariable\()\s*[\"'`]?\w+|"
    r"(?:process|import\.meta|Deno|Bun)\.env(?:\.|\[|\.get\()[\"']?\w+|\"[A-Z][A-Z0-9_]{2,}\"\s+in\s+os\.environ"
)
_ASKED_OF_ALL: Final = find_stems(
    "what which list all every environment env variable variables vars read reads used uses use set there exist code "
    "project program app application does do can names it need needs where file files line lines module modules"
)
_RAISES: Final = re.compile(r"\b(?:raise|throw|panic|abort)\b")
_RETURNS: Final = re.compile(r"\breturn\b")
_MOST: Final = 20
"""Places of one answer; a name with more is told by their number too."""
_DOCSTRINGS: Final = (re.compile('"""'), re.compile("'''"))
_LINE_END: Final = re.compile("\n")
_LONGEST: Final = 200
_CUT: Final = "…"


async def look_up_code(question: str, document: Document, done: Sequence[Step]) -> ToldAnswer | None:
    """Return what the names of a program tell, where nothing was read yet."""
    if any(step.after.text or Flag.UNREAD not in step.flags for step in done):
        return None
    return await asyncio.to_thread(find_code_answer, question, document)


async def leave_all(document: Document, model: Model, plan: Plan, done: Sequence[Step]) -> list[Step]:
    """Return the steps that say that nothing was read into the memory."""
    chunks = await asyncio.to_thread(cut_chunks, document, model.tokenizer, plan.chunk_tokens)
    steps = list_unread(chunks, Memory.blank(plan.memory_tokens), Decision(score=0.0, usage=Usage()), done)
    return [step.with_index(at) for at, step in enumerate(steps, len(done))]


def find_code_answer(question: str, document: Document) -> ToldAnswer | None:
    """Return the places in code that a question asks for, each with its file and line."""
    is_environment = bool(_ENVIRONMENT.search(question)) and not QuestionWords(question).stems - _ASKED_OF_ALL
    is_call = bool(_CALLS.search(question)) and not _NO_CALLS.search(question)
    if not is_environment and not is_call and not _DEFINES.search(question):
        return None
    blocks = index_passages(document).list_windows(Shape.CODE)
    if not blocks:
        return None
    program = _Program(document.name, blocks)
    if is_environment:
        return _tell(list(program.find_environment()))
    for whole, is_marked in _list_names(question, is_call=is_call):
        owner, _, name = whole.rpartition(".")
        sets = not is_call and bool(_SETS.search(question))
        places = list(program.find(name, is_set=sets))
        places = [one for one in places if one.scope.rpartition(".")[2] == owner] or places if owner else places
        defined = [one for one in places if one.defines]
        if is_call and (defined or is_marked) and (uses := _choose_uses(question, places)):
            return _tell(uses)
        given = [one for one in places if one.assigns and not one.is_remark] if sets or not defined else []
        found = [one for one in places if one in defined or one in given]
        if not is_call and (defined or is_marked) and found:
            return _tell(found, passage=_cite_block(found[0].block, document) if len(found) == 1 else "")
    return None


def cite_passage(shown: str, document: Document) -> str:
    """Return the block of code that a passage shows, as it stands in its file; empty where it is no code."""
    block = index_passages(document).find_shown(shown, Shape.CODE)
    return _cite_block(block, document) if block else ""


def _cite_block(block: Window, document: Document) -> str:
    """Return a block as it stands in its file, below its file and its lines; empty where these are not the file's."""
    source, begins = _Program(document.name, [block]).find_file(block.start)
    if not has_lines(source):
        return ""
    lines = find_lines(lambda start, end: block.source[start:end], begins, block.start, block.end)
    start = block.source.rfind("\n", 0, block.start) + 1
    return f"{source}:{'-'.join(map(str, dict.fromkeys(lines)))}:\n{dedent(block.source[start : block.end])}"


def _list_names(question: str, *, is_call: bool) -> list[tuple[str, bool]]:
    """Return what a question has that may be names of a program, and of each whether it can be nothing else."""
    found = list(_NAME.finditer(question))
    verb = _CALLS.search(question) if is_call else None
    named = {one["name"]: True for one in found if _LOOKS_SO.search(one[0])}
    named |= {one["name"]: False for one in found if one["name"] not in named and _IN_CAPITALS.fullmatch(one["name"])}
    # Of what is called, or alone is said to be defined, any word; what alone is set is a name.
    named |= {one[1]: True for one in _IS_DEFINED.finditer(question) if _SETS.search(one[0])}
    after = {one["name"]: False for one in found if verb and one.start() > verb.start("verb")}
    after |= {one[1]: False for one in _IS_DEFINED.finditer(question)}
    return [(name.replace("::", "."), is_marked) for name, is_marked in (named | (after | named)).items()]


def _choose_uses(question: str, places: Sequence[_Place]) -> list[_Place]:
    """Return the places where a name is used as the question says, those of tests last."""
    verb = _CALLS.search(question)
    asked = verb["verb"].casefold() if verb else ""
    is_import = asked.startswith("import")
    used = [one for one in places if not (one.defines or one.is_remark) and one.imports == is_import]
    if asked.startswith(("rais", "throw")):
        used = [one for one in used if _RAISES.search(one.text)]
    elif asked.startswith("return"):
        used = [one for one in used if _RETURNS.search(one.text)]
    elif asked.startswith(("call", "invok", "instan")):
        used = [one for one in used if one.calls] or [one for one in used if one.name in one.bare]
    return sorted(used, key=lambda one: one.is_test)


def _tell(places: Sequence[_Place], passage: str = "") -> ToldAnswer | None:
    lines = [one.describe() for one in places[:_MOST]]
    if len(places) > _MOST:
        lines.append(f"and {len(places) - _MOST} more of {len(places)} places")
    return ToldAnswer("\n".join(lines), passage, is_sure=True, is_looked_up=True) if lines else None


class _File:
    """A file of a program: where its lines begin, and which of them stand in a text between three quotes."""

    def __init__(self, source: str, text: str, begins: int, end: int) -> None:
        begins = skip_file_header(lambda first, last: text[first:last], begins)
        self.source = source
        self._text, self._end = text, end
        self._starts = [begins, *(found.end() for found in _LINE_END.finditer(text, begins, end))]
        self._marks = [[found.start() for found in mark.finditer(text, begins, end)] for mark in _DOCSTRINGS]

    def find_line(self, at: int) -> int:
        """Return the number of the line that a character stands on, from 1."""
        return bisect_right(self._starts, at)

    def read_line(self, number: int) -> str:
        end = self._starts[number] if number < len(self._starts) else self._end
        return self._text[self._starts[number - 1] : end].rstrip("\r\n")

    def is_quoted(self, number: int) -> bool:
        """Return whether a line begins between three quotes."""
        return any(bisect_left(marks, self._starts[number - 1]) % 2 for marks in self._marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A line of a program that has a name."""

    block: Window
    file: _File
    line: int
    name: str

    @property
    def source(self) -> str:
        return self.file.source

    @property
    def text(self) -> str:
        return self.file.read_line(self.line)

    @property
    def bare(self) -> str:
        """Its line without the texts and remarks in it."""
        return _WORDS.sub(" ", self.text)

    @property
    def scope(self) -> str:
        """The definitions that it stands in, the outermost first: each begins above it and is indented less."""
        names: list[str] = []
        indent = len(self.text) - len(self.text.lstrip())
        for number in range(self.line - 1, 0, -1):
            if not indent:
                break
            line = self.file.read_line(number)
            if line.strip() and (own := len(line) - len(line.lstrip())) < indent:
                indent = own if not closes(line) else indent
                names += filter(None, [find_name(line)])
        return ".".join(reversed(names))

    @property
    def defines(self) -> bool:
        return bool(self.name) and (find_name(self.text) or "").rpartition(".")[2] == self.name

    @property
    def assigns(self) -> bool:
        name = re.escape(self.name)
        given = rf"(?<![\w$]){name}[\"']?\]?\s*(?::=|[:=](?!=))|#define\s+{name}\b|\bdefine\(\s*[\"']{name}[\"']\s*,"
        return bool(re.search(given, self.text))

    @property
    def calls(self) -> bool:
        if has_bare_calls(self.source) and re.search(rf"(?<![\w$.:-]){re.escape(self.name)}(?![\w-])", self.bare):
            return True
        return bool(re.search(rf"(?<![\w$]){re.escape(self.name)}\s*(?:<[^>()]*>|::<[^>]*>)?\(", self.bare))

    @property
    def imports(self) -> bool:
        return has_only_imports(self.text) or has_only_imports(self.block.text)

    @property
    def is_remark(self) -> bool:
        return is_remark(self.text) or self.file.is_quoted(self.line)

    @property
    def is_test(self) -> bool:
        return is_test([self.source])

    def describe(self) -> str:
        words = self.text.strip()
        words = words if len(words) <= _LONGEST else words[:_LONGEST].rstrip() + _CUT
        scope = "" if self.defines else self.scope
        return f"{f'in {scope}, ' if scope else ''}{self.source}:{self.line}: {words}"


class _Program:
    """The code of a document, and the files that it is in."""

    def __init__(self, name: str, blocks: Sequence[Window]) -> None:
        self._text = blocks[0].source
        self._blocks = blocks
        self._starts = [block.start for block in blocks]
        files = [(found.start(), found[1]) for found in _FILES.finditer(self._text)]
        self._files = files or [(0, name)]
        self._opened: dict[int, _File] = {}

    def find(self, name: str, *, is_set: bool = False) -> Iterator[_Place]:
        """Yield the lines of programs that have a name, and of files of settings where it is asked what sets it."""
        yield from self._find(re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])"), name, is_set=is_set)

    def find_environment(self) -> Iterator[_Place]:
        """Yield the lines that read a variable of the environment: those of programs, else of tests and manuals."""
        found = [one for one in self._find(_READS) if not one.is_remark]
        own = [one for one in found if not one.is_test and is_program(one.source) is not False]
        yield from own or found

    def find_file(self, at: int) -> tuple[str, int]:
        """Return the file that a character stands in, and where it begins."""
        begins, source = self._files[self._find_place(at)]
        return source, begins

    def _find_place(self, at: int) -> int:
        return max(0, bisect_right(self._files, at, key=lambda file: file[0]) - 1)

    def _open(self, at: int) -> _File:
        """Return the file that a character stands in; each is looked through once."""
        place = self._find_place(at)
        if place not in self._opened:
            begins, source = self._files[place]
            end = self._files[place + 1][0] if place + 1 < len(self._files) else len(self._text)
            self._opened[place] = _File(source, self._text, begins, end)
        return self._opened[place]

    def _find(self, pattern: re.Pattern[str], name: str = "", *, is_set: bool = False) -> Iterator[_Place]:
        last = "", 0
        for found in pattern.finditer(self._text):
            at = bisect_right(self._starts, found.start()) - 1
            is_code = at >= 0 and found.start() < self._blocks[at].end
            if not is_code and not (is_set and has_settings(self.find_file(found.start())[0])):
                continue
            block = self._blocks[at] if is_code else replace(self._blocks[0], start=found.start(), end=found.end())
            file = self._open(found.start())
            if (line := file.find_line(found.start())) and (file.source, line) != last:
                last = file.source, line
                yield _Place(block=block, file=file, line=line, name=name)
