"""How a command ends: the answer to stdout, everything else to stderr, and the exit code."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from bookwheel.errors import BookwheelError, InputError
from bookwheel.reading.provenance import is_supported
from bookwheel.record import reading_to_json
from bookwheel.text.shield import plain
from bookwheel.types import Flag, Status

if TYPE_CHECKING:
    from bookwheel.types import Evidence, Reading

EXIT_CODES: Final = {Status.ANSWERED: 0, Status.FAILED: 3, Status.STOPPED: 4, Status.CANCELLED: 130}

_UNFOLDED: Final = 10_000


def stderr() -> Console:
    """A console for everything that is not the answer."""
    return _console(stderr=True)


def stdout() -> Console:
    """A console for tables and timelines that were asked for."""
    return _console(stderr=False)


def _console(*, stderr: bool) -> Console:
    """Lines are folded to a terminal's width only; what goes into a pipe or file keeps its lines."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=_UNFOLDED)


def print_error(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong and what to do, and give the exit code."""
    ours = error if isinstance(error, BookwheelError) else None
    advice = "" if ours else "\nSee bookwheel --help."
    stderr().print(Text("error: ", style="bold red") + Text(plain(str(error)) + advice))
    if as_json:
        print(json.dumps({"error": str(error), "kind": type(error).__name__ if ours else "UsageError"}))
    return ours.exit_code if ours else InputError.exit_code


def print_answer(reading: Reading, *, as_json: bool, quiet: bool) -> int:
    """Print how a reading ended, and give the exit code."""
    if as_json:
        print(json.dumps(reading_to_json(reading)))
        return EXIT_CODES[reading.status]
    console = stderr()
    if reading.answer and reading.status is Status.ANSWERED:
        if not quiet:
            console.print(Text("\nanswer", style="bold green"))
        print(plain(reading.answer.text) or "(the model gave no answer)", flush=True)
        for flag in reading.answer.flags:
            console.print(Text(f"note: {_ANSWER_FLAGS.get(flag, flag)}", style="yellow"))
    else:
        console.print(Text(f"{reading.status}: {plain(reading.error)}", style="bold yellow"))
        console.print(Text(f"{len(reading.steps)} steps are kept; go on with: bookwheel resume {reading.id[:8]}"))
    if not quiet:
        _footnotes(console, reading)
    return EXIT_CODES[reading.status]


_ANSWER_FLAGS: Final = {
    Flag.TRUNCATED: "the answer ran into its token limit; raise --answer-tokens",
    Flag.FILTERED: "the server's content filter ended the answer",
    Flag.NO_ANSWER: "the model gave no answer",
    Flag.CLEANED: "special tokens were taken out of the answer",
}


def _footnotes(console: Console, reading: Reading) -> None:
    """What the answer rests on, what it cost and where to look further."""
    if reading.status is Status.ANSWERED:
        if reading.evidence:
            console.print(Text("rests on", style="bold"))
        if reading.answer and not is_supported(reading.answer.text, reading.evidence):
            console.print(Text("not all of this answer was found in the document: check it", style="yellow"))
        for piece in reading.evidence:
            quote = Text(f"  “{plain(piece.quote).strip()}”", style="italic")
            console.print(quote + Text(f"  {_place(piece)}", style="dim"))
    usage = reading.usage
    console.print(
        Text(
            f"{usage.calls} calls · {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens · "
            f"{usage.seconds:.1f} s · bookwheel show {reading.id[:8]}",
            style="dim",
        )
    )


def _place(piece: Evidence) -> str:
    pages = f"p. {', '.join(map(str, piece.pages))} · " if piece.pages else ""
    return f"{pages}characters {piece.start:,}–{piece.end:,} · step {piece.step}"


def print_line(text: str) -> None:
    """One line of plain output."""
    sys.stdout.write(text + "\n")
