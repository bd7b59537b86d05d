"""The parts of a program's text: definitions, each with its comment, whatever the language.

    // Close writes what is left.       comments and decorators go with what they are about
    func (l *Ledger) Close() error {    the line that names it; it leads in the parts of a long definition
        …                               what is indented further belongs to it, and the bracket that closes it

A definition of up to a dozen lines is one part. A longer one is cut where blank lines or definitions inside of it are,
and what lies between definitions (imports, constants) at blank lines. No grammar is needed: programs are indented by
what belongs together, and every language says in a word or two that it defines something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Final

from bookwheel.text.lexicon import words
from bookwheel.text.lines import Line, Span

_SUFFIXES: Final = words(
    "py pyi pyx go ts tsx mts cts js jsx mjs cjs sql rs java kt kts scala swift c h cc cpp cxx hpp cs rb php "
    "lua sh bash zsh pl r jl ex exs erl hs ml clj dart vue svelte proto graphql gql tf zig nim f90 vb ps1"
)
_SETTINGS: Final = re.compile(
    r"(?:[^/]*\.(?:ya?ml|toml|ini|cfg|conf|env|properties|json)|[^/]*\.env\.\w+|Makefile|Dockerfile)$"
)
_PROSE_SUFFIXES: Final = words("md markdown rst txt adoc org tex log csv tsv html htm")
_MODIFIERS: Final = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|override|virtual|inline|"
    r"unsafe|extern|open|sealed|data|partial|readonly|pub(?:\([\w: ]+\))?)\s+)*"
)
_NAMED: Final = re.compile(
    rf"\s*{_MODIFIERS}(?:def|class|func?|function\s?\*?|fn|interface|struct|enum|trait|impl|type|object|namespace|module|"
    r"record|message|service|macro_rules!)\s+(?:\([^)]*\)\s*)?(?:<[^>]*>\s*)?(?P<name>[\w$.]+)"
)
_SQL: Final = re.compile(
    r"\s*(?:create|alter)\s+(?:or\s+replace\s+)?(?:\w+\s+)??"
    r"(?:table|view|index|function|procedure|trigger|type|schema|sequence)\s+(?:if\s+(?:not\s+)?exists\s+)?"
    r"(?:only\s+)?[`\"\[]?(?P<name>[\w.]+)",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    rf"{_MODIFIERS}(?:const|let|var|val)\s+(?:mut\s+)?(?P<name>[\w$]+)|"
    r"(?P<other>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)"
)
_METHOD: Final = re.compile(
    rf"(?!.*=>)\s*{_MODIFIERS}(?:[\w<>\[\],.?*& ]+\s)?(?P<name>[\w$]+)\s*(?:<[^>]*>)?"
    r"\([^;{]*\)?\s*(?:throws [\w., ]+)?(?::\s*[^;={]+)?\{(?:\s*$|.*\}\s*$)"
)
_IN_A_LINE: Final = re.compile(rf"\s*{_MODIFIERS}[\w<>\[\],.?]+\s+(?P<name>\w+)\s*\([^()]*\)\s*=>")
_NO_METHOD: Final = re.compile(
    r"\s*(?:\}\s*)?(?:if|for|foreach|while|switch|catch|return|else|do|with|match|using|new|await|throw|lock|select|go|"
    r"defer)\b"
)
_CALLBACK: Final = re.compile(r"\s*[\w.]+\(.*(?:=>|\bfunction\b|\bfunc\().*\{\s*$")
_REMARK: Final = re.compile(r"\s*(?://|#(?!include|define|!)|/?\*|--|@\w|\"\"\"|'''|#\[)")
_IMPORTS: Final = re.compile(
    r"\s*(?:package \w+\s+)?(?:import|from|use|using|#include|require)\b"
    r"(?!.*(?:\bdef|\bfunc|\bclass|=>|\breturn)\b)"
)
_TEST: Final = re.compile(r"(?:\b|_)(?:tests?|spec|mocks?)(?:\b|_)", re.IGNORECASE)
_CLOSES: Final = re.compile(r"\s*(?:[)\]}]|end\b|\{\s*$)", re.IGNORECASE)
_GOES_ON: Final = re.compile(r".*[:{(\[,]\s*$")
_MOST_LINES: Final = 12


def is_program(name: str) -> bool | None:
    """Return whether a file is a program's text, by its name; None where that does not tell."""
    suffix = name.rpartition("/")[2].rpartition(".")[2].lower() if "." in name else ""
    return True if suffix in _SUFFIXES else False if suffix in _PROSE_SUFFIXES else None


