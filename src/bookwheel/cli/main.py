"""The command line: finds the command and imports only that command's module."""

import signal
import sys
import threading
import time
from _thread import start_new_thread

from bookwheel.cli import STDIN, UsageError
from bookwheel.cli.commands import Command, find_command, list_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


INTERRUPTED = 130
_MOMENTS = (0.01, 0.3, 0.3, 0.3, 1.0, 1.0)


_ROOT_HELP = """\
Usage: bookwheel COMMAND

Answer questions about documents of any length with a model whose window is small.

Commands:
{commands}

  -h, --help      Show this help; `bookwheel COMMAND --help` and `bookwheel help COMMAND` show a command's.
  -V, --version   Show the version.

Every option is also an environment variable: --chunk-tokens is BOOKWHEEL_CHUNK_TOKENS.
Named endpoints, a default model and templates: bookwheel.toml (docs/configuration.md).

Examples:
  bookwheel ask contract.pdf "When does the lease end?"
  bookwheel ask last "And who signed it?"
  bookwheel show last
"""


def main(arguments: "list[str] | None" = None) -> None:
    """Run one command and exit.

    Exit codes: 0 answered, 2 bad usage or input, 3 the model failed, 4 stopped by a budget, 5 answered with gaps,
    130 interrupted.
    """
    words = [STDIN if word == "-" else word for word in (sys.argv[1:] if arguments is None else arguments)]
    try:
        _take_signals(is_command=arguments is None)
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        code = INTERRUPTED
    except OSError as error:
        code = _report_os_error(error, words)
    except RuntimeError as error:
        if not _is_interrupt(error):
            raise
        code = INTERRUPTED
    if arguments is None:
        # The command is through. While Python ends, it would put back the handlers that just kill.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # An interrupt in code that Python makes, as of a dataclass, would end the process by a signal even now that it
        # is caught, and not with 130. Each new piece of such code lets Python forget it.
        exec("")  # noqa: S102
    sys.exit(code)


def _take_signals(*, is_command: bool) -> None:
    """Make SIGTERM end like Ctrl-C, wherever it comes: with 130 and no traceback."""
    # A test may call from another thread.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if is_command and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if is_command:
            sys.unraisablehook = _interrupt_again


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send an interrupt once more that came where Python can raise nothing, as while an import lets go of its lock."""
    if lost.exc_type is KeyboardInterrupt:
        # Not by `threading`, which waits until the thread runs: the interrupt may come before that, in here again.
        start_new_thread(_send_until_taken, ())
    else:
        sys.__unraisablehook__(lost)


def _send_until_taken() -> None:
    """Send the main thread an interrupt: again where that came just before it began to wait, and did not wake it."""
    for moment in _MOMENTS:
        time.sleep(moment)
        # By now it may have ended, or be in an event loop, which takes the first one for certain.
        if moment != _MOMENTS[0] and signal.getsignal(signal.SIGTERM) is not signal.default_int_handler:
            return
        # What it waits in is interrupted only by a signal of its own.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return True if an interrupt is behind this error: Python 3.11 wraps one that comes while a class is made."""
    return isinstance(error, KeyboardInterrupt) or (error is not None and _is_interrupt(error.__cause__))


