"""`bookwheel resume` and `bookwheel edit`."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_token_budget_stops_with_code_4_and_resume_goes_on(run, book: Path, ask) -> None:
    stopped = ask("--max-tokens-total", "2000", "--json")
    assert (stopped.code, stopped.json["status"], stopped.json["answer"]) == (4, "stopped", None)
    assert 0 < stopped.json["usage"]["prompt_tokens"] + stopped.json["usage"]["completion_tokens"] <= 2000
    again = ask("--max-tokens-total", "2000")
    assert again.code == 4
    assert "bookwheel resume" in again.err
    resumed = run("resume", stopped.json["reading"], "--json")
    assert (resumed.code, resumed.json["status"]) == (0, "answered")
    assert resumed.json["steps"][: len(stopped.json["steps"])] == stopped.json["steps"]


HELD = """
import asyncio, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job, such as a test run, ignores
from bookwheel.models import registry
from bookwheel.models.scripted import ScriptedModel, keyword_reader

class Held(ScriptedModel):
    async def reply(self, messages, **settings):
        if self.calls >= 6:
            await asyncio.sleep(3600)
        return await super().reply(messages, **settings)

async def held(*_args, **_more):
    return Held(keyword_reader)

registry.open_model = held
from bookwheel.cli.main import main
main(sys.argv[1:])
"""


def read_until(process: subprocess.Popen[str], words: str) -> None:
    seen = ""
    while words not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line


@pytest.mark.parametrize("kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_an_interrupt_keeps_everything_and_can_be_resumed(run, book: Path, kind: signal.Signals, question) -> None:
    command = [sys.executable, "-c", HELD, "ask", str(book), question, "--chunk-tokens", "60", "--memory-tokens", "40"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    read_until(process, "chunk 3 ")
    process.send_signal(kind)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    assert "bookwheel resume" in err
    assert "Traceback" not in err
    kept = run("show", "last", "--json").json
    assert kept["status"] == "cancelled"
    assert len(kept["steps"]) >= 4
    resumed = run("resume", "last", "--model", "scripted", "--json").json
    assert resumed["status"] == "answered"
    assert resumed["steps"][: len(kept["steps"])] == kept["steps"]


@pytest.mark.slow
def test_waiting_for_another_process_is_refused_with_a_reason(run, book: Path, question) -> None:
    command = [sys.executable, "-c", HELD, "ask", str(book), question, "--chunk-tokens", "60", "--memory-tokens", "40"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        read_until(process, "chunk 1 ")
        ran = run("resume", "last", "--model", "scripted")
        assert ran.code == 2
        assert "another process" in ran.err
    finally:
        process.kill()
        process.communicate()


def test_edit_forks_at_a_step_and_leaves_the_old_reading(run, book: Path, ask) -> None:
    old = ask("--json").json
    edited = run("edit", "last", "--step", "6", "--memory", "The harbour master of Skarholm is Bo Reed.", "--json")
    assert edited.code == 0
    assert "Bo Reed" in edited.json["answer"]
    assert edited.json["reading"] != old["reading"]
    assert edited.json["steps"][:6] == old["steps"][:6]
    assert "edited" in edited.json["steps"][6]["flags"]
    assert run("show", old["reading"], "--json").json == old


def test_edit_opens_the_editor(run, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask) -> None:
    ask()
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/Ada Quill/Cy Moss/" "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    step = max(s["index"] for s in run("show", "last", "--json").json["steps"])
    assert "Cy Moss" in run("edit", "last", "--step", step, "--json").json["answer"]


@pytest.mark.parametrize("step", ["-1", "99"])
def test_edit_of_a_step_that_is_not_there_says_which_are(run, book: Path, step: str, ask) -> None:
    ask()
    ran = run("edit", "last", "--step", step, "--memory", "x")
    assert ran.code == 2
    assert re.search(r"steps 0 to \d+", ran.err)


def test_edit_refuses_a_memory_over_the_limit(run, book: Path, ask) -> None:
    ask()
    ran = run("edit", "last", "--step", "1", "--memory", "word " * 100)
    assert ran.code == 2
    assert "100 tokens" in ran.err


@pytest.fixture
def edit_with(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Edit the memory of step 0 in an editor that runs a line of shell on the file."""

    def call(line: str, *words: object):
        editor = tmp_path / "editor.sh"
        editor.write_text(f"#!/bin/sh\n{line}\n")
        editor.chmod(0o700)
        monkeypatch.setenv("VISUAL", "")
        monkeypatch.setenv("EDITOR", str(editor))
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        return run("edit", "last", "--step", "0", *words)

    return call


def test_the_editor_gets_the_old_memory_and_its_text_is_the_new_one(ask, run, edit_with) -> None:
    old = ask("--json").json
    ran = edit_with('echo "Bo Fell lights the lamp." >> "$1"', "--json")
    assert ran.code == 0
    assert ran.json["parent"] == old["reading"]
    assert ran.json["steps"][0]["memory"] == f"{old['steps'][0]['memory']}\nBo Fell lights the lamp.".strip()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("exit 3", "exited with code 3"),
        ('printf " " > "$1"', "is empty, so nothing was changed"),
        ("true", "is unchanged"),
    ],
)
def test_an_editor_that_changes_nothing_begins_no_reading(ask, run, edit_with, line: str, says: str) -> None:
    ask("--way", "sequential")
    if line == "true":
        run("edit", "last", "--step", "0", "--memory", "Bo Fell lights the lamp.")
    before = run("list", "--json").json
    ran = edit_with(line)
    assert ran.code == 2
    assert says in ran.err
    assert run("list", "--json").json == before


def test_a_reading_without_steps_has_no_memory_to_edit(run, book: Path, question: str) -> None:
    run("ask", book, question, "--model", "scripted", "--way", "whole")
    ran = run("edit", "last", "--step", "0", "--memory", "x")
    assert (ran.code, "has no steps" in ran.err) == (2, True)