def has_settings(name: str) -> bool:
    """Return whether a file sets what a program reads, by its name."""
    return bool(_SETTINGS.match(name.rpartition("/")[2]))


def has_bare_calls(name: str) -> bool:
    """Return whether a call in a file of this name may have no brackets."""
    return name.endswith((".sh", ".bash", ".zsh", ".rb"))


def find_name(line: str) -> str | None:
    """Return the name that a line defines; None where it defines nothing.

    >>> find_name("    async def close_ledger(self) -> None:"), find_name("export const LIMIT = 3;"), find_name("x()")
    ('close_ledger', 'LIMIT', None)
    """
    if found := _NAMED.match(line) or _SQL.match(line) or _VALUE.match(line):
        return str(next(filter(None, found.groupdict().values())))
    method = None if _NO_METHOD.match(line) else _METHOD.match(line) or _IN_A_LINE.match(line)
    return str(method["name"]) if method else None


def closes(line: str) -> bool:
    """Return whether a line closes what another one opened."""
    return bool(_CLOSES.match(line))


def is_remark(line: str) -> bool:
    """Return whether a line is a comment or a decorator."""
    return bool(_REMARK.match(line))


def has_only_imports(block: str) -> bool:
    """Return whether a block names what a program uses, and does nothing."""
    return bool(_IMPORTS.match(block))


def is_test(names: Iterable[str]) -> bool:
    """Return whether a file or a definition with one of these names tests another."""
    return any(_TEST.search(name) for name in names)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Some lines that belong together."""

    first: int
    end: int
    lead: Span | None
    """The line that defines what they are a piece of."""


def split_code(lines: Sequence[Line]) -> Iterator[CodeBlock]:
    yield from _split(lines, (0, len(lines)), None, None, head=0)


def _split(lines: Sequence[Line], span: Span, outer: Span | None, lead: Span | None, head: int) -> Iterator[CodeBlock]:
    """Yield the blocks between two lines. Those before `head` define what the other blocks are led in by."""
    at, end = span
    block: list[int] = []

    def close(length: int | None = None) -> Iterator[CodeBlock]:
        if taken := block[:length]:
            yield CodeBlock(taken[0], taken[-1] + 1, outer if taken[0] < head else lead)
            del block[: len(taken)]

    while at < end:
        line = lines[at]
        if line.is_blank:
            # What lies between definitions ends here; pieces of one are as long as they may be.
            if lead is None or len(block) + _count_paragraph(lines, at + 1, end) > _MOST_LINES:
                yield from close()
            at += 1
            continue
        opens = lead is None or find_name(line.text) is not None or _CALLBACK.match(line.text)
        stop = find_end(lines, at, end) if at >= head and opens else at + 1
        if stop > at + 1:
            yield from close(len(block) - _count_remarks(lines, block, at))
            first = block[0] if block else at
            block.clear()
            if sum(not one.is_blank for one in lines[first:stop]) <= _MOST_LINES:
                yield CodeBlock(first, stop, lead)
            else:
                yield from _split(lines, (first, stop), lead, line.span, head=at + 1)
            at = stop
            continue
        block.append(at)
        if len(block) == _MOST_LINES:
            yield from close()
        at += 1
    yield from close()


def _count_paragraph(lines: Sequence[Line], at: int, end: int) -> int:
    return sum(1 for _ in takewhile(lambda line: not line.is_blank, lines[at:end]))


def _count_remarks(lines: Sequence[Line], block: Sequence[int], at: int) -> int:
    """Return how many lines of a block are comments and decorators right above a line."""
    above = takewhile(lambda pair: pair[0] == at - 1 - pair[1], zip(reversed(block), count(), strict=False))
    return sum(1 for _ in takewhile(lambda pair: _REMARK.match(lines[pair[0]].text), above))


def find_end(lines: Sequence[Line], at: int, end: int) -> int:
    """Return the line after what a line begins: what is indented further, and the brackets that close it."""
    if _SQL.match(lines[at].text):
        return _find_statement_end(lines, at, end)
    last, here = at, at + 1
    while here < end:
        line = lines[here]
        if line.is_blank:
            here += 1
            continue
        if line.indent <= lines[at].indent:
            if line.indent < lines[at].indent or not closes(line.text):
                break
            last = here
            if not _GOES_ON.match(line.text):
                break
        last, here = here, here + 1
    return last + 1


def _find_statement_end(lines: Sequence[Line], at: int, end: int) -> int:
    """Return the line after a statement of SQL; a body between $$ may have semicolons."""
    quotes = 0
    for here in range(at, end):
        quotes += lines[here].text.count("$$")
        if lines[here].text.rstrip().endswith(";") and quotes % 2 == 0:
            return here + 1
    return end
