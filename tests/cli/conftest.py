"""A book, and functions that run commands on it."""

from __future__ import annotations

from pathlib import Path

import pytest

FILLER = "Gulls circle over the pier, and the keeper writes down the wind. " * 12 + "\n\n"
SMALL_PLAN = ("--chunk-tokens", "100", "--memory-tokens", "40", "--answer-tokens", "40")


@pytest.fixture
def question() -> str:
    return "Who is the harbour master of Skarholm?"


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "kept" / "journal.sqlite"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = tmp_path / "book.txt"
    path.write_text(FILLER * 4 + "The harbour master of Skarholm is Ada Quill.\n\n" + FILLER * 4, encoding="utf-8")
    return path


@pytest.fixture
def run(command):
    return command


@pytest.fixture
def ask(run, book: Path, question: str):
    """Ask the question of the book with the scripted model and a small plan."""
    return lambda *more: run("ask", book, question, "--model", "scripted", *SMALL_PLAN, *more)
