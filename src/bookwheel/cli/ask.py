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
    """Read the sources from beginning to end and answer the question.

    Parameters
    ----------
    words
        SOURCE... "QUESTION": files (txt, md, html, pdf, docx, epub, code), folders, URLs or "-" for standard input;
        the last word is the question.
    estimate
        Only print how many calls and tokens the reading would take.

    """
    from bookwheel.cli.running import run

    sources, question = _divide(words)
    return run(_ask(sources, question, options or ReadingOptions(), only_estimate=estimate))


def _divide(words: tuple[str, ...]) -> tuple[list[str], str]:
    """Sources and question; what is piped in is the source when no other is named."""
    if not words:
        raise InputError('say what to read and what to ask: bookwheel ask FILE "QUESTION"')
    *sources, question = ("-" if word == STDIN else word for word in words)
    if not sources:
        if sys.stdin.isatty():
            raise InputError(f'nothing to read for the question {question!r}: bookwheel ask FILE "QUESTION"')
        sources = ["-"]
    return sources, question


async def _ask(sources: list[str], question: str, options: ReadingOptions, *, only_estimate: bool) -> int:
    from bookwheel.cli.running import read_on, warn_about
    from bookwheel.reading import runner
    from bookwheel.reading.estimate import estimate_cost
    from bookwheel.text.documents import open_document

    if not question.strip():
        raise QuestionError("the question is empty; ask something about the document")
    document = open_document(sources, stdin=sys.stdin.buffer)
    with options.output.open_journal() as journal:
        model = await options.models.open()
        try:
            plan = options.plan.upon(model.plan, options.budget.budget)
            kept = await asyncio.to_thread(journal.keep, document)
            warn_about(document, model, quiet=options.output.quiet)
            expected = estimate_cost(kept, question, model, plan)
            if only_estimate or not options.output.quiet:
                _tell(expected, model, plan, options, only=only_estimate)
            if only_estimate:
                return 0
            reading = runner.new_reading(kept.info, question, model, plan, options.way)
            journal.begin(reading)
            return await read_on(reading, kept, model, journal, options.output)
        finally:
            await model.aclose()


def _tell(expected: CostEstimate, model: Model, plan: Plan, options: ReadingOptions, *, only: bool) -> None:
    """The estimate: on stderr before a reading, on stdout when nothing else was asked for."""
    from rich.text import Text

    from bookwheel.cli.output import print_line, stderr

    if only and options.output.as_json:
        print_line(json.dumps({"model": model.name, "way": options.way, **asdict(expected)}))
        return
    about = "" if expected.exact else "about "
    cost = f", at most {expected.cost:.4g} in cost" if expected.cost else ""
    text = (
        f"{about}{expected.chunks} chunks of {plan.chunk_tokens} tokens: {about}{expected.calls} calls, "
        f"at most {expected.prompt_tokens:,} prompt and {expected.completion_tokens:,} reply tokens{cost}"
    )
    if only:
        print_line(text)
    else:
        stderr().print(Text(f"{model.name} reads {text}", style="dim"))
