"""`bookwheel memory follow` reads what comes, tells when an answer changes, and ends with its stream."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worst_replies import REPLIES, Server

from bookwheel.cli import follow as cli_follow

FACT = "The state of the door is shut.\n"


@pytest.fixture
def memory(run, tmp_path: Path) -> list[str]:
    journal = ["--journal", str(tmp_path / "journal.sqlite")]
    assert run("memory", "new", "door", "--about", "the state of the door", "--model", "scripted", *journal).code == 0
    return journal


def follow(words: list[str], journal: list[str], text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bookwheel", "memory", "follow", "door", "-", *words, *journal]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_a_stream_is_read_to_its_end_and_answers_go_to_a_command(memory, run, tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    words = ["--tell", "What is the state of the door?", "--run", f"tee -a {told}", "--source", "log", "--json"]
    done = follow(words, memory, FACT)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events] == ["read", "answer"]
    assert json.loads(told.read_text())["answer"] == FACT.strip()
    assert "shut" in run("memory", "show", "door", *memory).out


@pytest.mark.slow
def test_a_command_that_fails_is_said_and_ends_nothing(memory) -> None:
    done = follow(["--tell", "What is the state of the door?", "--run", "false"], memory, FACT)
    assert done.returncode == 0
    assert "exit code 1" in done.stderr
    assert FACT.strip() in done.stdout


@pytest.mark.slow
def test_a_full_memory_is_said_and_ends_with_5(run, tmp_path: Path) -> None:
    journal = ["--journal", str(tmp_path / "full.sqlite")]
    begun = run(
        "memory",
        "new",
        "door",
        "--about",
        "the state of the door",
        "--model",
        "scripted",
        "--memory-tokens",
        "12",
        *journal,
    )
    assert begun.code == 0
    done = follow([], journal, "".join(f"The state of the door {n} is shut.\n" for n in range(9)))
    assert done.returncode == 5
    assert "not taken in whole: the memory is full" in done.stderr


def test_telling_needs_a_question(memory, run) -> None:
    ran = run("memory", "follow", "door", "-", "--run", "true", *memory)
    assert ran.code == 2
    assert "--tell" in ran.err


@pytest.mark.parametrize("name", ["endless blanks", "headers for ever", "chunks of one byte"])
def test_an_address_that_answers_without_end_holds_up_nothing(name, monkeypatch, capsys) -> None:
    monkeypatch.setattr(cli_follow, "_TELL_SECONDS", 1.0)
    server = Server(REPLIES[name])
    try:
        began = time.monotonic()
        asyncio.run(cli_follow._tell({"event": "answer"}, None, f"http://127.0.0.1:{server.port}/"))
    finally:
        server.close()
    assert time.monotonic() - began < 10
    assert "Error" not in capsys.readouterr().err


def test_a_command_that_is_not_there_is_told_in_plain_words(capfd) -> None:
    asyncio.run(cli_follow._tell({"event": "answer"}, "/no/such/command", None))
    said = " ".join(capfd.readouterr().err.split())
    assert "No such file or directory" in said
    assert "Errno" not in said
