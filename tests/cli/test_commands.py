"""The command line: the answer to stdout, everything else to stderr, exit codes that tell what happened."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bookwheel.cli import main

QUESTION = "Who is the harbour master of Skarholm?"
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. " * 12 + "\n\n"
TEXT = FILLER * 4 + "The harbour master of Skarholm is Ada Quill.\n\n" + FILLER * 4
SMALL = ("--chunk-tokens", "100", "--memory-tokens", "40", "--answer-tokens", "40")


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "kept" / "journal.sqlite"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = tmp_path / "book.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*words: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        caught = capsys.readouterr()
        return Ran(int(ended.value.code or 0), caught.out, caught.err)

    return call


def ask(run, book: Path, *more: object) -> Ran:
    return run("ask", book, QUESTION, "--model", "scripted", *SMALL, *more)


def test_the_answer_goes_to_stdout_and_nothing_else_does(run, book: Path) -> None:
    ran = ask(run, book)
    assert (ran.code, ran.out) == (0, "The harbour master of Skarholm is Ada Quill.\n")
    assert "rests on" in ran.err
    assert "+ The harbour master" in ran.err


def test_quiet_says_nothing_but_the_answer(run, book: Path) -> None:
    ran = ask(run, book, "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "The harbour master of Skarholm is Ada Quill.\n", "")


def test_json_is_one_object_of_the_documented_shape(run, book: Path) -> None:
    ran = ask(run, book, "--json")
    found = ran.json
    assert ran.out.count("\n") == 1
    assert found["status"] == "answered"
    assert found["plan"]["chunk_tokens"] == 100
    assert found["steps"][0]["start"] == 0
    assert found["steps"][-1]["end"] == len(TEXT)
    assert all(a["end"] == b["start"] for a, b in zip(found["steps"], found["steps"][1:], strict=False))
    assert {"index", "start", "end", "pages", "source", "memory", "flags"} <= set(found["steps"][0])
    assert {"calls", "prompt_tokens", "completion_tokens", "seconds"} <= set(found["usage"])
    piece = found["evidence"][0]
    assert TEXT[piece["start"] : piece["end"]] == piece["quote"]


def test_ask_resume_show_and_list_speak_of_one_shape(run, book: Path) -> None:
    asked = ask(run, book, "--json").json
    assert run("show", "last", "--json").json == asked
    assert run("resume", asked["reading"], "--json").json == asked
    (listed,) = json.loads(run("list", "--json").out)
    assert listed == {key: value for key, value in asked.items() if key not in {"steps", "evidence"}}


def test_the_newest_reading_is_listed_first(run, book: Path) -> None:
    first, second = ask(run, book, "--json").json, ask(run, book, "--json").json
    assert [row["reading"] for row in json.loads(run("list", "--json").out)] == [second["reading"], first["reading"]]
    assert second["reading"][:8] in run("list").out


def test_standard_input_is_a_source(book: Path) -> None:
    command = [sys.executable, "-m", "bookwheel", "ask", "-", QUESTION, "--model", "scripted", "--quiet"]
    done = subprocess.run(command, input=TEXT, capture_output=True, text=True, check=True)
    assert "Ada Quill" in done.stdout
    piped = subprocess.run([*command[:4], *command[5:]], input=TEXT, capture_output=True, text=True, check=True)
    assert piped.stdout == done.stdout


def test_an_estimate_calls_nothing_and_keeps_nothing(run, book: Path) -> None:
    found = ask(run, book, "--estimate", "--json").json
    steps = ask(run, book, "--json").json["steps"]
    assert found["chunks"] == len(steps)
    assert found["calls"] == len(steps) + 1
    assert found["exact"] is True
    assert len(json.loads(run("list", "--json").out)) == 1
    assert "calls" in ask(run, book, "--estimate").out


def test_a_token_budget_stops_with_code_4_and_resume_goes_on(run, book: Path) -> None:
    stopped = ask(run, book, "--max-tokens-total", "2000", "--json")
    assert (stopped.code, stopped.json["status"], stopped.json["answer"]) == (4, "stopped", None)
    assert 0 < stopped.json["usage"]["prompt_tokens"] + stopped.json["usage"]["completion_tokens"] <= 2000
    again = ask(run, book, "--max-tokens-total", "2000")
    assert again.code == 4
    assert "bookwheel resume" in again.err
    resumed = run("resume", stopped.json["reading"], "--json")
    assert (resumed.code, resumed.json["status"]) == (0, "answered")
    assert resumed.json["steps"][: len(stopped.json["steps"])] == stopped.json["steps"]


def test_edit_forks_at_a_step_and_leaves_the_old_reading(run, book: Path) -> None:
    old = ask(run, book, "--json").json
    edited = run("edit", "last", "--step", "6", "--memory", "The harbour master of Skarholm is Bo Reed.", "--json")
    assert edited.code == 0
    assert "Bo Reed" in edited.json["answer"]
    assert edited.json["reading"] != old["reading"]
    assert edited.json["steps"][:6] == old["steps"][:6]
    assert "edited" in edited.json["steps"][6]["flags"]
    assert run("show", old["reading"], "--json").json == old


def test_edit_opens_the_editor(run, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(run, book)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/Ada Quill/Cy Moss/" "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    step = max(s["index"] for s in run("show", "last", "--json").json["steps"])
    assert "Cy Moss" in run("edit", "last", "--step", step, "--json").json["answer"]


@pytest.mark.parametrize("step", ["-1", "99"])
def test_edit_of_a_step_that_is_not_there_says_which_are(run, book: Path, step: str) -> None:
    ask(run, book)
    ran = run("edit", "last", "--step", step, "--memory", "x")
    assert ran.code == 2
    assert re.search(r"steps 0 to \d+", ran.err)


def test_edit_refuses_a_memory_over_the_limit(run, book: Path) -> None:
    ask(run, book)
    ran = run("edit", "last", "--step", "1", "--memory", "word " * 100)
    assert ran.code == 2
    assert "100 tokens" in ran.err


def test_show_tells_where_each_line_entered(run, book: Path) -> None:
    ask(run, book)
    shown = run("show", "last").out
    assert "where the memory's lines come from" in shown
    start = TEXT.index("The harbour master")
    assert f"characters {start:,}" in shown


def test_show_writes_one_self_contained_page(run, book: Path, tmp_path: Path) -> None:
    ask(run, book)
    page = tmp_path / "timeline.html"
    assert run("show", "last", "--html", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert "Ada Quill" in html
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ask"], "what to read"),
        (["ask", "{book}", ""], "question is empty"),
        (["ask", "{book}", "why " * 2000], "2000 tokens"),
        (["ask", "{dir}/none.txt", QUESTION], "is not there"),
        (["ask", "{dir}/empty.txt", QUESTION], "no text"),
        (["ask", "{dir}/blank", QUESTION], "no text"),
        (["ask", "{dir}/picture.png", QUESTION], "picture.png"),
        (["ask", "{dir}/locked.txt", QUESTION], "may not be read"),
        (["ask", "{book}", QUESTION, "--chunk-tokens", "0"], "--chunk-tokens"),
        (["ask", "{book}", QUESTION, "--layout", "sideways"], "--layout"),
        (["ask", "{book}", QUESTION, "--lang", "xx"], "standard.en"),
        (["ask", "{book}", QUESTION, "--prompts", "{dir}/none.toml"], "cannot be read"),
        (["ask", "{book}", QUESTION, "--preset", "none"], "paper-7b"),
        (["ask", "{book}", QUESTION, "--way", "sequental"], "sequential"),
        (["ask", "{book}", QUESTION, "--max-tokens-total", "0"], "--max-tokens-total"),
        (["ask", "{book}", QUESTION, "--max-cost", "1"], "price"),
        (["ask", "{book}", QUESTION, "--chunk-tokns", "9"], "chunk-tokens"),
        (["resume", "nothing"], "no reading"),
        (["show", "nothing"], "no reading"),
        (["edit", "nothing", "--step", "0", "--memory", "x"], "no reading"),
        (["read", "{book}"], "read"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_bad_input_is_told_on_stderr_with_code_2(run, book: Path, words: list[str], says: str) -> None:
    folder = book.parent
    (folder / "empty.txt").touch()
    (folder / "blank").mkdir()
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    locked = folder / "locked.txt"
    locked.write_text("secret")
    locked.chmod(0)
    if "{dir}/locked.txt" in words and os.access(locked, os.R_OK):
        pytest.skip("this user may read everything")
    words = [word.format(book=book, dir=folder) for word in words]
    ran = run(*words, *(["--model", "scripted"] if words[0] == "ask" else []))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_an_error_in_json_mode_is_one_object_too(run, book: Path) -> None:
    ran = run("ask", book.parent / "none.txt", QUESTION, "--model", "scripted", "--json")
    assert ran.code == 2
    assert set(ran.json) == {"error", "kind"}
    assert run("ask", book, QUESTION, "--json", "--chunk-tokns", "3").json["kind"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--model", "gpt-none"], "--base-url"),
        (["--base-url", "http://127.0.0.1:9/v1", "--model", "m"], "127.0.0.1:9"),
        (["--model", "{dir}/none.gguf"], "none.gguf"),
    ],
)
def test_a_model_that_is_not_there_is_code_3(run, book: Path, more: list[str], says: str) -> None:
    ran = run("ask", book, QUESTION, *(word.format(dir=book.parent) for word in more))
    assert (ran.code, ran.out) == (3, "")
    assert says in ran.err


def test_a_plan_beyond_the_window_says_by_how_much(run, book: Path) -> None:
    weights = os.environ.get("BOOKWHEEL_WEIGHTS", Path.home() / ".cache/bookwheel/SmolLM2-135M-Instruct.Q8_0.gguf")
    if not Path(weights).is_file():
        pytest.skip("the local model's weights are not here")
    ran = run("ask", book, QUESTION, "--chunk-tokens", "9000")
    assert ran.code == 2
    assert re.search(r"window holds 8192: \d+ too many", ran.err)


def test_a_journal_that_cannot_be_written_says_what_to_do(run, book: Path) -> None:
    ran = ask(run, book, "--journal", "/proc/none/journal.sqlite")
    assert ran.code == 2
    assert "--journal" in ran.err


def test_a_read_only_home_says_what_to_do(run, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOOKWHEEL_JOURNAL")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/self")
    ran = ask(run, book)
    assert ran.code == 2
    assert "--journal" in ran.err


def test_a_journal_of_a_newer_schema_is_left_alone(run, book: Path) -> None:
    import sqlite3

    ask(run, book)
    path = Path(os.environ["BOOKWHEEL_JOURNAL"])
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    ran = run("list")
    assert ran.code == 2
    assert "999" in ran.err


def test_doctor_and_models_tell_what_is_here(run, book: Path) -> None:
    findings = run("doctor", "--json").json["findings"]
    assert {"python", "journal", "weights"} <= {finding["what"] for finding in findings}
    assert "scripted" in run("models").out
    assert "paper-7b" in run("models", "--json").json["presets"]
    ill = run("doctor", "--base-url", "http://127.0.0.1:9/v1")
    assert ill.code == 2
    assert "127.0.0.1:9" in ill.out


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
from bookwheel.cli import main
main(sys.argv[1:])
"""


