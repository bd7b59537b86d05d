"""Lines in colour for a terminal, and plain ones for a pipe or a file.

Rich draws what moves and tables, on `Terminal.open_rich`; its import takes longer than most commands that print lines.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text as RichText

_CODES: Final = {"bold": 1, "dim": 2, "italic": 3, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}
# Columns; more than any line of ours has.
_NO_FOLDING: Final = 10_000
_LEAST_COLUMNS: Final = 20
_WIDE: Final = "WF"


class StyledLine:
    """Text in styles, such as `bold red`; brackets in it style nothing."""

    __slots__ = ("pieces",)

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces = [(text, style)]

    def __add__(self, other: StyledLine) -> StyledLine:
        joined = StyledLine()
        joined.pieces = [*self.pieces, *other.pieces]
        return joined

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def __rich__(self) -> RichText:
        from rich.text import Text

        return Text.assemble(*self.pieces)


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream is written to in colour: a terminal, or where FORCE_COLOR says so; NO_COLOR says no."""
    is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    return (is_terminal or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")


class Terminal:
    """A stream that lines are printed to, in colour and folded between words if a person sees it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.has_colour = has_colour(stream)

    def print(self, *lines: StyledLine | str) -> None:
        for line in lines or ("",):
            pieces = line.pieces if isinstance(line, StyledLine) else [(line, "")]
            if self.is_terminal:
                pieces = list(fold(pieces, self.width))
            self._stream.write("".join(paint(text, style) if self.has_colour else text for text, style in pieces))
            self._stream.write("\n")
        self._stream.flush()

    @property
    def width(self) -> int:
        return max(find_width(), _LEAST_COLUMNS)

    def open_rich(self) -> Console:
        """Return rich's console for this stream."""
        from rich.console import Console

        class _Console(Console):
            def on_broken_pipe(self) -> None:
                # Left to the command's end: Rich would exit with 1, which no table of codes has.
                raise BrokenPipeError

        # Rich folds lines at 80 columns in a pipe or file, which breaks `grep`.
        width = None if self.is_terminal else _NO_FOLDING
        return _Console(stderr=self._stream is sys.stderr, highlight=False, width=width)


def paint(text: str, style: str) -> str:
    """Return the text with the codes of a style such as `bold red`."""
    codes = ";".join(str(_CODES[word]) for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def find_width() -> int:
    """Return the columns of the terminal, as the variable COLUMNS or the terminal says; 80 where none does."""
    if (named := os.environ.get("COLUMNS", "")).isdigit() and int(named):
        return int(named)
    for number in (0, 1, 2):
        try:
            return os.get_terminal_size(number).columns or 80
        except (OSError, ValueError):
            continue
    return 80


def fold(pieces: list[tuple[str, str]], width: int) -> Iterator[tuple[str, str]]:
    r"""Yield the pieces with line ends where a word would not fit.

    >>> "".join(text for text, _ in fold([("one two three ", ""), ("four", "bold")], 9))
    'one two\nthree \nfour'
    """
    column = 0
    for text, style in pieces:
        folded: list[str] = []
        for part, blank in _split_blanks(text):
            size = measure(part)
            if column + size > width and column:
                while folded and folded[-1] == " ":
                    folded.pop()
                folded.append("\n")
                column = 0
            folded.append(part)
            column = 0 if blank == "\n" else column + size + len(blank)
            if blank:
                folded.append(blank)
        yield "".join(folded), style


def _split_blanks(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word, or an empty one, with the blank or line end behind it."""
    start = 0
    for at, sign in enumerate(text):
        if sign in " \n":
            yield text[start:at], sign
            start = at + 1
    if start < len(text):
        yield text[start:], ""


def measure(text: str) -> int:
    """Return the columns that a text takes."""
    return (
        len(text) if text.isascii() else sum(2 if unicodedata.east_asian_width(sign) in _WIDE else 1 for sign in text)
    )
