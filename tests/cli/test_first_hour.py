"""What a user meets in the first hour: settings files, kept documents, help, completion, structured output."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from bookwheel.cli.commands import list_commands
from bookwheel.configuration import Configuration, find_project_file, load_configuration
from bookwheel.errors import InputError, find_install_command
from bookwheel.journal import Journal
from bookwheel.journal.files import connect, journal_path
from bookwheel.models.scripted import ScriptedModel, keyword_reader


@pytest.fixture
def project(book: Path, monkeypatch: pytest.MonkeyPatch):
    """Work in the book's folder, and write its settings file."""
    monkeypatch.chdir(book.parent)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(book.parent / "config"))
    monkeypatch.delenv("BOOKWHEEL_CONFIG", raising=False)
    return lambda text: Path("bookwheel.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", list_commands())
@pytest.mark.slow
def test_every_help_ends_with_examples_that_are_commands(run, name: str) -> None:
    output = run("help", name).out
    examples = output.partition("Examples:\n")[2].strip().splitlines()
    assert len(examples) == len(list_commands()[name].examples) > 0
    assert all(f"bookwheel {name}" in example and shlex.split(example) for example in examples)


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"], []])
def test_help_has_many_names(run, words: list[str]) -> None:
    ran = run(*words)
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: bookwheel COMMAND" in ran.out


