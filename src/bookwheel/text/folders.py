"""The files of a folder, in a fixed order, without what its owner keeps out of sight.

`.gitignore` files count at every level, also those above the folder inside the same repository; hidden files are left
out and links are not followed, so a folder can neither loop nor lead out of itself. All of that is noted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwheel.text.sources import SourceFile, take_fingerprint, to_printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pathspec import GitIgnoreSpec

    from bookwheel.text.sources import SourceWarnings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """One .gitignore and the folder that it rules."""

    folder: Path
    spec: GitIgnoreSpec


def list_files(folder: Path, notes: SourceWarnings, label: str = "") -> Iterator[SourceFile]:
    """The folder's files, sorted, each named by its path inside the folder, behind `label` where there is one."""
    top = folder.resolve()
    yield from _walk(top, top, _load_parent_rules(top), notes, label)


def _walk(
    folder: Path, top: Path, rules: tuple[_Rules, ...], notes: SourceWarnings, label: str
) -> Iterator[SourceFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        notes.add(f"left out, cannot be opened ({error.strerror})", _display_name(folder, top, label))
        return
    rules = (*rules, *_load_rules(folder))
    for entry in entries:
        path = folder / entry.name
        name = _display_name(path, top, label)
        if why := _reason_to_skip(entry, path, rules):
            notes.add(f"left out, {why}", name)
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(path, top, rules, notes, label)
        else:
            stamp = take_fingerprint(entry.stat(follow_symlinks=False))
            yield SourceFile(name=name, path=path, stamp=stamp, suffix=path.suffix.lower())


def _reason_to_skip(entry: os.DirEntry[str], path: Path, rules: tuple[_Rules, ...]) -> str:
    """Why an entry is not read; empty when it is."""
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "links (give what they lead to as a source of its own)"
    is_folder = entry.is_dir(follow_symlinks=False)
    if _is_ignored(path, rules, is_folder=is_folder):
        return "named in .gitignore"
    return "" if is_folder or entry.is_file(follow_symlinks=False) else "neither files nor folders"


def _is_ignored(path: Path, rules: tuple[_Rules, ...], *, is_folder: bool) -> bool:
    """The deepest .gitignore that says anything of the path decides."""
    for rule in reversed(rules):
        inside = path.relative_to(rule.folder).as_posix()
        said = rule.spec.check_file(f"{inside}/" if is_folder else inside).include
        if said is not None:
            return said
    return False


def _load_rules(folder: Path) -> tuple[_Rules, ...]:
    from pathspec import GitIgnoreSpec

    file = folder / ".gitignore"
    try:
        lines = file.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if file.is_file() else []
    except OSError:
        lines = []
    return (_Rules(folder=folder, spec=GitIgnoreSpec.from_lines(lines)),) if lines else ()


def _load_parent_rules(top: Path) -> tuple[_Rules, ...]:
    """Those of the repository around the folder; none when they rule the folder itself out, for it was asked for."""
    repository = next((folder for folder in (top, *top.parents) if (folder / ".git").exists()), top)
    above = [folder for folder in reversed(top.parents) if folder.is_relative_to(repository)]
    rules = tuple(rule for folder in above for rule in _load_rules(folder))
    return () if _is_ignored(top, rules, is_folder=True) else rules


def _display_name(path: Path, top: Path, label: str) -> str:
    inside = path.relative_to(top).as_posix()
    return to_printable(f"{label}/{inside}" if label else inside)
