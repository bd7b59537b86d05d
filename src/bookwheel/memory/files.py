r"""Files below /memories as lines of a lasting memory, for agents that keep notes in files.

The six commands and their words are those of Anthropic's memory tool. Each line of a file is a line of the memory,
behind its path and a tab; what else the memory says is left alone. Every change is a version.

>>> files = MemoryFiles.parse("/memories/ada.md\tlives in Este\nA note.")
>>> files.run(FileCommand(command="view", path="/memories/ada.md"))
"Here's the content of /memories/ada.md with line numbers:\n     1\tlives in Este"
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from bookwheel.errors import InputError
from bookwheel.memory.editing import rewrite

if TYPE_CHECKING:
    from bookwheel.memory.opened import OpenMemory

_ROOT: Final = "/memories"
_MOST_LINES: Final = 999_999
_WIDTH: Final = len(str(_MOST_LINES))
_DEPTH: Final = 2
# Lines around a change that the reply to it shows.
_AROUND: Final = 2
_CONTROL: Final = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCommand:
    """A command with its parameters, as the memory tool gives them."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: str | None = None
    view_range: tuple[int, int] | None = None
    """The first and the last line; -1 is the end."""
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = None
    """The line behind which the text is put; 0 is the beginning."""
    insert_text: str | None = None
    old_path: str | None = None
    new_path: str | None = None

    def require(self, name: str) -> str:
        """Return a parameter; InputError where it was not given."""
        value = getattr(self, name)
        if value is None:
            raise InputError(f"Missing `{name}` parameter of the command {self.command}")
        return str(value)


@dataclass(slots=True)
class MemoryFiles:
    """The files of a memory, and the lines that are none of theirs."""

    files: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str) -> MemoryFiles:
        """Return the files that a memory's text holds."""
        lines, others = dict[str, list[str]](), list[str]()
        for line in text.split("\n") if text else []:
            path, words = split_line(line)
            if path:
                lines.setdefault(path, []).append(words)
            else:
                others.append(line)
        return cls({path: "\n".join(found) for path, found in lines.items()}, others)

    def format(self) -> str:
        owned = [f"{path}\t{line}" for path in self.files for line in self.files[path].split("\n")]
        return "\n".join((*self.others, *owned))

    def run(self, command: FileCommand) -> str:
        """Run a command and return its reply; InputError with the words for an agent where it cannot be run."""
        run: Callable[[FileCommand], str] = getattr(self, f"_{command.command}")
        return run(command)

    def _view(self, command: FileCommand) -> str:
        shown = command.require("path")
        path = _resolve(shown)
        if path not in self.files:
            return self._list(shown, path)
        lines = self.files[path].split("\n")
        if len(lines) > _MOST_LINES:
            raise InputError(f"File {shown} exceeds maximum line limit of 999,999 lines.")
        first, last = command.view_range or (1, -1)
        start = max(1, first) - 1
        chosen = lines[start : len(lines) if last == -1 else last]
        return f"Here's the content of {shown} with line numbers:\n{_number(chosen, start + 1)}"

    def _list(self, shown: str, path: str) -> str:
        if not self._is_folder(path):
            raise InputError(f"The path {shown} does not exist. Please provide a valid path.")
        heading = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
        sizes = [(self._size(path), shown), *self._iterate_folder(path, shown.rstrip("/"), _DEPTH)]
        return "\n".join((heading, *(f"{_format_size(size)}\t{name}" for size, name in sizes)))

    def _iterate_folder(self, path: str, shown: str, depth: int) -> Iterator[tuple[int, str]]:
        below = {one[len(path) + 1 :].split("/")[0] for one in self.files if one.startswith(f"{path}/")}
        for name in sorted(below):
            if name.startswith("."):
                continue
            inner = f"{path}/{name}"
            is_file = inner in self.files
            yield self._size(inner), f"{shown}/{name}" + ("" if is_file else "/")
            if not is_file and depth > 1:
                yield from self._iterate_folder(inner, f"{shown}/{name}", depth - 1)

    def _create(self, command: FileCommand) -> str:
        shown, text = command.require("path"), command.require("file_text")
        path = _resolve(shown)
        if self._is_there(path):
            raise InputError(f"File {shown} already exists")
        self._check_new(path, shown)
        self.files[path] = text
        return f"File created successfully at: {shown}"

    def _str_replace(self, command: FileCommand) -> str:
        shown, old, new = (command.require(name) for name in ("path", "old_str", "new_str"))
        path = self._find_file(shown)
        text = self.files[path]
        places = _find_all(text, old)
        if not places:
            raise InputError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {shown}.")
        lines = [text.count("\n", 0, place) for place in places]
        if text.count(old) > 1:
            where = ", ".join(str(line + 1) for line in lines)
            raise InputError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {where}. "
                f"Please ensure it is unique"
            )
        self.files[path] = text.replace(old, new)
        start = max(0, lines[0] - _AROUND)
        around = self.files[path].split("\n")[start : lines[0] + _AROUND + 1]
        heading = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{heading}\n{_number(around, start + 1)}"

    def _insert(self, command: FileCommand) -> str:
        shown, text, at = command.require("path"), command.require("insert_text"), int(command.require("insert_line"))
        path = self._find_file(shown)
        lines = self.files[path].splitlines()
        if not 0 <= at <= len(lines):
            raise InputError(f"Invalid `insert_line` parameter: {at}. It should be within the range [0, {len(lines)}].")
        lines.insert(at, text.rstrip("\n"))
        joined = "\n".join(lines)
        self.files[path] = joined if joined.endswith("\n") else f"{joined}\n"
        return f"The file {shown} has been edited."

    def _delete(self, command: FileCommand) -> str:
        shown = command.require("path")
        path = _resolve(shown)
        if path == _ROOT:
            raise InputError("Cannot delete the /memories directory itself")
        if not self._is_there(path):
            raise InputError(f"The path {shown} does not exist")
        self.files = {one: text for one, text in self.files.items() if not _is_within(one, path)}
        return f"Successfully deleted {shown}"

    def _rename(self, command: FileCommand) -> str:
        old_shown, new_shown = command.require("old_path"), command.require("new_path")
        old, new = _resolve(old_shown), _resolve(new_shown)
        if old == _ROOT:
            raise InputError("Cannot rename the /memories directory itself")
        if self._is_there(new):
            raise InputError(f"The destination {new_shown} already exists")
        if not self._is_there(old):
            raise InputError(f"The path {old_shown} does not exist")
        self._check_new(new, new_shown)
        if _is_within(new, old):
            raise InputError(f"The destination {new_shown} is inside {old_shown}")
        self.files = {new + one[len(old) :] if _is_within(one, old) else one: text for one, text in self.files.items()}
        return f"Successfully renamed {old_shown} to {new_shown}"

    def _find_file(self, shown: str) -> str:
        path = _resolve(shown)
        if path in self.files:
            return path
        if self._is_folder(path):
            raise InputError(f"The path {shown} is not a file.")
        raise InputError(f"The path {shown} does not exist. Please provide a valid path.")

    def _check_new(self, path: str, shown: str) -> None:
        parent = path
        while (parent := posixpath.dirname(parent)) not in {_ROOT, "/"}:
            if parent in self.files:
                raise InputError(f"The path {shown} has a file for a directory: {parent}")

    def _is_there(self, path: str) -> bool:
        return path in self.files or self._is_folder(path)

    def _is_folder(self, path: str) -> bool:
        return path == _ROOT or any(one.startswith(f"{path}/") for one in self.files)

    def _size(self, path: str) -> int:
        return sum(len(text.encode()) for one, text in self.files.items() if _is_within(one, path))


