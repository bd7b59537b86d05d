"""The command line: one module for each topic, imported only when one of its commands runs."""

from __future__ import annotations

from collections.abc import Iterable

STDIN = "stdin:"
"""Stands for "-", which the parser would take for an option."""


class UsageError(Exception):
    """Words that do not fit a command: an option that there is not, a value that it cannot have."""


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the nearest known name as the end of a sentence; empty where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
