"""`bookwheel ask SOURCE... "QUESTION"`: read and answer."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Group, Parameter

from bookwheel.cli import STDIN
from bookwheel.cli.option_types import FilePath, Text
from bookwheel.cli.options import ReadingOptions, list_given
from bookwheel.configuration import Configuration, load_configuration
from bookwheel.errors import InputError, JournalError, QuestionError, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.cli.options import OutputOptions
    from bookwheel.journal import Journal
    from bookwheel.models.registry import ModelAddress
    from bookwheel.types import Document, Reading

_READING: Final = re.compile(r"last|[0-9a-f]{4,12}")
_QUESTION: Final = Group("Question", sort_key=1)


@Parameter(name="*", group=_QUESTION)
@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The question, and the form of its answer."""

    template: Text | None = None
    "Ask this question of a settings file's [templates]; all arguments are then sources."
    fill: Annotated[tuple[Text, ...], Parameter(negative="", show_default=False)] = ()
    "NAME=TEXT for a {NAME} in the template; can be repeated."
    question: Annotated[tuple[Text, ...], Parameter(negative="", show_default=False)] = ()
    "Another question about the same document, in a reading of its own beside the first; can be repeated."
    questions: FilePath | None = None
    "A file with such questions, one a line."
    copy: Annotated[bool, Parameter(negative="")] = False
    "Copy the answer to the clipboard too."
    schema: FilePath | None = None
    "A file with a JSON Schema; the answer is JSON that fits it."
    estimate: Annotated[bool, Parameter(negative="")] = False
    "Print how many calls and tokens the reading would take, and stop."
    everything: Annotated[bool, Parameter(negative="")] = False
    "Read menus, cookie notices, running titles and page numbers too."

    def list_more(self) -> list[str]:
        """Return the questions beside the first one."""
        from bookwheel.cli.questions import read_questions

        return [*self.question, *(read_questions(self.questions) if self.questions else ())]

    def build(self, words: tuple[str, ...], settings: Configuration) -> tuple[list[str], str]:
        """Return the sources and the question."""
        values = [word.partition("=") for word in self.fill]
        if wrong := [word for word in self.fill if "=" not in word]:
            raise InputError(f"--fill {wrong[0]!r}: write it as NAME=TEXT")
        if self.template is None:
            if self.fill:
                raise InputError("--fill needs a template: --template NAME")
            return split_words(words)
        question = settings.fill_template(self.template, {name: text for name, _, text in values})
        return _find_sources(["-" if word == STDIN else word for word in words], question), question


def ask(*words: str, asking: QuestionOptions | None = None, options: ReadingOptions | None = None) -> int:
    """Read documents from beginning to end and answer a question.

    The answer goes to standard output, progress and notes to standard error. Every step is kept in the journal, so an
    interrupted reading can be resumed.

    Parameters
    ----------
    words
        What to read, then the question in quotes. Sources are files (text, code, HTML, PDF, office files, books,
        email, tables), folders, URLs, or "-" for standard input; piped text needs no "-". "last" or a reading's id
        asks about the document of that reading again, with its model.

    """
    from bookwheel.cli.runner import run_command

    settings = load_configuration()
    asking = asking or QuestionOptions()
    sources, question = asking.build(words, settings)
    return run_command(_ask(sources, question, asking, options or ReadingOptions(), settings))


def split_words(words: tuple[str, ...]) -> tuple[list[str], str]:
    """Return the sources and the question. Piped input is the source if no other is named."""
    if not words:
        raise InputError('say what to read and what to ask: bookwheel ask FILE "QUESTION"')
    *sources, question = ("-" if word == STDIN else word for word in words)
    return _find_sources(sources, question), question


def _find_sources(sources: list[str], question: str) -> list[str]:
    """Return the sources; standard input if none is named and something is piped."""
    if not sources:
        # A question that is a file's name is a document whose question was forgotten, whatever is piped.
        if sys.stdin is None or sys.stdin.isatty() or Path(question).is_file():
            advice = (
                f'bookwheel ask {question} "QUESTION"' if Path(question).exists() else 'bookwheel ask FILE "QUESTION"'
            )
            missing = "no question for the document" if Path(question).exists() else "nothing to read for the question"
            raise InputError(f"{missing} {question!r}: {advice}")
        return ["-"]
    if not all(source.strip() for source in sources):
        # An empty path is the current folder; a shell makes one of an unset variable in quotes.
        raise InputError('a SOURCE is empty; name a file, a folder, a URL or "-"')
    return sources