def read_until(process: subprocess.Popen[str], words: str) -> None:
    seen = ""
    while words not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_everything_and_can_be_resumed(run, book: Path, kind: signal.Signals) -> None:
    command = [sys.executable, "-c", HELD, "ask", str(book), QUESTION, "--chunk-tokens", "60", "--memory-tokens", "40"]
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


def test_a_broken_pipe_is_no_traceback(book: Path) -> None:
    command = f"{sys.executable} -m bookwheel ask {book} '{QUESTION}' --model scripted --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_the_command_starts_fast_and_light() -> None:
    code = (
        "import sys, time; began = time.perf_counter(); import bookwheel; took = time.perf_counter() - began; "
        "heavy = {'openai', 'rich', 'tokenizers', 'xllamacpp', 'torch', 'numpy', 'cyclopts'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_secret_reaches_output_or_journal(run, book: Path) -> None:
    secret = "sk-very-secret-key"
    ran = run("ask", book, QUESTION, "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--api-key", secret)
    assert secret not in ran.out + ran.err
    for path in Path(os.environ["BOOKWHEEL_JOURNAL"]).parent.rglob("*"):
        if path.is_file() and stat.S_ISREG(path.stat().st_mode):
            assert secret.encode() not in path.read_bytes()


def test_waiting_for_another_process_is_refused_with_a_reason(run, book: Path) -> None:
    command = [sys.executable, "-c", HELD, "ask", str(book), QUESTION, "--chunk-tokens", "60", "--memory-tokens", "40"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        read_until(process, "chunk 1 ")
        ran = run("resume", "last", "--model", "scripted")
        assert ran.code == 2
        assert "another process" in ran.err
    finally:
        process.kill()
        process.communicate()