def test_short_options(run, book: Path, question: str) -> None:
    assert run("-V").out == run("--version").out
    assert run("ask", book, question, "-m", "scripted", "-q").err == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["hlep"], "did you mean 'help'"),
        (["akk"], "did you mean 'ask'"),
        (["{book}", "Who?"], 'to read it: bookwheel ask {book} "QUESTION"'),
        (["ask", "{book}", "Who?", "--wy", "x"], "See bookwheel ask --help"),
        (["list", "--limit", "few"], "'few' is not a whole number\nSee bookwheel list --help"),
        (["edit", "last", "--step", "0", "--memory", ""], "--memory"),
        (["ask", "{book}", "Who?", "--temperature", "9"], "--temperature"),
        (["ask", "{book}", "Who?", "--model", "scripted", "--base-url", "http://h/v1"], "leave out one of"),
        (["list", "--journal", "{dir}/typo.sqlite"], "there is no journal"),
        (["show", "last", "--journal", "{dir}/typo.sqlite"], "there is no journal"),
        (["ask", "abcdef12", "Who?", "--model", "scripted"], "abcdef12 is no file here"),
        (["ask", "{book}", "--template", "none"], "no template 'none'"),
        (["ask", "{book}", "Who?", "--fill", "a=b"], "--fill needs a template"),
        (["ask", "{book}", "Who?", "--schema", "{dir}/none.json"], "none.json cannot be read"),
        (["completion", "tcsh"], '"bash", "zsh", "fish"'),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_an_error_names_what_was_typed_and_the_way_out(run, book: Path, words: list[str], says: str) -> None:
    ran = run(*(word.format(book=book, dir=book.parent) for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert says.format(book=book) in ran.err
    assert not (book.parent / "typo.sqlite").exists()


@pytest.mark.slow
def test_ask_goes_on_with_a_kept_document_and_its_model(run, book: Path, ask, question: str) -> None:
    first = ask("--json").json
    book.unlink()
    again = run("ask", "last", "What do the gulls do?", "--json").json
    assert (again["document"], again["model"]) == (first["document"], "scripted")
    assert run("ask", first["reading"][:6], question, "-q").out == "The harbour master of Skarholm is Ada Quill.\n"


@pytest.mark.slow
def test_a_file_outranks_a_reading_of_that_name(run, book: Path, ask, monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    monkeypatch.chdir(book.parent)
    Path("last").write_text("The cook of Skarholm is Bo Reed. " * 9)
    assert "Bo Reed" in run("ask", "last", "Who is the cook of Skarholm?", "-m", "scripted", "-q").out


def test_the_printed_command_goes_on_as_printed(run, book: Path, question: str) -> None:
    journal = book.parent / "my journal"
    stopped = run("ask", book, question, "--model", "scripted", "--chunk-tokens", "100", "--memory-tokens", "40",
                  "--max-tokens-total", "2000", "--journal", journal)  # fmt: skip
    assert stopped.code == 4
    command = stopped.err.partition("continue with: bookwheel ")[2].splitlines()[0]
    assert run(*shlex.split(command)).out == "The harbour master of Skarholm is Ada Quill.\n"


def test_an_endpoint_s_reading_goes_on_without_its_address_and_the_key_is_nowhere(run, book: Path, question, project):
    project('[endpoints.tower]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\nkey_variable = "TOWER_KEY"\nwindow = 99999')
    missing = run("ask", book, question, "--model", "tower")
    assert (missing.code, missing.out) == (2, "")
    assert "TOWER_KEY, which is not set" in missing.err


def test_settings_files_set_the_default_and_options_go_on_top(run, book: Path, question: str, project) -> None:
    project('model = "scripted"\n[plan]\nchunk_tokens = 90\nmemory_tokens = 50')
    plan = run("ask", book, question, "--json", "--memory-tokens", "40").json["plan"]
    assert (plan["chunk_tokens"], plan["memory_tokens"]) == (90, 40)


def test_an_environment_variable_outranks_a_file_and_is_named_in_errors(run, book, question, project, monkeypatch):
    project('model = "scripted"\n[plan]\nchunk_tokens = 90')
    monkeypatch.setenv("BOOKWHEEL_CHUNK_TOKENS", "80")
    assert run("ask", book, question, "--json").json["plan"]["chunk_tokens"] == 80
    monkeypatch.setenv("BOOKWHEEL_CHUNK_TOKENS", "many")
    ran = run("ask", book, question)
    assert ran.code == 2
    assert "BOOKWHEEL_CHUNK_TOKENS: 'many'" in ran.err


def test_templates_ask_what_is_asked_often(run, book: Path, project) -> None:
    project('model = "scripted"\n[templates]\nwho = "Who is the {role} of {place}?"')
    ran = run("ask", book, "--template", "who", "--fill", "role=harbour master", "--fill", "place=Skarholm", "-q")
    assert ran.out == "The harbour master of Skarholm is Ada Quill.\n"
    assert "needs --fill place=TEXT" in run("ask", book, "--template", "who", "--fill", "role=x").err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model = 7", "model must be text, not 7"),
        ("[endpoints.tower]", "endpoints.tower.url is missing"),
        ('[endpoints.tower]\nurl = "tower"', "endpoints.tower.url must be a web address"),
        ('[endpoints.tower]\nurl = "http://me:secret@tower/v1"', "must hold no password"),
        ('[endpoints.tower]\nurl = "http://tower"\nkey_variable = "sk-12-ab"', "name of an environment variable"),
        ('[endpoints.tower]\nurl = "http://tower"\nkey = "sk"', "unknown setting 'key' in [endpoints.tower]"),
        ('[endpoints.tower]\nurl = "http://tower"\nprice_in = -1', "price_in must be at least 0"),
        ('[endpoints.local]\nurl = "http://tower"', "endpoints.local: the name is taken"),
        ("[plan]\nchunk_token = 9", "unknown setting 'chunk_token' in [plan]; did you mean 'chunk_tokens'"),
        ("[plan]\nchunk_tokens = 1", "plan.chunk_tokens must be at least 8, not 1"),
        ('preset = "none"', "preset must be one of"),
        ("model =", "is no TOML"),
    ],
)
def test_a_wrong_setting_names_file_key_and_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        Configuration.from_toml(text, Path("my.toml"))
    assert str(caught.value).startswith("my.toml")
    assert says in str(caught.value)


def test_the_project_s_file_is_found_above_only_inside_a_repository(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "bookwheel.toml").touch()
    assert find_project_file(deep) is None
    (tmp_path / ".git").mkdir()
    assert find_project_file(deep) == tmp_path / "bookwheel.toml"


def test_the_project_s_settings_go_on_top_of_the_user_s(project, tmp_path: Path, monkeypatch) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('model = "local"\nway = "whole"\n[plan]\nchunk_tokens = 90\nmemory_tokens = 60')
    monkeypatch.setenv("BOOKWHEEL_CONFIG", str(mine))
    project('model = "scripted"\n[plan]\nchunk_tokens = 80')
    settings = load_configuration()
    assert (settings.model, settings.way, settings.plan) == (
        "scripted",
        "whole",
        {"chunk_tokens": 80, "memory_tokens": 60},
    )
    monkeypatch.setenv("BOOKWHEEL_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="does not exist"):
        load_configuration()


def test_events_are_lines_of_json_from_begin_to_end(book: Path, ask) -> None:
    events = [json.loads(line) for line in ask("--json-events").out.splitlines()]
    assert [event["event"] for event in events] == ["reading", *["step"] * (len(events) - 2), "end"]
    assert [event["index"] for event in events[1:-1]] == list(range(len(events) - 2))
    assert "Ada Quill" in events[-1]["answer"]
    assert events[-1]["evidence"]
    assert not any("before" in event for event in events)


def test_the_events_of_a_stored_reading_are_those_of_its_end_and_steps(book: Path, ask, run) -> None:
    whole = json.loads(ask("--json").out)
    events = [json.loads(line) for line in run("show", "last", "--follow", "--json-events").out.splitlines()]
    steps = [{name: value for name, value in event.items() if name != "event"} for event in events[1:-1]]
    assert steps == whole["steps"]
    assert events[-1] == {"event": "end", **{name: value for name, value in whole.items() if name != "steps"}}


def test_show_as_markdown_escapes_what_documents_say(run, book: Path, question: str, tmp_path: Path) -> None:
    book.write_text("The harbour master of Skarholm is <b>Ada</b> [Quill](x). " * 3)
    run("ask", book, question, "--model", "scripted")
    run("show", "last", "--markdown", tmp_path / "out.md")
    text = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {question}\n")
    assert "\\<b\\>Ada\\</b\\> \\[Quill\\](x)" in text
    assert run("show", "last", "--markdown", "-").out == text


def test_follow_shows_a_finished_reading_and_ends(run, book: Path, ask) -> None:
    steps = len(ask("--json").json["steps"])
    ran = run("show", "last", "--follow")
    assert ran.code == 0
    assert ran.out.count("chunk ") == steps
    assert "Ada Quill" in ran.out


def test_follow_does_not_wait_for_a_reading_whose_process_was_killed(run, book: Path, ask, monkeypatch) -> None:
    from bookwheel.cli import history

    monkeypatch.setattr(history, "_FOLLOW_SECONDS", 0.001)
    ask()
    connection = connect(journal_path())
    connection.execute("UPDATE readings SET status = 'reading'")
    connection.close()
    assert run("show", "last", "--follow").code == 0


@pytest.mark.slow
def test_a_document_that_fits_the_window_is_read_in_one_call_and_the_output_says_so(
    run, book: Path, question: str, monkeypatch
) -> None:
    from bookwheel.models import registry

    async def wide(*_names, **_settings):
        return ScriptedModel(keyword_reader, window=8192)

    monkeypatch.setattr(registry, "open_model", wide)
    ran = run("ask", book, question)
    assert "the whole document in one call (the document fits the window of 8192 tokens)" in ran.err
    assert run("show", "last", "--json").json["way"] == "whole"
    assert run("ask", book, question, "--chunk-tokens", "100", "--json").json["way"] == "sequential"
    assert run("ask", book, question, "--way", "sequential", "--json").json["way"] == "sequential"
    found = run("ask", book, question, "--estimate", "--json").json
    assert (found["way"], found["calls"]) == ("whole", 1)


@pytest.mark.slow
def test_costs_are_listed_where_there_are_any(run, ask) -> None:
    ask("-q")
    assert "cost" not in run("list").out
    priced = ask("-q", "--price-in", "1000000", "--json").json
    assert priced["cost"] == priced["usage"]["prompt_tokens"]
    assert f"{priced['cost']:.4g}" in run("list").out


def test_the_list_is_read_from_any_journal_and_searched(run, book: Path, ask) -> None:
    ask("-q")
    with Journal(journal_path()) as journal:
        assert len(journal.readings(search="skarholm")) == 1
    assert "book.txt" in run("list", "--search", "skarholm").out
    assert "no reading has 'zebra' in it" in run("list", "--search", "zebra").err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_under_the_output_is_a_sentence() -> None:
    command = [sys.executable, "-m", "bookwheel", "--help"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_an_error_of_a_file_names_the_file(monkeypatch, capsys) -> None:
    def fail(_words: object) -> int:
        raise PermissionError(13, "Permission denied", "book.txt")

    monkeypatch.setattr("bookwheel.cli.main._run", fail)
    monkeypatch.setattr("bookwheel.cli.main._discard_output", lambda: None)
    from bookwheel.cli.main import main

    with pytest.raises(SystemExit, match="2"):
        main(["ask"])
    assert capsys.readouterr().err == "error: book.txt: Permission denied; what was read is kept: bookwheel list\n"


@pytest.mark.parametrize(
    ("words", "missing", "extra"),
    [
        (["serve"], "sse_starlette", "serve"),
        (["mcp"], "mcp", "mcp"),
        (["models", "--fetch"], "xllamacpp", "local"),
        (["ask", "{book}", "Who?"], "xllamacpp", "local"),
    ],
)
def test_a_missing_extra_is_named_before_anything_is_fetched(
    run, book: Path, words: list[str], missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(book.parent / "cache"))
    ran = run(*(word.format(book=book) for word in words))
    assert ran.code == 2
    assert find_install_command(extra) in ran.err
    assert not list((book.parent / "cache").rglob("*.gguf"))


_ZSH: Final = r"""
zmodload zsh/zpty
zpty shell 'zsh -f -i'
typing() { zpty -w -n shell "$1"; wait_for "$2" }
wait_for() { local out all; repeat 300; do zpty -r -t shell out && all+=$out; [[ $all == *$1* ]] && return; sleep 0.1; done; exit 1 }
zpty -w shell 'autoload -Uz compinit; compinit -u -D; PS1=; LOAD; echo READ''Y'
wait_for READY
typing $'bookwheel calib\t' 'calibrate'
typing $' --rec\t' '--recall'
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
@pytest.mark.parametrize("load", ["source FOLDER/_bookwheel", "fpath=(FOLDER $fpath); compinit -u -D"])
def test_zsh_completes_commands_and_options(run, tmp_path: Path, load: str) -> None:
    (tmp_path / "_bookwheel").write_text(run("completion", "zsh").out)
    script = _ZSH.replace("LOAD", load.replace("FOLDER", str(tmp_path)))
    subprocess.run(["zsh", "-f", "-c", script], check=True, timeout=60, env={**os.environ, "TERM": "xterm"})


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [("ask ''", ""), ("collect --out ''", ""), ("ask --chu", "--chunk-tokens"), ("completion ''", "bash zsh fish")],
)
def test_bash_completes_options_after_a_hyphen_and_leaves_files_to_the_shell(run, words: str, offered: str) -> None:
    count = len(words.split())
    lines = [run("completion", "bash").out, f"COMP_WORDS=(bookwheel {words})", f"COMP_CWORD={count}"]
    script = "\n".join((*lines, "_bookwheel", 'echo "${COMPREPLY[*]}"'))
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == offered


@pytest.mark.parametrize("shell", ["bash", *(pytest.param(name, marks=pytest.mark.slow) for name in ("zsh", "fish"))])
@pytest.mark.slow
def test_the_completion_script_knows_the_commands_and_is_valid(run, shell: str, tmp_path: Path) -> None:
    script = run("completion", shell).out
    assert all(name in script for name in ("resume", "chunk-tokens", "json-events"))
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True, env={**os.environ})
