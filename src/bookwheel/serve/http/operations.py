"""Operations of the API: each stands above the function that answers it, and makes its route and its description.

    class ReadingRoutes:
        @operation("GET", "/readings/{id}", "A whole reading", ReadingJson, query={"changes": int})
        async def get_reading(self, request: Request) -> Response: ...

A second parameter is the body of the request, parsed as the type that it is annotated with. What is returned is a
response, or else the JSON of one, of the type that the function is annotated with.

`make_routes` makes the routes of an object of such a class; `describe_operations` makes the OpenAPI document of the
classes, from the operations, the bodies that they parse and the types of their answers.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from importlib.metadata import version
from inspect import signature
from pkgutil import resolve_name
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import CoreRef, DefsRef, GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bookwheel.journal import StoredDocument
from bookwheel.plan import Budget, GatePlan, Plan, Sampling
from bookwheel.schema import to_plain
from bookwheel.serve.engine.service import Service
from bookwheel.serve.http.answers import ErrorJson, JsonResponse
from bookwheel.serve.http.requests import parse_body
from bookwheel.types import Reading

_F = TypeVar("_F", bound="Callable[..., Any]")

JSON: Final = "application/json"
IDEMPOTENCY: Final = {"Idempotency-Key": "The same key again returns the same reading."}
SPAN: Final = {"start": int, "end": int}
"""The query of a part of a text."""
_OPENAI_ERROR: Final = "bookwheel.serve.openai.answers:OpenAIErrorJson"
_PARTS_OF_PLANS: Final = (Plan, Sampling, Budget, GatePlan)
_TEXT: Final = {"type": "string"}
_FILE: Final = {"type": "string", "format": "binary"}
UPLOADS: Final = {
    "application/octet-stream": {"schema": _FILE},
    "multipart/form-data": {"schema": {"type": "object", "required": ["file"], "properties": {"file": _FILE}}},
}
_PATH_PARAMETERS: Final = {
    "id": "Its id, or the beginning of it, from four characters on.",
    "sha": "The SHA-256 of a document's text.",
    "number": "A step, or the number of steps for the answer; of pages, one from 1 on.",
    "name": "A model.",
    "run": "A run.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path: what it takes, and what it answers."""

    method: str
    path: str
    """As Starlette writes it; each parameter of it is a text."""
    summary: str
    answer: Any = None
    """The type of the answer, or `module:name` of one that is slow to import; None where the answer has no body."""
    status: int = 200
    also: int | None = None
    """A second status of the same answer."""
    kind: str = JSON
    """The media type of the answer."""
    body: Any = None
    needs_body: bool = True
    uploads: tuple[str, ...] = ()
    """The media types in which a file is taken in place of a JSON body."""
    query: Mapping[str, Any] = field(default_factory=dict)
    """Parameters with their types."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers with what they are for."""


def operation(method: str, path: str, summary: str, answer: Any = None, **more: Any) -> Callable[[_F], _F]:
    """Mark a method as the function of an operation; `more` are the other fields of `Operation`."""

    def mark(function: _F) -> _F:
        body, given = _find_types(function, answer)
        described = Operation(method=method, path=path, summary=summary, answer=given, **{"body": body, **more})
        vars(function)["operation"] = described
        return function

    return mark


def _find_types(function: Callable[..., Any], answer: Any) -> tuple[Any, Any]:
    """Return the types of the body that a method takes and of its answer, where that is not given and no response."""
    _, _, *names = signature(function).parameters
    if not names and (answer or "return" not in function.__annotations__):
        return None, answer
    hints = get_type_hints(function)
    given = hints.get("return")
    is_response = isinstance(given, type) and issubclass(given, Response)
    return hints[names[0]] if names else None, answer or (None if is_response else given)


def _make_endpoint(function: Callable[..., Awaitable[Any]], one: Operation) -> Callable[[Request], Awaitable[Response]]:
    """Return the function of a request alone: with its body parsed, and its answer as JSON."""
    takes_body = len(signature(function).parameters) > 1

    async def answer(request: Request) -> Response:
        given = [await parse_body(one.body, request)] if takes_body else []
        made = await function(request, *given)
        return made if isinstance(made, Response) else JsonResponse(_to_json(made), one.status)

    return answer


def _to_json(made: Any) -> Any:
    if isinstance(made, list):
        return [to_plain(one) if is_dataclass(one) else one for one in made]
    return to_plain(made) if is_dataclass(made) else made


