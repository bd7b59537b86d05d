"""Print a command's result: the answer to stdout, everything else to stderr; and choose its exit code."""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from bookwheel.errors import BookwheelError, InputError
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.cli.options import OutputOptions
    from bookwheel.types import Evidence, Reading

# Keyed by the text of Status and Flag: this module is part of every start, and `--help` needs no types.
EXIT_CODES: Final[Mapping[str, int]] = {"answered": 0, "failed": 3, "stopped": 4, "cancelled": 130}
ANSWERED_WITH_GAPS: Final = 5
_ANSWER_NOTES: Final[Mapping[str, str]] = {
    "truncated": "the answer was cut off at its token limit; raise --answer-tokens",
    "filtered": "the server's content filter cut off the answer",
    "no-answer": "the model gave no answer",
    "cleaned": "special tokens were removed from the answer",
}

_MOST_GAPS: Final = 20
_VERDICT_STYLES: Final[Mapping[str, str]] = {"found": "green", "not-found": "red"}

# Columns; more than any line of ours has.
_NO_FOLDING: Final = 10_000


class _Console(Console):
    """Leaves a closed pipe to the command's end: Rich would exit with 1, which no table of codes has."""

    def on_broken_pipe(self) -> None:
        """Raise what Rich has caught."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def stderr() -> Console:
    """Return a console for everything but the answer."""
    return _console(stderr=True)


def stdout() -> Console:
    """Return a console for tables and timelines."""
    return _console(stderr=False)


def _console(*, stderr: bool) -> Console:
    console = _Console(stderr=stderr, highlight=False)
    # Rich folds lines at 80 columns in a pipe or file, which breaks `grep`.
    return console if console.is_terminal else _Console(stderr=stderr, highlight=False, width=_NO_FOLDING)


def print_error(error: Exception, *, as_json: bool, command: str = "bookwheel") -> int:
    """Print the error and return its exit code. Errors of the argument parser point to the command's --help."""
    ours = error if isinstance(error, BookwheelError) else None
    advice = "" if ours else f"\nSee {command} --help."
    stderr().print(Text("error: ", style="bold red") + Text(sanitize(str(error)) + advice))
    if as_json:
        print(json.dumps({"error": str(error), "kind": type(error).__name__ if ours else "UsageError"}))
    return ours.exit_code if ours else InputError.exit_code


def print_event(name: str, values: Mapping[str, Any]) -> None:
    """Print one line of `--json-events`, at once."""
    print(json.dumps({"event": name, **values}), flush=True)


def print_answer(reading: Reading, output: OutputOptions) -> int:
    """Print how a reading ended and return the exit code."""
    from bookwheel.record import outcome_to_json, reading_to_json
    from bookwheel.types import Status
    from bookwheel.views.verdicts import describe_choice, describe_share

    code = find_exit_code(reading)
    if output.json_events:
        print_event("end", outcome_to_json(reading))
        return code
    if output.as_json:
        print(json.dumps(reading_to_json(reading)))
        return code
    quiet = output.quiet
    console = stderr()
    if reading.answer and reading.status is Status.ANSWERED:
        if not quiet:
            console.print(Text("\nanswer", style="bold green"))
        print(sanitize(reading.answer.text) or "(the model gave no answer)", flush=True)
        if reading.answer.passage and not quiet:
            console.print(Text(f"passage: {sanitize(reading.answer.passage)}", style="dim"))
        for flag in reading.answer.flags:
            console.print(Text(f"note: {_ANSWER_NOTES.get(flag, flag)}", style="yellow"))
    else:
        console.print(Text(f"{reading.status}: {sanitize(reading.error)}", style="bold yellow"))
        console.print(Text(f"{len(reading.steps)} steps are kept; continue with: {output.format_resume(reading.id)}"))
    _print_gaps(console, reading, output)
    if reading.share_read < 1:
        console.print(Text(describe_share(reading), style="yellow"))
    if choice := describe_choice(reading):
        console.print(Text(sanitize(choice), style="dim"))
    if not quiet:
        _print_footnotes(console, reading)
    return code