async def open_sources(sources: list[str], *, everything: bool, is_silent: bool) -> Document:
    """Open the sources, in a thread that Ctrl-C ends at once."""
    from bookwheel.cli.progress import show_opening
    from bookwheel.documents.cancellation import run_cancellable
    from bookwheel.documents.opening import open_document

    stdin = sys.stdin.buffer if sys.stdin else None
    with show_opening(is_silent=is_silent) as progress:
        return await run_cancellable(
            partial(open_document, sources, stdin=stdin, everything=everything, is_cached=True, progress=progress)
        )


async def _ask(
    sources: list[str], question: str, asking: QuestionOptions, options: ReadingOptions, settings: Configuration
) -> int:
    from bookwheel.arguments import build_plan
    from bookwheel.cli.estimate import print_estimate
    from bookwheel.cli.runner import print_warnings, read_to_end
    from bookwheel.reading.structured import load_answer_schema
    from bookwheel.session import WayRequest

    if not question.strip():
        raise QuestionError("the question is empty; ask something about the document")
    if (asking.question or asking.questions) and options.output.json_events:
        raise InputError("--json-events tells of one reading: ask the questions one by one, or take --json")
    given = list_given(options.plan, options.budget)
    request = WayRequest.from_settings(options.way, given, settings)
    schema = load_answer_schema(asking.schema) if asking.schema else None
    old = find_reading_name(sources)
    document = (
        None if old else await open_sources(sources, everything=asking.everything, is_silent=options.output.is_silent)
    )
    with _open_journal(options.output, old) as journal:
        address = options.models.find_address(settings, _find_address(journal, old) if old else None)
        async with options.models.open_session(address, journal) as session:
            plan = replace(build_plan(None, session.model, given, settings, address), schema=schema)
            stored = await session.keep(document) if document else journal.document_of(old)
            print_warnings(document or stored, session.model, options.output)
            prepared = await session.prepare(stored, (question, *asking.list_more()), plan, request)
            # Needed with --quiet too: it refuses what cannot be read before the journal has a reading of it.
            cost = await session.estimate(prepared)
            print_estimate(cost, prepared.choice, session.model, plan, options.output, only=asking.estimate)
            if asking.estimate:
                return 0
            session.begin(prepared.readings)
            code = await read_to_end(session, prepared.readings, stored, prepared.way, options.output)
            if asking.copy:
                _copy_answers([journal.reading(reading.id) for reading in prepared.readings])
            return code


def _copy_answers(readings: Sequence[Reading]) -> None:
    """Put the answers on the clipboard, or say that there is none."""
    from rich.text import Text as Line

    from bookwheel.cli.clipboard import copy_text
    from bookwheel.cli.output import stderr
    from bookwheel.text.sanitize import sanitize

    answers = [sanitize(reading.answer.text) for reading in readings if reading.answer]
    if answers and not copy_text("\n\n".join(answers)):
        stderr().print(Line("note: nothing to copy to: install wl-copy, xclip or xsel", style="yellow"))


def find_reading_name(sources: list[str]) -> str:
    """Return the one source if it names a reading of the journal, else an empty text. A file of that name wins."""
    is_reading = len(sources) == 1 and _READING.fullmatch(sources[0]) and not Path(sources[0]).exists()
    return sources[0] if is_reading else ""


def _open_journal(output: OutputOptions, old: str) -> Journal:
    """Return the journal; with a reading's name, one that is there."""
    if not old:
        return output.open_journal()
    try:
        return output.require_journal(old)
    except JournalError as error:
        raise SourceError(f"{old} is no file here, and {error}") from error


def _find_address(journal: Journal, name: str) -> ModelAddress:
    """Return the address of the model of a reading; SourceError when there is no such reading."""
    try:
        return journal.address_of(name)
    except JournalError as error:
        raise SourceError(f"{name} is no file here, and {error}") from error
