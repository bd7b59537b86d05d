"""`bookwheel report SOURCE... "BRIEF"`: a report whose every sentence names its sources, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.cli.ask import open_sources, read_questions, split_words
from bookwheel.cli.options import OutPath, OutputOptions, ReadingOptions, define_options
from bookwheel.cli.output import INCOMPLETE, print_line, print_note, print_notes
from bookwheel.errors import InputError
from bookwheel.plan import Plan

if TYPE_CHECKING:
    from bookwheel.reports.matrix import Matrix
    from bookwheel.reports.output import Block
    from bookwheel.reports.report import ReportState
    from bookwheel.session import Session


@define_options("Report")
class ReportOptions:
    """The report's outline, and what becomes of it."""

    out: OutPath = Path("report.md")
    "The report to write: .md, .html or .docx. A file beside it, .report.json, says which readings it is made of."
    outline: Path | None = None
    "A Markdown file with the outline: `## TITLE`, and below it which rows the section is written from."
    outline_only: bool = False
    "Write the outline that the model proposes beside the report, and stop; edit it, and give it with --outline."
    update: bool = False
    "Read only documents that the report does not know yet, and write it anew; with --matrix, take answers of before."
    matrix: Path | None = None
    "A file of questions, one a line: a table of documents by questions, with a synthesis of each column."


async def report(
    *words: str, wanted: ReportOptions = ReportOptions(), options: ReadingOptions = ReadingOptions()
) -> int:
    """Read documents from beginning to end and write a report; every sentence names the words that it rests on.

    Each section is written from rows that are collected for it. A sentence that its rows do not bear out is left out
    and listed; one in other words than theirs is marked, and listed with the passage. The last section says which
    parts of the documents the report rests on, and which were not read.

    Parameters
    ----------
    words
        What to read, each source a document of its own, then what the report is to say.

    """
    from bookwheel.reports.matrix import read_matrix
    from bookwheel.reports.output import check_target, list_blocks
    from bookwheel.reports.report import make_report
    from bookwheel.session import WayRequest

    sources, brief = split_words(words, 'bookwheel report FILE "BRIEF"')
    check_target(wanted.out)
    if options.way and not wanted.matrix:
        raise InputError("a report has a way of its own: leave out --way, which is for --matrix")
    questions = read_questions(wanted.matrix) if wanted.matrix else []
    documents = [await open_sources([source], options.output) for source in sources]
    with options.output.open_journal() as journal:
        async with options.models.open_session(journal) as session:
            plan = session.build_plan(options.given)
            if questions:
                request = WayRequest.from_settings(options.way, options.given, session.configuration)
                table = await read_matrix(session, documents, questions, plan, request, is_update=wanted.update)
                return _show_matrix(table, brief, wanted.out, options.output)
            state = await _find_state(session, brief, wanted, plan)
            if wanted.outline_only:
                return 0
            made = await make_report(session, documents, state, plan)
    unread = [one for one in made.coverage if one.unread]
    notes = [
        f"{sum(len(one.sentences) for one in made.sections)} sentences, {len(made.sources)} sources",
        *_describe_sentences(made.marked, made.left_out),
        *(f"{one.name}: {one.unread:,} of {one.length:,} characters were not read" for one in unread),
        *made.notes,
    ]
    _write(list_blocks(made), wanted.out, notes, options.output)
    return INCOMPLETE if made.marked or made.left_out or unread else 0


def _show_matrix(matrix: Matrix, brief: str, out: Path, output: OutputOptions) -> int:
    """Write a matrix, and tell what of it needs a look; return the exit code."""
    from bookwheel.reports.matrix import list_matrix_blocks

    sentences = [one for some in matrix.syntheses for one in some]
    marked, left_out = sum(one.is_marked for one in sentences), sum(not one.is_kept for one in sentences)
    unread = [f"{one.document.name}: {one.question} ({one.error or one.status})" for one in matrix.unread]
    notes = [*_describe_sentences(marked, left_out), *(f"not read to its end: {one}" for one in unread)]
    _write(list_matrix_blocks(matrix, brief), out, notes, output)
    return INCOMPLETE if notes else 0


def _write(blocks: Iterable[Block], out: Path, notes: Sequence[str], output: OutputOptions) -> None:
    from bookwheel.reports.output import write_blocks

    write_blocks(list(blocks), out)
    print_line(str(out))
    print_notes(notes, output)


async def _find_state(session: Session, brief: str, wanted: ReportOptions, plan: Plan) -> ReportState:
    """Return what the report is made of: as it was, by the outline that is given, or by one that is proposed."""
    from bookwheel.reports.api import find_state
    from bookwheel.reports.outline import load_outline, propose_outline
    from bookwheel.reports.report import ReportState

    file = find_state(wanted.out)
    if file.exists() and wanted.update:
        return ReportState.load(file)
    if wanted.outline:
        return ReportState(brief=brief, outline=load_outline(wanted.outline), file=file)
    outline = await propose_outline(brief, session.model, plan)
    shown = wanted.out.with_suffix(".outline.md")
    shown.write_text(outline.to_markdown(), encoding="utf-8")
    print_note(f"outline, in {shown}:\n\n{outline.to_markdown()}")
    return ReportState(brief=brief, outline=outline, file=file)


def _describe_sentences(marked: int, left_out: int) -> list[str]:
    return [
        *([f"{marked} sentences, marked ≈, say their sources in other words: compare them"] if marked else []),
        *([f"{left_out} sentences were left out: no row bears them out"] if left_out else []),
    ]
