"""Reports over HTTP: an outline is proposed, and the same order is sent until its report is written."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Final, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.configuration import names_chunks
from bookwheel.reports.matrix import AnswerMatrixJson, Matrix, list_matrix_blocks, matrix_to_json
from bookwheel.reports.outline import parse_outline
from bookwheel.reports.output import Block, list_blocks, write_blocks
from bookwheel.reports.report import WrittenReport
from bookwheel.schema import to_plain
from bookwheel.serve.engine.reports import MatrixOrder, ReportOrder, ReportStage, ServedReports
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.http.answers import JsonResponse, write_to_bytes
from bookwheel.serve.http.operations import Routes, operation
from bookwheel.serve.http.requests import Body, PlanValues, Question, identify_caller, parse_format
from bookwheel.tables.way import NAME

_MOST_DOCUMENTS: Final = 200
_MOST_QUESTIONS: Final = 50
_LONGEST_WAIT: Final = 50.0
_KINDS: Final = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


class WrittenShape(Body):
    """How a report is written."""

    model: str | None = None
    plan: Annotated[PlanValues, Field(default_factory=dict)]


class OutlineShape(WrittenShape):
    """What a report is to be about."""

    brief: Question


class OrderShape(WrittenShape):
    """What is made of documents."""

    documents: Annotated[list[str], Field(min_length=1, max_length=_MOST_DOCUMENTS)]
    """The SHA-256 of each."""
    resume: bool = False
    """Readings of it that stopped or failed go on; else the report says what was not read."""
    wait: Annotated[float, Field(ge=0, le=_LONGEST_WAIT)] = 0.0
    """Seconds to wait at most."""


class ReportShape(OutlineShape, OrderShape):
    """A report to make; the same again returns how far it is."""

    outline: Question
    """As `POST /outlines` proposes it, in Markdown: a line `## TITLE`, and below it "every …: column, column"."""


class ReportOutlineJson(TypedDict):
    """An outline, to be edited and sent back."""

    outline: str


class OrderProgressJson(TypedDict):
    """How far an order is."""

    status: ReportStage
    readings: dict[str, list[str]]
    """By the SHA-256 of a document, its readings that have begun, in the order of the sections."""
    ended: int
    total: int
    """Readings: one for each section, or question, of each document."""


class ReportProgressJson(OrderProgressJson):
    """How far a report is."""

    report: WrittenReport | None


class MatrixShape(OrderShape):
    """A table of documents by questions to make; the same again returns how far it is."""

    questions: Annotated[list[Question], Field(min_length=1, max_length=_MOST_QUESTIONS)]
    title: Annotated[str, Field(max_length=500)] = ""
    way: str = ""
    """The way of reading; by default, the one that suits the model."""


class MatrixProgressJson(OrderProgressJson):
    """How far a matrix is."""

    matrix: AnswerMatrixJson | None


class ReportRoutes(Routes):
    """The operations of reports."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._reports = ServedReports(service)

    @operation("POST", "/outlines", "Propose the outline of a report")
    async def propose_outline(self, request: Request, body: OutlineShape) -> ReportOutlineJson:
        outline = await self._reports.propose(request.state.key, body.brief, self._make_spec(body))
        return {"outline": outline.to_markdown()}

    @operation(
        "POST",
        "/reports",
        "Make a report, or tell how far it is",
        ReportProgressJson,
        query={"format": Literal["json", "md", "html", "docx"]},
    )
    async def make_report(self, request: Request, body: ReportShape) -> Response:
        """Read each document for each section, then write; rows that are there are taken."""
        kind = parse_format(request, _KINDS)
        order = ReportOrder(
            brief=body.brief,
            outline=parse_outline(body.outline),
            documents=tuple(dict.fromkeys(body.documents)),
            spec=self._make_spec(body),
        )
        caller = await identify_caller(request)
        made = await self._reports.make(order, caller, wait=body.wait, goes_on=body.resume)
        if isinstance(made.report, WrittenReport) and kind in _KINDS:
            return _answer_blocks(list_blocks(made.report), kind)
        return JsonResponse(to_plain(made))

    @operation(
        "POST",
        "/matrices",
        "Ask documents several questions each, or tell how far that is",
        MatrixProgressJson,
        query={"format": Literal["json", "md", "html", "docx"]},
    )
    async def make_matrix(self, request: Request, body: MatrixShape) -> Response:
        """Read each document for each question, then write what the columns come to; answers of before are taken."""
        kind = parse_format(request, _KINDS)
        order = MatrixOrder(
            questions=tuple(dict.fromkeys(body.questions)),
            documents=tuple(dict.fromkeys(body.documents)),
            spec=self._make_spec(body, body.way),
        )
        made = await self._reports.make(order, await identify_caller(request), wait=body.wait, goes_on=body.resume)
        matrix = made.report if isinstance(made.report, Matrix) else None
        if matrix and kind in _KINDS:
            return _answer_blocks(list_matrix_blocks(matrix, body.title or "Documents by questions"), kind)
        about = {"status": made.status, "readings": made.readings, "ended": made.ended, "total": made.total}
        return JsonResponse({**about, "matrix": matrix_to_json(matrix) if matrix else None})

    def _make_spec(self, body: WrittenShape, way: str = NAME) -> ReadingSpec:
        model = body.model or next(iter(self._service.models))
        plan = self._service.make_plan(model, body.plan)
        return ReadingSpec(model=model, plan=plan, way=way, has_chunks=names_chunks(body.plan))


def _answer_blocks(blocks: Iterable[Block], kind: str) -> Response:
    return Response(write_to_bytes(f"report.{kind}", partial(write_blocks, list(blocks))), media_type=_KINDS[kind])
