"""Print a command's results: the answer to stdout, everything else to stderr; and choose its exit code.

Nothing here draws progress or needs the parser of the command line, so that `bookwheel show` is quick.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final

from bookwheel.cli.terminal import StyledLine, Terminal
from bookwheel.errors import BookwheelError, InputError
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from bookwheel.claims import Evidence
    from bookwheel.cli.options import OutputOptions
    from bookwheel.reading.estimate import CostEstimate
    from bookwheel.session import Prepared
    from bookwheel.types import Answer, Reading, Step, WayChoice

# Keyed by the text of Status and Flag: this module is part of every start, and `--help` needs no types.
EXIT_CODES: Final[Mapping[str, int]] = {"answered": 0, "failed": 3, "stopped": 4, "cancelled": 130}
INCOMPLETE: Final = 5
"""The exit code of what was done and lacks something: a section, a row's proof, an answer of a batch."""
INTERRUPTED: Final = EXIT_CODES["cancelled"]
_ANSWER_NOTES: Final[Mapping[str, str]] = {
    "truncated": "the answer was cut off at its token limit; raise --answer-tokens",
    "filtered": "the server's content filter cut off the answer",
    "no-answer": "the model gave no answer",
    "cleaned": "what was thought aloud, or special tokens, was removed from the answer",
}
_MOST_GAPS: Final = 20
_SIGN_STYLES: Final[Mapping[str, str]] = {"green": "green", "amber": "yellow", "red": "red", "grey": "dim"}
_CHANGE_STYLES: Final[Mapping[str, str]] = {"kept": "", "new": "green", "gone": "red", "reworded": "yellow"}
# Characters of what a step of no chunk says.
_MOST_WORDS: Final = 200


def stderr() -> Terminal:
    """Return where everything but the answer goes."""
    return Terminal(sys.stderr)


def stdout() -> Terminal:
    """Return where tables and timelines go."""
    return Terminal(sys.stdout)


def print_line(text: str) -> None:
    """Write one line to stdout, unformatted."""
    sys.stdout.write(text + "\n")


def print_json(values: Mapping[str, Any] | Sequence[Any]) -> None:
    print_line(json.dumps(values))


def print_event(name: str, values: Mapping[str, Any]) -> None:
    """Print one line of `--json-events`, at once."""
    print(json.dumps({"event": name, **values}), flush=True)


def print_note(text: str, style: str = "yellow") -> None:
    """Print a line to stderr that brackets in it cannot style."""
    stderr().print(StyledLine(sanitize(text), style=style))


def print_notes(notes: Iterable[str], output: OutputOptions) -> None:
    """Print what is to be known of a result, each as a line."""
    for note in () if output.quiet else notes:
        print_note(f"note: {note}")


def print_error(error: Exception, *, as_json: bool, command: str = "bookwheel") -> int:
    """Print the error and return its exit code. Errors of the argument parser point to the command's --help."""
    ours = error if isinstance(error, BookwheelError) else None
    advice = "" if ours else f"\nSee {command} --help."
    stderr().print(StyledLine("error: ", style="bold red") + StyledLine(sanitize(str(error)) + advice))
    if as_json:
        print_json({"error": str(error), "kind": type(error).__name__ if ours else "UsageError"})
    return ours.exit_code if ours else InputError.exit_code


def print_answer(reading: Reading, output: OutputOptions, title: str = "answer") -> int:
    """Print how a reading ended and return the exit code."""
    from bookwheel.record import outcome_to_json, reading_to_json
    from bookwheel.views.verdicts import describe_choice, describe_share

    if output.json_events:
        print_event("end", outcome_to_json(reading))
        return find_exit_code(reading)
    if output.as_json:
        print_json(reading_to_json(reading))
        return find_exit_code(reading)
    if reading.answer and reading.status == "answered":
        _print_text(reading.answer, output, title)
    else:
        print_end(reading, output)
    if reading.steps and "carried" in reading.steps[-1].flags and not output.quiet:
        print_note(f"from the memory of {reading.parent[:8]}; with --reread, the document is read again", style="dim")
    _print_gaps(reading, output)
    for words, style in ((describe_share(reading), "yellow"), (describe_choice(reading), "dim")):
        if words:
            print_note(words, style)
    if not output.quiet:
        if reading.status == "answered":
            print_verdict(stderr(), reading)
        print_note(f"{format_usage(reading)} · bookwheel show {reading.id[:8]}", style="dim")
    return find_exit_code(reading)


