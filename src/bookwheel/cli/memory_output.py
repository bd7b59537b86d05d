"""Print lasting memories: values to stdout, notes to stderr."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from bookwheel.cli.output import EXIT_CODES, print_line, stderr
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.cli.options import OutputOptions
    from bookwheel.memory.asking import DatedQuote, MemoryAnswer

_SIGNS: Final = {"new": "+", "gone": "-", "reworded": "~"}


def print_values(values: Mapping[str, Any], output: OutputOptions, told: str) -> int:
    """Print values as JSON, or what is to be told of them."""
    print_line(json.dumps(values) if output.as_json or output.json_events else sanitize(told))
    return 0


def print_change(values: Mapping[str, Any], output: OutputOptions) -> int:
    """Print what changed in a memory."""
    if output.as_json or output.json_events:
        print_line(json.dumps(values))
        return 0
    if values.get("known"):
        stderr().print(
            Text(f"{sanitize(values['source'])} has said this before; it was not read again", style="yellow")
        )
    if values.get("late"):
        stderr().print(Text("note: texts of a later time were read before this one", style="yellow"))
    for change in values["changes"]:
        print_line(_format_change(change))
    if "steps" in values and not output.quiet:
        told = f"version {values['version']} · {values['steps']} pieces read · {values['tokens']} tokens"
        stderr().print(Text(told, style="dim"))
    if gaps := values.get("gaps"):
        why = ", ".join(sorted({flag for gap in gaps for flag in gap["flags"]}))
        told = f"not taken in whole: {len(gaps)} of {values['steps']} pieces ({why})"
        advice = "; where the memory is full, begin one with more --memory-tokens"
        stderr().print(Text(told + advice, style="bold yellow"))
    return 0


def print_reply(name: str, answer: MemoryAnswer, output: OutputOptions) -> int:
    """Print an answer and return the exit code."""
    from bookwheel.memory.record import answer_to_json
    from bookwheel.views.verdicts import VERDICT_WORDS

    code = EXIT_CODES[answer.status]
    if output.as_json or output.json_events:
        print_line(json.dumps(answer_to_json(name, answer)))
        return code
    console = stderr()
    if code:
        console.print(Text(f"{answer.status}: {sanitize(answer.error)}", style="bold yellow"))
        return code
    print_line(sanitize(answer.answer))
    if output.quiet:
        return code
    where = "from the memory" if answer.origin == "memory" else "looked up in the texts"
    verdict = VERDICT_WORDS[answer.verdict] if answer.verdict else "not judged"
    console.print(Text(f"{where} · version {answer.version} · {verdict}", style="dim"))
    for quote in answer.evidence:
        _print_quote("", quote)
    for quote in answer.newer:
        _print_quote("newer: ", quote)
    for quote in answer.superseded:
        _print_quote("superseded: ", quote)
    return code


def _print_quote(label: str, quote: DatedQuote) -> None:
    words = Text(f"    {label}“{sanitize(quote.quote).strip()}”", style="italic")
    stderr().print(words + Text(f"  {sanitize(quote.source)} · {quote.at}", style="dim"))


def print_log(values: Mapping[str, Any], output: OutputOptions) -> int:
    """Print all that happened to a memory."""
    if output.as_json or output.json_events:
        print_line(json.dumps(values))
        return 0
    for version in values["versions"]:
        late = " · late" if version["late"] else ""
        flags = f" · {', '.join(version['flags'])}" if version["flags"] else ""
        print_line(sanitize(f"version {version['version']} · {version['at']} · {version['source']}{late}{flags}"))
        for change in version["changes"]:
            print_line(_format_change(change))
    for answer in values["answers"]:
        print_line(sanitize(f"asked at version {answer['version']}: {answer['question']} → {answer['answer']}"))
    for stone in values["forgotten"]:
        end = stone["ended"] or "not finished: the next command that reads goes on with it"
        print_line(sanitize(f"forgotten · {end} · {', '.join(stone['sources'])}"))
    return 0


def _format_change(change: Mapping[str, Any]) -> str:
    old = f"   (was: {change['old']})" if "old" in change else ""
    return sanitize(f"  {_SIGNS[change['kind']]} {change['text']}{old}")
