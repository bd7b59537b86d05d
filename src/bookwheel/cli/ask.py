"""`bookwheel ask SOURCE... "QUESTION"`: read and answer."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bookwheel.cli import STDIN
from bookwheel.cli.options import ReadingOptions
from bookwheel.errors import InputError, QuestionError

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.estimate import CostEstimate


def ask(
    *words: str,
    options: ReadingOptions | None = None,
    estimate: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Read documents from beginning to end and answer a question.

    The answer goes to standard output, progress and notes to standard error. Every step is kept in the journal, so an
    interrupted reading can be resumed.

    Parameters
    ----------
    words
        What to read, then the question in quotes. Sources are files (txt, md, html, pdf, docx, epub, code), folders,
        URLs, or "-" for standard input. Piped text needs no "-".
    estimate
        Print how many calls and tokens the reading would take, and stop.

    """
    from bookwheel.cli.runner import run_command

    sources, question = _split_words(words)
    return run_command(_ask(sources, question, options or ReadingOptions(), only_estimate=estimate))


def _split_words(words: tuple[str, ...]) -> tuple[list[str], str]:
    """Return the sources and the question. Piped input is the source if no other is named."""
    if not words:
        raise InputError('say what to read and what to ask: bookwheel ask FILE "QUESTION"')
    *sources, question = ("-" if word == STDIN else word for word in words)
    if not sources:
        if sys.stdin.isatty():
            raise InputError(f'nothing to read for the question {question!r}: bookwheel ask FILE "QUESTION"')
        sources = ["-"]
    if not all(source.strip() for source in sources):
        # An empty path is the current folder; a shell makes one of an unset variable in quotes.
        raise InputError('a SOURCE is empty; name a file, a folder, a URL or "-"')
    return sources, question


async def _ask(sources: list[str], question: str, options: ReadingOptions, *, only_estimate: bool) -> int:
    from bookwheel.cli.runner import print_warnings, read_to_end
    from bookwheel.reading import runner
    from bookwheel.reading.estimate import estimate_cost
    from bookwheel.reading.ways.registry import load_way
    from bookwheel.text.documents import open_document

    if not question.strip():
        raise QuestionError("the question is empty; ask something about the document")
    way = load_way(options.way)
    document = open_document(sources, stdin=sys.stdin.buffer)
    with options.output.open_journal() as journal:
        model = await options.models.open()
        try:
            plan = options.plan.build(model.plan, options.budget.build())
            kept = await asyncio.to_thread(journal.keep, document)
            print_warnings(document, model, quiet=options.output.quiet)
            # Needed with --quiet too: it refuses what cannot be read before the journal has a reading of it.
            cost = estimate_cost(kept, question, model, plan)
            if only_estimate or not options.output.quiet:
                _print_estimate(cost, model, plan, options, only=only_estimate)
            if only_estimate:
                return 0
            reading = runner.new_reading(kept.info, question, model, plan, options.way)
            journal.begin(reading)
            return await read_to_end(reading, kept, model, journal, options.output, way=way)
        finally:
            await model.aclose()


def _print_estimate(cost: CostEstimate, model: Model, plan: Plan, options: ReadingOptions, *, only: bool) -> None:
    """Print the estimate: to stderr before a reading, to stdout if nothing else was asked for."""
    from rich.text import Text

    from bookwheel.cli.output import print_line, stderr

    if only and options.output.as_json:
        print_line(json.dumps({"model": model.name, "way": options.way, **asdict(cost)}))
        return
    about = "" if cost.exact else "about "
    price = f", at most {cost.cost:.4g} in cost" if cost.cost else ""
    text = (
        f"{about}{cost.chunks} chunks of {plan.chunk_tokens} tokens: {about}{cost.calls} calls, "
        f"at most {cost.prompt_tokens:,} prompt and {cost.completion_tokens:,} reply tokens{price}"
    )
    if only:
        print_line(text)
    else:
        stderr().print(Text(f"{model.name} reads {text}", style="dim"))
