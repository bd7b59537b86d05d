"""What can go wrong on purpose while measuring; each is an input error, with the exit code of one.

InputError
├── SettingsError          an evaluation's settings that are unknown or do not go together
└── ResultsError           a results file that is damaged, in use, or of another configuration
"""

from __future__ import annotations

from bookwheel.errors import InputError


class SettingsError(InputError):
    """Settings of an evaluation that are unknown or do not go together."""


class ResultsError(InputError):
    """A results file that is damaged, in use by another run, or of another configuration."""
