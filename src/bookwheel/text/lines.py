"""The lines of a text with their places, and of which lines of which file some characters of a document are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import words

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
