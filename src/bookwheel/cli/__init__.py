"""The command line: one module for each topic, imported only when one of its commands runs."""

STDIN = "stdin:"
"""Stands for "-", which the parser would take for an option."""


class UsageError(Exception):
    """Words that do not fit a command: an option that there is not, a value that it cannot have."""