def find_exit_code(reading: Reading) -> int:
    """Return the exit code for the way that a reading ended."""
    code = EXIT_CODES[reading.status]
    return ANSWERED_WITH_GAPS if code == 0 and reading.gaps else code


def _print_gaps(console: Console, reading: Reading, output: OutputOptions) -> None:
    """List the sections that were not taken in whole, and say what to do about it."""
    from bookwheel.types import find_gaps
    from bookwheel.views.verdicts import advise_room

    if not (gaps := reading.gaps):
        return
    console.print(Text(f"not taken in whole: {len(gaps)} of {len(reading.steps)} sections", style="bold yellow"))
    for step in gaps[:_MOST_GAPS]:
        pages = f"p. {', '.join(map(str, step.chunk.pages))} · " if step.chunk.pages else ""
        why = ", ".join(step.flags)
        console.print(Text(f"  {pages}characters {step.chunk.start:,}–{step.chunk.end:,} · {why}", style="yellow"))
    if len(gaps) > _MOST_GAPS:
        console.print(Text(f"  and {len(gaps) - _MOST_GAPS} more; --json lists all", style="yellow"))
    if reading.is_overfull:
        console.print(Text(f"the memory was full: {advise_room(reading.plan.memory_tokens)}"))
    if reading.status == "answered" and find_gaps(reading.steps):
        console.print(Text(f"read them again with: {output.format_resume(reading.id)} --flagged"))


def _print_footnotes(console: Console, reading: Reading) -> None:
    """Print the verdict on the answer with its evidence, its cost, and the command that shows more."""
    from bookwheel.types import Status

    if reading.status is Status.ANSWERED:
        print_verdict(console, reading)
    console.print(Text(f"{format_usage(reading)} · bookwheel show {reading.id[:8]}", style="dim"))


def print_verdict(console: Console, reading: Reading) -> None:
    """Print each sentence of the answer with its verdict and the passages that it rests on."""
    from bookwheel.types import Verdict
    from bookwheel.views.verdicts import VERDICT_WORDS, describe_claim

    if reading.verdict is None:
        for piece in reading.evidence:  # of an older reading, which has no verdict
            _print_quote(console, piece)
        return
    style = _VERDICT_STYLES.get(reading.verdict, "yellow")
    if len(reading.claims) > 1:
        console.print(Text(VERDICT_WORDS[reading.verdict], style=f"bold {style}"))
    for claim in reading.claims:
        style = _VERDICT_STYLES.get(claim.verdict, "yellow")
        sentence = Text(f"  {sanitize(claim.text)} " if len(reading.claims) > 1 else "")
        console.print(sentence + Text(sanitize(describe_claim(claim)), style=style))
        for number in claim.evidence:
            _print_quote(console, reading.evidence[number])
        if claim.verdict is Verdict.ABSENT and (nearest := _find_nearest(reading)):
            console.print(Text(f"    nearest to it: “{sanitize(nearest)}”", style="italic"))


def _find_nearest(reading: Reading) -> str:
    """Return the best passage of a memory that holds passages, word for word and one a line."""
    lines = reading.steps[-1].after.text.splitlines() if reading.steps else []
    return lines[0] if lines and reading.way == "quotes" else ""


def _print_quote(console: Console, piece: Evidence) -> None:
    quote = Text(f"    “{sanitize(piece.quote).strip()}”", style="italic")
    console.print(quote + Text(f"  {_format_place(piece)}", style="dim"))


def format_usage(reading: Reading) -> str:
    """Return calls, tokens, time and, where prices are known, the cost."""
    usage = reading.usage
    cost = "" if reading.cost is None else f" · cost {reading.cost:.4g}"
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    return f"{usage.calls} calls · {tokens} · {usage.seconds:.1f} s{cost}"


def _format_place(piece: Evidence) -> str:
    pages = f"p. {', '.join(map(str, piece.pages))} · " if piece.pages else ""
    step = "" if piece.step is None else f" · step {piece.step}"
    return f"{pages}characters {piece.start:,}–{piece.end:,}{step}"


def print_line(text: str) -> None:
    """Write one line to stdout, unformatted."""
    sys.stdout.write(text + "\n")
