"""The help of a command: how it is called, what it does, its words and options in groups, examples.

Rich draws such tables too, and its import takes longer than all that is done here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING
from inspect import getdoc
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from bookwheel.cli.arguments import Argument, list_arguments
from bookwheel.cli.commands import CommandGroup
from bookwheel.cli.terminal import Terminal, paint
from bookwheel.schema import read_sentences

# Beside a command's own groups, which stand first.
_GROUP_ORDER: Final = ("Model", "Plan", "Budget", "Output")
_LEAST_COLUMNS: Final = 40
_TYPE_NAMES: Final = {str: "STR", int: "INT", float: "FLOAT", Path: "PATH"}
_STYLES: Final = {"name": "cyan", "code": "cyan", "must": "red", "frame": "dim"}
_PLAIN_FRAME: Final = str.maketrans("╭╮╰╯─│", "++++-|")


class _Page:
    """Text for a terminal of some width, in colour if it has any."""

    def __init__(self) -> None:
        terminal = Terminal(sys.stdout)
        self._styles = _STYLES if terminal.has_colour else {}
        self.width = max(terminal.width, _LEAST_COLUMNS)
        self.lines: list[str] = []

    def style(self, text: str, style: str) -> str:
        return paint(text, self._styles[style]) if style in self._styles else text

    def wrap(self, text: str, width: int) -> list[str]:
        """Return the lines of a text without its backticks, what stood between them in a style; all are so wide."""
        lines = wrap(text.replace("`", ""), max(width, 8), break_on_hyphens=False) or [""]
        lines = [f"{line:{width}}" for line in lines]
        if "`" not in text or not self._styles:
            return lines
        pieces = text.split("`")
        in_code = [number % 2 for number, piece in enumerate(pieces) for sign in piece if not sign.isspace()]
        marks = iter(in_code)
        styled = []
        for line in lines:
            runs = groupby(line, key=lambda sign: not sign.isspace() and bool(next(marks)))
            styled.append("".join(self.style("".join(run), "code" if is_code else "") for is_code, run in runs))
        return styled

    def write_text(self, text: str) -> None:
        for paragraph in text.split("\n\n"):
            self.lines += [line.rstrip() for line in self.wrap(" ".join(paragraph.split()), self.width)]
            self.lines.append("")

    def write_table(self, title: str, rows: Sequence[tuple[str, str, str]]) -> None:
        """Write rows in a frame: what must be given, its names, and what it is."""
        has_marks, names = any(mark for mark, _, _ in rows), max(len(name) for _, name, _ in rows)
        left = names + (3 if has_marks else 0)
        side = self.style("│", "frame")
        self.lines.append(self.style(f"╭─ {title} {'─' * (self.width - len(title) - 5)}╮", "frame"))
        for mark, name, about in rows:
            first = (self.style(f"{mark:3}", "must") if has_marks else "") + self.style(f"{name:{names}}", "name")
            for line in self.wrap(about, self.width - left - 6):
                self.lines.append(f"{side} {first}  {line} {side}")
                first = " " * left
        self.lines.append(self.style(f"╰{'─' * (self.width - 2)}╯", "frame"))

    def print(self, examples: Iterable[str]) -> None:
        """Print all, and the examples unfolded, so that they can be copied."""
        text = "\n".join((*self.lines, "", "Examples:", *(f"  {example}" for example in examples), ""))
        if (sys.stdout.encoding or "utf8").lower().replace("-", "") != "utf8":
            text = text.translate(_PLAIN_FRAME)
        sys.stdout.write(text)


def print_group_help(command: str, group: CommandGroup, examples: Iterable[str]) -> None:
    page = _Page()
    page.lines += [f"Usage: bookwheel {command} COMMAND", ""]
    page.write_text(group.about)
    page.write_table("Commands", [("", name, about) for name, about in group.describe_commands().items()])
    page.print(examples)


def print_help(command: str, function: Callable[..., Any], usage: str | None, examples: Iterable[str]) -> None:
    """Print what a command takes. `usage` is its words in the first line, by default their names."""
    page, arguments = _Page(), list_arguments(function)
    if usage is None:
        words = [f"[{one.name}...]" if one.is_rest else one.name for one in arguments if one.is_word]
        needed = [f"{one.name} {_name_value(one)}" for one in arguments if one.is_required and not one.is_word]
        usage = " ".join((*words, *needed))
    page.lines += [" ".join(filter(None, ("Usage: bookwheel", command, usage, "[OPTIONS]"))), ""]
    about, described = parse_doc(function)
    page.write_text(about)
    for title, group in groupby(sorted(arguments, key=_order), key=_title):
        page.write_table(title, [_describe(one, described) for one in group])
    page.print(examples)


def _title(argument: Argument) -> str:
    return argument.group or ("Arguments" if argument.is_word else "Options")


def _order(argument: Argument) -> int:
    """Return the place of an argument's group: words, ungrouped options, the command's own groups, those of many."""
    title = _title(argument)
    return _GROUP_ORDER.index(title) + 3 if title in _GROUP_ORDER else 2 if argument.group else not argument.is_word


def _describe(argument: Argument, described: dict[str, str]) -> tuple[str, str, str]:
    about = describe(argument, described)
    if argument.option.variable:
        about += f" [env: {argument.option.variable}]"
    if argument.choices:
        about += f" [choices: {', '.join(filter(None, argument.choices))}]"
    value = argument.default
    if value is not MISSING and value is not False and value not in (None, "", ()):
        about += f" [default: {', '.join(value) if isinstance(value, tuple) else value}]"
    if argument.is_required:
        about += " [required]"
    if argument.is_word:
        return "*" if argument.is_required else "", argument.name, about.strip()
    negative = f"--no-{argument.name[2:]}" if argument.has_no else ""
    names = " ".join(filter(None, (argument.name, negative, argument.option.short, _name_value(argument))))
    return "*" if argument.is_required else "", names, about.strip()


def describe(argument: Argument, described: dict[str, str]) -> str:
    """Return the sentence about an argument: its own, its docstring's or what stands under the field."""
    about = argument.option.about
    if callable(about):
        return about()
    if about or not isinstance(argument.owner, type):
        return about or described.get(argument.path[-1], "")
    return next(
        text
        for class_ in argument.owner.__mro__
        if (text := read_sentences(class_.__module__).get((class_.__name__, argument.path[-1]))) is not None
    )


def _name_value(argument: Argument) -> str:
    """Return what stands for the value in a list of options."""
    if argument.type_ is bool:
        return ""
    if argument.choices:
        return "CHOICE"
    if argument.is_many:
        return f"{_TYPE_NAMES[_bare(argument.parts[0])]}..."
    return " ".join(_TYPE_NAMES[_bare(part)] for part in argument.parts or (argument.type_,))


def _bare(type_: Any) -> Any:
    return getattr(type_, "__origin__", type_)


def parse_doc(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return what a docstring says, and what it says below "Parameters" of each by name."""
    about, _, rest = (getdoc(function) or "").partition("\n\nParameters\n----------\n")
    described: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in rest.splitlines():
        if line and not line.startswith(" "):
            lines = described.setdefault(line.strip(), [])
        else:
            lines.append(line)
    return about.strip(), {name: " ".join(" ".join(text).split()) for name, text in described.items()}
