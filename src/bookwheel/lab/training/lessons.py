"""A file of lessons for the local model's reader: what each passage answers, in few words, and what it bears out.

Each line is a group of lessons that are read together, so that what their prompts begin with is read once:

    {"passages": ["The lamp was lit in 1891 by Amos Thorne.", "The lamp is green."],
     "lessons": [{"question": "Who lit the lamp?", "shown": [0, 1], "right": [0], "answer": "Amos Thorne",
                  "claims": [[0, "Who lit the lamp?", "Amos Thorne", true], [0, "", "It was lit in 1892.", false]]}]}

`shown` are the passages that the question is posed about, `right` those of them that answer it; the answer is copied
out of the first of `right`. A claim names the passage that it is held against, the question that it answers or nothing,
and whether it is borne out. `shown`, `right`, `answer` and `claims` may be left out.
benchmarks/training/reader_lessons.py writes such a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.warmstart import ClaimOption, Lesson, PassageOption
from bookwheel.schema import parse

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _LessonRecord:
    question: str
    shown: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    answer: str = ""
    claims: tuple[tuple[int, str, str, bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupRecord:
    passages: tuple[str, ...]
    lessons: tuple[_LessonRecord, ...]


class LessonFile:
    """The groups of lessons of a file, each drawn once before any is drawn again."""

    def __init__(self, path: Path, seed: int) -> None:
        self._seed = seed
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise ConfigError(f"train.warm_start.lessons cannot be read: {error}") from error
        self._groups = [_parse_group(line, f"{path}, line {at}") for at, line in enumerate(lines, 1) if line.strip()]
        if not self._groups:
            raise ConfigError(f"{path} holds no lessons")

    def __len__(self) -> int:
        return len(self._groups)

    def draw(self, count: int, step: int) -> list[tuple[Lesson, ...]]:
        """Return the groups of a step; seed and step alone decide, so a resumed run draws the same."""
        chosen = []
        for number in range(count * step, count * (step + 1)):
            epoch, place = divmod(number, len(self))
            order = Random(f"{self._seed}/lessons/{epoch}").sample(range(len(self)), len(self))  # noqa: S311 - no secrets
            chosen.append(self._groups[order[place]])
        return chosen


def _parse_group(line: str, where: str) -> tuple[Lesson, ...]:
    try:
        content = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where} is no JSON: {error}") from error
    group = parse(_GroupRecord, content, where=where, error=ConfigError)
    try:
        return tuple(_build_lesson(one, group.passages) for one in group.lessons)
    except IndexError as error:
        raise ConfigError(f"{where}: a lesson names a passage that is not there") from error


def _build_lesson(one: _LessonRecord, texts: tuple[str, ...]) -> Lesson:
    return Lesson(
        question=one.question,
        passages=tuple(PassageOption(text=texts[at], is_right=at in one.right) for at in one.shown),
        source=texts[one.right[0]] if one.right else "",
        answer=one.answer if one.right else "",
        claims=tuple(
            ClaimOption(passage=texts[at], question=question, text=text, is_right=is_right)
            for at, question, text, is_right in one.claims
        ),
    )
