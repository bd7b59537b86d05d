"""The command line: `bookwheel ask SOURCE... "QUESTION"` and what goes with it."""

from __future__ import annotations

import sys
from importlib.metadata import version

STDIN = "stdin:"
"""Stands for "-", which the parser would take for an option."""
COMMANDS = {
    "ask": ("ask:ask", 'SOURCE... "QUESTION": read and answer'),
    "list": ("history:list_readings", "the journal, newest first"),
    "show": ("history:show", "READING: its timeline, each step's changes, where every line came from"),
    "resume": ("resume:resume", "READING: go on after a crash, a kill, an interrupt or a budget"),
    "edit": ("resume:edit", "READING --step K: change the memory by hand and read on from there"),
    "data": ("data:app", "make samples for any task and length, or drop those that need no document"),
    "eval": ("eval:evaluate", "ways of reading x models x tasks x lengths: measured, reported, compared"),
    "train": ("train:train", "PRESET or FILE.toml: a supervised warm start, then reinforcement learning"),
    "serve": ("serve:serve", "an OpenAI-compatible server with readings over HTTP and a page"),
    "mcp": ("mcp:mcp", "readings as tools for programs that speak the Model Context Protocol"),
    "models": ("models:models", "what can read here"),
    "doctor": ("doctor:doctor", "what is wrong here, and how to mend it"),
}


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit: 0 answered, 2 bad input, 3 the model failed, 4 a budget, 130 interrupted."""
    from cyclopts import App, CycloptsError

    from bookwheel.cli.output import print_error
    from bookwheel.errors import BookwheelError

    app = App(
        name="bookwheel",
        help="Read documents of any length with a model of any window, past one small memory.",
        version=version("bookwheel"),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        help_on_error=False,
        suppress_keyboard_interrupt=False,
    )
    for order, (name, (place, about)) in enumerate(COMMANDS.items()):
        app.command(f"bookwheel.cli.{place}", name=name, help=about, sort_key=order)
    given = [STDIN if word == "-" else word for word in (sys.argv[1:] if arguments is None else arguments)]
    try:
        sys.exit(app(given))
    except (CycloptsError, BookwheelError) as error:
        sys.exit(print_error(error, as_json="--json" in given))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
