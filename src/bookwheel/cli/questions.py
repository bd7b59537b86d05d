"""Files with questions, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def read_questions(file: Path) -> list[str]:
    """Return the questions of a file; InputError where there are none."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if not (questions := [line.strip() for line in lines if line.strip()]):
        raise InputError(f"{file} has no questions: write one a line")
    return questions
