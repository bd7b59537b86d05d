"""Errors of making samples."""

from __future__ import annotations

from bookwheel.errors import InputError


class InfeasibleSample(InputError):
    """One sample cannot be made at the requested length; others of its series may be."""

    task: str = ""
    """Filled in by the series, as is `sample`."""
    sample: str = ""
    """The id that the sample would have had."""
    length: int = 0