class Routes:
    """A group of operations: one method for each."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def _find_id(self, request: Request) -> str:
        return await self._service.find_addressed(request.path_params["id"], request.state.key)

    async def _find_reading(self, request: Request) -> Reading:
        return await self._service.get_reading(request.path_params["id"], request.state.key)

    async def _find_document(self, request: Request) -> StoredDocument:
        return await self._service.get_document(request.path_params["sha"], request.state.key)


def list_operations(group: type) -> dict[str, Operation]:
    marked = {name: getattr(function, "operation", None) for name, function in vars(group).items()}
    return {name: found for name, found in marked.items() if isinstance(found, Operation)}


def make_routes(group: object) -> list[BaseRoute]:
    found = list_operations(type(group)).items()
    return [Route(one.path, _make_endpoint(getattr(group, name), one), methods=[one.method]) for name, one in found]


def describe_operations(groups: Sequence[type]) -> dict[str, Any]:
    """Return the OpenAPI document of classes of operations."""
    operations = [one for group in groups for one in list_operations(group).values()]
    types = [type_ for one in operations for type_ in (_find_error(one), one.body, _resolve(one.answer)) if type_]
    adapters: Any = [(type_, "validation", TypeAdapter(type_)) for type_ in types]
    generated, definitions = TypeAdapter.json_schemas(
        adapters, ref_template="#/components/schemas/{model}", schema_generator=_AnswerSchemas
    )
    schemas = {type_: schema for (type_, _), schema in generated.items()}
    paths: dict[str, Any] = {}
    for one in operations:
        path = re.sub(r":\w+}", "}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _describe(one, path, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "bookwheel", "version": version("bookwheel")},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


_PUBLISHED: Final = {
    "CollectionCount": "CollectionJson",
    "Label": "LabelJson",
    "NewestQuestion": "NewestJson",
    "ShelfCounts": "ShelfJson",
    "ShelvedDocument": "ShelvedDocumentJson",
}
"""Names by which generated clients know classes of ours. They stay as they are, whatever the classes are called."""


class _AnswerSchemas(GenerateJsonSchema):
    """Dataclasses of answers have all of their fields; of a plan, a request gives some.

    A client generated from the document must not send our defaults: what it leaves out is as in the model's own plan.
    """

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        found = super().dataclass_schema(schema)
        found["title"] = _PUBLISHED.get(found["title"], found["title"])
        for property_ in found["properties"].values():
            property_.pop("default", None)
        if schema["cls"] not in _PARTS_OF_PLANS:
            found["required"] = list(found["properties"])
        return found

    def get_defs_ref(self, core_mode_ref: tuple[CoreRef, JsonSchemaMode]) -> DefsRef:
        """Return the name of a class, of "package.module.Label:94187", among the components."""
        ref, mode = core_mode_ref
        path, _, number = ref.partition(":")
        module, _, name = path.rpartition(".")
        return super().get_defs_ref((CoreRef(f"{module}.{_PUBLISHED.get(name, name)}:{number}"), mode))


def _find_error(one: Operation) -> Any:
    return _resolve(_OPENAI_ERROR) if one.path.startswith("/v1") else ErrorJson


def _resolve(type_: Any) -> Any:
    return resolve_name(type_) if isinstance(type_, str) else type_


def _describe(one: Operation, path: str, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": one.summary}
    if one.answer:
        answer["content"] = {one.kind: {"schema": schemas[_resolve(one.answer)]}}
    error = {"description": "Declined, with the reason", "content": {JSON: {"schema": schemas[_find_error(one)]}}}
    names = re.findall(r"{(\w+)}", path)
    described: dict[str, Any] = {
        "summary": one.summary,
        "parameters": [
            *(_parameter(name, "path", _TEXT, _PATH_PARAMETERS.get(name, ""), required=True) for name in names),
            *(_parameter(name, "query", _query_schema(type_)) for name, type_ in one.query.items()),
            *(_parameter(name, "header", _TEXT, about) for name, about in one.headers.items()),
        ],
        "responses": {**{str(code): answer for code in (one.status, one.also) if code}, "default": error},
    }
    if one.body:
        described["requestBody"] = {"required": one.needs_body, "content": {JSON: {"schema": schemas[one.body]}}}
    elif one.uploads:
        described["requestBody"] = {"required": True, "content": {kind: UPLOADS[kind] for kind in one.uploads}}
    return described


def _parameter(name: str, place: str, schema: dict[str, Any], about: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **({"description": about} if about else {}), **more}


def _query_schema(type_: Any) -> dict[str, Any]:
    if get_origin(type_) is Literal:
        return {**_TEXT, "enum": list(get_args(type_))}
    return _TEXT if type_ is str else {"type": "integer", "minimum": 0}
