"""The patterns of a .gitignore, matched in time that grows with the path and not with its powers.

`pathspec` translates a pattern to a regular expression, in which every `*` and `**` can be tried at every length. With
k of them that takes n^k steps: `*a*a*a*a*a*a*a*a*b` and one name of 255 letters take years. But what stands between two
wildcards may be taken where it first fits, because the second wildcard covers the rest. So each wildcard but the last
takes its first fit for good, as an atomic group, and the same paths match. Python's `fnmatch` does so too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

if TYPE_CHECKING:
    from collections.abc import Iterable

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
