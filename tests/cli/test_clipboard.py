"""`ask --copy` and `ask --questions`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


@pytest.fixture
def clipboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that stands for the desktop's, and the file that it copies to."""
    folder, copied = tmp_path / "bin", tmp_path / "copied"
    folder.mkdir()
    program = folder / "wl-copy"
    program.write_text(f"#!/bin/sh\ncat > {copied}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return copied


def test_the_answer_is_copied(ask, clipboard) -> None:
    assert ask("--copy").code == 0
    assert clipboard.read_text() == "The harbour master of Skarholm is Ada Quill."


def test_without_a_clipboard_the_answer_is_printed_all_the_same(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwheel.cli.ask.shutil.which", lambda _: None)
    result = ask("--copy")
    assert result.code == 0
    assert "Ada Quill" in result.out
    assert "nothing to copy to" in result.err


@pytest.mark.slow
def test_questions_may_stand_in_a_file(ask, tmp_path: Path) -> None:
    file = tmp_path / "more.txt"
    file.write_text("What circles over the pier?\n\nWho writes down the wind?\n")
    readings = json.loads(ask("--questions", file, "--json").out)["readings"]
    assert [reading["question"] for reading in readings][1:] == [
        "What circles over the pier?",
        "Who writes down the wind?",
    ]
    file.write_text("\n")
    assert ask("--questions", file).code == 2
