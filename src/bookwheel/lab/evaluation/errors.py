"""Errors of an evaluation. Both are input errors and end the command with exit code 2.

InputError
├── SettingsError          unknown settings, or settings that contradict each other
└── ResultsError           a results file that is damaged, in use, or made with other settings
"""

from __future__ import annotations

from bookwheel.errors import InputError


class SettingsError(InputError):
    """Unknown settings of an evaluation, or settings that contradict each other."""


class ResultsError(InputError):
    """A results file that is damaged, in use by another run, or made with other settings."""