def print_end(reading: Reading, output: OutputOptions) -> None:
    """Print why a reading has no answer, and how it goes on."""
    print_note(f"{reading.status}: {reading.error}", style="bold yellow")
    print_note(f"{len(reading.steps)} steps are kept; continue with: {output.format_resume(reading.id)}", style="")


def _print_text(answer: Answer, output: OutputOptions, title: str) -> None:
    from bookwheel.reading.guards import find_working
    from bookwheel.views.verdicts import describe_flags

    if not output.quiet:
        print_note(f"\n{title}", style="bold green")
    print(sanitize(answer.text) or "(the model gave no answer)", flush=True)
    if not output.quiet and (working := find_working(answer)):
        print_note(working, style="dim")
    if answer.passage and not output.quiet:
        print_note(f"passage: {answer.passage}", style="dim")
    for flag in answer.flags:
        if flag in ("unsure", "looked-up", "unseen-pictures"):  # the verdict or a line below says so
            continue
        print_note(f"note: {_ANSWER_NOTES.get(flag) or describe_flags([flag])[0]}")


def find_exit_code(reading: Reading) -> int:
    code = EXIT_CODES[reading.status]
    return INCOMPLETE if code == 0 and reading.gaps else code


def _print_gaps(reading: Reading, output: OutputOptions) -> None:
    """List the sections that were not taken in whole, and say what to do about it."""
    from bookwheel.types import find_gaps
    from bookwheel.views.verdicts import describe_flags, list_cautions

    for caution in list_cautions(reading):
        print_note(f"note: {caution.text}")
    if not (gaps := reading.gaps):
        return
    print_note(f"not taken in whole: {len(gaps)} of {len(reading.steps)} sections", style="bold yellow")
    for step in gaps[:_MOST_GAPS]:
        print_note(f"  {format_place(step)} · {'; '.join(describe_flags(step.flags))}")
    if len(gaps) > _MOST_GAPS:
        print_note(f"  and {len(gaps) - _MOST_GAPS} more; --json lists all")
    if reading.status == "answered" and find_gaps(reading.steps):
        print_note(f"read them again with: {output.format_resume(reading.id)} --flagged", style="")


def print_verdict(console: Terminal, reading: Reading) -> None:
    """Print each sentence of the answer with its verdict and the passages that it rests on."""
    from bookwheel.claims import WORDS, Verdict, choose_sign
    from bookwheel.plan import VerdictMode
    from bookwheel.views.verdicts import describe_claim, describe_judge, describe_verdict

    if reading.verdict is None:
        return
    has_several = len(reading.claims) > 1
    if has_several:
        words = describe_verdict(reading.verdict, reading.answers)
        console.print(StyledLine(words, style=f"bold {_SIGN_STYLES[reading.sign]}"))
    for claim in reading.claims:
        sentence = StyledLine(f"  {sanitize(claim.text)} " if has_several else "")
        style = _SIGN_STYLES[choose_sign(claim.verdict, claim.answers)]
        judge = StyledLine(f" · {sanitize(describe_judge(claim))}" if claim.judge else "", style="dim")
        console.print(sentence + StyledLine(sanitize(describe_claim(claim)), style=style) + judge)
        for number in (*claim.evidence, *claim.against):
            _print_quote(console, reading.evidence[number])
        if claim.verdict is Verdict.ABSENT and (nearest := _find_nearest(reading)):
            console.print(StyledLine(f"    nearest to it: “{sanitize(nearest)}”", style="italic"))
    by_words = [one.verdict for one in reading.claims if one.judge in (None, WORDS)]
    is_open = not {Verdict.PARTLY, Verdict.NOT_FOUND, Verdict.UNCHECKED}.isdisjoint(by_words)
    if is_open and reading.plan.verdict != VerdictMode.MODEL and not _only_quotes(reading):
        advice = f"a model judges it with: bookwheel show {reading.id[:8]} --judge"
        console.print(StyledLine(advice, style="dim"))


def _only_quotes(reading: Reading) -> bool:
    # Prompt sets are files, which `show` of a proved answer does not wait for.
    from bookwheel.reading.prompts import prompts_for

    return prompts_for(reading.plan, reading.question).quotes


def _find_nearest(reading: Reading) -> str:
    """Return the best passage of a memory that holds passages, word for word and one a line."""
    lines = reading.steps[-1].after.text.splitlines() if reading.steps else []
    return lines[0] if lines and reading.way == "quotes" else ""


def _print_quote(console: Terminal, piece: Evidence) -> None:
    from bookwheel.views.verdicts import describe_place

    place = StyledLine(f"  {sanitize(describe_place(piece))}", style="dim")
    console.print(StyledLine(f"    “{sanitize(piece.quote).strip()}”", style="italic") + place)


