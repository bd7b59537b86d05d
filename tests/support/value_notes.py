"""A reader that notes `key = value` lines and keeps the newest value of each key, and a count of words in a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.plan import Plan

if TYPE_CHECKING:
    from pathlib import Path

PLAN = Plan(chunk_tokens=100, memory_tokens=60)


def note_values(messages) -> str:
    prompt = messages[-1].content
    notes = {line.split(" = ")[0]: line for line in take(prompt, "memory").splitlines() if " = " in line}
    if "<section>" not in prompt:
        words = take(prompt, "question").rpartition("\n")[2].casefold().rstrip("?").split()
        found = [line for key, line in notes.items() if key.casefold() in words]
        return f"\\boxed{{{found[0] if found else 'The document does not say.'}}}"
    notes |= {line.split(" = ")[0]: line for line in take(prompt, "section").splitlines() if " = " in line}
    return "\n".join(notes[key] for key in sorted(notes)) or "UNCHANGED"


def take(prompt: str, tag: str) -> str:
    return prompt.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip() if f"<{tag}>" in prompt else ""


def count_bytes(path: Path, words: str) -> int:
    """Return how often a journal's files have some words."""
    return sum(file.read_bytes().count(words.encode()) for file in path.parent.glob(f"{path.name}*") if file.is_file())
