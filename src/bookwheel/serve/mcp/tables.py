"""The MCP tools for what readings collect: the rows of a table, the facts of a graph, a report with sources.

The MCP SDK reads the annotations of the tools at run time, so this file does not postpone their evaluation.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context
from pydantic import Field

from bookwheel.claims import Verdict
from bookwheel.graph.api import load_facts
from bookwheel.graph.export import graph_to_json
from bookwheel.graph.facts import build_graph
from bookwheel.reports.matrix import Matrix, matrix_to_json
from bookwheel.reports.outline import parse_outline
from bookwheel.reports.report import WrittenReport
from bookwheel.serve.engine.access import Key
from bookwheel.serve.engine.reports import MatrixOrder, ReportOrder, ServedReports
from bookwheel.serve.engine.running_reading import Caller
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.engine.tables import ask_rows
from bookwheel.serve.mcp.results import ROOM, Json, clean, cut, drop_empty, make_page, measure, show_rows
from bookwheel.serve.mcp.tools import Cursor, ReadingId, WaitSeconds, get_key
from bookwheel.tables.build import load_shown
from bookwheel.tables.way import NAME

_SHOWN_OF_FACTS: Final = ("subject", "relation", "object", "since", "until", "superseded", "quote", "source", "page")
_MOST_BEHIND: Final = 20
Documents = Annotated[list[str], Field(min_length=1, description="Their ids, from `search`.")]


class TableTools:
    """The tools of tables, graphs and reports. The docstring of each is the description that clients see."""

    def __init__(self, service: Service, *, survives_restart: bool) -> None:
        self._service = service
        self._reports = ServedReports(service)
        self._survives_restart = survives_restart

    async def rows(
        self,
        ctx: Context,
        *,
        reading: ReadingId,
        sql: Annotated[str, Field(description="Over the table `rows`.")] = "",
        question: str = "",
        cursor: Cursor = "",
    ) -> Json:
        """Show the table of a reading by the way `collect`, or ask it: by SQL, or for a call in words."""
        key = get_key(ctx)
        id_ = await self._service.find_id(reading, key)
        if question:
            return await self._ask(id_, question, key, cursor)

        def load() -> Json:
            return show_rows(load_shown(self._service.journal, id_), sql, cursor, ROOM)

        return await asyncio.to_thread(load)

    async def _ask(self, id_: str, question: str, key: Key | None, cursor: str) -> Json:
        shown = await asyncio.to_thread(load_shown, self._service.journal, id_)
        found = await ask_rows(self._service, key, shown, question)
        figures: list[Json] = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
        for figure, ids in zip(figures, found.behind or (), strict=False):
            figure["rows_behind"] = list(ids[:_MOST_BEHIND])
        about: Json = {"sql": found.sql, "count": shown.facts["count"], "notes": clean(shown.facts["notes"][:3])}
        return about | make_page("figures", clean(figures), cursor, ROOM - measure(about))

    async def graph(
        self,
        ctx: Context,
        *,
        reading: ReadingId,
        around: Annotated[str, Field(description="Nearest to these words first.")] = "",
        cursor: Cursor = "",
    ) -> Json:
        """Show the facts of a reading by the way `graph`; costs nothing."""
        id_ = await self._service.find_id(reading, get_key(ctx))

        def load() -> Json:
            journal = self._service.journal
            table = load_facts(journal, journal.reading(id_))
            found = graph_to_json(build_graph(table), table, around=around)
            facts: list[dict[str, Any]] = [{**fact} for fact in found["facts"]]
            entries = [
                drop_empty({name: fact[name] for name in _SHOWN_OF_FACTS} | {"quote": cut(fact["quote"])})
                | ({} if fact["proven"] else {"proven": False})
                for fact in facts
            ]
            about: Json = {name: found[name] for name in ("reading", "status", "count", "unproven")}
            return about | make_page("facts", clean(entries), cursor, ROOM - measure(about))

        return await asyncio.to_thread(load)

    async def report(
        self,
        ctx: Context,
        *,
        brief: Annotated[str, Field(min_length=1)],
        documents: Documents,
        outline: str = "",
        questions: list[str] = [],  # noqa: B006 - MCP reads it
        wait_seconds: WaitSeconds = 10.0,
        cursor: Cursor = "",
    ) -> Json:
        """Write a report on documents, every sentence with its sources.

        Without an outline, one is proposed. With it, or `questions` for a table: repeat the call until it is `written`.
        """
        key, model = get_key(ctx), next(iter(self._service.models))
        spec = ReadingSpec(model=model, plan=self._service.make_plan(model), way=NAME)
        if not outline and not questions:
            proposed = await self._reports.propose(key, brief, spec)
            return clean({"status": "outline", "outline": proposed.to_markdown(), "next": "call report with it"})
        shas = [await self._service.find_sha(document, key) for document in documents]
        wanted = tuple(dict.fromkeys(shas))
        order: ReportOrder | MatrixOrder
        if questions:
            order = MatrixOrder(questions=tuple(questions), documents=wanted, spec=replace(spec, way=""))
        else:
            order = ReportOrder(brief=brief, outline=parse_outline(outline), documents=wanted, spec=spec)
        caller = Caller(key=key, survives_restart=self._survives_restart)
        made = await self._reports.make(order, caller, wait=wait_seconds)
        about: Json = {"status": made.status, "ended": made.ended, "total": made.total}
        if made.report is None:
            return about | {"next": "call report with the same arguments again"}
        parts = _list_cells(made.report) if isinstance(made.report, Matrix) else _list_parts(made.report)
        return about | make_page("parts", clean(list(parts)), cursor, ROOM - measure(about))


def _list_cells(matrix: Matrix) -> Iterator[Json]:
    """Yield a matrix's answers document by document, then what each column comes to."""
    found = matrix_to_json(matrix)
    for number, row in enumerate(found["rows"], start=1):
        for question, cell in zip(matrix.questions, row["cells"], strict=True):
            answer = drop_empty({"answer": cut(cell["answer"] or ""), "verdict": cell["verdict"] or ""})
            yield {"row": number, "document": row["name"], "question": question, "reading": cell["reading"]} | answer
    for one in found["syntheses"]:
        yield from (
            {"synthesis": one["question"], "sentence": sentence["text"], "rows": sentence["numbers"]}
            | ({"in_other_words_than": cut(sentence["passage"])} if sentence["verdict"] == Verdict.PARTLY else {})
            for sentence in one["sentences"]
        )


def _list_parts(report: WrittenReport) -> Iterator[Json]:
    """Yield a report's sentences, sources, what was left out and what it rests on."""
    for section in report.sections:
        yield {"section": section.title, "rows": section.rows, "sentences": len(section.sentences)}
        for said in section.sentences:
            compared = cut(said.passage) if said.is_marked else ""
            yield drop_empty({"sentence": said.text, "sources": [*said.numbers], "in_other_words_than": compared})
    for one in report.sources:
        yield drop_empty({"source": one.number, "quote": cut(one.quote), "document": one.source, "page": one.page})
    for section in report.sections:
        yield from ({"left_out": cut(one.text), "verdict": str(one.verdict)} for one in section.left_out)
    for covered in report.coverage:
        share = {"used": covered.used, "unused": covered.unused, "unread": covered.unread}
        yield {"document": covered.name, "characters": covered.length, **share}
    yield from ({"note": cut(note)} for note in report.notes)
