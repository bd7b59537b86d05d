"""The command line: `bookwheel ask SOURCE... "QUESTION"` and what goes with it."""

from __future__ import annotations

import sys
from importlib.metadata import version

STDIN = "stdin:"
"""Stands for "-", which the parser would take for an option."""
COMMANDS = {
    "ask": "ask:ask",
    "list": "shelf:list_readings",
    "show": "shelf:show",
    "resume": "resume:resume",
    "edit": "resume:edit",
    "data": "data:app",
    "eval": "eval:evaluate",
    "models": "models:models",
    "doctor": "doctor:doctor",
}


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit: 0 answered, 2 bad input, 3 the model failed, 4 a budget, 130 interrupted."""
    from cyclopts import App, CycloptsError

    from bookwheel.cli.ending import complain
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
    for name, place in COMMANDS.items():
        app.command(f"bookwheel.cli.{place}", name=name)
    given = [STDIN if word == "-" else word for word in (sys.argv[1:] if arguments is None else arguments)]
    try:
        sys.exit(app(given))
    except (CycloptsError, BookwheelError) as error:
        sys.exit(complain(error, as_json="--json" in given))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