def split_line(line: str) -> tuple[str, str]:
    """Return the path of a file's line, empty for any other line, and its words."""
    path, tab, words = line.partition("\t")
    return (path, words) if tab and path.startswith(f"{_ROOT}/") else ("", line)


async def run_command(opened: OpenMemory, command: FileCommand) -> str:
    """Run a command on the files of a memory; one that changes them makes a version."""
    if command.command == "view":
        return MemoryFiles.parse(opened.newest().memory.text).run(command)
    replies = list[str]()

    def change(text: str) -> str:
        files = MemoryFiles.parse(text)
        replies.append(files.run(command))
        return files.format()

    await rewrite(opened, change)
    return replies[-1]


def _resolve(path: str) -> str:
    """Return the plain form of a path; InputError where it leads out of the files."""
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        raise InputError(f"Path must start with {_ROOT}, got: {path}")
    plain = posixpath.normpath(path)
    if _CONTROL.search(path):
        raise InputError(f"Path {path!r} has a control character")
    if not _is_within(plain, _ROOT):
        raise InputError(f"Path {path} would escape {_ROOT} directory")
    return plain


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _find_all(text: str, words: str) -> list[int]:
    """Return all places of some words, overlapping ones too."""
    places, at = list[int](), text.find(words)
    while at >= 0:
        places.append(at)
        at = text.find(words, at + 1)
    return places


def _number(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _format_size(size: int) -> str:
    """Return a size as `ls -h` has it.

    >>> _format_size(0), _format_size(1536)
    ('0B', '1.5K')
    """
    power = min(3, (size.bit_length() - 1) // 10) if size else 0
    value = size / 1024**power
    return f"{value:.0f}{'BKMG'[power]}" if value == int(value) else f"{value:.1f}{'BKMG'[power]}"