def _run(words: "list[str]") -> int:
    """Run the command that the words name and return its exit code."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words or words[0] in {"-h", "--help"}:
        commands = list_commands()
        width = max(map(len, commands))
        lines = "\n".join(f"  {name:{width}}  {command.about}" for name, command in commands.items())
        sys.stdout.write(_ROOT_HELP.format(commands=lines))
        return 0
    if words[0] in {"-V", "--version"}:
        from importlib.metadata import version

        sys.stdout.write(f"{version('bookwheel')}\n")
        return 0
    return _run_plain(words) if _is_plain(words) else _run_command(words)


def _is_plain(words: "list[str]") -> bool:
    """Return True for words that need no parser, whose import takes longer than what they ask for."""
    match words:
        case ["list"] | ["list", "--json"]:
            return not _has_option_variables()
        case ["show", reading]:
            return not reading.startswith("-") and reading != STDIN and not _has_option_variables()
    return False


def _run_plain(words: "list[str]") -> int:
    """List the readings, or show one of them, without the parser."""
    from bookwheel.errors import BookwheelError
    from bookwheel.journal.files import journal_path

    try:
        if words[0] == "list":
            from bookwheel.cli.listing import print_json_list, print_list

            (print_list if words[1:] == [] else print_json_list)(journal_path())
            return 0
        from bookwheel.journal import open_existing

        journal = open_existing(journal_path())
        if journal is None:
            return _run_command(words)  # which says so
        from bookwheel.cli.timeline import show_reading

        with journal:
            show_reading(journal, words[1])
    except BookwheelError as error:
        from bookwheel.cli.output import print_error

        return print_error(error, as_json="--json" in words, command=f"bookwheel {words[0]}")
    return 0


def _has_option_variables() -> bool:
    """Return True if an environment variable sets an option; BOOKWHEEL_JOURNAL needs no parser."""
    import os

    return any(name.startswith("BOOKWHEEL_") and name != "BOOKWHEEL_JOURNAL" for name in os.environ)


def _run_command(words: "list[str]") -> int:
    """Run one command; an error that is meant for the user is printed, not raised."""
    from bookwheel.errors import BookwheelError

    name, command = words[0], None
    try:
        command = find_command(name)
        return _call(name, command, words[1:]) if command else _refuse_command(name)
    except (UsageError, BookwheelError) as error:
        from bookwheel.cli.output import print_error

        title = f"bookwheel {name}" if command else "bookwheel"
        return print_error(error, as_json=bool({"--json", "--json-events"} & set(words)), command=title)


def _call(name: str, command: "Command", words: "list[str]") -> int:
    """Call the command's function, in an event loop if it is async, and return its exit code; or print its help."""
    from bookwheel.cli.commands import CommandGroup, load_target
    from bookwheel.cli.parsing import parse

    target, usage, is_help = load_target(command.target), command.arguments, False
    if {"-h", "--help"} & {*(words[: words.index("--")] if "--" in words else words)}:
        words, is_help = [word for word in words if word not in {"-h", "--help"}], True
    if isinstance(target, CommandGroup):
        if not words:
            from bookwheel.cli.help import print_group_help

            print_group_help(name, target, command.examples)
            return 0
        name, target = f"{name} {words[0]}", target.find(words[0])
        words = words[1:]
    if is_help:
        from bookwheel.cli.help import print_help

        print_help(name, target, usage, command.examples)
        return 0
    positional, options = parse(target, words)
    done = target(*positional, **options)
    if hasattr(done, "send"):
        from bookwheel.cli.runner import run_command

        done = run_command(done)
    return int(done or 0)


def _refuse_command(name: str) -> int:
    """Raise the error for a word that is no command: a near one is suggested, or `ask` if the word is a file."""
    from difflib import get_close_matches
    from pathlib import Path

    from bookwheel.errors import InputError

    commands, name = list_commands(), "-" if name == STDIN else name
    if near := get_close_matches(name, (*commands, "help"), n=1):
        raise InputError(f"no command {name!r}; did you mean {near[0]!r}? See bookwheel --help.")
    if Path(name).exists():
        raise InputError(f'no command {name!r}; to read it: bookwheel ask {name} "QUESTION"')
    raise InputError(f"no command {name!r}; there are: {', '.join(commands)}. See bookwheel --help.")


def _report_os_error(error: OSError, words: "Sequence[str]") -> int:
    """Say which file failed, or that the output cannot be written, as on a full disk, and return the exit code."""
    from contextlib import suppress

    kept = "; what was read is kept: bookwheel list" if {"ask", "resume"} & {*words[:1]} else ""
    with suppress(OSError):
        what = f"{error.filename}" if error.filename else "cannot write the output"
        sys.stderr.write(f"error: {what}: {error.strerror or error}{kept}\n")
        sys.stderr.flush()
    _discard_output()
    return 2


def _discard_output() -> None:
    """Point standard output to nowhere, so that flushing it at exit does not fail again."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
