"""A scripted reader of the episodes that knows their sentences (`bookwheel.lab.tasks.episodes`).

What a memory system does to its notes, and nothing else, can make it fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from bookwheel.lab.tasks.definition import BOTH
from bookwheel.lab.tasks.material import load_wordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Message

_TOWNS_NOTED = {"en": "towns", "zh": "城"}


@dataclass(frozen=True, slots=True)
class _Sentences:
    """Patterns of the sentences of a language."""

    facts: tuple[tuple[str, re.Pattern[str]], ...]
    questions: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _load_sentences(language: str) -> _Sentences:
    table, colon = load_wordings()["episode"][language], load_wordings()["talk"][language]["colon"]

    def compile_pattern(sentence: str, before: str = "") -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", sentence)
        names = [f"(?P<{part}>[^{{}}\n]+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)]
        return re.compile(before + "".join(names))

    speaker = rf"(?P<who>[^\n{re.escape(colon)}]+){re.escape(colon)}"
    return _Sentences(
        tuple(
            (kind, compile_pattern(sentence, speaker))
            for kind in ("say", "change", "link", "visit")
            for sentence in table[kind]
        ),
        tuple((kind, compile_pattern(table[kind])) for kind in ("name", "password", "towns")),
    )


def read_perfectly(messages: Sequence[Message]) -> str:
    """Note every fact of an episode with its date, and answer from the newest of each."""
    prompt = messages[-1].content
    # Before a question to a lasting memory stands the day.
    question, section = _take(prompt, "question").rpartition("\n")[2], _take(prompt, "section")
    notes = [line for line in _take(prompt, "memory").splitlines() if line.count(" | ") == 3]
    day = ""
    for line in section.splitlines():
        if header := re.match(r"\[.* · (\d{4}-\d\d-\d\d)", line):
            day = header[1]
        for language in BOTH:
            for kind, pattern in _load_sentences(language).facts:
                if found := pattern.fullmatch(line.strip()):
                    notes.append(_note(kind, found.groupdict(), day, language))
    notes = _keep_newest(notes)
    # What is asked in one call, from a text and without a memory, is answered at once.
    if section and "\\boxed" not in prompt:
        return "\n".join(notes) or "UNCHANGED"
    return f"\\boxed{{{_answer(question, notes) or 'The document does not say.'}}}"


def _name_password(lock: str, language: str) -> str:
    return f"{lock}的密码" if language == "zh" else f"password of {lock}"


def _note(kind: str, said: dict[str, str], day: str, language: str) -> str:
    who = said["who"]
    if kind == "visit":
        return f"{who} | {_TOWNS_NOTED[language]} | {said['value']} | {day}"
    if kind == "link":
        return f"{who} | {_name_password(said['lock'], language)} | = {said['other']}, {said['thing']} | {day}"
    return f"{who} | {said['thing']} | {said['value']} | {day}"


def _keep_newest(notes: Sequence[str]) -> list[str]:
    """Return the newest note of each thing; of towns all."""
    newest: dict[tuple[str, ...], str] = {}
    for note in sorted(dict.fromkeys(notes), key=lambda one: one.rpartition(" | ")[2]):
        who, thing, value, _ = note.split(" | ")
        newest[(who, thing, value) if thing in _TOWNS_NOTED.values() else (who, thing)] = note
    return list(newest.values())


def _answer(question: str, notes: Sequence[str]) -> str:
    known = [note.split(" | ") for note in notes]
    values = {(who, thing): value for who, thing, value, _ in known}
    for language in BOTH:
        for kind, pattern in _load_sentences(language).questions:
            if found := pattern.fullmatch(question.strip()):
                asked = found.groupdict()
                if kind == "towns":
                    towns = (asked["who"], _TOWNS_NOTED[language])
                    return ", ".join(value for who, thing, value, _ in known if (who, thing) == towns)
                name = asked["thing"] if kind == "name" else _name_password(asked["lock"], language)
                value = values.get((asked["who"], name), "")
                other, _, base = value.removeprefix("= ").partition(", ")
                return values.get((other, base), "") if value.startswith("= ") else value
    return ""


def _take(prompt: str, tag: str) -> str:
    return prompt.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip() if f"<{tag}>" in prompt else ""