def format_usage(reading: Reading) -> str:
    """Return calls, tokens, time and, where prices are known, the cost."""
    usage = reading.usage
    cost = "" if reading.cost is None else f" · cost {reading.cost:.4g}"
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    return f"{usage.calls} calls · {tokens} · {usage.seconds:.1f} s{cost}"


def print_estimate(cost: CostEstimate, prepared: Prepared, output: OutputOptions, *, only: bool) -> None:
    """Print the estimate: to stderr before a reading, to stdout if nothing else was asked for."""
    first, choice = prepared.readings[0], prepared.choice
    if only and output.as_json:
        price = {} if first.plan.budget.has_prices else {"cost": None}
        print_json({"model": first.model, "way": choice.way, **asdict(cost), **price})
        return
    text = _describe_estimate(cost, choice, first.plan.chunk_tokens)
    if only:
        print_line(text)
    elif first.steps and not output.is_silent:
        print_note(f"{first.model} asks the memory of {first.parent[:8]} first; else it reads {text}", style="dim")
    elif not output.is_silent:
        print_note(f"{first.model} reads {text}", style="dim")


def _describe_estimate(cost: CostEstimate, choice: WayChoice, chunk_tokens: int) -> str:
    about = "" if cost.exact else "about "
    prompt, reply = cost.prompt_tokens - cost.judge_prompt_tokens, cost.completion_tokens - cost.judge_completion_tokens
    tokens = f"at most {prompt:,} prompt and {reply:,} reply tokens"
    # Few answers have as many sentences as they have room for, so what a judge could take says little of the reading.
    if cost.judge_calls:
        tokens += (
            f"; up to {count(cost.judge_calls, 'short call')} of {cost.judge_prompt_tokens:,} tokens judge the answer"
        )
    price = f", at most {cost.cost:.4g} in cost" if cost.cost else ""
    if cost.of_way == "whole":
        reason = f" ({choice.reason})" if choice.reason else ""
        return f"the whole document in one call{reason}: {tokens}{price}"
    if choice.way == cost.of_way:
        way = ":" if cost.of_way == "sequential" else f" by the way {cost.of_way}:"
    elif choice.way == "auto":
        way = f" by the way {cost.of_way}, which auto chose:"
    else:  # a way of another package says nothing of its cost
        way = f" by the way {choice.way}; the loop would take"
    most = cost.calls - cost.judge_calls
    calls = count(most, "call")
    if cost.least_calls < most:
        calls = f"{cost.least_calls:,} to {calls}"
    chunks = f"{about}{count(cost.chunks, 'chunk')} of {chunk_tokens} tokens"
    return f"{chunks}{way} {about}{calls}, {tokens}{price}"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_step_title(step: Step, of: str = "") -> StyledLine:
    """Return a step as one line: its number, its place in the document, the memory's size, its flags.

    A step of no chunk is named by what it says: the choice of a way, the order of the chunks, the smaller questions.
    """
    if step.chunk.start == step.chunk.end:
        words = shorten(sanitize(step.conversation.reply.text), _MOST_WORDS, placeholder=" …")
        return StyledLine(f"step {step.chunk.index} · {words}", style="bold") + format_flags(step)
    title = f"chunk {step.chunk.index}{of} · {format_place(step)} · memory {step.after.tokens} tokens"
    return StyledLine(title, style="bold") + format_flags(step)


def format_place(step: Step) -> str:
    """Return where a step's chunk is from: its sources, pages and characters."""
    from bookwheel.views.verdicts import describe_pages

    chunk = step.chunk
    source = sanitize(", ".join(chunk.sources[:2]) + (" …" if len(chunk.sources) > 2 else ""))  # noqa: PLR2004
    where = " ".join(filter(None, (source, describe_pages(chunk.pages))))
    return f"{where} · characters {chunk.start:,}–{chunk.end:,}"


def format_flags(step: Step) -> StyledLine:
    """Return what happened at a step, apart from what most steps have."""
    from bookwheel.views.verdicts import describe_flags

    words = describe_flags(flag for flag in step.flags if flag != "unchanged")
    return StyledLine("".join(f" · {one}" for one in words), style="yellow")


def memory_diff(before: str, after: str, *, unchanged: bool = True) -> Iterator[StyledLine]:
    """Draw the memory's lines: `+` new, `-` gone, `~` reworded, the others as they are."""
    from bookwheel.views.diff import diff_memories, find_changes, format_line

    for change in (diff_memories if unchanged else find_changes)(before, after):
        yield StyledLine(sanitize(format_line(change)), style=_CHANGE_STYLES[change.kind])
