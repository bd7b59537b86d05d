"""Reports from Python: `report` and `matrix` for scripts, `areport` and `amatrix` for async programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bookwheel.arguments import Source, make_blocking, open_source
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.models.base import Model
from bookwheel.reports.matrix import Matrix, list_matrix_blocks, read_matrix
from bookwheel.reports.outline import Outline, parse_outline, propose_outline
from bookwheel.reports.output import check_target, list_blocks, write_blocks
from bookwheel.reports.report import ReportState, WrittenReport, make_report
from bookwheel.session import WayRequest
from bookwheel.tables.api import open_python_session


def find_state(out: str | Path) -> Path:
    """Return the file beside a report that says what it is made of."""
    return Path(out).with_suffix(".report.json")


async def areport(
    sources: Sequence[Source],
    brief: str,
    *,
    outline: str | Outline | None = None,
    out: str | Path | None = None,
    update: bool = False,
    model: str | Model | None = None,
    journal: str | Path | None = None,
    **settings: Any,
) -> WrittenReport:
    """Write a report on documents, each source a document of its own; every sentence names rows that bear it out.

    `outline` is Markdown (`## TITLE` and below it "every …: columns"), else the model proposes it. `out` is written:
    .md, .html or .docx, with a file beside it that says which readings it is made of. With `update`, only documents
    that it does not know are read. The rest is as in `bookwheel.read`.
    """
    if out:
        check_target(Path(out))
    documents = [await run_cancellable(partial(open_source, source)) for source in sources]
    async with open_python_session(model, journal, settings) as (session, _):
        plan = session.build_plan(settings)
        if update and out and find_state(out).exists():
            state = ReportState.load(find_state(out))
        else:
            given = parse_outline(outline) if isinstance(outline, str) else outline
            state = ReportState(brief=brief, outline=given or await propose_outline(brief, session.model, plan))
            state.file = find_state(out) if out else None
        made = await make_report(session, documents, state, plan)
    if out:
        write_blocks(list(list_blocks(made)), out)
    return made


async def amatrix(
    sources: Sequence[Source],
    questions: Sequence[str],
    *,
    out: str | Path | None = None,
    title: str = "Documents by questions",
    update: bool = False,
    way: str = "",
    model: str | Model | None = None,
    journal: str | Path | None = None,
    **settings: Any,
) -> Matrix:
    """Ask every document every question; return the table with a synthesis of each column.

    With `update`, answers that the journal has are taken, and readings that stopped go on.
    """
    if out:
        check_target(Path(out))
    documents = [await run_cancellable(partial(open_source, source)) for source in sources]
    async with open_python_session(model, journal, settings) as (session, _):
        request = WayRequest.from_settings(way, {*settings}, session.configuration)
        plan = session.build_plan(settings)
        made = await read_matrix(session, documents, questions, plan, request, is_update=update)
    if out:
        write_blocks(list(list_matrix_blocks(made, title)), out)
    return made


report = make_blocking(areport, "report")
matrix = make_blocking(amatrix, "matrix")
