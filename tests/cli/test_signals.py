"""Ctrl-C and SIGTERM at any moment of a command, imports included: 130, and no traceback."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bookwheel.cli.runner import run_command

KINDS = pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])

# Sends the signal when a module is looked for, so that it comes in the middle of an import.
RUN = """
import os, signal, sys

kind, wanted, *sys.argv[1:] = int(sys.argv[1]), sys.argv[2], *sys.argv[3:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job ignores

class Interrupter:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == wanted:
            print("sent", file=sys.stderr, flush=True)
            os.kill(os.getpid(), kind)
        return None

sys.meta_path.insert(0, Interrupter)
from bookwheel.__main__ import run
run()
"""

# Says "up" when the handlers of signals are in place.
RUN_UP = """
import signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)

class Announcer:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "bookwheel.cli.main":
            print("up", flush=True)
        return None

sys.meta_path.insert(0, Announcer)
from bookwheel.__main__ import run
run()
"""


def interrupt(kind: signal.Signals, module: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a command that gets the signal when it imports the module."""
    command = [sys.executable, "-c", RUN, str(int(kind)), module, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@KINDS
@pytest.mark.parametrize(
    "module", ["bookwheel.cli", "argparse", "bookwheel.cli.ask", "bookwheel.cli.runner", "bookwheel.verdict.judge"]
)
@pytest.mark.slow
def test_a_signal_in_an_import_ends_with_130_and_no_traceback(book: Path, question: str, kind, module: str) -> None:
    done = interrupt(kind, module, "ask", book, question, "--model", "scripted")
    assert "sent" in done.stderr, "the module was not imported"
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("httpx2", ("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--patience", "0")),
        ("httpcore2", ("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--patience", "0")),
        ("bookwheel.journal.store", ("--model", "scripted")),
        ("bookwheel.reading.loop", ("--model", "scripted")),
        ("bookwheel.verdict.judge", ("--model", "scripted")),
        ("tokenizers", ("--model", "local")),
        ("xllamacpp", ("--model", "local")),
    ],
)
def test_a_signal_in_the_imports_of_a_model_too(book: Path, question: str, kind, module: str, words) -> None:
    done = interrupt(kind, module, "ask", book, question, *words)
    if "sent" not in done.stderr:
        pytest.skip(f"{module} is not imported here")
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@KINDS
def test_a_signal_after_any_time_ends_with_130_or_finds_the_command_through(book: Path, question: str, kind) -> None:
    """Python's own start cannot be caught; from our first import on every moment is ours."""
    command = [sys.executable, "-c", RUN_UP, "ask", str(book), question, "--model", "scripted"]
    for milliseconds in (1, 3, 10, 30, 60, 120, 250, 500, 1000):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ})
        assert process.stdout
        process.stdout.readline()
        try:
            process.wait(milliseconds / 1000)
        except subprocess.TimeoutExpired:
            process.send_signal(kind)
        _, err = process.communicate(timeout=120)
        assert process.returncode in ({0, 130} if milliseconds > 1 else {130}), (milliseconds, err)
        assert b"Traceback" not in err, (milliseconds, err)


@KINDS
def test_a_signal_while_the_loop_is_made_waits_for_it(kind, monkeypatch) -> None:
    """An exception in there would leave half a loop, which complains when it is collected."""
    made = []

    def make():
        signal.raise_signal(kind)
        made.append(new_event_loop())
        return made[-1]

    async def work():
        await asyncio.sleep(60)

    new_event_loop = asyncio.new_event_loop
    monkeypatch.setattr(asyncio.events, "new_event_loop", make)
    before = signal.signal(kind, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_command(work())
        assert signal.getsignal(kind) is signal.default_int_handler
    finally:
        signal.signal(kind, before)
    assert [loop.is_closed() for loop in made] == [True]


LOST = """
import signal, sys, time, weakref

signal.signal(signal.SIGINT, signal.default_int_handler)
from bookwheel.cli import main

class Held:
    pass

def run(words):
    held = Held()
    kept = weakref.ref(held, lambda _: signal.raise_signal(int(sys.argv[1])))
    del held  # the interrupt comes in a callback, which can raise nothing
    time.sleep(20)
    return 0

main._run = run
main.main()
"""


@KINDS
def test_an_interrupt_where_python_can_raise_nothing_is_not_lost(kind) -> None:
    command = [sys.executable, "-c", LOST, str(int(kind))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=15, check=False)
    assert (done.returncode, done.stderr) == (130, "")


MADE = """
import signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)
from bookwheel.cli import main

def run(words):
    exec("signal.raise_signal(int(sys.argv[1]))")  # as the code of a dataclass that is being imported

main._run = run
main.main()
"""


@KINDS
def test_an_interrupt_in_code_that_python_makes_ends_with_130_too(kind, tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(MADE)
    command = [sys.executable, "-m", "made", str(int(kind))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "")


WRAPPED = """
import signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)
from bookwheel.cli import main

class Field:
    def __set_name__(self, owner, name):
        signal.raise_signal(int(sys.argv[1]))

def run(words):
    class Message:  # Python 3.11 turns what is raised while a class is made into a RuntimeError
        tokens = Field()

main._run = run
main.main()
"""


@KINDS
def test_an_interrupt_while_a_class_is_made_ends_with_130(kind) -> None:
    command = [sys.executable, "-c", WRAPPED, str(int(kind))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=15, check=False)
    assert (done.returncode, done.stderr) == (130, "")
