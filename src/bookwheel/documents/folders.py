"""List the files of a folder in a fixed order, without hidden and ignored ones.

`.gitignore` files apply at every level, including those above the folder in the same repository. Hidden files are left
out. Links are not followed, so a folder can neither loop nor lead outside. Everything left out is reported.

A folder may be a stranger's, so its depth is not bounded by Python's stack, and `text/ignore_rules.py` matches its
patterns in bounded time.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from bookwheel.documents.cancellation import check_cancelled
from bookwheel.documents.sources import SourceFile, take_fingerprint, to_printable
from bookwheel.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bookwheel.documents.sources import SourceWarnings


# Bytes of one .gitignore at most: each of its lines is compared with each file.
_MOST_RULES: Final = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """One .gitignore and the folder it applies to."""

    folder: Path
    spec: GitIgnoreSpec


def list_files(folder: Path, warnings: SourceWarnings, label: str = "") -> Iterator[SourceFile]:
    """Yield the folder's files, sorted. A file's name is its path in the folder, prefixed by `label` if given."""
    top = folder.resolve()
    pending = [_list_folder(top, top, _load_parent_rules(top), warnings, label)]
    while pending:
        check_cancelled()
        found = next(pending[-1], None)
        if found is None:
            pending.pop()
        elif isinstance(found, SourceFile):
            yield found
        else:
            pending.append(_list_folder(found[0], top, found[1], warnings, label))


def _list_folder(
    folder: Path, top: Path, rules: tuple[_Rules, ...], warnings: SourceWarnings, label: str
) -> Iterator[SourceFile | tuple[Path, tuple[_Rules, ...]]]:
    """Yield the files of one folder, and each folder in it with the rules that apply there."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        rules = (*rules, *_load_rules(folder))
    except OSError as error:
        warnings.add(f"left out, cannot be opened ({error.strerror})", _display_name(folder, top, label))
        return
    for entry in entries:
        path = folder / entry.name
        name = _display_name(path, top, label)
        try:
            if why := _reason_to_skip(entry, path, rules):
                warnings.add(f"left out, {why}", name)
            elif entry.is_dir(follow_symlinks=False):
                yield path, rules
            else:
                fingerprint = take_fingerprint(entry.stat(follow_symlinks=False))
                yield SourceFile(name=name, path=path, fingerprint=fingerprint, suffix=path.suffix.lower())
        except OSError as error:  # it was removed meanwhile, or its path is too long
            warnings.add(f"left out, cannot be opened ({error.strerror})", name)


def _reason_to_skip(entry: os.DirEntry[str], path: Path, rules: tuple[_Rules, ...]) -> str:
    """Return why an entry is not read, or an empty string."""
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "links (give their targets as sources)"
    is_folder = entry.is_dir(follow_symlinks=False)
    if _is_ignored(path, rules, is_folder=is_folder):
        return "named in .gitignore"
    return "" if is_folder or entry.is_file(follow_symlinks=False) else "neither files nor folders"


def _is_ignored(path: Path, rules: tuple[_Rules, ...], *, is_folder: bool) -> bool:
    """Return the decision of the deepest .gitignore that matches the path."""
    for rule in reversed(rules):
        inside = path.relative_to(rule.folder).as_posix()
        decision = rule.spec.check_file(f"{inside}/" if is_folder else inside).include
        if decision is not None:
            return decision
    return False


def _load_rules(folder: Path) -> tuple[_Rules, ...]:
    file = folder / ".gitignore"
    try:
        if not file.is_file():
            return ()
        with file.open("rb") as stream:
            content = stream.read(_MOST_RULES + 1)
    except OSError:
        return ()
    if len(content) > _MOST_RULES:
        raise SourceError(
            f"{to_printable(str(file))} is larger than {_MOST_RULES >> 10} KiB, so what it leaves out cannot be known: "
            f"shorten it, or name the files to read"
        )
    spec = parse_rules(content.decode("utf-8", "surrogateescape").splitlines())
    return (_Rules(folder=folder, spec=spec),) if len(spec) else ()


def _load_parent_rules(top: Path) -> tuple[_Rules, ...]:
    """Load the rules of the repository around the folder."""
    repository = next((folder for folder in (top, *top.parents) if (folder / ".git").exists()), top)
    above = [folder for folder in reversed(top.parents) if folder.is_relative_to(repository)]
    rules = tuple(rule for folder in above for rule in _load_rules(folder))
    # The user asked for this folder, so rules that ignore the folder itself do not apply.
    return () if _is_ignored(top, rules, is_folder=True) else rules


def _display_name(path: Path, top: Path, label: str) -> str:
    inside = path.relative_to(top).as_posix()
    return to_printable(f"{label}/{inside}" if label else inside)


# How pathspec writes `*`, and `**` at the beginning and inside of a pattern.
_STAR: Final = "[^/]*"
_LEADING: Final = "(?:.+/)?"
_INNER: Final = "(?:/.+)?"


def parse_rules(lines: Iterable[str]) -> GitIgnoreSpec:
    """Return the rules of a file's lines; like git, leave out a line that is not a pattern."""
    patterns = []
    for line in lines:
        try:
            patterns.append(GitIgnoreSpecPattern(line))
        except ValueError:
            continue
    return GitIgnoreSpec([_bound(pattern) for pattern in patterns if pattern.include is not None])


def _bound(pattern: GitIgnoreSpecPattern) -> GitIgnoreSpecPattern:
    assert pattern.regex is not None
    bounded = bound_regex(pattern.regex.pattern)
    if bounded != pattern.regex.pattern:
        pattern.regex = re.compile(bounded)
    return pattern


def bound_regex(regex: str) -> str:
    """Return an expression that matches the same paths in bounded time."""
    leading = "^" + _LEADING
    first, *rest = regex.removeprefix(leading).removeprefix("^").split(_INNER)
    parts = [_bound_stars(part) for part in (first, *rest)]
    start = "^" if regex.startswith("^") else ""
    if regex.startswith(leading):
        if not rest:
            return leading + parts[0]
        start, parts[0] = "", f"^(?>(?:.+?/)??{parts[0]}(?=/))"
    # All but the last: what follows `**` is whole folders, so its first place is as good as any later one.
    middle = [f"(?>(?:/.+?)??{part}(?=/))" for part in parts[1:-1]]
    return start + "".join((parts[0], *middle, *(_INNER + part for part in parts[1:][-1:])))


def _bound_stars(regex: str) -> str:
    """Make each `*` but the last take its first fit. A name that ends in between can only fit at its end."""
    first, *rest = regex.split(_STAR)
    if len(rest) < 2:  # noqa: PLR2004  a single wildcard is tried once at each place
        return regex
    return first + "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1]) + _STAR + rest[-1]
