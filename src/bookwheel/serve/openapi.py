"""The OpenAPI document, generated from the bodies that are parsed and the types of the answers."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from bookwheel import record
from bookwheel.serve.extension import load_extensions
from bookwheel.serve.http import answers, schemas
from bookwheel.serve.openai import answers as openai_answers
from bookwheel.serve.openai.responses import ResponsesShape
from bookwheel.serve.openai.schemas import ChatShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_JSON: Final = "application/json"
_REF: Final = "#/components/schemas/{model}"
TEXT: Final = {"type": "string"}
_BODIES: Final = (
    schemas.ReadingShape,
    schemas.ResumeShape,
    schemas.ForkShape,
    schemas.LabelShape,
    schemas.SessionShape,
    ChatShape,
    ResponsesShape,
)
_ANSWERS: Final[tuple[Any, ...]] = (
    answers.UploadJson,
    answers.TextSpanJson,
    answers.ShelvedDocumentJson,
    list[answers.ShelvedDocumentJson],
    list[answers.PlaceJson],
    list[answers.SearchHitJson],
    answers.LabelJson,
    answers.CallJson,
    record.ReadingJson,
    answers.ReadingUnderWayJson,
    record.ReadingJson | answers.StartedReadingsJson,
    list[record.ListedReadingJson],
    list[answers.OriginJson],
    list[answers.ModelJson],
    answers.HealthJson,
    answers.ErrorJson,
    openai_answers.OpenAIModelJson,
    openai_answers.OpenAIModelListJson,
    openai_answers.OpenAIFileJson,
    openai_answers.ChatCompletionJson,
    openai_answers.ResponseJson,
    openai_answers.OpenAIErrorJson,
)
# Defaults of a plan are those of the package, and a request's plan goes on top of the model's own: a client generated
# from this document must not send them.
_WITHOUT_DEFAULTS: Final = ("Plan", "Sampling", "Budget")


def build_openapi() -> dict[str, Any]:
    """Build the OpenAPI document."""
    _, components = _generate_schemas()
    return {
        "openapi": "3.1.0",
        "info": {"title": "bookwheel", "version": version("bookwheel")},
        "paths": {
            **_merge_paths(_reading_paths(), _library_paths()),
            **{path: item for extension in load_extensions() for path, item in extension.describe().items()},
            **_server_paths(),
            **_openai_paths(),
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


@cache
def _generate_schemas() -> tuple[dict[Any, dict[str, Any]], dict[str, Any]]:
    """Return the schema of every body and answer, and the components that they refer to."""
    types = [*_BODIES, *_ANSWERS, *(type_ for extension in load_extensions() for type_ in extension.answers)]
    adapters = [(type_, "validation", TypeAdapter(type_)) for type_ in types]
    schemas_by_type, definitions = TypeAdapter.json_schemas(adapters, ref_template=_REF)  # type: ignore[arg-type]
    components = definitions["$defs"]
    for name in _WITHOUT_DEFAULTS:
        for field in components[name]["properties"].values():
            field.pop("default", None)
    return {type_: schema for (type_, _), schema in schemas_by_type.items()}, components


def _schema(type_: Any) -> dict[str, Any]:
    return _generate_schemas()[0][type_]


def _reading_paths() -> dict[str, Any]:
    one, reading, changes = path("id", "A reading."), record.ReadingJson, query("changes")
    origins, sha = list[answers.OriginJson], path("sha", "The SHA-256 of a document's text.")
    upload = route(
        "Upload a document",
        201,
        answers.UploadJson,
        content={"application/octet-stream": {"schema": {**TEXT, "format": "binary"}}, **_form()},
        parameters=[_header("X-Filename", "The document's name, percent-encoded.")],
    )
    started = record.ReadingJson | answers.StartedReadingsJson
    start = route("Start a reading", 201, started, body=schemas.ReadingShape, parameters=[_idempotency()], also=(200,))
    search = [query("search", "string"), query("document", "string"), query("limit"), query("offset")]
    events = route(
        "Follow a reading's steps",
        200,
        TEXT,
        kind="text/event-stream",
        parameters=[one, changes, query("live"), _header("Last-Event-ID", "The last event that the client has.")],
    )
    resume = route(
        "Continue a reading", 200, reading, body=schemas.ResumeShape, parameters=[one, changes], needs_body=False
    )
    fork = route("Change the memory by hand", 201, reading, body=schemas.ForkShape, parameters=[one])
    return {
        "/documents": {"post": upload},
        "/documents/{sha}/text": {
            "get": route("A part of its text", 200, answers.TextSpanJson, parameters=[sha, *span()])
        },
        "/readings": {
            "post": start,
            "get": route("List readings", 200, list[record.ListedReadingJson], parameters=search),
        },
        "/readings/{id}": {
            "get": route("A whole reading", 200, answers.ReadingUnderWayJson, parameters=[one, changes]),
            "delete": route("Delete a reading", 204, None, parameters=[one]),
        },
        "/readings/{id}/events": {"get": events},
        "/readings/{id}/origins": {"get": route("The origins of its memory", 200, origins, parameters=[one])},
        "/readings/{id}/cancel": {"post": route("Interrupt a reading", 200, reading, parameters=[one, changes])},
        "/readings/{id}/resume": {"post": resume},
        "/readings/{id}/fork": {"post": fork},
    }


def _library_paths() -> dict[str, Any]:
    sha, one, label = path("sha", "The SHA-256 of a document's text."), path("id", "A reading."), schemas.LabelShape
    book, books, places = answers.ShelvedDocumentJson, list[answers.ShelvedDocumentJson], list[answers.PlaceJson]
    page = [query("search", "string"), query("limit"), query("offset")]
    find = [sha, query("text", "string"), query("start"), query("limit")]
    export = [one, {"name": "format", "in": "query", "schema": {"type": "string", "enum": ["html", "markdown"]}}]
    call = [one, path("number", "A step, or the number of steps for the answer.")]
    search = [query("query", "string"), query("limit")]
    return {
        "/documents": {"get": route("List the documents", 200, books, parameters=page)},
        "/documents/{sha}": {
            "get": route("A document", 200, book, parameters=[sha]),
            "patch": route("Name or star a document", 200, book, body=label, parameters=[sha]),
            "delete": route("Delete a document with its readings", 204, None, parameters=[sha]),
        },
        "/documents/{sha}/find": {"get": route("Find a text in a document", 200, places, parameters=find)},
        "/search": {"get": route("Search texts and memories", 200, list[answers.SearchHitJson], parameters=search)},
        "/readings/{id}": {
            "patch": route("Name or star a reading", 200, answers.LabelJson, body=label, parameters=[one])
        },
        "/readings/{id}/export": {
            "get": route("A reading as HTML or Markdown", 200, TEXT, kind="text/html", parameters=export)
        },
        "/readings/{id}/calls/{number}": {
            "get": route("The prompt and reply of a step", 200, answers.CallJson, parameters=call)
        },
    }


def _merge_paths(*groups: dict[str, Any]) -> dict[str, Any]:
    """Return the paths of all groups; two groups may have methods of one path."""
    merged: dict[str, Any] = {}
    for path, methods in (item for group in groups for item in group.items()):
        merged.setdefault(path, {}).update(methods)
    return merged


def _server_paths() -> dict[str, Any]:
    return {
        "/models": {"get": route("List the models that read here", 200, list[answers.ModelJson])},
        "/session": {"post": route("Sign a browser in", 204, None, body=schemas.SessionShape)},
        "/healthz": {"get": route("The state of the server", 200, answers.HealthJson)},
        "/metrics": {"get": route("Metrics for Prometheus", 200, TEXT, kind="text/plain")},
    }


def _openai_paths() -> dict[str, Any]:
    model, file = openai_answers.OpenAIModelJson, openai_answers.OpenAIFileJson
    chat = route("OpenAI: chat", 200, openai_answers.ChatCompletionJson, body=ChatShape, parameters=[_idempotency()])
    response = route(
        "OpenAI: a response", 200, openai_answers.ResponseJson, body=ResponsesShape, parameters=[_idempotency()]
    )
    paths = {
        "/v1/models": {"get": route("OpenAI: models", 200, openai_answers.OpenAIModelListJson)},
        "/v1/models/{name}": {"get": route("OpenAI: a model", 200, model, parameters=[path("name", "A model.")])},
        "/v1/files": {"post": route("OpenAI: upload a document", 200, file, content=_form())},
        "/v1/files/{id}": {"get": route("OpenAI: a document", 200, file, parameters=[path("id", "A file.")])},
        "/v1/chat/completions": {"post": chat},
        "/v1/responses": {"post": response},
    }
    for routes in paths.values():
        for operation in routes.values():
            operation["responses"]["default"] = _error_response(openai_answers.OpenAIErrorJson)
    return paths


def route(
    summary: str,
    status: int,
    answer: Any,
    *,
    kind: str = _JSON,
    body: Any = None,
    content: Mapping[str, Any] | None = None,
    parameters: Sequence[Mapping[str, Any]] = (),
    needs_body: bool = True,
    also: Sequence[int] = (),
) -> dict[str, Any]:
    """Build one operation; `answer` is a type of `_ANSWERS`, a schema, or None where the answer has no body."""
    schema = answer if answer is None or isinstance(answer, dict) else _schema(answer)
    response = {"description": summary, **({"content": {kind: {"schema": schema}}} if schema else {})}
    route: dict[str, Any] = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {
            **{str(code): response for code in (status, *also)},
            "default": _error_response(answers.ErrorJson),
        },
    }
    if body:
        content = {_JSON: {"schema": _schema(body)}}
    if content:
        route["requestBody"] = {"required": needs_body, "content": content}
    return route


def _error_response(type_: Any) -> dict[str, Any]:
    return {"description": "Declined, with the reason", "content": {_JSON: {"schema": _schema(type_)}}}


def _form() -> dict[str, Any]:
    file = {"file": {"type": "string", "format": "binary"}}
    return {"multipart/form-data": {"schema": {"type": "object", "required": ["file"], "properties": file}}}


def span() -> list[dict[str, Any]]:
    """Return the parameters of a part of a text."""
    return [query("start"), query("end")]


def _idempotency() -> dict[str, Any]:
    return _header("Idempotency-Key", "The same key again returns the same reading.")


def path(name: str, description: str) -> dict[str, Any]:
    """Return a parameter of the path."""
    return {"name": name, "in": "path", "required": True, "description": description, "schema": TEXT}


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": description, "schema": TEXT}


def query(name: str, kind: str = "integer") -> dict[str, Any]:
    """Return a parameter of the query."""
    least = {"minimum": 0} if kind == "integer" else {}
    return {"name": name, "in": "query", "schema": {"type": kind, **least}}
