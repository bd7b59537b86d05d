"""A book, and functions that run commands on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bookwheel.cli.main import main

FILLER = "Gulls circle over the pier, and the keeper writes down the wind. " * 12 + "\n\n"
SMALL_PLAN = ("--chunk-tokens", "100", "--memory-tokens", "40", "--answer-tokens", "40")


class CommandResult:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict:
        return json.loads(self.out)


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
def run(capsys: pytest.CaptureFixture[str]):
    def call(*words: object) -> CommandResult:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        output = capsys.readouterr()
        return CommandResult(int(ended.value.code or 0), output.out, output.err)

    return call


@pytest.fixture
def ask(run, book: Path, question: str):
    """Ask the question of the book with the scripted model and a small plan."""
    return lambda *more: run("ask", book, question, "--model", "scripted", *SMALL_PLAN, *more)
