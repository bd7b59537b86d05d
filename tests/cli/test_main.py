"""The command itself: its start, its help."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from bookwheel.cli.commands import list_commands


def loaded_after(code: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('loaded', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stdout.partition("loaded ")[2].split())


def test_the_import_is_light() -> None:
    loaded = loaded_after("import bookwheel")
    assert "bookwheel" in loaded
    assert not loaded & {"openai", "rich", "tokenizers", "xllamacpp", "torch", "numpy", "argparse", "pydantic"}


def test_what_scripts_and_commands_begin_with_loads_no_library_of_http() -> None:
    assert "httpx2" not in loaded_after("import bookwheel.api, bookwheel.models.server_models")


def test_the_help_imports_no_command() -> None:
    main = "from bookwheel.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    loaded = loaded_after(main)
    light = {"cli", "cli.commands", "cli.main", "errors", "lab", "lab.commands", "patterns", "plugins"}
    assert {name for name in loaded if name.startswith("bookwheel.")} == {f"bookwheel.{name}" for name in light}
    assert not loaded & {"argparse", "rich", "json", "pydantic"}


def test_the_help_names_every_command_in_one_line_of_80_columns(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = run("--help")
    assert ran.code == 0
    for name, command in list_commands().items():
        assert any(f" {name} " in line and command.about in line for line in ran.out.splitlines())


@pytest.mark.parametrize(
    "name", ["ask", "list", "show", "resume", "edit", "config", "completion", "serve", "mcp", "models", "doctor"]
)
def test_the_help_of_a_command_is_its_own(run, name: str) -> None:
    ran = run(name, "--help")
    assert ran.code == 0
    usage = " ".join(filter(None, ("Usage: bookwheel", name, list_commands()[name].arguments, "[OPTIONS]")))
    assert ran.out.startswith(usage + "\n")
    assert "[default: None]" not in ran.out
    assert "[default: False]" not in ran.out


def test_the_version_is_the_package_s(run) -> None:
    assert run("--version").out.strip() == version("bookwheel")


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["show", "last"]])
def test_what_needs_no_parser_does_not_wait_for_its_import(ask, words: list[str]) -> None:
    ask()
    loaded = loaded_after(f"from bookwheel.cli.main import main\ntry: main({words})\nexcept SystemExit: pass\nprint()")
    assert "bookwheel.journal" in loaded
    assert not loaded & {"argparse", "bookwheel.cli.options"}
    # What sorts a shelf and reads TOML would be a tenth of `show`.
    assert not loaded & {"bookwheel.journal.shelf", "tomllib"}


def test_an_option_in_the_place_of_a_reading_is_no_reading(run, ask) -> None:
    ask()
    ran = run("show", "--chnges")
    assert ran.code == 2
    assert "no reading" not in ran.err
    assert "See bookwheel show --help." in ran.err


def test_an_async_command_has_its_exit_code(run, ask) -> None:
    assert ask("--max-tokens-total", "500").code == 4
    assert run("resume", "last", "--max-tokens-total", "500").code == 4
