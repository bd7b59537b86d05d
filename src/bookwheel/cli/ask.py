"""`bookwheel ask SOURCE... "QUESTION"`: read and answer."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Final, Literal

from bookwheel.cli import STDIN
from bookwheel.cli.options import OutputOptions, ReadingOptions, Text, Texts, define_options
from bookwheel.configuration import Configuration, load_configuration
from bookwheel.errors import InputError, JournalError, QuestionError, SourceError, explain_failure

if TYPE_CHECKING:
    from bookwheel.documents.opening import SourceDocument
    from bookwheel.session import Prepared, Session

_READING: Final = re.compile(r"last|[0-9a-f]{4,12}")
_USAGE: Final = 'bookwheel ask FILE "QUESTION"'


@define_options("Question")
class QuestionOptions:
    """The question, and the form of its answer."""

    template: Text | None = None
    "Ask this question of a settings file's [templates]; all arguments are then sources."
    fill: Texts = ()
    "NAME=TEXT for a {NAME} in the template; can be repeated."
    question: Texts = ()
    "Another question about the same document, in a reading of its own beside the first; can be repeated."
    questions: Path | None = None
    "A file with such questions, one a line."
    schema: Path | None = None
    "A file with a JSON Schema; the answer is JSON that fits it."
    estimate: bool = False
    "Print how many calls and tokens the reading would take, and stop."
    everything: bool = False
    "Read menus, cookie notices, running titles and page numbers too."
    ocr: Literal["", "rapidocr", "tesseract", "off"] = ""
    "What reads the words in pictures: `rapidocr`, `tesseract` or `off`. Empty: what is installed, in this order."
    reread: bool = False
    "Of a reading's document: read it again, where otherwise the memory of that reading is asked first."

    def build(self, words: tuple[str, ...], settings: Configuration) -> tuple[list[str], list[str]]:
        if wrong := [word for word in self.fill if "=" not in word]:
            raise InputError(f"--fill {wrong[0]!r}: write it as NAME=TEXT")
        if self.template is not None:
            values = [word.partition("=") for word in self.fill]
            question = settings.fill_template(self.template, {name: text for name, _, text in values})
            sources = _find_sources(words, question)
        elif self.fill:
            raise InputError("--fill needs a template: --template NAME")
        elif words and (self.question or self.questions) and _is_path(words[-1]):
            sources, question = list(words), ""
        else:
            sources, question = split_words(words)
        asked = [*self.question, *(read_questions(self.questions) if self.questions else ())]
        return sources, asked if asked and not question else [question, *asked]


async def ask(
    *words: str, asking: QuestionOptions = QuestionOptions(), options: ReadingOptions = ReadingOptions()
) -> int:
    """Read documents from beginning to end and answer a question.

    The answer goes to standard output, progress and notes to standard error. Every step is kept in the journal, so an
    interrupted reading can be resumed.

    Parameters
    ----------
    words
        What to read, then the question in quotes. Sources are files (text, code, HTML, PDF, office files, books,
        email, tables), folders, URLs, or "-" for standard input; piped text needs no "-". "last" or a reading's id
        asks about the document of that reading, with its model: its memory first, and the document where that has no
        answer.

    """
    from bookwheel.cli.last import find_reading_id
    from bookwheel.cli.runner import read_to_end
    from bookwheel.reading.structured import load_answer_schema
    from bookwheel.session import WayRequest

    settings, output = load_configuration(), options.output
    sources, questions = asking.build(words, settings)
    if not questions[0].strip():
        raise QuestionError("the question is empty; ask something about the document")
    if len(questions) > 1 and output.json_events:
        raise InputError("--json-events tells of one reading: ask the questions one by one, or take --json")
    request = WayRequest.from_settings(options.way, options.given, settings)
    schema = load_answer_schema(asking.schema) if asking.schema else None
    old = find_reading_name(sources)
    document = None if old else await open_sources(sources, output, everything=asking.everything, ocr=asking.ocr)
    with _explain_missing(old):
        journal = output.require_journal(old) if old else output.open_journal()
    with journal:
        with _explain_missing(old):
            old = old and find_reading_id(journal, old)
            kept = journal.address_of(old) if old else None
        async with options.models.open_session(journal, kept=kept) as session:
            stored = await session.keep(document) if document else journal.document_of(old)
            plan = replace(session.build_plan(options.given), schema=schema)
            follows = journal.reading(old) if old else None
            finished = None if asking.reread else follows
            prepared = await session.prepare(stored, questions, plan, request, finished=finished, follows=follows)
            await begin_readings(session, prepared, output, only_estimate=asking.estimate)
            if asking.estimate:
                return 0
            return await read_to_end(session, prepared, output)


@contextmanager
def _explain_missing(old: str) -> Iterator[None]:
    """Say of a word that could name a reading that it is no file either."""
    try:
        yield
    except JournalError as error:
        if not old:
            raise
        raise SourceError(f"{old} is no file here, and {error}") from error


def split_words(words: tuple[str, ...], usage: str = _USAGE) -> tuple[list[str], str]:
    """Return the sources and the question, or what takes its place. Piped input is the source if no other is named."""
    if not words:
        raise InputError(f"say what to read and what to ask: {usage}")
    *sources, question = words
    question = "-" if question == STDIN else question
    return _find_sources(sources, question, usage), question


def _find_sources(words: Sequence[str], question: str, usage: str = _USAGE) -> list[str]:
    """Return the sources; standard input if none is named and something is piped."""
    sources = ["-" if word == STDIN else word for word in words]
    if not sources:
        # A question that is a file's name is a document whose question was forgotten, whatever is piped.
        is_there = _is_path(question)
        if sys.stdin is None or sys.stdin.isatty() or (is_there and Path(question).is_file()):
            missing = "no question for the document" if is_there else "nothing to read for the question"
            file = question if is_there else "FILE"
            raise InputError(f"{missing} {shorten(question, 80)!r}: {usage.replace('FILE', file)}")
        return ["-"]
    # A word can be asked about though a folder has its name, but not of a sentence in the place of a file.
    if _is_path(question) and (Path(question).is_file() or any(map(_is_question, sources))):
        raise InputError(f"{shorten(question, 80)!r} is a file or a folder, and what is asked comes last: {usage}")
    if not all(source.strip() for source in sources):
        # An empty path is the current folder; a shell makes one of an unset variable in quotes.
        raise InputError('a SOURCE is empty; name a file, a folder, a URL or "-"')
    return sources


def _is_question(word: str) -> bool:
    return word.strip().endswith(("?", "？")) and not _is_path(word)


def _is_path(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):  # it is longer than a path can be, or has a zero character
        return False


def read_questions(file: Path) -> list[str]:
    """Return the questions of a file, one a line; InputError where there are none."""
    from bookwheel.documents.decoding import read_text

    with explain_failure(file, "read"):
        lines = read_text(file).splitlines()
    if not (questions := [line.strip() for line in lines if line.strip()]):
        raise InputError(f"{file} has no questions: write one a line")
    return questions


def find_reading_name(sources: Sequence[str]) -> str:
    """Return the one source if it names a reading of the journal, else an empty text. A file of that name wins."""
    is_reading = len(sources) == 1 and _READING.fullmatch(sources[0]) and not Path(sources[0]).exists()
    return sources[0] if is_reading else ""


async def open_sources(
    sources: Sequence[str], output: OutputOptions, *, everything: bool = False, ocr: str = ""
) -> SourceDocument:
    """Open the sources, in a thread that Ctrl-C ends at once."""
    from bookwheel.cli.runner import show_opening
    from bookwheel.documents.cancellation import run_cancellable
    from bookwheel.documents.opening import open_document

    stdin = sys.stdin.buffer if sys.stdin else None
    with show_opening(is_silent=output.is_silent) as progress:
        opening = partial(open_document, everything=everything, ocr=ocr, is_cached=True)
        return await run_cancellable(partial(opening, sources, stdin=stdin, progress=progress))


async def begin_readings(session: Session, prepared: Prepared, output: OutputOptions, *, only_estimate: bool) -> None:
    """Print what the readings take, and begin them unless nothing else was asked for."""
    from bookwheel.cli.output import print_estimate
    from bookwheel.cli.runner import print_warnings

    print_warnings(prepared.document, session.model, output)
    # Needed with --quiet too: it refuses what cannot be read before the journal has a reading of it.
    cost = await session.estimate(prepared)
    print_estimate(cost, prepared, output, only=only_estimate)
    if not only_estimate:
        session.begin(prepared.readings)
