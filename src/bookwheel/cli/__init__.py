"""The command line: one module for each command, imported only when that command runs."""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

STDIN: Final = "stdin:"
"""Stands for "-", which the parser would take for an option."""


class Command(NamedTuple):
    """One line of `bookwheel --help`."""

    target: str
    """Module and function below `bookwheel.cli`."""
    arguments: str | None
    """For the usage line; None where the target is an App, which has its own."""
    about: str


COMMANDS: Final = {
    "ask": Command("ask:ask", '[SOURCE...] "QUESTION"', "Read documents and answer a question."),
    "list": Command("history:list_readings", "", "List the readings in the journal, newest first."),
    "show": Command("history:show", "READING", "Show how the memory changed at each step of a reading."),
    "resume": Command("resume:resume", "READING", "Continue a reading that did not finish."),
    "edit": Command("resume:edit", "READING --step K", "Change the memory after a step and read on from there."),
    "data": Command("data:app", None, "Generate samples for evaluation and training, or filter them."),
    "eval": Command("eval:evaluate", "[SETTINGS]", "Compare ways of reading, models, tasks and document lengths."),
    "train": Command("train:train", "PRESET|FILE.toml", "Train a model: supervised warm start, then RL."),
    "serve": Command("serve:serve", "", "Serve an OpenAI-compatible API, an HTTP API and a web page."),
    "mcp": Command("mcp:mcp", "", "Serve readings as tools over the Model Context Protocol."),
    "models": Command("models:models", "", "List the models and plans available here."),
    "doctor": Command("doctor:doctor", "", "Check this installation and say how to fix what is wrong."),
}


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit.

    Exit codes: 0 answered, 2 bad usage or input, 3 the model failed, 4 stopped by a budget, 130 interrupted.
    """
    from cyclopts import App, CycloptsError, Parameter

    from bookwheel.cli.output import print_error
    from bookwheel.errors import BookwheelError

    app = App(
        name="bookwheel",
        help="Answer questions about documents of any length with a model whose window is small.",
        version=_find_version,
        default_parameter=Parameter(show_default=_format_default),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        help_on_error=False,
        suppress_keyboard_interrupt=False,
    )
    words = [STDIN if word == "-" else word for word in (sys.argv[1:] if arguments is None else arguments)]
    for order, (name, command) in enumerate(COMMANDS.items()):
        # Without `help`, the command's docstring is its help; with it, `bookwheel --help` imports no command.
        settings: dict[str, Any] = {} if words[:1] == [name] else {"help": command.about}
        if command.arguments is not None:
            settings["usage"] = " ".join(filter(None, ("Usage: bookwheel", name, command.arguments, "[OPTIONS]")))
        app.command(f"bookwheel.cli.{command.target}", name=name, sort_key=order, **settings)
    try:
        sys.exit(app(words))
    except (CycloptsError, BookwheelError) as error:
        sys.exit(print_error(error, as_json="--json" in words))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)


def _find_version() -> str:
    from importlib.metadata import version

    return version("bookwheel")


def _format_default(value: Any) -> str | None:
    """Return the default for the help text, or None where showing it says nothing."""
    return None if value is None or value is False or value == () else str(value)
