"""The server's own description, from the shapes that requests are checked against."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from pydantic.json_schema import models_json_schema

from bookwheel.serve.http.schemas import ForkShape, ReadingShape, ResumeShape, SessionShape
from bookwheel.serve.openai.responses import ResponsesShape
from bookwheel.serve.openai.schemas import ChatShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

_JSON: Final = "application/json"
_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"anyOf": [{"type": "string"}, {"type": "object"}]}, "kind": {"type": "string"}},
}
_READING: Final = {
    "type": "object",
    "required": ["reading", "status", "question", "answer", "plan", "usage"],
    "properties": {
        "reading": {"type": "string"},
        "status": {"enum": ["reading", "answered", "stopped", "failed", "cancelled"]},
        "question": {"type": "string"},
        "answer": {"type": ["string", "null"]},
        "steps": {"type": "array", "items": {"type": "object"}},
        "evidence": {"type": "array", "items": {"type": "object"}},
    },
}
_OBJECT: Final = {"type": "object"}
_READINGS: Final = {"type": "array", "items": {"$ref": "#/components/schemas/Reading"}}
_SHOWN: Final = {"$ref": "#/components/schemas/Reading"}
_SHAPES: Final[Sequence[type[BaseModel]]] = (
    ReadingShape,
    ResumeShape,
    ForkShape,
    SessionShape,
    ChatShape,
    ResponsesShape,
)


def build_openapi() -> dict[str, Any]:
    """The OpenAPI document."""
    _, found = models_json_schema(
        [(shape, "validation") for shape in _SHAPES], ref_template="#/components/schemas/{model}"
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "bookwheel", "version": version("bookwheel")},
        "paths": _paths(),
        "components": {
            "schemas": {**found["$defs"], "Reading": _READING, "Error": _ERROR},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _paths() -> dict[str, Any]:
    one, idempotent = _path("id", "A reading."), _header("Idempotency-Key", "The same key again is the same reading.")
    changes = _query("changes")
    sha = _path("sha", "The SHA-256 of a document's text.")
    binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    form = {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary"}},
            }
        }
    }
    name = _header("X-Filename", "The document's name, percent-encoded.")
    return {
        "/documents": {
            "post": _route("Upload a document", 201, _OBJECT, content={**binary, **form}, parameters=[name])
        },
        "/documents/{sha}/text": {
            "get": _route("A span of its text", 200, _OBJECT, parameters=[sha, _query("start"), _query("end")])
        },
        "/readings": {
            "post": _route("Begin a reading", 201, _SHOWN, shape="ReadingShape", parameters=[idempotent], also=(200,)),
            "get": _route("List readings", 200, _READINGS, parameters=[_query("search", "string"), _query("limit")]),
        },
        "/readings/{id}": {
            "get": _route("A whole reading", 200, _SHOWN, parameters=[one, changes]),
            "delete": _route("Delete a reading", 204, None, parameters=[one]),
        },
        "/readings/{id}/events": {
            "get": _route(
                "Its steps as they come",
                200,
                {"type": "string"},
                kind="text/event-stream",
                parameters=[one, changes, _header("Last-Event-ID", "The last event that was seen.")],
            )
        },
        "/readings/{id}/origins": {
            "get": _route("Where its memory is from", 200, {"type": "array", "items": _OBJECT}, parameters=[one])
        },
        "/readings/{id}/cancel": {"post": _route("Stop it", 200, _SHOWN, parameters=[one, changes])},
        "/readings/{id}/resume": {
            "post": _route("Go on", 200, _SHOWN, shape="ResumeShape", parameters=[one, changes], required=False)
        },
        "/readings/{id}/fork": {
            "post": _route("Change its memory by hand", 201, _SHOWN, shape="ForkShape", parameters=[one])
        },
        **_run_paths(),
        "/models": {"get": _route("What reads here", 200, {"type": "array", "items": _OBJECT})},
        "/session": {"post": _route("Sign a browser in", 204, None, shape="SessionShape")},
        "/healthz": {"get": _route("Whether it is up", 200, _OBJECT)},
        "/metrics": {"get": _route("For Prometheus", 200, {"type": "string"}, kind="text/plain")},
        "/v1/models": {"get": _route("OpenAI: models", 200, _OBJECT)},
        "/v1/models/{name}": {"get": _route("OpenAI: a model", 200, _OBJECT, parameters=[_path("name", "A model.")])},
        "/v1/files": {"post": _route("OpenAI: upload a document", 200, _OBJECT, content=form)},
        "/v1/files/{id}": {"get": _route("OpenAI: a document", 200, _OBJECT, parameters=[_path("id", "A file.")])},
        "/v1/chat/completions": {
            "post": _route("OpenAI: chat", 200, _OBJECT, shape="ChatShape", parameters=[idempotent])
        },
        "/v1/responses": {
            "post": _route("OpenAI: a response", 200, _OBJECT, shape="ResponsesShape", parameters=[idempotent])
        },
    }


def _run_paths() -> dict[str, Any]:
    run, one, many = _path("run", "A run."), _path("id", "A reading."), {"type": "array", "items": _OBJECT}
    wanted = [_query("start"), _query("limit"), _query("wrong"), _query("length")]
    wanted += [_query(name, "string") for name in ("model", "way", "task")]
    span = [_path("sha", "A document."), _query("start"), _query("end")]
    return {
        "/runs": {"get": _route("List evaluations and training runs", 200, many)},
        "/runs/{run}": {"get": _route("A run as far as it has come", 200, _OBJECT, parameters=[run])},
        "/runs/{run}/samples": {"get": _route("Its samples", 200, _OBJECT, parameters=[run, *wanted])},
        "/runs/{run}/rollouts": {"get": _route("A step's rollouts", 200, many, parameters=[run, _query("step")])},
        "/runs/{run}/readings/{id}": {
            "get": _route("A reading it kept", 200, _SHOWN, parameters=[run, one, _query("changes")])
        },
        "/runs/{run}/readings/{id}/origins": {
            "get": _route("Where its memory is from", 200, many, parameters=[run, one])
        },
        "/runs/{run}/documents/{sha}/text": {
            "get": _route("A span of its text", 200, _OBJECT, parameters=[run, *span])
        },
    }


def _route(
    summary: str,
    status: int,
    answer: Mapping[str, Any] | None,
    *,
    kind: str = _JSON,
    shape: str | None = None,
    content: Mapping[str, Any] | None = None,
    parameters: Sequence[Mapping[str, Any]] = (),
    required: bool = True,
    also: Sequence[int] = (),
) -> dict[str, Any]:
    told = {"description": summary, **({"content": {kind: {"schema": answer}}} if answer else {})}
    refused = {
        "description": "Declined, and why",
        "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    route: dict[str, Any] = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {str(status): told, **{str(more): told for more in also}, "default": refused},
    }
    if shape:
        content = {_JSON: {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
    if content:
        route["requestBody"] = {"required": required, "content": content}
    return route


def _path(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "description": about, "schema": {"type": "string"}}


def _header(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": about, "schema": {"type": "string"}}


def _query(name: str, kind: str = "integer") -> dict[str, Any]:
    least = {"minimum": 0} if kind == "integer" else {}
    return {"name": name, "in": "query", "schema": {"type": kind, **least}}
