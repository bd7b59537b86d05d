"""Lines for a terminal and for a pipe."""

from __future__ import annotations

import io

import pytest

from bookwheel.cli.terminal import StyledLine, Terminal, fold, measure

LINE = StyledLine("bold [red] words ", "bold") + StyledLine("and plain ones")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Screen()


def test_a_terminal_has_colour_and_folds_between_words(screen: Screen) -> None:
    Terminal(screen).print(LINE)
    assert screen.getvalue() == "\x1b[1mbold [red] words \x1b[0mand\nplain ones\n"


@pytest.mark.parametrize(
    ("name", "value", "expected"), [("NO_COLOR", "1", "and\nplain"), ("TERM", "dumb", "and plain")]
)
def test_colour_is_left_out_where_it_is_not_wanted(screen, monkeypatch, name, value, expected) -> None:
    monkeypatch.setenv(name, value)
    Terminal(screen).print(LINE)
    assert screen.getvalue() == f"bold [red] words {expected} ones\n"


def test_a_pipe_has_colour_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "")
    pipe = io.StringIO()
    Terminal(pipe).print(LINE)
    assert pipe.getvalue().startswith("\x1b[1m")


def test_a_pipe_has_whole_lines_without_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    pipe = io.StringIO()
    Terminal(pipe).print(LINE, "x" * 500)
    assert pipe.getvalue() == f"{LINE}\n{'x' * 500}\n"


def test_wide_signs_take_two_columns() -> None:
    assert measure("灯塔 é") == 6
    assert "".join(text for text, _ in fold([("灯塔 灯塔", "")], 8)) == "灯塔\n灯塔"
    assert "".join(text for text, _ in fold([("灯塔 灯塔", "")], 9)) == "灯塔 灯塔"


def test_rich_takes_a_line_as_its_own(screen: Screen) -> None:
    from rich.console import Console

    Console(file=screen, force_terminal=False, width=80).print(LINE)
    assert screen.getvalue() == f"{LINE}\n"
