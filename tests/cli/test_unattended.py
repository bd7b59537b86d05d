"""Readings that nobody watches: faults are waited out and told, gaps are listed and read again, signals end cleanly."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bookwheel.cli.watching import WaitLines, format_retry
from bookwheel.errors import Overloaded, ServerFault
from bookwheel.models import registry
from bookwheel.models.patience import Retry
from bookwheel.models.scripted import ScriptedModel, keyword_reader

pytestmark = pytest.mark.usefixtures("short_waits")
BUSY = Overloaded("the server is busy. Try again later.", retry_after=0)
BROKEN = ServerFault("the server broke. Look at its log.")


class Mute(ScriptedModel):
    """Says nothing about the section with the fact, as long as it is mute."""

    def __init__(self) -> None:
        super().__init__(lambda messages: "" if self.is_mute and self.hears(messages) else keyword_reader(messages))
        self.is_mute = True

    @staticmethod
    def hears(messages) -> bool:
        return "Ada Quill" in messages[-1].content


@pytest.fixture
def reads_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedModel], ScriptedModel]:
    def use(model: ScriptedModel) -> ScriptedModel:
        async def open_model(*_names: object, **_settings: object) -> ScriptedModel:
            return model

        monkeypatch.setattr(registry, "open_model", open_model)
        return model

    return use


@pytest.mark.slow
def test_a_section_that_stays_empty_is_a_gap_that_exit_code_and_output_name(ask, reads_with) -> None:
    reads_with(Mute())
    ran = ask("--way", "sequential")
    assert ran.code == 5
    assert "not taken in whole: 1 of" in ran.err
    assert "empty reply, memory kept" in ran.err
    assert "--flagged" in ran.err
    record = ask("--way", "sequential", "--json")
    (gap,) = record.json["gaps"]
    assert (record.code, record.json["status"], gap["flags"]) == (5, "answered", ["kept-empty"])
    assert {"step", "start", "end", "pages"} <= gap.keys()
    last = json.loads(ask("--way", "sequential", "--json-events").out.splitlines()[-1])
    assert (last["event"], last["gaps"]) == ("end", [gap])


def test_flagged_sections_are_read_again_past_the_newest_memory(run, ask, reads_with) -> None:
    model = reads_with(Mute())
    first = ask("--way", "sequential", "--json").json
    model.is_mute, calls = False, model.calls
    ran = run("resume", "--flagged", first["reading"], "--json")
    again = ran.json
    assert (ran.code, again["gaps"], model.calls - calls) == (0, [], 2)
    assert "Ada Quill" in again["answer"]
    assert "Ada Quill" not in first["answer"]
    assert again["reading"] == first["reading"]
    assert again["steps"][: len(first["steps"])] == first["steps"]
    (step,) = again["steps"][len(first["steps"]) :]
    (gap,) = first["gaps"]
    assert (step["start"], step["end"], "reread" in step["flags"]) == (gap["start"], gap["end"], True)
    assert run("resume", "--flagged", first["reading"], "--json").json == again


def test_an_answer_that_came_early_says_how_much_was_read(ask) -> None:
    early = ask("--way", "ranked")
    assert (early.code, "Ada Quill" in early.out) == (0, True)
    (line,) = [line for line in early.err.splitlines() if line.startswith("read ")]
    assert 0 < int(line.split()[1].rstrip("%")) < 50
    assert "of the document" not in ask("--way", "sequential").err


def test_a_section_that_stays_empty_once_more_stays_a_gap(run, ask, reads_with) -> None:
    reads_with(Mute())
    first = ask("--way", "sequential", "--json").json
    again = run("resume", "last", "--flagged", "--json")
    assert (again.code, len(again.json["gaps"])) == (5, 1)
    assert len(again.json["steps"]) == len(first["steps"]) + 1


def test_a_reading_without_an_answer_is_continued_before_its_gaps(run, ask, reads_with) -> None:
    reads_with(Mute())
    ask("--way", "sequential", "--max-tokens-total", "1500")
    ran = run("resume", "last", "--flagged")
    assert (ran.code, "continue it first" in ran.err) == (2, True)


def test_an_empty_answer_is_never_answered(run, ask, reads_with) -> None:
    silent = ScriptedModel(lambda messages: keyword_reader(messages) if "<section>" in messages[-1].content else "")
    model = reads_with(silent)
    ran = ask("--way", "sequential", "--json")
    steps = len(ran.json["steps"])
    assert (ran.code, ran.json["status"]) == (3, "failed")
    assert "no answer" in ran.json["error"]
    assert model.calls == steps + 4
    reads_with(ScriptedModel(keyword_reader))
    resumed = run("resume", "last", "--json")
    assert (resumed.code, len(resumed.json["steps"])) == (0, steps)


def test_a_fault_is_waited_out_and_told(ask, reads_with) -> None:
    reads_with(ScriptedModel(keyword_reader, faults={2: BUSY}))
    ran = ask("--way", "sequential")
    assert ran.code == 0
    assert "waiting for the model: the server is busy. Try 2 comes" in ran.err


def test_a_program_that_follows_is_told_too(ask, reads_with) -> None:
    reads_with(ScriptedModel(keyword_reader, faults={2: Overloaded("busy", retry_after=0.001)}))
    events = [json.loads(line) for line in ask("--way", "sequential", "--json-events").out.splitlines()]
    (waiting,) = [event for event in events if event["event"] == "waiting"]
    assert (waiting["kind"], waiting["tries"], waiting["error"]) == ("Overloaded", 1, "busy")


def test_without_patience_a_fault_ends_the_reading(ask, reads_with) -> None:
    reads_with(ScriptedModel(keyword_reader, faults={2: BUSY}))
    assert ask("--way", "sequential", "--patience", "0").code == 3


def test_without_patience_a_server_that_is_away_is_asked_once(run, book: Path) -> None:
    away = run("ask", book, "Who?", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--patience", "0")
    assert away.code == 3
    assert "tried" not in away.err


@pytest.mark.parametrize("minutes", ["-1", "inf", "nan", "soon"])
def test_patience_is_a_number_of_minutes(ask, minutes: str) -> None:
    ran = ask("--patience", minutes)
    assert (ran.code, "--patience" in ran.err) == (2, True)


def test_one_line_a_minute_tells_of_an_outage(capsys) -> None:
    from bookwheel.cli.output import stderr

    lines = WaitLines(stderr())
    for tries, seconds in enumerate([0, 1, 20, 59, 61, 90, 125], start=1):
        lines.report_retry(Retry(error=BROKEN, tries=tries, wait=5.0, seconds=seconds))
        lines.report_retry(Retry(error=BROKEN, tries=tries, wait=0.0, seconds=seconds))
    told = capsys.readouterr().err.splitlines()
    assert [line.rpartition("Try ")[2].split()[0] for line in told] == ["2", "6", "8"]


def test_a_wait_is_told_in_one_sentence_without_advice() -> None:
    retry = Retry(error=BROKEN, tries=3, wait=4.4, seconds=75)
    assert format_retry(retry) == (
        "waiting for the model: the server broke. Try 4 comes in 4 s, 1 min 15 s after the first."
    )


HANGING = """
import asyncio, sys
from bookwheel.models import registry

async def hanging(*_args, **_more):
    print("opening", file=sys.stderr, flush=True)
    await asyncio.sleep(3600)

registry.open_model = hanging
from bookwheel.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_step_ends_with_130_and_no_traceback(book: Path, question, kind) -> None:
    # A shell's background job, such as a test run, ignores SIGINT; Python then installs no handler.
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{HANGING}"
    command = [sys.executable, "-c", code, "ask", str(book), question]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "opening" in process.stderr.readline()
    process.send_signal(kind)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
